"""Lending inference capacity to training: what is idle, what may be lent, how fast it is back."""
from __future__ import annotations

from typing import Annotated

from .formulas import formula
from .ops import INF, maximum, minimum, sqrt
from .types import Count, Domain, Duration, Loss, Number, PartShare, Rate, Seconds

Overload = Annotated[float, Domain(low=-1)]  # demand over capacity, less one


@formula("u", unit="%", demand="d", pool="C")
def pool_utilization(demand: Number, pool: Count) -> Number:
    """Share of a pool that its own demand keeps busy.

    Args:
        demand: mean chips in use.
        pool: chips.
    """
    return demand / pool


@formula("t_r", detect="t_d", boundary="t_b", save="t_s", teardown="t_t", health="t_h", load="t_l",
         warmup="t_w")
def reclaim_time(detect: Seconds, boundary: Seconds, save: Seconds, teardown: Seconds,
                 health: Seconds, load: Seconds, warmup: Seconds) -> Seconds:
    """From the wish to have lent chips back until they serve, stage after stage.

    Args:
        detect: until the need is seen and decided on.
        boundary: until the training step ends.
        save: of the training state.
        teardown: of the training job.
        health: checks of the chips.
        load: of the model's weights.
        warmup: of the serving engine.
    """
    return detect + boundary + save + teardown + health + load + warmup


@formula("t", slo="s", overload="x")
def slo_break_step(slo: Seconds, overload: Overload) -> Seconds:
    """When the queue's delay reaches a limit after demand has jumped above capacity.

    Args:
        slo: longest delay allowed.
        overload: demand over capacity, less one: 0.25 for a quarter too much. Without overload
            the result is infinite.
    """
    return slo / overload if overload > 0 else INF


@formula("t", slo="s", ramp=r"\rho", headroom="h")
def slo_break_ramp(slo: Seconds, ramp: Rate, headroom: Number = 0) -> Seconds:
    """When the queue's delay reaches a limit while demand ramps up.

    Args:
        slo: longest delay allowed.
        ramp: rise of demand per second, of capacity. Without a rise the result is infinite.
        headroom: capacity free at the start, of capacity.
    """
    return headroom / ramp + sqrt(2 * slo / ramp) if ramp > 0 else INF


@formula("h", ramp=r"\rho", reclaim="t_r", amplitude="A")
def headroom_needed(ramp: Rate, reclaim: Seconds, amplitude: Number) -> Number:
    """Capacity to keep warm so that a ramp nobody foresaw finds room until chips are back.

    Args:
        ramp: rise of demand per second, of the peak.
        reclaim: time to get lent chips back.
        amplitude: of the whole rise, of the peak; more is never needed.
    """
    return minimum(amplitude, ramp * reclaim)


@formula("B", unit="chips", pool="C", floor="F", forecast="f", headroom="H")
def borrowable(pool: Count, floor: Number, forecast: Number, headroom: Number) -> Number:
    """Chips that may be lent.

    Args:
        pool: chips.
        floor: chips that are never lent.
        forecast: demand expected when they could be back, in chips.
        headroom: chips kept above the forecast.
    """
    return maximum(0, pool - maximum(floor, forecast + headroom))


@formula(r"\eta", window="L", overhead="t_o")
def loan_efficiency(window: Duration, overhead: Seconds) -> Loss:
    """Share of a loan that trains; 0 when the loan is shorter than its overhead.

    Args:
        window: length of the loan.
        overhead: start and save of the training job, in it.
    """
    return maximum(0, 1 - overhead / window)


@formula("L", efficiency=r"\eta", overhead="t_o")
def min_loan_window(efficiency: PartShare, overhead: Seconds) -> Seconds:
    """The shortest loan of which a given share trains.

    Args:
        efficiency: that share, below 1.
        overhead: as in `loan_efficiency`.
    """
    return overhead / (1 - efficiency)
