"""Questions of chapter 20: what checkpoints cost, and how often to make them."""
from __future__ import annotations

from ... import (HOUR, MINUTE, checkpoint_loss, checkpoint_share, failures, lost_work_share, model_bytes, observed_mtbf,
                 renewal_goodput, restart_share, save_bandwidth, transfer_time, young_interval)
from ...quantity import figures
from ..draws import Choice, LogUniform
from ..functions import gives, holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

LLAMA = failures["Llama 3 405B"]
MTBF = observed_mtbf(LLAMA.elapsed, LLAMA.unexpected)


def _size(g: Givens, size: float | None = None) -> float:
    return model_bytes(g.params, g.size if size is None else size)


def _save(g: Givens, size: float | None = None, width: float = 1) -> float:
    return transfer_time(_size(g, size), g.bandwidth * width)


def _percent(share: float, digits: int = 3) -> str:
    return f"{figures(100 * share, digits)}%"


_WEIGHTS = "That is the weights alone, two bytes each. Optimizer state is most of a checkpoint."
_BITS = "Bits have been taken for bytes: the bandwidth is in bytes per second."

QUESTIONS = [
    Estimate(
        id="checkpoint-cadence.1",
        ask="A model of {params} parameters is saved with {size} per parameter. How large is the checkpoint?",
        givens={"params": LogUniform(70.6e9, 5e9, 1e12), "size": Choice(16, (12, 14, 16), "B")},
        answer=_size, unit="TB",
        traps=(
            Trap("weights only", lambda g: _size(g, 2), _WEIGHTS),
            Trap("weights and gradients", lambda g: _size(g, 4), "That is weights and gradients; the optimizer state is missing."),
            Trap("optimizer only", lambda g: _size(g, g.size - 4), "The optimizer state alone is not the whole of it."),
        ),
        hints=("Parameters times bytes each.",),
        next="Which of those bytes could be left out, and what would it cost at loading?"),
    Estimate(
        id="checkpoint-cadence.2",
        ask="A checkpoint of {params} parameters at {size} per parameter goes to a filesystem of {bandwidth}. Training waits for it. With "
            "{interval} from the end of one save to the start of the next, which share of the run do the writes take?",
        givens={"params": LogUniform(405e9, 100e9, 1e12), "size": Choice(12, (12, 14, 16), "B"),
                "bandwidth": Choice(100e9, (50e9, 100e9, 200e9), "B/s"), "interval": Choice(30 * MINUTE, (10 * MINUTE, 20 * MINUTE, 30 * MINUTE), "s")},
        answer=lambda g: checkpoint_share(_save(g), g.interval), unit="%",
        traps=(
            Trap("weights only", lambda g: checkpoint_share(_save(g, 2), g.interval), _WEIGHTS),
            Trap("bits", lambda g: checkpoint_share(_save(g, width=1 / 8), g.interval), _BITS),
            Trap("lost work added", lambda g: checkpoint_loss(_save(g), g.interval, MTBF),
                 "That adds the work that failures undo. It belongs in the total; the writes alone are asked for."),
        ),
        hints=("How long does one write take?", "A cycle is the interval and the write."),
        remark="Over the interval alone the share comes out a little larger. Say which one you mean.",
        next="And what do failures cost at this cadence?"),
    Estimate(
        id="checkpoint-cadence.3",
        ask="A job fails every {mtbf} on average and saves every {interval}. Which share of its time goes into doing lost work again?",
        givens={"mtbf": Choice(3 * HOUR, (3 * HOUR, 4 * HOUR, 6 * HOUR, 8 * HOUR, 12 * HOUR), "s"),
                "interval": Choice(30 * MINUTE, (15 * MINUTE, 20 * MINUTE, 30 * MINUTE, 45 * MINUTE), "s")},
        answer=lambda g: lost_work_share(g.interval, g.mtbf), unit="%",
        traps=(
            Trap("whole interval", lambda g: 2 * lost_work_share(g.interval, g.mtbf),
                 "That loses the whole interval each time. A failure comes halfway through, on average."),
            Trap("quarter", lambda g: lost_work_share(g.interval, g.mtbf) / 2, "The half has been taken twice."),
        ),
        hints=("Where in an interval does a failure fall, on average?", "Loss per failure over time between failures."),
        next="What changes when the fleet doubles?"),
    Estimate(
        id="checkpoint-cadence.4",
        ask="A blocking save of {params} parameters at {size} per parameter goes to {bandwidth}; the job fails every {mtbf}. "
            "How many minutes apart should the saves be?",
        givens={"params": LogUniform(175e9, 50e9, 500e9), "size": Choice(12, (12, 14, 16), "B"),
                "bandwidth": Choice(61.6e9, (40e9, 61.6e9, 100e9), "B/s"), "mtbf": Choice(12 * HOUR, (3 * HOUR, 6 * HOUR, 12 * HOUR), "s")},
        answer=lambda g: young_interval(_save(g), g.mtbf), unit="minutes", within=0.03,
        traps=(
            Trap("no factor two", lambda g: young_interval(_save(g), g.mtbf / 2), "The two under the root is missing: half an interval is lost, not a whole one."),
            Trap("geometric mean of twice two", lambda g: young_interval(2 * _save(g), g.mtbf), "That has one two too many under the root."),
            Trap("weights only", lambda g: young_interval(_save(g, 2), g.mtbf), _WEIGHTS),
            Trap("bits", lambda g: young_interval(_save(g, width=1 / 8), g.mtbf), _BITS),
        ),
        hints=("Balance the writes against the lost work.", "Young: the root of twice the save time times the MTBF."),
        next="What is the loss at that interval, and how does it change when a save becomes much shorter?"),
    Estimate(
        id="checkpoint-cadence.5",
        ask="Checkpoints of {size} are written in the background, one every {interval}. How much bandwidth must the filesystem give, at least?",
        givens={"size": LogUniform(6.48e12, 1e12, 2e13, "B"), "interval": Choice(10 * MINUTE, (5 * MINUTE, 10 * MINUTE, 20 * MINUTE, 30 * MINUTE), "s")},
        answer=lambda g: g.size / g.interval, unit="GB/s",
        traps=(
            Trap("one minute", lambda g: transfer_time(g.size, MINUTE), "That writes it within a minute. In the background it has the whole interval."),
            Trap("three percent of the time", lambda g: save_bandwidth(g.size, g.interval, 0.03),
                 "That keeps a blocking write short. A background write blocks nothing; it must only be done in time."),
        ),
        hints=("When must a write be done?",),
        next="What happens when it is not done in time?"),
    Implement(
        id="checkpoint-cadence.6",
        ask="Write Young's interval and raise `ValueError` for what cannot be: negative save times, an MTBF of zero or less, numbers that are not numbers.",
        stub='def my_young_interval(save, mtbf):\n    """Seconds between saves that lose the least time."""\n    return ...',
        cases=(
            gives("it is the root of twice the product", young_interval, 64.8, 11135),
            holds("a free save can be made all the time", lambda f: f(0, 10_000) == 0),
            holds("a hundred times shorter a save, ten times shorter an interval", lambda f: abs(f(60, 1e4) / f(0.6, 1e4) / 10 - 1) < 1e-9),
            holds("an array of save times gives an array", lambda f: _array_like(f)),
            holds("its loss is within a hundredth of the best", lambda f: _near_best(f)),
            refuses("a negative save time is refused", -1, 10_000, error=ValueError),
            refuses("an MTBF of zero is refused", 60, 0, error=ValueError),
            refuses("NaN is refused", float("nan"), 10_000, error=ValueError),
        ),
        hints=("`(2 * save * mtbf) ** 0.5` also works on arrays.", "Comparisons with NaN are false: write the check so that false means refused."),
        solution='''
import numpy as np

def my_young_interval(save, mtbf):
    """Seconds between saves that lose the least time."""
    if not (np.all(np.asarray(save) >= 0) and np.all(np.asarray(mtbf) > 0)):
        raise ValueError(f"save must be at least 0 and mtbf above 0, got {save!r} and {mtbf!r}")
    return (2 * save * mtbf) ** 0.5
''',
        next="When does the formula stop being true?"),
    Rubric(
        id="checkpoint-cadence.7",
        ask="A colleague says: we save every {interval}, the writes cost {share}, that is fine. The job fails every {mtbf}. What do you answer?",
        givens={"interval": Choice(30 * MINUTE, (30 * MINUTE,), "s")},
        facts={"share": lambda g: _percent(checkpoint_share(_save405(), g.interval), 2), "mtbf": lambda g: f"{figures(MTBF / HOUR, 2)} hours",
               "lost": lambda g: _percent(lost_work_share(g.interval, MTBF), 2), "restart": lambda g: _percent(restart_share(600, MTBF), 2),
               "best": lambda g: f"{figures(young_interval(_save405(), MTBF) / MINUTE, 2)} minutes",
               "best_async": lambda g: f"{figures(young_interval(0.59, MTBF) / MINUTE, 2)} minutes",
               "goodput": lambda g: _percent(renewal_goodput(g.interval, _save405(), MTBF, 600), 2)},
        points=((2, "It adds the work that failures undo, {lost}."),
                (1, "It asks whether the writes block."),
                (1, "It gives a better interval, for blocking and for asynchronous saves."),
                (1, "It says what bounds the run next: the restart, {restart}.")),
        model="The writes are the smaller half. At that cadence failures undo {lost}, and restarts take {restart}: goodput is about {goodput}. "
              "With blocking writes {best} would be best and helps little. Stop only for the copy to host memory, save every {best_async}, and the "
              "restart is what remains.",
        hints=("What happens at a failure?", "Which of the losses does a cheaper save reduce?"),
        next="What would you do about the restart?"),
]


def _save405() -> float:
    return transfer_time(model_bytes(405e9, 16), 100e9)


def _array_like(function) -> bool:
    import numpy as np

    saves = np.array([1.0, 10.0, 100.0])
    return np.allclose(function(saves, 10_000), young_interval(saves, 10_000), rtol=1e-9)


def _near_best(function) -> bool:
    best = min(checkpoint_loss(60, tau, 20_000) for tau in range(600, 4000, 5))
    return checkpoint_loss(60, function(60, 20_000), 20_000) < best * 1.01
