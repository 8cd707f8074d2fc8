"""Storage against simulated connections, exhaustive search over classes, and published figures."""

from __future__ import annotations

import heapq
import itertools
import math

import numpy as np
import pytest
from clustermath import (
    burst_ratio,
    cheapest_class,
    connections_needed,
    devices_needed,
    fs_size,
    in_flight,
    prefixes,
    request_efficiency,
    request_size,
    request_throughput,
    request_time,
    storage_bytes,
    tiered_cost,
    transfer_time,
)
from clustermath.units import MONTH, TB, TIB

LATENCY, RATE, RANGE = 0.05, 90e6, 8e6


def delivered(connections: int, size: float, seconds: float = 50.0) -> float:
    """Bytes per second of connections that each ask again as soon as they have been served."""
    ends, moved = [i / connections * 0.01 for i in range(connections)], 0.0
    while (now := heapq.heappop(ends)) < seconds:
        moved += size
        heapq.heappush(ends, now + LATENCY + size / RATE)
    return moved / seconds


@pytest.mark.parametrize("connections, size", [(1, 65_536), (1, RANGE), (7, RANGE), (32, 40.5e6)])
def test_throughput_of_a_closed_loop_of_connections(connections, size):
    expected = request_throughput(connections, size, LATENCY, RATE, 12.5e9)
    assert delivered(connections, size) == pytest.approx(expected, rel=0.03)
    assert request_throughput(connections, size, LATENCY, RATE, 1e6) <= 1e6  # the card is a ceiling


def test_littles_law_on_simulated_arrivals():
    rng, rate, count = np.random.default_rng(11), 200.0, 200_000
    arrive = np.cumsum(rng.exponential(1 / rate, count))
    stay = rng.lognormal(math.log(0.05), 0.5, count)
    events = np.sort(np.concatenate([arrive, arrive + stay]))
    change = np.concatenate([np.ones(count), -np.ones(count)])[
        np.argsort(np.concatenate([arrive, arrive + stay]))
    ]
    mean = (np.cumsum(change)[:-1] * np.diff(events)).sum() / (events[-1] - events[0])
    assert in_flight(rate, float(stay.mean())) == pytest.approx(mean, rel=0.01)


def test_efficiency_is_the_share_of_the_timeline_that_carries_bytes():
    for size in (65_536, RANGE, 256e6):
        carrying = transfer_time(size, RATE)
        assert request_efficiency(size, LATENCY, RATE) == pytest.approx(
            carrying / request_time(size, LATENCY, RATE)
        )


def test_request_size_and_efficiency_undo_each_other():
    for share in (0.01, 0.5, 0.9, 0.99):
        assert request_efficiency(
            request_size(share, LATENCY, RATE), LATENCY, RATE
        ) == pytest.approx(share)
    # half the time at latency times bandwidth, nine times that for nine tenths
    assert request_size(0.5, LATENCY, RATE) == pytest.approx(LATENCY * RATE)
    assert request_size(0.9, LATENCY, RATE) == pytest.approx(9 * LATENCY * RATE)


def test_connections_needed_deliver_the_target():
    for target in (1e9, 3.125e9, 12.5e9):
        count = connections_needed(target, RANGE, LATENCY, RATE)
        assert request_throughput(math.ceil(count), RANGE, LATENCY, RATE, 1e12) >= target
        assert request_throughput(math.ceil(count) - 1, RANGE, LATENCY, RATE, 1e12) < target
    sizes = np.geomspace(1e3, 1e9, 30)
    needed = connections_needed(12.5e9, sizes, LATENCY, RATE)
    assert (np.diff(needed) < 0).all() and needed[
        -1
    ] > 12.5e9 / RATE  # the floor that no size undercuts


def test_published_connection_counts():
    assert connections_needed(1.25e9, RANGE, 0, 87.5e6) == pytest.approx(
        14.3, rel=0.002
    )  # AWS: about 15
    assert connections_needed(12.5e9, 2**23, LATENCY, RATE) == pytest.approx(
        213.4, rel=1e-3
    )  # aws-c-s3: 250
    # aws-c-s3's 50 MB/s a connection means a latency of 75 ms
    assert connections_needed(12.5e9, 2**23, 0.0746, RATE) == pytest.approx(250, rel=0.001)
    assert connections_needed(8003e6, 32e6, 0.020, 93e6) == pytest.approx(
        91.1, rel=0.001
    )  # s3-benchmark


@pytest.mark.parametrize(
    "rate, count", [(0, 0), (1, 1), (5500, 1), (5500.0001, 2), (11_000, 2), (13_500, 3)]
)
def test_prefixes_serve_the_rate(rate, count):
    assert prefixes(rate) == count


def test_storage_bytes_of_a_list_of_files():
    files = [62.4e12] + [6.48e12] * 100
    assert storage_bytes(62.4e12, 6.48e12, 100) == sum(files)


def test_burst_ratio_is_the_quotient_of_two_rates():
    write, read = 6.48e12 / 60, 2.697e6 * 4
    assert burst_ratio(6.48e12, 60, read) == pytest.approx(write / read)
    assert burst_ratio(6.48e12, 120, read) == pytest.approx(write / read / 2)


def test_devices_are_counted_until_they_suffice():
    def count(capacity, bandwidth, device, rate):
        return next(
            n for n in itertools.count(1) if n * device >= capacity and n * rate >= bandwidth
        )

    for capacity, bandwidth in [(710.4e12, 108e9), (100e12, 18.83e9), (710.4e12, 1e9), (1e12, 0)]:
        found = devices_needed(capacity, bandwidth, 20e12, 250e6)
        assert found.needed == count(capacity, bandwidth, 20e12, 250e6)
    assert devices_needed(710.4e12, 108e9, 20e12, 250e6).binding == "bandwidth"
    assert devices_needed(710.4e12, 108e9, 7.68e12, 3e9).binding == "capacity"


def test_capacity_binds_in_a_tie():
    found = devices_needed(4e12, 4e9, 1e12, 1e9)
    assert (found, found.needed, found.binding) == ((4, 4), 4, "capacity")


def test_the_binding_side_flips_at_the_density_of_the_device():
    density = 250e6 / 20e12
    assert devices_needed(1e15, 1e15 * density * 1.001, 20e12, 250e6).binding == "bandwidth"
    assert devices_needed(1e15, 1e15 * density * 0.999, 20e12, 250e6).binding == "capacity"


CLASSES = {
    name: (price / TB / MONTH, mb * 1e6 / TIB)
    for name, price, mb in (
        ("125", 145, 125),
        ("250", 210, 250),
        ("500", 340, 500),
        ("1000", 600, 1000),
    )
}


def searched(capacity: float, bandwidth: float) -> tuple[float, str]:
    """Buy each class byte by byte (in 0.1% steps) until it holds and carries enough."""
    best = (math.inf, "")
    for name, (price, density) in CLASSES.items():
        size = max(capacity, 1.0)
        while size * density < bandwidth:
            size *= 1.001
        best = min(best, (price * size, name))
    return best


def test_cheapest_class_against_a_search():
    rng = np.random.default_rng(0)
    for _ in range(200):
        capacity, bandwidth = 10 ** rng.uniform(12, 15), 10 ** rng.uniform(8, 11.3)
        found, (cost, name) = (
            cheapest_class(capacity, bandwidth, CLASSES),
            searched(capacity, bandwidth),
        )
        assert found.cost == pytest.approx(cost, rel=2e-3)
        price, density = CLASSES[found.name]
        assert found.size >= capacity and found.size * density >= bandwidth * (1 - 1e-12)
        if name != found.name:  # within the step of the search the two cost the same
            assert CLASSES[name][0] * max(capacity, bandwidth / CLASSES[name][1]) >= found.cost


def test_classes_of_the_405b_run():
    burst, drain = 6.48e12 / 60, 6.48e12 / 1800
    assert [fs_size(0, burst, density) / TB for _, density in CLASSES.values()] == pytest.approx(
        [950.0, 475.0, 237.5, 118.7], abs=0.06
    )
    hot = cheapest_class(3 * 6.48e12, burst, CLASSES)
    assert (hot.name, hot.cost * MONTH) == ("1000", pytest.approx(71_248, abs=1))
    small = cheapest_class(3 * 6.48e12, drain, CLASSES)
    assert (small.name, small.cost * MONTH) == ("250", pytest.approx(4082, abs=1))
    ten_kept = cheapest_class(62.4e12 + 10 * 6.48e12, burst, CLASSES)
    assert (ten_kept.name, ten_kept.cost * MONTH) == ("1000", pytest.approx(76_320, abs=1))
    cold = tiered_cost((127.2e12, 583.2e12), (23 / TB / MONTH, 0.99 / TB / MONTH))
    assert cheapest_class(710.4e12, burst, CLASSES).cost / (small.cost + cold) == pytest.approx(
        18.2, abs=0.05
    )


def test_corner_cases_of_cheapest_class():
    only_bytes = cheapest_class(1e14, 0, CLASSES)
    assert (only_bytes.name, only_bytes.size) == ("125", 1e14)
    assert cheapest_class(0, 0, CLASSES).cost == 0
    assert (
        cheapest_class(0, 1e9, CLASSES).name == "1000"
    )  # bandwidth is cheapest in the fastest class
    twins = {"first": CLASSES["125"], "second": CLASSES["125"]}
    assert cheapest_class(1e14, 1e9, twins).name == "first"
    price, density = CLASSES["250"]
    exact = cheapest_class(1e14, 1e14 * density, {"one": (price, density)})
    assert exact.size == pytest.approx(1e14)


@pytest.mark.parametrize(
    "classes, message",
    [({}, "no classes"), ({"a": (1.0, 0)}, "density"), ({"a": (-1, 1)}, "price of a")],
)
def test_cheapest_class_refuses_by_name(classes, message):
    with pytest.raises(ValueError, match=message):
        cheapest_class(1e12, 1e9, classes)


def test_tiered_cost_adds_the_tiers():
    sizes, prices = (1e12, 5e12, 0), (3e-18, 1e-18, 9e-18)
    assert tiered_cost(sizes, prices) == pytest.approx(3e-6 + 5e-6)
    assert tiered_cost((), ()) == 0
    with pytest.raises(ValueError, match="3 sizes and 1 prices"):
        tiered_cost(sizes, (1,))
    with pytest.raises(ValueError, match="size"):
        tiered_cost((-1,), (1,))
