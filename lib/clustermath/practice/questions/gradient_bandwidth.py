"""Questions of chapter 13: what gradients ask of a network, and when the backward hides them."""
from __future__ import annotations

from ... import (exposed_comm, hiding_bandwidth, hiding_step, model_bytes, node_bandwidth, ring_bytes, ring_time,
                 token_threshold, training_flops, training_time)
from ...quantity import figures, show
from ..draws import Choice, LogUniform
from ..functions import gives, holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

PEAK, MFU = 989e12, 0.40  # H100, dense bf16
BF16, FP32 = 2, 4
THIRD = 1 / 3


def _size(g: Givens, width: float = BF16) -> float:
    return model_bytes(g.params, width)


def _comm(g: Givens, width: float = BF16) -> float:
    return ring_time(_size(g, width), g.ranks, g.nic)


def _node_comm(g: Givens) -> float:
    return ring_time(_size(g, FP32), g.ranks, node_bandwidth(8, g.nic))


def _simulated(backward: float, comm: float, buckets: int) -> float:
    free = 0.0
    for k in range(1, buckets + 1):
        free = max(free, backward * k / buckets) + comm / buckets
    return free - backward


_GPUS, _BATCH, _PARAMS = 16_384, 2**24, 70.6e9  # the fleet that is doubled in the diagnosis
_PLANNED = node_bandwidth(8, 50e9, 0.8)


def _fleet_step(gpus: float) -> tuple[float, float]:
    """Compute and exposed communication of a step of the diagnosed fleet."""
    compute = training_time(training_flops(_PARAMS, _BATCH), gpus, PEAK, MFU)
    comm = ring_time(model_bytes(_PARAMS, BF16), gpus / 8, _PLANNED)
    return compute, exposed_comm(2 / 3 * compute, comm, 80)


def _tokens(value: float) -> str:
    return f"{figures(value)} tokens"


_FACTOR = "The ring's factor is missing: each rank sends its gradients almost twice."
_FULL = "Gradients exist only in the backward, which is twice as long as the forward. The forward hides nothing."
_INVERTED = "That is the window of the forward. The backward is twice as long."
_FP32 = "That is four bytes a gradient; bf16 has two."

QUESTIONS = [
    Estimate(
        id="gradient-bandwidth.1",
        ask="{ranks} ranks train a model of {params} parameters with bf16 gradients; a step computes for {step}. Which bandwidth hides the ring "
            "all-reduce in the backward, which is twice as long as the forward?",
        givens={"ranks": Choice(256, (64, 128, 256, 512)), "params": LogUniform(13e9, 3e9, 100e9), "step": Choice(2, (1, 2, 3, 5), "s")},
        answer=lambda g: hiding_bandwidth(_size(g), g.ranks, g.step), unit="GB/s",
        traps=(
            Trap("average without the factor", lambda g: _size(g) / g.step, "That is the average of the gradients over the whole step, without the ring's factor."),
            Trap("no factor", lambda g: _size(g) / (2 / 3 * g.step), _FACTOR),
            Trap("whole step", lambda g: ring_bytes(_size(g), g.ranks) / g.step, _FULL),
            Trap("fp32", lambda g: hiding_bandwidth(_size(g, FP32), g.ranks, g.step, 2 / 3), _FP32),
        ),
        hints=("How many bytes does one rank send?", "Divide by the backward's time."),
        next="How many cards of which speed is that per node?"),
    Estimate(
        id="gradient-bandwidth.2",
        ask="Nodes of eight H100s ({peak} dense bf16, at {mfu} utilization) have a card of {nic} in each direction per GPU, all of which carry the "
            "bf16 gradients. How many tokens per GPU and step hide the all-reduce?",
        givens={"nic": Choice(25e9, (12.5e9, 25e9, 50e9, 100e9), "B/s"), "mfu": Choice(0.40, (0.35, 0.40, 0.45), "%")},
        facts={"peak": lambda g: show(PEAK, "FLOP/s")},
        answer=lambda g: token_threshold(PEAK, node_bandwidth(8, g.nic), g.mfu), unit="tokens",
        traps=(
            Trap("one card", lambda g: token_threshold(PEAK, g.nic, g.mfu), "That sends everything through one card. The node has eight."),
            Trap("full peak", lambda g: token_threshold(PEAK, node_bandwidth(8, g.nic)),
                 "That takes the full peak. Slower steps hide more; use what the GPU delivers."),
            Trap("whole step", lambda g: token_threshold(PEAK, node_bandwidth(8, g.nic), g.mfu, BF16, 1), _FULL),
            Trap("fp32", lambda g: token_threshold(PEAK, node_bandwidth(8, g.nic), g.mfu, FP32), _FP32),
            Trap("no factor", lambda g: token_threshold(PEAK, node_bandwidth(8, g.nic), g.mfu, BF16) / 2, _FACTOR),
        ),
        hints=("Write both times for `t` tokens; the parameters cancel.", "FLOPs delivered over bandwidth."),
        remark="The number of parameters was not given because it does not matter.",
        next="What changes with fp32 gradients?"),
    Estimate(
        id="gradient-bandwidth.3",
        ask="{ranks} ranks reduce the bf16 gradients of {params} parameters through a single card of {nic}. Which is the shortest compute time of a "
            "step that hides it?",
        givens={"ranks": Choice(128, (16, 64, 128, 512)), "params": LogUniform(8e9, 1e9, 100e9), "nic": Choice(50e9, (12.5e9, 25e9, 50e9), "B/s")},
        answer=lambda g: hiding_step(_comm(g)), unit="s",
        traps=(
            Trap("the transfer itself", _comm, _FULL),
            Trap("one third", lambda g: hiding_step(_comm(g), THIRD), _INVERTED),
            Trap("no factor", lambda g: hiding_step(_size(g) / g.nic), _FACTOR),
            Trap("gigabits", lambda g: 8 * hiding_step(_comm(g)), "The card's rate is in bytes already; it has been divided by eight once more."),
            Trap("times ranks", lambda g: g.ranks * hiding_step(_size(g) / g.nic), "In a ring all ranks send at once; the time does not grow with them."),
        ),
        hints=("First the time of the all-reduce.", "It has to fit into the backward, two of the step's three parts."),
        next="Which batch size makes the step that long?"),
    Estimate(
        id="gradient-bandwidth.4",
        ask="The fp32 gradients of {params} parameters are reduced over {ranks} GPUs in nodes of eight, with a card of {nic} for each GPU. A step has "
            "{micro} micro-batches, and only the last one's backward overlaps with the all-reduce. Which is the shortest compute time of a step "
            "that hides it?",
        givens={"params": LogUniform(70e9, 5e9, 100e9), "ranks": Choice(64, (64, 128, 512)), "nic": Choice(50e9, (25e9, 50e9), "B/s"),
                "micro": Choice(4, (4, 6, 10))},
        answer=lambda g: hiding_step(_node_comm(g), 2 / 3, g.micro), unit="s",
        traps=(
            Trap("no accumulation", lambda g: hiding_step(_node_comm(g)), "That step has one micro-batch. Here only a part of the compute overlaps."),
            Trap("bf16", lambda g: hiding_step(_node_comm(g), 2 / 3, g.micro) / 2, "That is two bytes a gradient; these are fp32."),
            Trap("one card", lambda g: 8 * hiding_step(_node_comm(g), 2 / 3, g.micro), "That is one card for the node. There are eight."),
            Trap("whole micro-batch", lambda g: hiding_step(_node_comm(g), 1, g.micro), _FULL),
        ),
        hints=("Time of the all-reduce over all cards of a node.", "It fits into the backward of one micro-batch."),
        next="Why would anybody accumulate?"),
    Estimate(
        id="gradient-bandwidth.5",
        ask="A backward of {backward} sends its gradients in {buckets} equal buckets that become ready evenly; the link needs {comm} for all of them. "
            "How long does communication go on after the backward?",
        givens={"backward": Choice(0.73, (0.6, 0.73, 0.8), "s"), "buckets": Choice(5, (4, 5, 8)), "comm": Choice(0.9, (0.9, 1.1, 1.4), "s")},
        answer=lambda g: exposed_comm(g.backward, g.comm, g.buckets), unit="ms",
        traps=(
            Trap("no first bucket", lambda g: g.comm - g.backward,
                 "The link cannot start with the backward: it waits until the first bucket is ready."),
            Trap("no overlap", lambda g: g.comm, "That sends everything after the backward, as with one bucket."),
            Trap("last bucket alone", lambda g: g.comm / g.buckets, "That would do if the link kept up. Here it is slower than the backward."),
        ),
        hints=("When is the first bucket ready?", "From then on the link never rests, because it is the slower one."),
        next="What would more buckets change, and what stops you?"),
    Implement(
        id="gradient-bandwidth.6",
        ask="Write the communication exposed after a backward whose equal buckets become ready evenly and share one link, in order. Raise `ValueError` "
            "for negative times and for fewer than one bucket.",
        stub='def my_exposed_comm(backward, comm, buckets):\n    """Seconds of communication after the end of the backward."""\n    return ...',
        cases=(
            holds("no communication exposes none", lambda f: f(1, 0, 4) == 0),
            gives("with one bucket everything is exposed", exposed_comm, 0.7, 0.5, 1),
            gives("a fast link exposes the last bucket", exposed_comm, 0.7, 0.5, 10),
            gives("a slow link waits for the first bucket", exposed_comm, 0.7, 1.5, 10),
            holds("very many buckets leave what is longer than the backward", lambda f: abs(f(0.7, 1.0, 10**7) - 0.3) < 1e-5),
            holds("more communication never exposes less",
                  lambda f: all(f(1, c / 10, 5) <= f(1, (c + 1) / 10, 5) + 1e-12 for c in range(30))),
            holds("it agrees with a simulation, event by event",
                  lambda f: all(abs(f(b, c, n) - _simulated(b, c, n)) < 1e-9 for b, c, n in ((0.3, 0.2, 3), (1.1, 1.0, 7), (0.5, 2.5, 20)))),
            refuses("no buckets are refused", 1, 1, 0, error=ValueError),
            refuses("a negative backward is refused", -1, 1, 4, error=ValueError),
            refuses("negative communication is refused", 1, -1, 4, error=ValueError),
        ),
        hints=("Two cases: the link keeps up, or it does not.", "The later of two ends, less the backward."),
        solution='''
def my_exposed_comm(backward, comm, buckets):
    """Seconds of communication after the end of the backward."""
    if backward < 0 or comm < 0 or buckets < 1:
        raise ValueError("times must be at least 0, buckets at least 1")
    keeps_up = backward + comm / buckets
    falls_behind = backward / buckets + comm
    return max(keeps_up, falls_behind) - backward
''',
        next="Where does the cost of a single small bucket enter?"),
    Rubric(
        id="gradient-bandwidth.7",
        ask="A 70B trains on {gpus} H100s with {batch} tokens a step, eight GPUs to a copy, and cards that deliver {planned} per node. You double the "
            "GPUs at the same batch; the step gets only {speedup} times shorter, and the all-reduce now shows behind the backward. Explain, and "
            "say what you would do.",
        facts={"gpus": lambda g: f"{_GPUS:,}", "batch": lambda g: show(_BATCH), "planned": lambda g: show(_PLANNED, "B/s"),
               "speedup": lambda g: show(sum(_fleet_step(_GPUS)) / sum(_fleet_step(2 * _GPUS)), "", 3),
               "before": lambda g: _tokens(_BATCH / _GPUS), "after": lambda g: _tokens(_BATCH / _GPUS / 2),
               "needed": lambda g: _tokens(token_threshold(PEAK, _PLANNED, MFU)), "shown": lambda g: show(_fleet_step(_GPUS)[1], "s", 3),
               "late": lambda g: show(_fleet_step(2 * _GPUS)[1], "s", 3)},
        points=((1, "It says that the tokens per GPU halved, from {before} to {after}."),
                (1, "It compares them with the threshold of {needed}: the fleet was below it already, and is far below now."),
                (1, "It says that the transfer did not shrink: the ring's factor is close to its limit for any number of ranks."),
                (1, "It names what helps: a larger batch, fewer bytes (bf16 in place of fp32), less accumulation, or model parallelism that divides "
                    "the gradients further."),
                (1, "It does not blame the size of the model, which cancels.")),
        model="Compute halved with the tokens per GPU, {before} to {after}, and the all-reduce stayed what it was, because a ring sends almost twice the "
              "gradients for any number of ranks. At this bandwidth hiding needs {needed}; {shown} stuck out before, {late} do now. I would raise "
              "the global batch if the loss allows it, check that gradients travel in bf16 and once a step, and else divide each copy further, so "
              "that each GPU has fewer gradients to reduce. A smaller model would have the same trouble at these tokens per GPU.",
        hints=("What did the doubling change for one GPU, and what not?",),
        next="At which fleet size would you have stopped?"),
]
