"""Questions of chapter 12: what a ring sends, and which bandwidth it sees."""
from __future__ import annotations

from ... import busbw, half_size, links, model_bytes, nvls_bytes, ring_bytes, ring_time
from ...quantity import figures
from ..draws import Choice, LogUniform
from ..functions import gives, holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

NVLINK, H200 = links["NVLink 4"], links["H200 node"]


def _buffer(g: Givens, size: float = 2) -> float:
    return model_bytes(g.params, size)


def _gbps(rate: float) -> str:
    return f"{figures(rate / 1e9)} GB/s"


_SUMMED = "That bandwidth adds up both directions. A ring sends in one, at half of it."
_FACTOR = "The factor is missing: a rank sends its buffer almost twice."
_TWO = "Two is the limit for many ranks; with these few the factor is smaller."

QUESTIONS = [
    Estimate(
        id="ring-all-reduce.1",
        ask="The bf16 gradients of {params} parameters are all-reduced in a ring of {ranks} GPUs, over NVLink 4 at its full rate in one "
            "direction, {rate}. How long does that take?",
        givens={"params": LogUniform(7e9, 1e9, 100e9), "ranks": Choice(8, (4, 8))},
        facts={"rate": lambda g: _gbps(NVLINK.bandwidth)},
        answer=lambda g: ring_time(_buffer(g), g.ranks, NVLINK.bandwidth), unit="ms",
        traps=(
            Trap("summed bandwidth", lambda g: ring_time(_buffer(g), g.ranks, NVLINK.summed), _SUMMED),
            Trap("no factor", lambda g: _buffer(g) / NVLINK.bandwidth, _FACTOR),
            Trap("factor two", lambda g: 2 * _buffer(g) / NVLINK.bandwidth, _TWO),
            Trap("multiplied by ranks", lambda g: g.ranks * ring_time(_buffer(g), g.ranks, NVLINK.bandwidth),
                 "The time has been multiplied by the ranks. In a ring all of them send at once."),
            Trap("fp32", lambda g: ring_time(_buffer(g, 4), g.ranks, NVLINK.bandwidth), "That is four bytes a gradient; bf16 has two."),
        ),
        hints=("How many bytes does one GPU send?", "A reduce-scatter and an all-gather, each `(n - 1)/n` of the buffer."),
        next="What does a profiler show, and why is it more?"),
    Estimate(
        id="ring-all-reduce.2",
        ask="A buffer of {size} is all-reduced in a ring of {ranks} ranks. How many GB does each rank send?",
        givens={"size": LogUniform(141.2e9, 1e9, 500e9, "B"), "ranks": Choice(64, (4, 8, 16, 64))},
        answer=lambda g: ring_bytes(g.size, g.ranks), unit="GB", within=0.01,
        traps=(
            Trap("reduce-scatter alone", lambda g: ring_bytes(g.size, g.ranks, 1), "That is the reduce-scatter. The sums still have to reach everybody."),
            Trap("multiplied by ranks", lambda g: g.ranks * g.size, "No rank sends its buffer to every other one; it passes chunks to its neighbour."),
            Trap("one chunk", lambda g: g.size / g.ranks, "That is one chunk; a rank passes one on in every step."),
        ),
        hints=("There are `2(n - 1)` steps.", "In each a rank sends one chunk, an `n`-th of the buffer."),
        next="What is the limit for many ranks?"),
    Estimate(
        id="ring-all-reduce.3",
        ask="{ranks} ranks in nodes of eight all-reduce {size}. Each GPU has a network card of {nic} in each direction, and the ring leaves a node "
            "over all eight cards. How long does it take?",
        givens={"ranks": Choice(64, (16, 32, 64, 128)), "size": LogUniform(141.2e9, 10e9, 500e9, "B"), "nic": Choice(50e9, (25e9, 50e9), "B/s")},
        answer=lambda g: ring_time(g.size, g.ranks, 8 * g.nic), unit="s",
        traps=(
            Trap("one card", lambda g: ring_time(g.size, g.ranks, g.nic), "That sends everything through one card. There are eight of them in a node."),
            Trap("reduce-scatter alone", lambda g: ring_time(g.size, g.ranks, 8 * g.nic, 1), "That is one of the two halves of an all-reduce."),
        ),
        hints=("Which link is the slowest on the way round?", "The cards of a node carry the ring together."),
        next="And when each node first reduces inside?"),
    Estimate(
        id="ring-all-reduce.4",
        ask="A profiler shows {time} for the all-reduce of {size} over {ranks} GPUs. Which bus bandwidth is that?",
        givens={"time": Choice(0.3, (0.2, 0.3, 0.5), "s"), "size": LogUniform(141.2e9, 80e9, 200e9, "B"), "ranks": Choice(8, (4, 8))},
        facts={"ring": lambda g: _gbps(H200.ring_busbw), "nvls": lambda g: _gbps(H200.nvls_busbw)},
        answer=lambda g: busbw(g.size, g.time, g.ranks), unit="GB/s",
        traps=(
            Trap("algorithm bandwidth", lambda g: g.size / g.time, "That is the algorithm bandwidth, buffer over time. Bus bandwidth counts what a ring would send."),
            Trap("reduce-scatter factor", lambda g: busbw(g.size, g.time, g.ranks, 1), "That is the factor of a reduce-scatter."),
        ),
        hints=("Bytes that a ring would send, over the time.",),
        remark="An H200 node measures {ring} with a ring and {nvls} with the switch. Compare before you believe the profiler.",
        next="On which hardware would you believe it?"),
    Estimate(
        id="ring-all-reduce.5",
        ask="With in-switch reduction, how many GB does each of {ranks} GPUs send for a buffer of {size}?",
        givens={"ranks": Choice(8, (4, 8, 16)), "size": LogUniform(141.2e9, 10e9, 500e9, "B")},
        answer=lambda g: nvls_bytes(g.size, g.ranks), unit="GB", within=0.01,
        traps=(
            Trap("ring", lambda g: ring_bytes(g.size, g.ranks), "That is what a ring sends. The switch adds, so a buffer goes up only once."),
            Trap("share forgotten", lambda g: g.size, "Each GPU also sends its finished share, for the switch to copy."),
        ),
        hints=("Up once, whole; then one share.",),
        next="Why does the benchmark print more than the link can carry?"),
    Implement(
        id="ring-all-reduce.6",
        ask="Write the time of a ring all-reduce with latency, and raise `ValueError` for a bandwidth of zero or less, no ranks, and negative sizes.",
        stub='def my_ring_time(size, ranks, bandwidth, latency=0, hop=0):\n    """Seconds of a ring all-reduce."""\n    return ...',
        cases=(
            holds("one rank moves nothing", lambda f: f(1e9, 1, 1e9) == 0),
            gives("the transfer is what a rank sends over the bandwidth", ring_time, 141.2e9, 8, 450e9),
            holds("the factor nears two for many ranks", lambda f: abs(f(1e9, 100_000, 1e9) / 2 - 1) < 1e-4),
            gives("latency once, a hop for each step", lambda s, n, w, a, h: ring_time(s, n, w, 2, a, h), 1e3, 8, 450e9, 8e-6, 3e-6),
            holds("at the half size the transfer takes as long as the latency",
                  lambda f: abs(f(half_size(8, 4e11, 8e-6, 3e-6), 8, 4e11, 8e-6, 3e-6) / (2 * (8e-6 + 14 * 3e-6)) - 1) < 1e-9),
            refuses("a negative bandwidth is refused", 1e9, 8, -1, error=ValueError),
            refuses("no ranks are refused", 1e9, 0, 1e9, error=ValueError),
            refuses("a negative size is refused", -1, 8, 1e9, error=ValueError),
        ),
        hints=("`2 * (ranks - 1)` steps, each with an `n`-th of the buffer.",),
        solution='''
def my_ring_time(size, ranks, bandwidth, latency=0, hop=0):
    """Seconds of a ring all-reduce."""
    if size < 0 or ranks < 1 or bandwidth <= 0:
        raise ValueError("size must be at least 0, ranks at least 1, bandwidth above 0")
    steps = 2 * (ranks - 1)
    return steps * size / ranks / bandwidth + latency + steps * hop
''',
        next="Which term would you measure first on a new cluster?"),
    Rubric(
        id="ring-all-reduce.7",
        ask="On eight H100s the benchmark prints a bus bandwidth of {nvls}, on links of {rate} in each direction. Is the benchmark broken?",
        facts={"nvls": lambda g: _gbps(H200.nvls_busbw), "rate": lambda g: _gbps(NVLINK.bandwidth), "ring": lambda g: _gbps(H200.ring_busbw),
               "wire": lambda g: _gbps(H200.nvls_busbw * nvls_bytes(1, 8) / ring_bytes(1, 8)), "gather": lambda g: _gbps(H200.all_gather_busbw)},
        points=((1, "It says no: bus bandwidth is a convention, the bytes of a ring over the time."),
                (1, "It names the in-switch reduction, NVLS."),
                (1, "It gives what the wire carried, about {wire}."),
                (1, "It says how to check: switch NVLS off and see about {ring}."),
                (1, "It adds that reduce-scatter and all-gather gain nothing, so sharded training does not.")),
        model="No. Bus bandwidth counts the bytes that a ring would have sent, and no ring was running: the switch added, so each GPU sent its buffer once "
              "and one share more. The wire carried about {wire}. With NVLS off the figure falls to about {ring}. All-gather stays near {gather} "
              "either way, so sharded training sees none of it.",
        hints=("What does the benchmark divide by the time?",),
        next="What would you expect from four GPUs of the same node?"),
]
