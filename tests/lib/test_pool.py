"""The shared pool against fluid queues in small steps, a simulated week, and its limits."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from clustermath import (
    borrowable,
    headroom_needed,
    loan_efficiency,
    min_loan_window,
    pool_utilization,
    reclaim_time,
    simulate_pool,
    slo_break_ramp,
    slo_break_step,
)
from clustermath.units import DAY, HOUR, MINUTE

STEP = 10


def queue_breaks(slo: float, load, dt: float = 0.01) -> float:
    """When the delay of a fluid queue reaches the SLO; ``load(t)`` is demand over capacity."""
    backlog = t = 0.0
    while backlog < slo and t < 1e4:
        backlog = max(0.0, backlog + (load(t) - 1) * dt)  # in seconds of service
        t += dt
    return t


@pytest.mark.parametrize("overload", [0.05, 0.10, 0.25, 0.5])
def test_a_step_of_overload_breaks_a_simulated_queue(overload):
    assert slo_break_step(2, overload) == pytest.approx(
        queue_breaks(2, lambda t: 1 + overload), rel=0.01
    )


@pytest.mark.parametrize(
    "ramp, headroom", [(0.01 / 60, 0), (0.25 / 60, 0), (0.25 / 60, 0.1), (0.05 / 60, 0.02)]
)
def test_a_ramp_breaks_a_simulated_queue(ramp, headroom):
    seen = queue_breaks(2, lambda t: 1 - headroom + ramp * t)
    assert slo_break_ramp(2, ramp, headroom) == pytest.approx(seen, rel=0.01)


def test_a_ramp_without_headroom():
    # The steepest daily ramp of a published week of LLM traffic, 0.37% of the peak a minute.
    assert slo_break_ramp(2, 0.0037 / 60) == slo_break_ramp(2, 0.0037 / 60, 0)
    assert slo_break_ramp(2, 0.0037 / 60) == pytest.approx(255, abs=0.5)


def test_a_queue_without_overload_never_breaks():
    assert slo_break_step(2, 0) == slo_break_step(2, -0.3) == slo_break_ramp(2, 0) == math.inf
    assert slo_break_step(2, np.array([-0.1, 0.25])).tolist() == [math.inf, 8]
    with pytest.raises(ValueError, match="ramp"):
        slo_break_ramp(2, -0.1)


def test_reclaim_time_of_a_clock_that_runs_through_the_stages():
    stages = dict(
        detect=30, boundary=6.2, save=64.8, teardown=30, health=60, load=141.2 / 5, warmup=60
    )
    assert reclaim_time(**stages) == pytest.approx(math.fsum(stages.values()))
    fast = dict(
        detect=10, boundary=6.2, save=0.59, teardown=5, health=0, load=141.2 / 24, warmup=15
    )
    assert reclaim_time(**fast) == pytest.approx(42.7, abs=0.05)


def test_headroom_holds_until_the_chips_are_back():
    for ramp, amplitude in ((0.25 / 60, 0.25), (0.0037 / 60, 0.25), (0.06 / 60, 0.2)):
        risen = max(min(amplitude, ramp * t) for t in np.arange(0, 279.2 + 0.1, 0.1))
        assert headroom_needed(ramp, 279.2, amplitude) == pytest.approx(risen, rel=1e-3)
    assert headroom_needed(0.06 / 60, 120, 0.2) == pytest.approx(0.12)


def test_borrowable_leaves_the_floor_and_the_headroom():
    for forecast in (0, 350, 900, 1300):
        lent = borrowable(1216, 400, forecast, 270)
        kept = 1216 - lent
        assert lent >= 0 and kept >= 400 and (kept >= forecast + 270 or lent == 0)
        assert lent == 0 or kept == max(400, forecast + 270)  # and no chip more is kept


def test_loans_train_what_their_overhead_leaves():
    for window in (15 * MINUTE, HOUR, 4 * HOUR, 8 * HOUR):
        assert loan_efficiency(window, 365) == pytest.approx(
            sum(t > 365 for t in range(1, int(window) + 1)) / window
        )
    assert loan_efficiency(300, 365) == 0
    for share in (0.5, 0.9, 0.99):
        assert loan_efficiency(min_loan_window(share, 365), 365) == pytest.approx(share)


def week(spike: float = 250) -> tuple[np.ndarray, np.ndarray]:
    """Seven days in steps of 10 s: the curve as foreseen, and demand with noise and spikes."""
    t = np.arange(0, 7 * DAY, STEP)
    hours = (t / HOUR) % 24
    daily = 0.35 + 0.65 * 0.5 * (1 - np.cos(2 * np.pi * (hours - 3) / 24))
    foreseen = 1000 * np.where((t // DAY) % 7 >= 5, 0.35 + (daily - 0.35) * 0.35, daily)
    demand = foreseen * (1 + 0.01 * np.random.default_rng(0).standard_normal(len(t)))
    for day in range(7):
        for hour, height, length in ((1.9, spike, 1200), (15.2, min(120, spike), 900)):
            start = day * DAY + hour * HOUR
            inside = (t >= start) & (t < start + length)
            demand = demand + np.where(inside, height * np.minimum(1, (t - start) / 60), 0)
    return foreseen, demand


FORESEEN, DEMAND = week()
POOL = math.ceil(1.05 * DEMAND.max() / 64) * 64


def run(**changes):
    at = dict(
        demand=DEMAND,
        forecast=FORESEEN,
        pool=POOL,
        floor=400,
        headroom=270,
        reclaim=600,
        lead=900,
        chunk=64,
    )
    at.update(changes)
    if at["lead"] == 0:
        at["forecast"] = at["demand"]  # no forecast: react to what is there
    return simulate_pool(**at)


# The table of six designs: violation seconds, chip-hours lent and lost, reclaims, utilization.
WEEK = {
    "dedicated": (dict(floor=POOL, headroom=0, reclaim=0, lead=0), (0, 0, 0, 0, 0.509)),
    "shared, 600 s": (dict(floor=0, headroom=0, lead=0), (42_710, 90_436, 986, 152, 0.946)),
    "shared, 30 s": (
        dict(floor=0, headroom=0, reclaim=30, lead=0),
        (3_030, 90_439, 986, 152, 0.947),
    ),
    "forecast": (dict(floor=0, headroom=20), (13_140, 88_636, 870, 134, 0.937)),
    "half the headroom": (dict(headroom=135), (4_320, 70_547, 461, 71, 0.852)),
    "floor and headroom": (dict(), (0, 49_066, 304, 47, 0.748)),
}


@functools.cache
def simulated(design: str):
    return run(**WEEK[design][0])


@pytest.mark.parametrize("design", WEEK)
def test_the_simulated_week(design):
    violation, lent, lost, reclaims, utilization = WEEK[design][1]
    result = simulated(design)
    assert result.violation == violation and result.reclaims == reclaims
    assert result.lent / HOUR == pytest.approx(
        lent, abs=0.6
    ) and result.lost / HOUR == pytest.approx(lost, abs=0.6)
    assert result.utilization == pytest.approx(utilization, abs=5.1e-4)


def test_the_week_in_numbers():
    assert POOL == 1216 and DEMAND.mean() == pytest.approx(619.2, abs=0.05)
    assert pool_utilization(float(DEMAND.mean()), POOL) == pytest.approx(
        simulated("dedicated").utilization
    )


def test_chip_time_is_neither_made_nor_lost():
    for design, (changes, _) in WEEK.items():
        result = simulated(design)
        served = np.minimum(DEMAND, result.held).sum() * STEP
        assert served + result.short == pytest.approx(DEMAND.sum() * STEP)
        assert (result.held <= POOL).all() and result.held.min() >= min(
            changes.get("floor", 400), POOL
        )
        assert (
            result.lent <= (POOL - result.held).sum() * STEP + 1e-6
        )  # chips under reclaim train no more
        total = (served + result.lent - result.lost) / (POOL * STEP * len(DEMAND))
        assert result.utilization == pytest.approx(total)


def test_headroom_trades_utilization_for_violations():
    results = [run(floor=0, headroom=headroom) for headroom in (0, 20, 64, 128, 192, 256)]
    assert [r.violation for r in results] == [33_230, 13_140, 7_610, 4_290, 3_600, 0]
    assert all(np.diff([r.utilization for r in results]) < 0)


def test_violations_grow_with_the_reclaim_time():
    results = [
        run(floor=0, headroom=0, lead=0, reclaim=reclaim).violation
        for reclaim in (10, 60, 300, 900)
    ]
    assert results == [1_520, 5_120, 21_920, 63_300]


def test_a_smaller_spike_needs_less_headroom():
    foreseen, demand = week(spike=120)
    pool = math.ceil(1.05 * demand.max() / 64) * 64
    assert run(demand=demand, forecast=foreseen, pool=pool, headroom=140).violation == 0


def test_a_flat_demand_moves_nothing():
    result = simulate_pool(
        [100.0] * 50, [100.0] * 50, pool=200, floor=0, headroom=0, reclaim=60, lead=0, chunk=8
    )
    assert (result.violation, result.reclaims, result.lost) == (0, 0, 0)
    assert result.lent == 100 * 50 * 10 and result.utilization == 1


def test_a_reclaim_arrives_late_by_hand():
    # Demand doubles at step 3; four chunks of 2 arrive 2 steps (20 s) later.
    demand = [4.0] * 3 + [12.0] * 5
    result = simulate_pool(
        demand, demand, pool=16, floor=0, headroom=0, reclaim=20, lead=0, chunk=2
    )
    assert result.held.tolist() == [4, 4, 4, 4, 4, 12, 12, 12]
    assert (result.violation, result.short, result.reclaims, result.lost) == (20, 160, 1, 8 * 365)
    assert result.lent == 10 * (3 * 12 + 2 * 4 + 3 * 4)


def by_hand(demand: list[float], **changes):
    at = dict(pool=16, floor=0, headroom=0, reclaim=0, lead=0, chunk=2)
    return simulate_pool(demand, demand, **{**at, **changes})


def test_a_reclaim_takes_a_step_at_least_and_stops_at_the_pool():
    result = by_hand([4.0, 4.0, 13.0, 13.0], pool=15, chunk=4)
    assert result.held.tolist() == [4, 4, 4, 15]  # three chunks of 4 would be 16
    assert result.lost == 11 * 365


def test_reclaims_under_way_count_against_the_pool():
    result = by_hand([4.0, 10.0, 20.0, 20.0, 20.0, 20.0], pool=15, chunk=4, reclaim=30)
    assert result.held.tolist() == [4, 4, 4, 4, 12, 15]


def test_a_surplus_is_lent_when_it_exceeds_two_chunks():
    assert by_hand([10.0, 6.0, 6.0]).held.tolist() == [10, 10, 10]
    assert by_hand([10.0, 5.9, 5.9]).held.tolist() == [10, 6, 6]


def test_nothing_is_lent_while_a_reclaim_is_under_way():
    demand = [4.0, 8.0, 1.0, 1.0, 1.0]
    assert by_hand(demand, reclaim=30).held.tolist() == [4, 4, 4, 4, 2]


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(forecast=FORESEEN[:-1]), "60480 steps of demand, 60479 of forecast"),
        (dict(demand=[[1.0]]), "demand"),
        (dict(demand=[]), "demand"),
        (dict(demand=[float("nan")]), "demand"),
        (dict(pool=0), "pool"),
        (dict(chunk=0.5), "chunk"),
        (dict(reclaim=-1), "reclaim"),
    ],
)
def test_simulate_pool_refuses_by_name(changes, message):
    with pytest.raises(ValueError, match=message):
        run(**changes)
