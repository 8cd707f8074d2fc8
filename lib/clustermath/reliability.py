"""Failures and what they leave of a run: MTBF, goodput, slow ranks, disasters."""
from __future__ import annotations

import math
from statistics import NormalDist
from typing import Annotated, Any

from .checking import checked
from .formulas import formula
from .ops import exp, maximum
from .types import (Count, Dollars, Domain, Duration, Loss, Number, PartShare, PerSecond, Positive,
                    Price, Rate, Seconds, Share)

Spread = Annotated[float, Domain(high=10)]  # sigma of a lognormal; beyond it a mean says nothing
OpenShare = Annotated[float, Domain("%", low_open=True, high=1, high_open=True)]


@formula("M", elapsed="T", failures="n")
def observed_mtbf(elapsed: Seconds, failures: Count) -> Seconds:
    """Mean elapsed time between failures of a job, downtime included.

    Args:
        elapsed: wall clock observed.
        failures: in it.
    """
    return elapsed / failures


@formula("M", nodes="n", failure_rate="r")
def job_mtbf(nodes: Count, failure_rate: PerSecond) -> Seconds:
    """Mean time between failures of a job that stops when any of its nodes does.

    Args:
        nodes: of the job.
        failure_rate: of one node; 6.5 per 1,000 node-days is 6.5e-3 / DAY.
    """
    return 1 / (nodes * failure_rate)


@formula("p", window="w", mtbf="M")
def failure_probability(window: Seconds, mtbf: Duration) -> Loss:
    """The probability of a failure within a time, when failures come at random.

    Args:
        window: the time at risk.
        mtbf: mean time between failures.
    """
    return 1 - exp(-(window / mtbf))


@formula("f_r", unit="%", restart="R", mtbf="M")
def restart_share(restart: Seconds, mtbf: Duration) -> Number:
    """Share of the wall clock that restarts take: also start-ups, recompiles, replays.

    First order: no share once a restart takes as long as the MTBF.

    Args:
        restart: time from a failure to the next useful step, without the undone work.
        mtbf: mean elapsed time between failures of the job.
    """
    return restart / mtbf


@formula("t", elapsed="T", interruptions="n", goodput="g")
def interruption_budget(elapsed: Seconds, interruptions: Count, goodput: Share) -> Seconds:
    """What each interruption may cost, all in, at a given goodput.

    Args:
        elapsed: wall clock of the run.
        interruptions: in it, planned ones included.
        goodput: share of the wall clock that must train.
    """
    return (1 - goodput) * elapsed / interruptions


@formula("g", checkpoint="g_c", work="g_l", restart="g_r", planned="g_p", straggler="g_s")
def goodput_product(checkpoint: Share = 1, work: Share = 1, restart: Share = 1, planned: Share = 1,
                    straggler: Share = 1) -> Share:
    """Goodput as the product of what each cause leaves.

    Args:
        checkpoint: left by blocking saves, 1 - `checkpoint_share`.
        work: by undone work, 1 - `lost_work_share`.
        restart: by restarts, 1 - `restart_share`.
        planned: by planned interruptions.
        straggler: by slow ranks, 1 - `straggler_loss`.
    """
    return checkpoint * work * restart * planned * straggler


@formula("g", nodes="n", failure_rate="r", restart="R", interval=r"\tau", save="C",
         source="rsc-2024")
def ettr(nodes: Count, failure_rate: Rate, restart: Seconds, interval: Duration,
         save: Seconds) -> Loss:
    """Meta's estimate of the effective training time ratio; 0 where first order leaves nothing.

    Args:
        nodes, failure_rate: as in `job_mtbf`.
        restart: time from a failure to the next useful step, without the undone work.
        interval: between saves.
        save: time that a save blocks the step.
    Source: Kokolis et al. 2024.
    """
    return maximum(0, 1 - nodes * failure_rate * (restart + interval / 2)) / (1 + save / interval)


@formula("f_s", slowdown="s")
def straggler_loss(slowdown: Number) -> Loss:
    """Share of a fleet that one slow rank costs when all wait for it in every step.

    An upper bound: a rank that is slow where the others wait anyway costs less.

    Args:
        slowdown: extra time of its step, 0.1 for 10% slower.
    """
    return slowdown / (1 + slowdown)


@checked
def expected_max(n: Count, sigma: Spread = 0) -> float:
    """The mean of the largest of n draws.

    Args:
        n: draws.
        sigma: 0 for standard normal draws; else for lognormal ones of median 1, sigma of their
            logarithm.
    Returns: the mean, by quadrature to ten figures or more.
    """
    if n == 1:
        return math.exp(sigma * sigma / 2) if sigma else 0.0

    def density(x: float) -> float:
        """Of the largest of n normals: n times phi(x) times Phi(x) to the power n - 1."""
        below = math.log1p(-math.erfc(x / math.sqrt(2)) / 2)
        return n / math.sqrt(2 * math.pi) * math.exp(sigma * x - x * x / 2 + (n - 1) * below)

    step = 1 / 64  # the trapezoidal rule converges geometrically on a smooth bump
    top = math.sqrt(2 * math.log(n)) + sigma + 10
    xs = [-8 + i * step for i in range(math.ceil((top + 8) / step))]
    return step * math.fsum(density(x) * (1 if sigma else x) for x in xs)


@checked
def barrier_tax(sigma: Number, ranks: Count) -> float:
    """What a barrier adds to the mean step when the times of ranks spread normally.

    Args:
        sigma: standard deviation of a rank's time, of its mean.
        ranks: that wait for the slowest.
    Returns: the excess of the slowest over the mean, of the mean.
    """
    return sigma * expected_max(ranks)


def straggler_scores(times: Any) -> Any:
    """How far each rank is from the crowd, in robust standard deviations.

    Args:
        times: seconds before the barrier, an array of steps by ranks, or of one step. NaN where a
            rank did not report.
    Returns: for each rank its median over the steps, less the median of all ranks, over 1.4826
        times their median absolute deviation. When most ranks are equal to the bit, those that
        differ score infinity; a rank that never reported scores NaN.
    Raises: ValueError for fewer than three reporting ranks, or for times that are no times.
    """
    import numpy as np

    times = np.atleast_2d(np.asarray(times, dtype=float))
    if times.ndim != 2 or (times < 0).any() or np.isinf(times).any():
        raise ValueError("straggler_scores: times must be steps by ranks, finite and not negative")
    reports = ~np.isnan(times).all(axis=0)
    if reports.sum() < 3:
        raise ValueError(f"straggler_scores: {reports.sum()} ranks report; at least 3 must")
    scores = np.full(times.shape[1], np.nan)
    typical = np.nanmedian(times[:, reports], axis=0)
    off = typical - np.median(typical)
    spread = 1.4826 * np.median(np.abs(off))
    scores[reports] = off / spread if spread else np.where(off, np.copysign(np.inf, off), 0.0)
    return scores


@checked
def detection_steps(sigma: Number, delta: Positive, ranks: Count, false_alarm: OpenShare = 0.01,
                    power: OpenShare = 0.95) -> int:
    """Steps to average before a slow rank stands out from the noise.

    Args:
        sigma: noise of one step's time, of its mean.
        delta: how much slower the rank is, of the same mean.
        ranks: watched at once.
        false_alarm: probability that any healthy rank is flagged.
        power: probability that the slow one is.
    """
    normal = NormalDist()
    z = -normal.inv_cdf(false_alarm / ranks) + normal.inv_cdf(power)
    return max(1, math.ceil((max(z, 0) * sigma / delta) ** 2))


@formula("t", interval=r"\tau", write="w", transfer="x", phase=r"\varphi")
def rpo(interval: Duration, write: Seconds, transfer: Seconds, phase: Loss = 1) -> Seconds:
    """Recovery point: the age of the newest remote copy when the site is lost.

    Args:
        interval: between checkpoints.
        write: time of a save.
        transfer: time to send one to the other site. Above the interval only the newest is sent,
            back to back, and the result is a bound.
        phase: of the interval that has passed: 1 for the worst case, 1/2 for the mean.
    """
    return (2 * transfer + interval + write if transfer > interval
            else phase * interval + write + transfer)


@formula("t", detect="t_d", capacity="t_c", health="t_h", image="t_i", load="t_l", init="t_n",
         warmup="t_w", validate="t_v")
def recovery_time(detect: Seconds, capacity: Seconds, health: Seconds, image: Seconds,
                  load: Seconds, init: Seconds, warmup: Seconds, validate: Seconds) -> Seconds:
    """Recovery time: from the loss of a site to training at another, stage after stage.

    Args:
        detect: until someone declares it.
        capacity: until the chips are there.
        health: checks of the nodes.
        image: containers in place.
        load: the checkpoint read.
        init: communicators up.
        warmup: compiled and at speed.
        validate: loss compared on replayed steps.
    """
    return detect + capacity + health + image + load + init + warmup + validate


@formula("p'", probability="p", period="T", window="w")
def rescale_probability(probability: PartShare, period: Duration, window: Seconds) -> Loss:
    """A probability for one span of time, restated for another, at a constant rate.

    Args:
        probability: of at least one event in ``period``.
        period, window: spans in the same unit.
    """
    return 1 - (1 - probability) ** (window / period)


@formula("L", probability="p", time="t", value="V")
def expected_loss(probability: Loss, time: Seconds, value: Price) -> Dollars:
    """Expected cost of an outage.

    Args:
        probability: of the outage.
        time: that it costs.
        value: of that time, in dollars per second; $20,000 an hour is 20000/3600.
    """
    return probability * time * value
