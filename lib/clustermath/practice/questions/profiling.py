"""Questions of chapter 24: utilization, and one timeline read in a fixed order."""
from __future__ import annotations

import random

from ... import adam_time, chips, exposed_time, ring_time, speedup, training_flops, training_time, unaccounted_time
from ...quantity import figures
from ..draws import Choice, LogUniform
from ..functions import gives, holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

H100 = chips["H100 SXM"]


def _ideal(g: Givens, peak: float = H100.bf16_flops, factor: float = 6, gpus: float = 1) -> float:
    """Seconds that the step would take at the peak."""
    return training_time(training_flops(g.params, g.batch, factor), g.gpus * gpus, peak, 1)


def _ratio(g: Givens, peak: float = H100.bf16_flops, factor: float = 6, gpus: float = 1) -> float | None:
    """None where the mistake gives more than the peak and shows itself."""
    share = _ideal(g, peak, factor, gpus) / g.step
    return share if share <= 1 else None


def _percent(share: float) -> str:
    return f"{figures(100 * share, 2)}%"


_FORWARD = "That counts the forward pass alone. Training takes 6ND."
_SPARSE = "The peak is the figure with sparsity, twice the dense one."

QUESTIONS = [
    Estimate(
        id="profiling.1",
        ask="{params} parameters on {gpus} H100s: a step of {batch} tokens takes {step}. Which MFU is that, without attention?",
        givens={"params": Choice(70.6e9, (65e9, 70.6e9, 80e9)), "gpus": Choice(2048, (1920, 2048)),
                "batch": Choice(2**22, (2**22, 3_932_160), "tokens"), "step": Choice(2.0, (1.8, 2.0, 2.2, 2.5), "s")},
        answer=_ratio, unit="%", within=0.01,
        traps=(
            Trap("forward only", lambda g: _ratio(g, factor=2), _FORWARD),
            Trap("recompute counted", lambda g: _ratio(g, factor=8), "Eight per parameter and token counts recomputation: that is HFU."),
            Trap("sparse peak", lambda g: _ratio(g, H100.bf16_sparse), _SPARSE),
        ),
        hints=("How long would the step take at the dense peak of all GPUs?", "MFU is that time over the measured one."),
        next="How much of the step is unaccounted for against your target?"),
    Estimate(
        id="profiling.2",
        ask="A model of {params} parameters on {gpus} H100s takes {step} for a step of {batch} tokens. Compared with an MFU of {target}, "
            "how much time of the step is unaccounted for?",
        givens={"params": Choice(405e9, (405e9, 430e9)), "gpus": Choice(16384, (16384,)), "batch": Choice(2**24, (2**24,), "tokens"),
                "step": Choice(6.221, (6.221, 6.6, 7.0, 7.5), "s"), "target": Choice(0.5, (0.5, 0.48, 0.52), "%")},
        answer=lambda g: unaccounted_time(g.step, _ideal(g), g.target), unit="s",
        traps=(
            Trap("against the peak", lambda g: unaccounted_time(g.step, _ideal(g), 1), "That compares with the peak itself. The target divides the ideal time."),
            Trap("target multiplied", lambda g: g.step - _ideal(g) * g.target, "The ideal time has been multiplied by the target. At a lower utilization a step takes longer."),
            Trap("points of the step", lambda g: g.step * (g.target - _ideal(g) / g.step),
                 "Points of MFU are no share of the step: time is the reciprocal of utilization."),
        ),
        hints=("What would the step take at the target?",),
        next="What would you open next, and what would you look for first?"),
    Estimate(
        id="profiling.3",
        ask="A step takes {step}; a trace shows {saved} in which the GPU waits for the data loader. By which factor does training speed up when that is gone?",
        givens={"step": Choice(1.5, (1.5, 1.6), "s"), "saved": Choice(0.4, (0.4, 0.5, 0.6), "s")},
        answer=lambda g: speedup(g.step, g.saved), unit="", within=0.005,
        traps=(
            Trap("one plus the share", lambda g: 1 + g.saved / g.step, "That divides by the old step. The speedup is the old step over the new one."),
            Trap("inverted", lambda g: 1 - g.saved / g.step, "That is the new step over the old one: turn it over."),
            Trap("counted twice", lambda g: g.step / (g.step - 2 * g.saved), "The wait has been taken out twice."),
        ),
        hints=("Old step over new step.",),
        next="What does that do to the MFU?"),
    Estimate(
        id="profiling.4",
        ask="A job on {gpus} GPUs with {params} parameters sums bf16 gradients with a ring all-reduce at {bus} of bus bandwidth, all of it after the backward pass. "
            "How long is the exposed communication?",
        givens={"gpus": Choice(8, (8, 16)), "params": LogUniform(13e9, 2e9, 30e9), "bus": Choice(482.3e9, (362.9e9, 482.3e9), "B/s")},
        answer=lambda g: ring_time(2 * g.params, g.gpus, g.bus), unit="ms",
        traps=(
            Trap("one leg", lambda g: ring_time(2 * g.params, g.gpus, g.bus, 1), "That is a reduce-scatter. An all-reduce passes the buffer twice."),
            Trap("fp32", lambda g: ring_time(4 * g.params, g.gpus, g.bus), "That takes four bytes for a gradient. In bf16 it has two."),
            Trap("no ring", lambda g: 2 * g.params / g.bus, "That sends the buffer once. A rank of a ring sends almost two buffers."),
            Trap("three passes", lambda g: ring_time(2 * g.params, g.gpus, g.bus, 3), "Three passes are those of fully sharded weights."),
        ),
        hints=("Two legs, each of `(n - 1)/n` of the buffer.", "Two bytes per gradient."),
        next="How much of it could be hidden, and what could not?"),
    Estimate(
        id="profiling.5",
        ask="The optimizer state of {params} parameters is sharded over {gpus} H100s ({memory} each). Adam moves {size} per parameter. "
            "How long does the update take at least?",
        givens={"params": LogUniform(7e9, 5e9, 70e9), "gpus": Choice(64, (16, 32, 64)), "size": Choice(30, (30,), "B")},
        facts={"memory": lambda g: f"{figures(H100.hbm_bandwidth / 1e12)} TB/s"},
        answer=lambda g: adam_time(g.params, g.gpus, H100.hbm_bandwidth, g.size), unit="ms",
        traps=(
            Trap("not sharded", lambda g: adam_time(g.params, 1, H100.hbm_bandwidth, g.size), "That updates everything on each GPU; the state is sharded."),
            Trap("weights only", lambda g: adam_time(g.params, g.gpus, H100.hbm_bandwidth, 2), "That moves the bf16 weights alone."),
            Trap("read only", lambda g: adam_time(g.params, g.gpus, H100.hbm_bandwidth, 16), "That is what is read; writing is missing."),
        ),
        hints=("Bytes of the shard over the memory bandwidth.",),
        remark="A measured update that is many times longer is bound by launches, since the memory is idle most of the time.",
        next="The trace shows many times that. What do you look at?"),
    Estimate(
        id="profiling.6",
        ask="In a step of {step}, kernels other than the optimizer's compute for {compute}. The GPU is idle for {idle}, and the optimizer, gaps included, takes {optimizer}; "
            "the idle time is outside it. Everything else is communication that nothing hides. Collectives run for {comm} in all. How long are they hidden?",
        givens={"step": Choice(2.0, (2.0, 2.1), "s"), "compute": Choice(1.5, (1.5, 1.45), "s"), "idle": Choice(0.3, (0.25, 0.3), "s"),
                "optimizer": Choice(0.04, (0.04, 0.06), "s"), "comm": Choice(0.5, (0.5, 0.6, 0.7), "s")},
        answer=lambda g: g.comm - (g.step - g.compute - g.idle - g.optimizer), unit="ms",
        traps=(
            Trap("exposed", lambda g: g.step - g.compute - g.idle - g.optimizer, "That is the exposed part. The rest of the collectives' time is hidden."),
            Trap("idle forgotten", lambda g: g.comm - (g.step - g.compute - g.optimizer), "The idle time has been taken for communication."),
            Trap("optimizer forgotten", lambda g: g.comm - (g.step - g.compute - g.idle), "The optimizer has been taken for communication."),
        ),
        hints=("The parts sum to the step.", "First find the exposed time."),
        next="How would you check the exposed part in the trace?"),
    Implement(
        id="profiling.7",
        ask="Write the exposed communication of a timeline: the time in which at least one collective runs and no computation does. Intervals are half-open, in seconds, "
            "in any order, and may overlap. Raise `ValueError` for an interval that ends before it starts.",
        stub='def my_exposed_time(comm, compute):\n    """Seconds in which something communicates and nothing computes; lists of (start, end)."""\n    return ...',
        cases=(
            gives("communication without computation is exposed", exposed_time, [(0, 4), (6, 8)], []),
            holds("without communication nothing is exposed", lambda f: f([], [(0, 9)]) == 0),
            gives("what lies under computation is hidden", exposed_time, [(2, 3)], [(0, 9)]),
            gives("touching intervals do not overlap", exposed_time, [(0, 1)], [(1, 2)]),
            gives("two collectives at once count once", exposed_time, [(0, 4), (1, 3), (2, 6)], [(5, 7)]),
            gives("two compute streams hide no more than their union", exposed_time, [(0, 10)], [(1, 5), (2, 3), (4, 8)]),
            gives("the order of the intervals does not matter", exposed_time, [(6, 8), (0, 4)], [(3, 7), (1, 2)]),
            holds("it agrees with a clock that ticks, on random timelines", lambda f: _ticks_agree(f)),
            refuses("an interval that ends before it starts is refused", [(2, 1)], [], error=ValueError),
            refuses("the same among the computations", [(0, 1)], [(2, 1)], error=ValueError),
        ),
        hints=("Cut time at every start and end: between two cuts nothing changes.", "For each piece ask whether any collective covers it and no computation does."),
        solution='''
def my_exposed_time(comm, compute):
    """Seconds in which something communicates and nothing computes; lists of (start, end)."""
    if any(end < start for start, end in [*comm, *compute]):
        raise ValueError("an interval ends before it starts")
    cuts = sorted(set(t for interval in [*comm, *compute] for t in interval))

    def covered(intervals, start, end):
        return any(a <= start and end <= b for a, b in intervals)

    return sum((end - start for start, end in zip(cuts, cuts[1:])
                if covered(comm, start, end) and not covered(compute, start, end)), 0.0)
''',
        next="What does it give for a trace with thousands of kernels, and how would you make it fast?"),
    Rubric(
        id="profiling.8",
        ask="GPU utilization is at {busy}, MFU at {mfu}, and NCCL kernels cover {nccl} of the step. What is going on, and what do you do next?",
        givens={"busy": Choice(0.98, (0.98,), "%"), "mfu": Choice(0.14, (0.14,), "%"), "nccl": Choice(0.6, (0.6,), "%")},
        facts={"rest": lambda g: _percent(g.mfu / (1 - g.nccl))},
        points=((1, "A collective that spins counts as busy: the {busy} say nothing."),
                (1, "It asks which part of the {nccl} is exposed, and subtracts the computation."),
                (2, "It separates a slow link from a late rank: compare the same collective over the ranks; the rank with the shortest one came last."),
                (1, "It names the next measurement: bus bandwidth alone, or the trace of the late rank.")),
        model="Busy counts any kernel, and a collective that waits for a late rank is one. Suppose all {nccl} are exposed: then the remaining time computes at {rest} of the "
              "peak, which is normal, so the communication is the problem. Compare the durations of one collective over the ranks. If one rank is short and the others are "
              "long, that rank is late, and its own timeline says why. If all are long, test the bus bandwidth without the model.",
        hints=("What does the busy share count?", "Why can a collective be long although the link is fast?"),
        next="Which rank would you trace, and how do you find it among thousands?"),
]


def _ticks_agree(function) -> bool:
    rng = random.Random(1)
    for _ in range(40):
        comm, compute = ([tuple(sorted((rng.randrange(40), rng.randrange(40)))) for _ in range(rng.randrange(6))] for _ in "ab")
        ticks = sum(any(a <= t < b for a, b in comm) and not any(a <= t < b for a, b in compute) for t in range(40))
        if abs(function(comm, compute) - ticks) > 1e-9:
            return False
    return True
