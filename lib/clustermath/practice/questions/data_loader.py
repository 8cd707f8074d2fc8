"""Questions of chapter 19: what the data loader must deliver, and what takes the time instead."""
from __future__ import annotations

import math

from ... import (DAY, HOUR, MINUTE, barrier_tax, chip_cost, chips, expected_max, loader_demand, prefetch_depth, read_rate,
                 restart_share, sample_rate, stall_share, token_rate, training_flops)
from ...quantity import figures
from ..draws import Choice, LogUniform
from ..functions import holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

H100 = chips["H100 SXM"]
RENT = 2.5 / 3600  # dollars per second of an H100


def _tokens(g: Givens, peak: float | None = None, mfu: float | None = None) -> float:
    return token_rate(g.chips, H100.bf16_flops if peak is None else peak, g.mfu if mfu is None else mfu, training_flops(g.params, 1))


def _read(g: Givens, **other: float) -> float:
    return read_rate(_tokens(g, **other), g.size)


def _rank_samples(g: Givens) -> float:
    return sample_rate(_tokens(g), g.seq) * g.replica / g.chips


def _day(g: Givens) -> float:
    return chip_cost(g.chips * g.start, RENT) * DAY / g.mtbf


def _percent(share: float, digits: int = 3) -> str:
    return f"{figures(100 * share, digits)}%"


_STEP = {"step": Choice(1.1, (0.8, 0.9, 1.1, 1.3, 1.5), "s")}
_FLEET = {"chips": Choice(16_384, (512, 1_024, 2_048, 4_096, 8_192, 16_384)), "mfu": Choice(0.4, (0.38, 0.4, 0.42), "%")}

QUESTIONS = [
    Estimate(
        id="data-loader.1",
        ask="A model of {params} parameters trains on {chips} H100s ({peak} dense in bf16) at {mfu} utilization. The ids on disk take {size} "
            "each. How many megabytes per second does the fleet read?",
        givens={"params": LogUniform(405e9, 7e9, 405e9), **_FLEET, "size": Choice(4, (2, 4), "B")},
        facts={"peak": lambda g: f"{figures(H100.bf16_flops / 1e12, 3)} TFLOP/s"},
        answer=_read, unit="MB/s",
        traps=(
            Trap("inference", lambda g: 3 * _read(g), "Two FLOPs per parameter is a forward pass. Training takes six."),
            Trap("no utilization", lambda g: _read(g, mfu=1), "That is the peak. Only {mfu} of it trains."),
            Trap("sparse peak", lambda g: _read(g, peak=H100.bf16_sparse), "That takes the peak with sparsity, which dense training does not reach."),
            Trap("recomputation", lambda g: _read(g) * 0.75, "MFU counts six FLOPs per parameter, whatever is computed twice."),
            Trap("each chip reads all", lambda g: _read(g) * g.chips, "That has every chip read the whole stream."),
        ),
        hints=("How many tokens per second does the fleet train on?", "Chips times peak times utilization, over six FLOPs per parameter.", "Then bytes a token."),
        next="How much of that does one node read, and what does its drive give?"),
    Estimate(
        id="data-loader.2",
        ask="{chips} H100s at {mfu} utilization train {params} parameters on samples of {seq} tokens; {replica} GPUs hold one copy of the model. "
            "How many samples per second does one data-parallel rank need?",
        givens={"params": LogUniform(70.6e9, 20e9, 400e9), "chips": Choice(16_384, (2_048, 4_096, 8_192, 16_384)), "mfu": Choice(0.4, (0.38, 0.4, 0.42), "%"),
                "seq": Choice(8_192, (4_096, 8_192)), "replica": Choice(32, (16, 32, 64))},
        answer=_rank_samples, unit="samples/s",
        traps=(
            Trap("the fleet", lambda g: sample_rate(_tokens(g), g.seq), "That is what all ranks need together."),
            Trap("one GPU", lambda g: _rank_samples(g) / g.replica, "A rank is the {replica} GPUs of a model copy, and they need the same samples."),
            Trap("no utilization", lambda g: _rank_samples(g) / g.mfu, "That is the peak. Only {mfu} of it trains."),
            Trap("inference", lambda g: 3 * _rank_samples(g), "Two FLOPs per parameter is a forward pass. Training takes six."),
        ),
        hints=("Samples of the whole fleet first.", "How many ranks are there?"),
        next="How long does one request take, and how many fit into a step?"),
    Estimate(
        id="data-loader.3",
        ask="Before each step of {step} a rank fetches {requests} samples one after the other, {latency} each. Which share of the time do the GPUs wait?",
        givens={**_STEP, "requests": Choice(4, (4, 6, 8)), "latency": Choice(0.05, (0.05, 0.08, 0.1), "s")},
        answer=lambda g: stall_share(g.requests * g.latency, g.step), unit="%",
        traps=(
            Trap("over the step alone", lambda g: g.requests * g.latency / g.step, "That divides by the step without the wait. The wall clock holds both."),
            Trap("one request", lambda g: stall_share(g.latency, g.step), "That waits once. The requests come one after the other."),
        ),
        hints=("How long is the wait?", "The share of wait and step together."),
        remark="It does not depend on the bandwidth, as long as the samples are small.",
        next="Which setting removes it, and which measurement shows that it is gone?"),
    Estimate(
        id="data-loader.4",
        ask="A step takes {step}; a fetch takes {mean} on average, and a slow one {hiccup}. How many steps must be prefetched so that a slow fetch is not felt?",
        givens={**_STEP, "mean": Choice(0.2, (0.1, 0.2, 0.3), "s"), "hiccup": Choice(9, (5, 7, 9, 12), "s")},
        answer=lambda g: prefetch_depth(g.hiccup, g.step), unit="steps", whole=True,
        traps=(
            Trap("the mean", lambda g: prefetch_depth(g.mean, g.step), "That covers the mean fetch. The slow one empties the queue."),
            Trap("rounded down", lambda g: math.floor(g.hiccup / g.step), "A queue that is shorter than the slow fetch runs empty at its end: round up."),
        ),
        hints=("The queue is used up at one batch a step.",),
        next="What if two slow fetches come in a row?"),
    Estimate(
        id="data-loader.5",
        ask="A job on {chips} GPUs at {price} an hour each fails every {mtbf} on average, and a start takes {start} before the first step. "
            "How much do the starts cost a day?",
        givens={"chips": LogUniform(16_384, 1_000, 20_000), "mtbf": Choice(3.1 * HOUR, (3.1 * HOUR, 5 * HOUR, 8 * HOUR), "s"),
                "start": Choice(20 * MINUTE, (12 * MINUTE, 15 * MINUTE, 20 * MINUTE, 30 * MINUTE), "s")},
        facts={"price": lambda g: f"${figures(RENT * HOUR, 3)}"},
        answer=_day, unit="$",
        traps=(
            Trap("one start", lambda g: chip_cost(g.chips * g.start, RENT), "That is one start. The job fails more often than once a day."),
            Trap("half", lambda g: _day(g) / 2, "Half is right for work since a checkpoint. A start is paid in full."),
            Trap("per node", lambda g: _day(g) / 8, "The price is for a GPU, and all of the GPUs wait."),
        ),
        hints=("How many failures a day?", "GPU-hours of one start, then the price."),
        next="What would you save so that a start takes a minute?"),
    Estimate(
        id="data-loader.6",
        ask="The step times of {ranks} data-parallel ranks spread normally, with a standard deviation of {sigma} of their mean. The largest of so many draws "
            "lies {z} standard deviations above the mean, on average. How much longer than the mean is the step?",
        givens={"ranks": Choice(512, (64, 256, 512, 1_024, 2_048)), "sigma": Choice(0.03, (0.01, 0.02, 0.03, 0.05), "%")},
        facts={"z": lambda g: figures(expected_max(g.ranks), 3)},
        answer=lambda g: barrier_tax(g.sigma, g.ranks), unit="%",
        traps=(
            Trap("one sigma", lambda g: g.sigma, "That is one standard deviation. The step waits for the slowest of all ranks."),
            Trap("averages out", lambda g: g.sigma / math.sqrt(g.ranks), "The mean of the ranks is that steady. A barrier waits for their maximum."),
            Trap("bound", lambda g: g.sigma * math.sqrt(2 * math.log(g.ranks)), "The root of twice the logarithm is an upper bound, and not a close one here."),
        ),
        hints=("All ranks wait for the slowest.",),
        next="Which measurement separates uneven samples from a slow machine?"),
    Implement(
        id="data-loader.7",
        ask="Write the demand on a loader in bytes per second: for the fleet, a node, a data-parallel rank and a chip, in this order. Chips that hold one "
            "copy of the model share a stream. Raise `ValueError` when the chips are no whole number of copies, or for a token of no bytes.",
        stub='def my_loader_demand(rate, chips, replica, size, node):\n'
             '    """Bytes per second for the fleet, a node, a data-parallel rank, a chip, in this order."""\n    return ...',
        cases=(
            holds("the fleet reads every token once", lambda f: _close(f, 15.3e6, 16_384, 32, 4, 8, which=0)),
            holds("a node reads its part of that", lambda f: _close(f, 15.3e6, 16_384, 32, 2, 8, which=1)),
            holds("the ranks together read what the fleet reads", lambda f: _sums(f, 1_024, 64)),
            holds("a rank's chips share its stream", lambda f: _close(f, 2.7e6, 4_096, 128, 4, 8, which=2)),
            holds("the chips together read what the fleet reads", lambda f: _close(f, 6e5, 64, 8, 4, 8, which=3)),
            holds("a node may have another number of chips", lambda f: _close(f, 1e6, 144, 16, 4, 72, which=1)),
            refuses("chips that are no whole number of copies are refused", 15.3e6, 1_000, 32, 4, 8, error=ValueError),
            refuses("a token of no bytes is refused", 15.3e6, 1_024, 32, 0, 8, error=ValueError),
        ),
        hints=("The fleet: tokens per second times bytes.", "A node, a rank and a chip take their share of it by their number of chips."),
        solution='''
def my_loader_demand(rate, chips, replica, size, node):
    """Bytes per second for the fleet, a node, a data-parallel rank, a chip, in this order."""
    if chips % replica:
        raise ValueError(f"{chips} chips are no whole number of copies of {replica}")
    if not size > 0:
        raise ValueError(f"a token must have some bytes, got {size!r}")
    fleet = rate * size
    return fleet, fleet / chips * node, fleet / chips * replica, fleet / chips
''',
        next="What changes when every chip of a copy reads for itself?"),
    Rubric(
        id="data-loader.8",
        ask="A step takes {real}, and {mock} with mock data. The time in next(loader) has a median of {median} and a p99 of {tail}. The job starts {starts} "
            "times a day and needs {start} to the first step each time. Someone asks for faster storage. What do you answer, and what do you do in which order?",
        givens={"real": Choice(1.3, (1.3,), "s"), "mock": Choice(1.1, (1.1,), "s"), "tail": Choice(9, (9,), "s"), "median": Choice(0.0002, (0.0002,), "s"),
                "starts": Choice(8, (8,)), "start": Choice(18 * MINUTE, (18 * MINUTE,), "s")},
        facts={"loader": lambda g: _percent(1 - g.mock / g.real), "startup": lambda g: _percent(restart_share(g.start, DAY / g.starts)),
               "depth": lambda g: figures(prefetch_depth(g.tail, g.mock), 2), "gap": lambda g: f"{figures(g.real - g.mock, 2)} s"},
        points=((2, "It separates the loader's part of the step, {loader}, from the starts, {startup} of the day."),
                (1, "It sees that the tail and not the median makes the wait, so the queue must hold {depth} steps."),
                (1, "It names a measurement for each claim."),
                (1, "It orders the fixes by worth over effort."),
                (1, "It says with a number that storage bandwidth is not the matter.")),
        model="Mock data bound the loader's cost at {gap} a step, {loader}. The median fetch is free and the slow ones are not: prefetch at least {depth} steps "
              "and watch the p99 fall. The starts take {startup} of the day; split one into index, barrier and replay, cache the index and store the sampler's "
              "position. Text needs kilobytes per second for a GPU, so faster storage would change neither.",
        hints=("What would the step take with a perfect loader?", "Median and tail say different things.", "How many minutes of a day are starts?"),
        next="What do you look at if the gap remains after that?"),
]


def _close(function, *at, which: int) -> bool:
    return math.isclose(function(*at)[which], loader_demand(*at)[which], rel_tol=1e-9)


def _sums(function, gpus: int, copy: int) -> bool:
    fleet, _, rank, _ = function(1e6, gpus, copy, 4, 8)
    return math.isclose(rank * gpus / copy, fleet, rel_tol=1e-9)
