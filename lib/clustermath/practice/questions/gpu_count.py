"""Questions of chapter 3: how many chips a deadline asks for, and which counts can be used."""
from __future__ import annotations

import math

from ... import (DAY, HOUR, MINUTE, chips, chips_needed, failures, implied_mfu, layouts,
                 lost_work_share, observed_mtbf, restart_share, round_up_chips, training_flops,
                 training_time)
from ...quantity import figures, show
from ..draws import Choice, LogUniform
from ..functions import gives, holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

WITHIN = 0.01
H100 = chips["H100 SXM"]
OUTAGES = failures["Llama 3 405B"]
NODE = 8
MFUS = (0.3, 0.35, 0.4, 0.45)
OVERHEADS = (0.1, 0.15, 0.2)
# The plan of the chapter, for the question without draws.
WORK, MONTH, MFU, OVERHEAD, ASK, OFFER, BATCH = (training_flops(70.6e9, 15e12), 30 * DAY, 0.4, 0.15,
                                                 8192, 6400, 1920)


def _raw(g: Givens, peak: float = H100.bf16_flops, mfu: float | None = None,
         factor: float = 6) -> float:
    return chips_needed(training_flops(g.params, g.tokens, factor), g.days * DAY, peak,
                        g.mfu if mfu is None else mfu)


def _nodes(count: float, multiple: int = NODE) -> int:
    return int(round_up_chips(count, multiple))


def _power(count: float) -> int:
    return int(round_up_chips(count, power_of_two=1))


def _needed(g: Givens, **change: float) -> float:
    return _raw(g, **change) * (1 + g.overhead)


def _unless(value: float, *others: float) -> float | None:
    """A trap's value, unless it coincides with one of the others."""
    return None if value in others else value


def _tflops(rate: float) -> str:
    """As the data sheet prints it."""
    return f"{figures(rate / 1e12)} TFLOP/s"


def _added_last(g: Givens) -> int:
    """The power of two of the raw count, and the overhead on top of it."""
    return round(_power(_raw(g)) * (1 + g.overhead))


def _cubes(g: Givens, peak: float | None = None, overhead: float | None = None,
           multiple: int | None = None) -> int:
    count = _raw(g, chips[g.chip].bf16_flops if peak is None else peak)
    return _nodes(count * (1 + (g.overhead if overhead is None else overhead)),
                  g.cube if multiple is None else multiple)


def _floor(g: Givens, peak: float = H100.bf16_flops, overhead: float | None = None) -> float:
    """The MFU at which a fleet just meets its deadline."""
    extra = g.overhead if overhead is None else overhead
    return implied_mfu(training_flops(g.params, g.tokens) * (1 + extra), g.chips * g.days * DAY,
                       peak)


def _mtbf(count: float) -> float:
    return observed_mtbf(OUTAGES.elapsed * OUTAGES.chips / count, OUTAGES.unexpected)


def _undone(g: Givens, mtbf: float | None = None) -> float:
    return lost_work_share(g.interval * MINUTE, _mtbf(g.chips) if mtbf is None else mtbf)


def _restarts(g: Givens, mtbf: float | None = None) -> float:
    return restart_share(g.restart * MINUTE, _mtbf(g.chips) if mtbf is None else mtbf)


def _splits(g: Givens, step: int = NODE) -> int:
    """The next count with a layout, upwards or downwards."""
    count = _nodes(g.need) if step > 0 else _nodes(g.need) - NODE
    while not layouts(count, g.layers, g.heads, g.sequences):
        count += step
    return count


_RAW_TRAPS = (
    Trap("no MFU", lambda g: _raw(g, mfu=1),
         "That is the count for GPUs at their peak. They deliver the MFU's share of it, so more are needed."),
    Trap("forward only", lambda g: _raw(g, factor=2),
         "That counts the forward pass alone: 2ND instead of 6ND."),
    Trap("recompute counted", lambda g: _raw(g, factor=8),
         "Eight per parameter and token counts recomputation, which the MFU already leaves out."),
    Trap("sparse peak", lambda g: _raw(g, H100.bf16_sparse),
         "The peak is the figure with sparsity, {sparse}. Training uses the dense one, half of it."),
    Trap("MFU twice", lambda g: _raw(g) / g.mfu,
         "The MFU has been divided by twice."),
    Trap("hours", lambda g: _raw(g) * DAY / HOUR,
         "That fleet would be done in as many hours as you were given days."),
    Trap("one day", lambda g: _raw(g) * g.days,
         "That fleet is done in a day. Multiply a GPU's rate by the whole deadline."),
)

QUESTIONS = [
    Estimate(
        id="gpu-count.1",
        ask="A model of {params} parameters has to be through {tokens} tokens in {days} days. How many H100s does "
            "that take at {mfu} MFU, before any overhead or rounding?",
        givens={"params": LogUniform(405e9, 30e9, 500e9),
                "tokens": LogUniform(15.6e12, 5e12, 20e12),
                "days": Choice(60, (21, 30, 45, 60, 90)), "mfu": Choice(0.4, MFUS, "%")},
        facts={"sparse": lambda g: _tflops(H100.bf16_sparse),
               "dense": lambda g: _tflops(H100.bf16_flops)},
        answer=_raw, unit="GPUs", within=WITHIN, traps=_RAW_TRAPS,
        hints=("Solve work = GPUs × peak × MFU × time for the GPUs.",
               "The work is six FLOPs per parameter and token; an H100 does {dense} dense bf16.",
               "Take the deadline in seconds."),
        remark="A bound from below: round it up, never down, and not yet.",
        next="What do you add before you round, and what do you round to?"),
    Estimate(
        id="gpu-count.2",
        ask="A model of {params} parameters, {tokens} tokens, {days} days, {mfu} MFU. How many H100s at least, in "
            "whole nodes of {node}?",
        givens={"params": LogUniform(8.03e9, 3e9, 30e9), "tokens": LogUniform(1e12, 5e11, 4e12),
                "days": Choice(7, (7, 10, 14, 21)), "mfu": Choice(0.45, MFUS, "%")},
        facts={"node": lambda g: NODE, "sparse": lambda g: _tflops(H100.bf16_sparse)},
        answer=lambda g: _nodes(_raw(g)), unit="GPUs", whole=True,
        traps=(
            Trap("rounded down", lambda g: _nodes(_raw(g)) - NODE or None,
                 "One node fewer, and the run is late: round up."),
            Trap("not whole nodes", lambda g: _unless(_nodes(_raw(g), 1), _nodes(_raw(g))),
                 "GPUs come in whole nodes: round up to a multiple."),
            Trap("power of two", lambda g: _unless(_power(_raw(g)), _nodes(_raw(g))),
                 "That is the next power of two. Whole nodes were asked for, which are fewer."),
            Trap("no MFU", lambda g: _nodes(_raw(g, mfu=1)),
                 "That is the count for GPUs at their peak: the MFU is missing."),
            Trap("forward only", lambda g: _nodes(_raw(g, factor=2)),
                 "That counts the forward pass alone."),
            Trap("sparse peak", lambda g: _nodes(_raw(g, H100.bf16_sparse)),
                 "The peak is the figure with sparsity, {sparse}."),
        ),
        hints=("First the raw count, then up to the next multiple.",
               "6ND over what one GPU delivers in the time."),
        next="Would a batch of your choice divide over that many GPUs?"),
    Estimate(
        id="gpu-count.3",
        ask="{params} parameters, {tokens} tokens, {days} days on H100s at {mfu} MFU, with {overhead} added for time "
            "that does not train. Your batch asks for a power of two. How many GPUs do you request?",
        givens={"params": Choice(70.6e9, (65e9, 70.6e9, 100e9, 123e9)),
                "tokens": LogUniform(15e12, 8e12, 20e12), "days": Choice(14, (14, 21, 30, 45)),
                "mfu": Choice(0.4, MFUS, "%"), "overhead": Choice(0.15, OVERHEADS, "%")},
        answer=lambda g: _power(_needed(g)), unit="GPUs", whole=True,
        traps=(
            Trap("not rounded", _needed,
                 "That is the count before rounding. No layout of your batch uses it."),
            Trap("overhead last", _added_last,
                 "Rounded first, and the overhead added to the rounded count. Add it to the raw count, then round."),
            Trap("overhead last, rounded again",
                 lambda g: _unless(_power(_added_last(g)), _power(_needed(g))),
                 "Rounded, increased and rounded again: that doubles the request. Add the overhead to the raw count, "
                 "then round once."),
            Trap("power below", lambda g: _power(_needed(g)) // 2,
                 "That is the power of two below. With the overhead in, it misses the deadline."),
        ),
        hints=("Raw count, then the overhead, then the rounding, in this order.",
               "The overhead multiplies the raw count by one plus its share."),
        remark="Say how much of the rounded count is margin: the next question is what it buys.",
        next="How low may the MFU fall before this fleet misses the deadline?"),
    Estimate(
        id="gpu-count.4",
        ask="Plan a run on {chip} chips: {params} parameters, {tokens} tokens, {days} days, {mfu} MFU, {overhead} "
            "overhead. The chips come in cubes of {cube}. How many do you request?",
        givens={"chip": Choice("TPU v7", ("TPU v5p", "TPU v7")),
                "params": Choice(70.6e9, (65e9, 70.6e9, 100e9, 123e9)),
                "tokens": LogUniform(15e12, 8e12, 20e12), "days": Choice(30, (21, 30, 45)),
                "mfu": Choice(0.523, (0.45, 0.5, 0.523, 0.55), "%"),
                "overhead": Choice(0.15, OVERHEADS, "%"), "cube": Choice(64, (64,))},
        facts={"peak": lambda g: _tflops(chips[g.chip].bf16_flops)},
        answer=_cubes, unit="chips", whole=True,
        traps=(
            Trap("H100 peak", lambda g: _cubes(g, H100.bf16_flops),
                 "That is the peak of an H100. A {chip} does {peak}."),
            Trap("no overhead", lambda g: _unless(_cubes(g, overhead=0), _cubes(g)),
                 "The overhead is missing."),
            Trap("not whole cubes", lambda g: _unless(_cubes(g, multiple=1), _cubes(g)),
                 "Round up to a multiple of the cube."),
            Trap("one cube short", lambda g: _cubes(g) - g.cube,
                 "One cube fewer misses the deadline: round up."),
            Trap("overhead last",
                 lambda g: _unless(round(_cubes(g, overhead=0) * (1 + g.overhead)), _cubes(g)),
                 "Rounded first, and the overhead added to the rounded count. Round last."),
        ),
        hints=("The equation does not care who made the chip.", "A {chip} does {peak} dense bf16."),
        next="Why may a torus take counts that are no powers of two?"),
    Estimate(
        id="gpu-count.5",
        ask="You are given {chips} H100s and {days} days for {params} parameters and {tokens} tokens. Restarts, "
            "saves and the like add {overhead} to the training time. Down to which MFU is the deadline met?",
        givens={"chips": Choice(8192, (7168, 8192, 10240)),
                "params": Choice(70.6e9, (65e9, 70.6e9, 80e9)),
                "tokens": LogUniform(15e12, 11e12, 17e12), "days": Choice(30, (28, 30, 35)),
                "overhead": Choice(0.15, OVERHEADS, "%")},
        facts={"sparse": lambda g: _tflops(H100.bf16_sparse)},
        answer=_floor, unit="%", within=WITHIN,
        traps=(
            Trap("no overhead", lambda g: _floor(g, overhead=0),
                 "That leaves the overhead out: at this MFU the fleet would have to train all of the time."),
            Trap("overhead on the wrong side",
                 lambda g: _floor(g, overhead=0) / (1 + g.overhead),
                 "The overhead makes the demand on the MFU higher, not lower."),
            Trap("sparse peak", lambda g: _floor(g, H100.bf16_sparse),
                 "The peak is the figure with sparsity, {sparse}: against it every MFU looks half as high."),
        ),
        hints=("Which share of the days trains?",
               "FLOPs of the run, times one plus the overhead, over the FLOPs that the fleet could do in the time."),
        next="What would you measure on the first day to know whether you are above it?"),
    Estimate(
        id="gpu-count.6",
        ask="On {observed} GPUs a job failed every {observed_mtbf} on average. On {chips} GPUs of the same kind, "
            "with a save every {interval} minutes and {restart} minutes for a restart, which share of the wall clock "
            "do failures take?",
        givens={"chips": Choice(8192, (2048, 4096, 8192, 12288)),
                "interval": Choice(30, (10, 15, 30, 45)), "restart": Choice(10, (5, 10, 20))},
        facts={"observed": lambda g: OUTAGES.chips,
               "observed_mtbf": lambda g: show(_mtbf(OUTAGES.chips), "s", 3)},
        answer=lambda g: _undone(g) + _restarts(g), unit="%",
        traps=(
            Trap("undone work only", _undone,
                 "That is the undone work alone. Each failure also costs a restart."),
            Trap("restarts only", _restarts,
                 "That is the restarts alone. The work since the last save is lost as well."),
            Trap("a whole interval", lambda g: 2 * _undone(g) + _restarts(g),
                 "A failure comes at a random moment: on average half of the interval is lost."),
            Trap("not scaled",
                 lambda g: _undone(g, _mtbf(OUTAGES.chips)) + _restarts(g, _mtbf(OUTAGES.chips)),
                 "That is the share on the larger fleet. Fewer GPUs fail less often."),
        ),
        hints=("Scale the time between failures by the number of GPUs.",
               "Each failure costs half an interval and a restart."),
        next="Which of the two would you shorten first, and what does it cost?"),
    Estimate(
        id="gpu-count.7",
        ask="A model of {layers} layers and {heads} key and value heads is trained with a batch of {sequences} "
            "sequences, on nodes of {node}. The deadline needs {need} GPUs, overhead included. Tensor-parallel "
            "groups stay inside a node and divide the heads, pipeline stages divide the layers, copies of the model "
            "divide the batch. Which is the least count, in whole nodes, that splits without remainder?",
        givens={"layers": Choice(80, (64, 80, 96)), "heads": Choice(8, (8,)),
                "sequences": Choice(1920, (1536, 1920, 2016, 2048)),
                "need": LogUniform(7126, 2200, 9000)},
        facts={"node": lambda g: NODE},
        answer=_splits, unit="GPUs", whole=True,
        traps=(
            Trap("power of two", lambda g: _unless(_power(g.need), _splits(g)),
                 "That is the next power of two. Look at the factors of the batch and the layers: others may come "
                 "first."),
            Trap("whole nodes", lambda g: _unless(_nodes(g.need), _splits(g)),
                 "Whole nodes alone do not do it: some heads, layers or sequences are left over."),
            Trap("one below", lambda g: _splits(g, -NODE),
                 "That count splits, but it is below what the deadline needs."),
        ),
        hints=("Write the layers and the batch as products of primes.",
               "A count that works is a divisor of the heads, times a divisor of the layers, times a divisor of the "
               "batch."),
        next="How would you change the batch to get closer to what the deadline needs?"),
    Implement(
        id="gpu-count.8",
        ask="Write the rounding: up to a multiple, or up to the next power of two. What is there already stays, a "
            "relative excess of a billionth is a rounding error, and what is no count is refused with a "
            "`ValueError`.",
        stub='''
def my_round_up(chips, multiple=8, power_of_two=False):
    """The least count of at least `chips` that can be ordered."""
    return ...
''',
        cases=(
            gives("a count is rounded up to whole nodes", round_up_chips, 6196.6),
            gives("the multiple can be another one", round_up_chips, 6196.6, 256),
            gives("the multiple need not be a power of two", round_up_chips, 7126, 3072),
            gives("a multiple stays as it is", round_up_chips, 7168, 256),
            gives("a power of two is the next one up", round_up_chips, 6196.6, 8, 1),
            gives("a power of two stays as it is", round_up_chips, 8192, 8, 1),
            gives("one above it goes to the next", round_up_chips, 8193, 8, 1),
            gives("floating-point noise above a power of two is no reason to double",
                  round_up_chips, 8192.0000001, 8, 1),
            gives("nor above a multiple to add a node", round_up_chips, 8192.0000001),
            gives("one GPU takes a node", round_up_chips, 1),
            gives("half a GPU needs one", round_up_chips, 0.5, 8, 1),
            holds("the result is never below the count",
                  lambda f: all(f(n) >= n and f(n, 8, True) >= n
                                for n in (1, 7.5, 63, 65, 1000, 6197))),
            refuses("no GPUs are refused", 0, error=ValueError),
            refuses("a negative count is refused", -5, error=ValueError),
            refuses("not-a-number is refused", math.nan, error=ValueError),
            refuses("an infinite count is refused", math.inf, error=ValueError),
            refuses("a multiple of zero is refused", 6196.6, 0, error=ValueError),
        ),
        hints=("`math.ceil` of a count a hair above a whole number is one too many: take the hair off first.",
               "For a power of two, round the logarithm up."),
        solution='''
import math

def my_round_up(chips, multiple=8, power_of_two=False):
    """The least count of at least `chips` that can be ordered."""
    if not (math.isfinite(chips) and chips > 0):
        raise ValueError(f"chips must be a number above 0, got {chips!r}")
    if multiple < 1:
        raise ValueError(f"multiple must be at least 1, got {multiple!r}")

    def up(x):
        return math.ceil(x * (1 - 1e-9))

    if power_of_two:
        return 2 ** up(math.log2(max(1, chips)))
    return up(chips / multiple) * multiple
''',
        next="Which other places in a planning tool need the same care with noise?"),
    Implement(
        id="gpu-count.9",
        ask="Write the list of all splits of a fleet: triples (tensor, pipeline, data), sorted, whose product is the "
            "fleet. Tensor groups divide the node and the key and value heads, stages divide the layers, copies "
            "divide the batch. Refuse what is no whole number of GPUs with a `ValueError`.",
        stub='''
def my_layouts(chips, layers, kv_heads, sequences, node=8):
    """All (tp, pp, dp), sorted."""
    return ...
''',
        cases=(
            holds("no split is an empty list", lambda f: f(6200, 80, 8, 2048) == []),
            gives("the splits of a power of two", layouts, 8192, 80, 8, 2048),
            gives("a factor of five comes from the layers", layouts, 10240, 80, 8, 2048),
            gives("another batch allows other counts", layouts, 6400, 80, 8, 1920),
            gives("few heads limit the tensor group", layouts, 64, 80, 2, 64),
            gives("so does a small node", layouts, 64, 80, 8, 64, 4),
            holds("all GPUs are used in every split",
                  lambda f: all(t * p * d == 7168 for t, p, d in f(7168, 80, 8, 2016))),
            holds("published: 8 × 35 × 10 for 105 layers and 1,920 sequences",
                  lambda f: (8, 35, 10) in [tuple(split) for split in f(2800, 105, 128, 1920)]),
            refuses("half a GPU is refused", 8192.5, 80, 8, 2048, error=ValueError),
            refuses("a fleet of none is refused", 0, 80, 8, 2048, error=ValueError),
        ),
        hints=("Two loops, over the divisors of the node and of the layers; the third number follows.",
               "Keep a split when nothing is left over in any of the divisions."),
        solution='''
def my_layouts(chips, layers, kv_heads, sequences, node=8):
    """All (tp, pp, dp), sorted."""
    if chips < 1 or chips != int(chips):
        raise ValueError(f"chips must be a whole number of at least 1, got {chips!r}")
    found = []
    for tp in range(1, node + 1):
        for pp in range(1, layers + 1):
            if node % tp or kv_heads % tp or layers % pp or chips % (tp * pp):
                continue
            dp = chips // (tp * pp)
            if sequences % dp == 0:
                found.append((tp, pp, dp))
    return found
''',
        next="Which of these layouts fit into memory, and which idle in pipeline bubbles?"),
    Rubric(
        id="gpu-count.10",
        ask="For {params} parameters, {tokens} tokens and {month} you asked for {ask} H100s, at {mfu} MFU with "
            "{overhead} of overhead, and a batch of {sequences} sequences. Finance offers {offer}. Do you accept?",
        facts={"params": lambda g: "70.6B", "tokens": lambda g: "15 trillion",
               "month": lambda g: show(MONTH, "s"), "ask": lambda g: ASK, "offer": lambda g: OFFER,
               "mfu": lambda g: show(MFU, "%"), "overhead": lambda g: show(OVERHEAD, "%"),
               "sequences": lambda g: figures(2048), "batch": lambda g: figures(BATCH),
               "bare": lambda g: show(_offered(1), "s", 3),
               "full": lambda g: show(_offered(1 / (1 + OVERHEAD)), "s", 3),
               "demand": lambda g: show(WORK * (1 + OVERHEAD) / (OFFER * MONTH * H100.bf16_flops),
                                        "%", 3),
               "cut": lambda g: show(1 - MONTH / _offered(1 / (1 + OVERHEAD)), "%", 3)},
        points=((2, "It computes both times: {bare} of compute, {full} with the overhead, which misses {month}."),
                (1, "It names the MFU at which the offer would do, overhead included: {demand}."),
                (1, "It notices that {offer} GPUs do not divide a batch of {sequences} sequences, and names one that "
                    "they do, such as {batch}."),
                (1, "It offers a trade: {cut} fewer tokens, a later date, or a pilot of a day that shows the MFU.")),
        model="Not at these terms. {offer} GPUs need {bare} of compute, and {full} with the overhead, so {month} are "
              "missed. They would do at {demand} MFU, above what I planned with; a pilot of a day on a few nodes "
              "would tell. They also do not split a batch of {sequences} sequences without remainder: I would train "
              "with {batch}. If the number is final, I offer {cut} fewer tokens or a later date, and say which of "
              "the two hurts less.",
        hints=("Read the fleet equation for the time, then for the MFU.",
               "Then ask whether the batch divides."),
        next="The pilot reaches the planned MFU and no more. What do you say to finance?"),
]


def _offered(goodput: float) -> float:
    """How long the run takes on what finance offers."""
    return training_time(WORK, OFFER, H100.bf16_flops, MFU, goodput)
