"""Questions of chapter 25: goodput as a product, its budget, and the slow rank."""
from __future__ import annotations

from ... import (DAY, HOUR, MINUTE, checkpoint_share, detection_steps, ettr, goodput_product, interruption_budget,
                 job_mtbf, lost_work_share, observed_mtbf, restart_share, straggler_loss, straggler_scores)
from ...quantity import figures
from ..draws import Choice, Integer, LogUniform
from ..functions import holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

PER_NODE = 8
ALARM, POWER = 0.01, 0.95  # of a look at all ranks, in question 6
_FLEETS = (2_048, 4_096, 8_192, 16_384)


def _nodes(g: Givens) -> float:
    return g.gpus / PER_NODE


def _shares(g: Givens, lost: float = 1) -> tuple[float, ...]:
    """What saves, lost work, restarts and slow ranks leave; ``lost`` scales the work undone by a failure."""
    return (1 - checkpoint_share(g.save, g.interval), 1 - lost * lost_work_share(g.interval, g.mtbf),
            1 - restart_share(g.restart, g.mtbf), 1 - straggler_loss(g.slower))


def _product(shares: tuple[float, ...]) -> float:
    saves, work, restarts, *rest = shares
    return goodput_product(saves, work, restarts, straggler=rest[0] if rest else 1)


def _day_cost(g: Givens) -> float:
    return g.gpus * DAY * g.price


def _without_lost_work(g: Givens) -> float:
    return goodput_product(1 - checkpoint_share(g.save, g.interval),
                           restart=1 - restart_share(g.restart, g.node / _nodes(g)))


def _percent(share: float) -> str:
    return f"{figures(100 * share, 2)}%"


QUESTIONS = [
    Estimate(
        id="goodput.1",
        ask="In {elapsed} a job on {gpus} GPUs saw {unexpected} unexpected and {planned} planned interruptions. What "
            "is its mean time between failures, in hours?",
        givens={"elapsed": Choice(54 * DAY, (30 * DAY, 54 * DAY, 60 * DAY), "s"), "gpus": Choice(16_384, _FLEETS),
                "unexpected": Integer(419, 200, 480), "planned": Integer(47, 30, 60)},
        answer=lambda g: observed_mtbf(g.elapsed, g.unexpected), unit="hours", within=0.01,
        traps=(
            Trap("planned counted", lambda g: observed_mtbf(g.elapsed, g.unexpected + g.planned),
                 "That counts the planned stops too. They are interruptions, not failures."),
            Trap("planned only", lambda g: observed_mtbf(g.elapsed, g.planned), "That counts the planned stops alone."),
            Trap("one node", lambda g: observed_mtbf(g.elapsed, g.unexpected) * _nodes(g),
                 "That is the time between failures of one node of eight GPUs; the job stops when any fails."),
            Trap("one GPU", lambda g: observed_mtbf(g.elapsed, g.unexpected) * g.gpus,
                 "That is the time between failures of one GPU; the job stops when any fails."),
        ),
        hints=("Elapsed time over the number of failures.", "Which of the two counts are failures?"),
        next="What would it be on twice the fleet?"),
    Estimate(
        id="goodput.2",
        ask="One node of eight GPUs fails every {node} on average. How many hours pass between failures of a job on "
            "{gpus} GPUs?",
        givens={"node": Choice(264 * DAY, (154 * DAY, 200 * DAY, 264 * DAY, 427 * DAY), "s"),
                "gpus": Choice(8_192, _FLEETS)},
        answer=lambda g: job_mtbf(_nodes(g), 1 / g.node), unit="hours", within=0.01,
        traps=(
            Trap("GPUs for nodes", lambda g: job_mtbf(g.gpus, 1 / g.node),
                 "That divides by GPUs. The rate is that of a node, and a node has eight."),
            Trap("GPUs times eight", lambda g: job_mtbf(g.gpus * PER_NODE, 1 / g.node),
                 "The eight has gone the wrong way: there are fewer nodes than GPUs."),
        ),
        hints=("How many nodes are there?", "The job stops when any of them fails."),
        next="Jobs on few GPUs fail much more often than this says. Why?"),
    Estimate(
        id="goodput.3",
        ask="A run of {elapsed} is interrupted {count} times. How many minutes may each interruption cost, all in, "
            "if goodput is to be {goodput}?",
        givens={"elapsed": Choice(54 * DAY, (30 * DAY, 54 * DAY, 90 * DAY), "s"), "count": Integer(466, 250, 700),
                "goodput": Choice(0.9, (0.9, 0.93, 0.95, 0.97), "%")},
        answer=lambda g: interruption_budget(g.elapsed, g.count, g.goodput), unit="minutes", within=0.01,
        traps=(
            Trap("goodput for its loss", lambda g: interruption_budget(g.elapsed, g.count, 1 - g.goodput),
                 "That spends the goodput on interruptions. Only the rest may be lost."),
            Trap("whole time", lambda g: observed_mtbf(g.elapsed, g.count),
                 "That is the time between interruptions. Only a share of it may be lost."),
        ),
        hints=("How much time may be lost in all?", "Divide it among the interruptions."),
        next="What is in those minutes, and which of them would you attack first?"),
    Estimate(
        id="goodput.4",
        ask="A job fails every {mtbf}. Saves block for {save} and come {interval} after one another; a restart takes "
            "{restart}; waiting for the slowest rank lengthens each step by {slower}. What is the goodput?",
        givens={"mtbf": Choice(3 * HOUR, (3 * HOUR, 4 * HOUR), "s"), "save": Choice(65, (50, 65, 80), "s"),
                "interval": Choice(30 * MINUTE, (30 * MINUTE, 40 * MINUTE), "s"),
                "restart": Choice(10 * MINUTE, (8 * MINUTE, 10 * MINUTE), "s"),
                "slower": Choice(0.03, (0.03, 0.04), "%")},
        answer=lambda g: _product(_shares(g)), unit="%", within=0.01,
        traps=(
            Trap("slow ranks forgotten", lambda g: _product(_shares(g)[:3]),
                 "The steps were taken as they are. Waiting for the slowest rank is lost time too."),
            Trap("whole interval", lambda g: _product(_shares(g, lost=2)),
                 "That loses a whole interval at each failure. On average it is half."),
            Trap("no lost work", lambda g: _product((_shares(g)[0], 1, *_shares(g)[2:])),
                 "The work that a failure undoes is missing."),
            Trap("mean", lambda g: sum(_shares(g)) / 4,
                 "That is the mean of the factors. Each takes its share of what the others left: multiply."),
        ),
        hints=("Write down what each cause leaves.", "Half an interval is lost at each failure, on average.",
               "Multiply."),
        remark="Adding up the losses comes close while they are small, and overstates them.",
        next="Which of the four would you improve first, and by how much does it help?"),
    Estimate(
        id="goodput.5",
        ask="Meta's closed form: a job on {gpus} GPUs, eight a node; a node fails every {node}; a restart takes "
            "{restart}; saves block for {save} and come {interval} apart. Which share of the time trains?",
        givens={"gpus": Choice(4_096, (2_048, 4_096)), "node": Choice(154 * DAY, (154 * DAY, 264 * DAY), "s"),
                "restart": Choice(12 * MINUTE, (10 * MINUTE, 12 * MINUTE, 15 * MINUTE), "s"),
                "save": Choice(2 * MINUTE, (2 * MINUTE, 3 * MINUTE), "s"), "interval": Choice(HOUR, (HOUR,), "s")},
        answer=lambda g: _ettr(g), unit="%", within=0.01,
        traps=(
            Trap("whole interval", lambda g: _ettr(g, restart=g.restart + g.interval / 2),
                 "That loses a whole interval at each failure; half is the mean."),
            Trap("no lost work", _without_lost_work, "The work undone by failures is missing: half an interval each."),
            Trap("no saves", lambda g: _ettr(g, save=0), "The blocking saves are missing."),
        ),
        hints=("How many failures a day?", "Each costs the restart and half an interval.",
               "Divide by one plus the share of the saves."),
        next="What happens at four times the GPUs, and what would you change?"),
    Estimate(
        id="goodput.6",
        ask="One step's time spreads by {noise} on each of {ranks} ranks. One rank is {slower} slower. Over how many "
            "steps must you average to find it, with a false alarm over all ranks in {alarm} of the tries "
            "and the slow rank found in {power} of them?",
        givens={"noise": Choice(0.05, (0.02, 0.03, 0.05), "%"),
                "slower": Choice(0.03, (0.02, 0.03, 0.04), "%"),
                "ranks": Choice(16_384, (1_000, 4_096, 16_384))},
        facts={"alarm": lambda g: _percent(ALARM), "power": lambda g: _percent(POWER)},
        answer=lambda g: detection_steps(g.noise, g.slower, g.ranks, ALARM, POWER), unit="steps", whole=True,
        traps=(
            Trap("one rank", lambda g: detection_steps(g.noise, g.slower, 1, ALARM, POWER),
                 "That allows the false alarm for each rank. Over all of them it would be raised at every look: "
                 "divide it by the ranks."),
            Trap("half power", lambda g: detection_steps(g.noise, g.slower, g.ranks, ALARM, 0.5),
                 "That puts the slow rank exactly at the threshold, where half the tries miss it."),
        ),
        hints=("The false alarm is shared among the ranks: what is the threshold in standard deviations?",
               "Add the distance that makes a miss rare.",
               "Averaging divides the noise by the root of the steps. Round up."),
        next="Which noise does not average out?"),
    Estimate(
        id="goodput.7",
        ask="One rank of a fleet of {gpus} GPUs at {price} is {slower} slower, and all wait for it in every step. "
            "What does it cost in a day, at most?",
        givens={"gpus": Choice(16_384, _FLEETS),
                "price": LogUniform(2.5 / 3600, 1.5 / 3600, 4 / 3600, "$/s"),
                "slower": Choice(0.1, (0.05, 0.08, 0.1, 0.2), "%")},
        answer=lambda g: _day_cost(g) * straggler_loss(g.slower), unit="$", within=0.01,
        traps=(
            Trap("share of the healthy step", lambda g: _day_cost(g) * g.slower,
                 "That is a share of the healthy step. The fleet pays for the longer one, so divide by it."),
            Trap("one GPU", lambda g: _day_cost(g) * straggler_loss(g.slower) / g.gpus,
                 "That is the slow GPU's own loss. All the others wait for it."),
            Trap("an hour", lambda g: _day_cost(g) * straggler_loss(g.slower) / 24,
                 "That is an hour's cost. A day was asked for."),
        ),
        hints=("How much longer is each step, and what share of the longer step is waste?",
               "The whole fleet is billed for it."),
        next="When does a slow rank cost less than this?"),
    Implement(
        id="goodput.8",
        ask="Score each rank: its median over the steps, less the median of all ranks, over their median absolute "
            "deviation scaled to a standard deviation. Ranks that never reported score NaN and do not count; when "
            "the deviation is zero, ranks that differ score infinity. Fewer than three reporting ranks raise "
            "`ValueError`. Give NaN scores as `None`, in a list.",
        stub='''
def my_straggler_scores(times):
    """A score for each rank, from seconds before the barrier: steps by ranks, NaN where a rank did not report."""
    return ...
''',
        cases=(
            holds("it agrees with the chapter's scores on noisy times", lambda f: _agrees(f, _noisy())),
            holds("a slow rank stands far above the others", lambda f: _above(f, _noisy(slow=(5,)), (5,))),
            holds("two slow ranks do not hide each other", lambda f: _above(f, _noisy(slow=(5, 20)), (5, 20))),
            holds("a whole slow node of eight is seen", lambda f: _above(f, _noisy(slow=range(8)), range(8))),
            holds("one hiccup in one step changes little", lambda f: max(_list(f, _hiccup())) < 6),
            holds("a rank that never reported scores None, the others as without it", lambda f: _dead(f)),
            holds("a rank that missed a few steps is scored by the rest", lambda f: _agrees(f, _gaps())),
            holds("equal ranks score zero, and one that differs infinity",
                  lambda f: _list(f, [[1.0, 1.0, 1.0, 2.0]] * 3) == [0, 0, 0, float("inf")]),
            holds("times in milliseconds give the same scores",
                  lambda f: _close(_list(f, _noisy() * 1000), _list(f, _noisy()))),
            refuses("two ranks are too few", [[1.0, 1.1], [1.0, 1.2]], error=ValueError),
        ),
        hints=("`np.nanmedian(times, axis=0)` over the ranks that reported at all.",
               "The scale is `1.4826` times the median of the absolute deviations."),
        solution='''
import numpy as np

def my_straggler_scores(times):
    """A score for each rank, from seconds before the barrier: steps by ranks, NaN where a rank did not report."""
    times = np.asarray(times, dtype=float)
    reports = ~np.isnan(times).all(axis=0)
    if reports.sum() < 3:
        raise ValueError(f"{reports.sum()} ranks report; at least 3 must")
    typical = np.nanmedian(times[:, reports], axis=0)
    off = typical - np.median(typical)
    spread = 1.4826 * np.median(np.abs(off))
    scored = iter(off / spread if spread else np.where(off, np.copysign(np.inf, off), 0.0))
    return [float(next(scored)) if reported else None for reported in reports]
''',
        next="Which ranks may be compared with each other, and which not?"),
    Rubric(
        id="goodput.9",
        ask="Over a week the MFU of a run drifts from {before} to {after}. Forward, backward and optimizer take as "
            "long as before on every rank. What do you suspect, and how do you find out?",
        givens={"before": Choice(0.41, (0.41,), "%"), "after": Choice(0.38, (0.38,), "%")},
        facts={"longer": lambda g: _percent(g.before / g.after - 1)},
        points=((1, "The arithmetic has not slowed, so the time is in the collectives or in waiting for them."),
                (2, "It tells a late start from a slow link: compare when ranks arrive at a collective, not how long "
                    "they spend in it."),
                (1, "It suspects what grows on the host with time: garbage collection, logging, a leak, uneven data."),
                (1, "It tests the suspicion by a change and says what would refute it.")),
        model="A step is {longer} longer and compute is not, so ranks wait more. I would look at their arrival times "
              "at the first collective: if they spread, some rank starts late, and which one it is changes from step "
              "to step when the cause is garbage collection or logging. If they arrive together and the collective "
              "itself is longer, it is the network, and I read the link counters. For the first I would collect "
              "garbage on all ranks at the same step and see whether the drift stops.",
        hints=("What is left of a step when compute is as before?",
               "A collective is long when it is slow, and also when someone is late."),
        next="Why does the mean of each part not show it?"),
]


def _ettr(g: Givens, restart: float | None = None, save: float | None = None) -> float:
    return ettr(_nodes(g), 1 / g.node, g.restart if restart is None else restart, g.interval,
                g.save if save is None else save)


def _noisy(slow=()):
    import numpy as np

    rng = np.random.default_rng(1)
    times = 1 + 0.01 * rng.standard_normal((30, 64))
    times[:, list(slow)] *= 1.1
    return times


def _hiccup():
    times = _noisy()
    times[3, 7] = 9.0
    return times


def _gaps():
    import numpy as np

    times = _noisy()
    times[:5, 9] = np.nan
    return times


def _list(function, times) -> list:
    import numpy as np

    return [None if score is None else float(score) for score in function(np.asarray(times, dtype=float))]


def _close(found: list, wanted) -> bool:
    import numpy as np

    return len(found) == len(wanted) and None not in found and np.allclose(found, wanted, rtol=1e-6, atol=1e-9)


def _agrees(function, times) -> bool:
    return _close(_list(function, times), straggler_scores(times))


def _above(function, times, slow) -> bool:
    scores = _list(function, times)
    return None not in scores and min(scores[i] for i in slow) > 6 > max(
        s for i, s in enumerate(scores) if i not in set(slow))


def _dead(function) -> bool:
    import numpy as np

    times = _noisy()
    times[:, 4] = np.nan
    scores = _list(function, times)
    return scores.pop(4) is None and _close(scores, straggler_scores(np.delete(times, 4, axis=1)))
