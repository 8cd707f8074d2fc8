"""A shared pool through time: chips move between inference and training, late when reclaimed."""
from __future__ import annotations

import math
from typing import Any, NamedTuple

from .checking import check, checked
from .types import Count, Domain, Duration, Number, Seconds


class PoolResult(NamedTuple):
    """What a simulated pool did; chip times in chip-seconds.

    Attributes:
        violation: seconds in which demand exceeded the chips that served.
        short: chip-seconds of demand not served.
        lent: chip-seconds that training held.
        lost: those of them that reclaims cost, for saves and restarts.
        reclaims: how often chips were called back.
        utilization: share of the pool's time that served or trained.
        held: chips that inference held at each step, an array.
    """

    violation: float
    short: float
    lent: float
    lost: float
    reclaims: int
    utilization: float
    held: Any


def _series(name: str, values: Any) -> list[float]:
    import numpy as np

    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"simulate_pool: {name} must be one number a step")
    return check(f"simulate_pool: {name}", Domain(), array).tolist()


@checked
def simulate_pool(demand: Any, forecast: Any, pool: Count, floor: Number, headroom: Number,
                  reclaim: Seconds, lead: Seconds, chunk: Count = 64, step: Duration = 10,
                  overhead: Seconds = 365) -> PoolResult:
    """Run the floor-plus-borrow rule over a series of demand.

    At each step inference wants the largest of the floor, the forecast ``lead`` ahead plus the
    headroom, and the demand of the moment, up to the pool. What is missing is reclaimed in whole
    chunks and serves ``reclaim`` later; a surplus of more than two chunks is lent at once, unless
    a reclaim is under way.

    Args:
        demand: chips that inference needs, one number a step.
        forecast: the same as foreseen; pass ``demand`` with ``lead`` 0 to react only.
        pool: chips in all.
        floor: chips that are never lent.
        headroom: chips kept above the forecast.
        reclaim: time until a reclaimed chunk serves, at least one step.
        lead: how far ahead the forecast is read.
        chunk: chips that move together.
        step: seconds between two numbers of the series.
        overhead: training time that a reclaim costs each of its chips.
    Raises: ValueError when demand and forecast differ in length.
    """
    demand, forecast = _series("demand", demand), _series("forecast", forecast)
    if len(demand) != len(forecast):
        raise ValueError(f"simulate_pool: {len(demand)} steps of demand, {len(forecast)} of "
                         "forecast; pass one forecast a step")
    delay, ahead, last = max(1, int(reclaim / step)), int(lead / step), len(demand) - 1
    due = [0.0] * (len(demand) + delay)  # chips that come into service at each step
    held, pending = [], 0.0
    now = min(pool, max(floor, demand[0] + headroom))
    moved = reclaims = 0
    for i, needed in enumerate(demand):
        now += due[i]
        pending -= due[i]
        want = min(pool, max(floor, forecast[min(i + ahead, last)] + headroom, needed))
        gap = want - now - pending
        if gap > 1e-9:
            taken = min(math.ceil(gap / chunk) * chunk, pool - now - pending)
            due[i + delay] += taken
            pending += taken
            moved += taken
            reclaims += 1
        elif -gap > 2 * chunk and pending < 1e-9:
            now -= int(-gap // chunk) * chunk
        held.append((now, pending))
    return _result(demand, held, pool, step, moved * overhead, reclaims)


def _result(demand: list[float], held: list[tuple[float, float]], pool: float, step: float,
            lost: float, reclaims: int) -> PoolResult:
    import numpy as np

    need, (serving, pending) = np.array(demand), np.array(held).T
    missing = np.maximum(need - serving, 0)
    short = float(missing.sum()) * step
    lent = float(np.maximum(pool - serving - pending, 0).sum()) * step
    served = sum(demand) * step - short
    return PoolResult(violation=float((missing > 1e-9).sum()) * step, short=short, lent=lent,
                      lost=lost, reclaims=reclaims, held=serving,
                      utilization=(served + lent - lost) / (pool * step * len(demand)))
