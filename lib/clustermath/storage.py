"""What storage delivers and costs: requests in flight, capacity against bandwidth, tiers."""
from __future__ import annotations

from typing import Annotated, Mapping, NamedTuple, Sequence

from .checking import check, checked
from .formulas import formula
from .ops import ceil, maximum, minimum
from .types import (Bandwidth, Bytes, Count, Domain, Duration, Number, PartShare, PerSecond, Rate,
                    Seconds, Share, Size)

Traffic = Annotated[float, Domain("B/s")]  # bandwidth asked for; none is a case of its own
BYTE_PRICE = Domain("$/(B s)")


@formula("t", size="S", bandwidth="W")
def transfer_time(size: Bytes, bandwidth: Bandwidth) -> Seconds:
    """Time to move bytes at a bandwidth: a save, a snapshot, a replica.

    Args:
        size: bytes.
        bandwidth: of the slowest thing on the way.
    """
    return size / bandwidth


@formula("R", size="S", latency="L", bandwidth="B")
def request_time(size: Bytes, latency: Seconds, bandwidth: Bandwidth) -> Seconds:
    """How long one request occupies its connection.

    Args:
        size: bytes asked for.
        latency: time to the first byte.
        bandwidth: of one connection.
    """
    return latency + size / bandwidth


@formula("e", size="S", latency="L", bandwidth="B")
def request_efficiency(size: Size, latency: Seconds, bandwidth: Bandwidth) -> Share:
    """The share of a request during which bytes flow.

    Args:
        size, latency, bandwidth: as in `request_time`.
    """
    return size / (size + latency * bandwidth)


@formula("S_e", efficiency="e", latency="L", bandwidth="B")
def request_size(efficiency: PartShare, latency: Seconds, bandwidth: Bandwidth) -> Bytes:
    """The request size at which a connection is busy for a given share of its time.

    Args:
        efficiency: that share, below 1.
        latency, bandwidth: as in `request_time`.
    """
    return latency * bandwidth * efficiency / (1 - efficiency)


@formula("N", unit="requests", rate=r"\lambda", time="R", source="little-1961")
def in_flight(rate: Rate, time: Seconds) -> Number:
    """Little's law: requests under way at once.

    Args:
        rate: requests started per second, on average.
        time: how long each one stays, on average.
    Source: Little 1961.
    """
    return rate * time


@formula("N", unit="connections", target="W", size="S", latency="L", bandwidth="B")
def connections_needed(target: Bandwidth, size: Size, latency: Seconds,
                       bandwidth: Bandwidth) -> Number:
    """Requests in flight that deliver a bandwidth, before rounding up.

    Args:
        target: bytes per second wanted.
        size, latency, bandwidth: as in `request_time`.
    """
    return target / size * request_time(size, latency, bandwidth)


@formula("X", connections="N", size="S", latency="L", bandwidth="B", nic="W")
def request_throughput(connections: Count, size: Size, latency: Seconds, bandwidth: Bandwidth,
                       nic: Bandwidth) -> Bandwidth:
    """Bytes per second of a number of requests in flight, up to the network card.

    Args:
        connections: requests in flight.
        size, latency, bandwidth: as in `request_time`.
        nic: bandwidth of the network card.
    """
    return minimum(nic, connections * size / request_time(size, latency, bandwidth))


@formula("p", unit="prefixes", rate=r"\lambda", limit=r"\lambda_p", source="aws-s3-performance")
def prefixes(rate: Rate, limit: PerSecond = 5500) -> Number:
    """Key prefixes over which requests must be spread.

    Args:
        rate: requests per second.
        limit: requests per second that one prefix serves.
    Source: Amazon S3 performance guidance.
    """
    return ceil(rate / limit)


@formula("C", dataset="D", checkpoint="S", kept="k")
def storage_bytes(dataset: Bytes, checkpoint: Bytes, kept: Count) -> Bytes:
    """Bytes that a run keeps: its data and its checkpoints.

    Args:
        dataset: bytes of the data set.
        checkpoint: bytes of one checkpoint.
        kept: checkpoints held at a time.
    """
    return dataset + kept * checkpoint


@formula("k", unit="times", size="S", window="w", read="W")
def burst_ratio(size: Bytes, window: Duration, read: Bandwidth) -> Number:
    """How many times the steady read a burst of writes asks for.

    Args:
        size: bytes of the burst, a checkpoint.
        window: time in which it must be written.
        read: steady bandwidth of the token stream.
    """
    return size / window / read


class DevicesNeeded(NamedTuple):
    """Devices for the bytes and devices for the bandwidth, before rounding up."""

    by_capacity: float
    by_bandwidth: float

    @property
    def needed(self) -> int:
        """Devices to buy."""
        return ceil(max(self))

    @property
    def binding(self) -> str:
        """What decides: ``"capacity"`` (in a tie too) or ``"bandwidth"``."""
        return "capacity" if self.by_capacity >= self.by_bandwidth else "bandwidth"


@checked
def devices_needed(capacity: Bytes, bandwidth: Traffic, device: Size,
                   device_bandwidth: Bandwidth) -> DevicesNeeded:
    """Drives, or servers, that hold the bytes and that carry the bandwidth.

    Args:
        capacity: bytes to hold.
        bandwidth: bytes per second to carry; 0 when only the capacity matters.
        device, device_bandwidth: bytes and bytes per second of one device.
    """
    return DevicesNeeded(capacity / device, bandwidth / device_bandwidth)


@formula("C'", capacity="C", bandwidth="W", density="d")
def fs_size(capacity: Bytes, bandwidth: Traffic, density: PerSecond) -> Bytes:
    """Bytes to buy of a filesystem that sells its bandwidth by the byte.

    Args:
        capacity: bytes to hold.
        bandwidth: bytes per second to carry.
        density: bytes per second that come with each byte; 125 MB/s per TiB is 125e6 / 2**40.
    """
    return maximum(capacity, bandwidth / density)


class ClassChoice(NamedTuple):
    """Dollars per second, the name of the class, and the bytes to buy of it."""

    cost: float
    name: str
    size: float


@checked
def cheapest_class(capacity: Bytes, bandwidth: Traffic,
                   classes: Mapping[str, tuple[float, float]]) -> ClassChoice:
    """The class of a filesystem that meets capacity and bandwidth for the least money.

    Args:
        capacity, bandwidth: as in `fs_size`.
        classes: by name, the price in dollars per byte-second ($145 per TB-month is
            145 / TB / MONTH) and the density of `fs_size`.
    Returns: the `ClassChoice`; of equals the one listed first.
    Raises: ValueError without classes, or for a price or density outside its domain.
    """
    if not classes:
        raise ValueError("cheapest_class: no classes; pass {name: (price, density)}")
    choices = []
    for name, (price, density) in classes.items():
        price = check(f"cheapest_class: price of {name}", BYTE_PRICE, price)
        size = fs_size(capacity, bandwidth, density)
        choices.append(ClassChoice(price * size, name, size))
    return min(choices, key=lambda choice: choice.cost)


def tiered_cost(sizes: Sequence[float], prices: Sequence[float]) -> float:
    """Dollars per second of bytes that lie on several tiers.

    Args:
        sizes: bytes on each tier.
        prices: of each tier, in dollars per byte-second.
    Raises: ValueError when the two differ in length, or for a negative size or price.
    """
    if len(sizes) != len(prices):
        raise ValueError(f"tiered_cost: {len(sizes)} sizes and {len(prices)} prices; "
                         "pass one price a tier")
    sizes = [check("tiered_cost: size", Domain("B"), size) for size in sizes]
    prices = [check("tiered_cost: price", BYTE_PRICE, price) for price in prices]
    return sum(size * price for size, price in zip(sizes, prices))
