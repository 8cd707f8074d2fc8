"""Questions of chapter 8: the same arithmetic on another chip."""
from __future__ import annotations

from ... import (DAY, all_to_all_rate, chips, chips_for_memory, chips_needed, matmul_batch,
                 matmul_time, model_bytes, models, padded, ridge, round_up_chips, runs,
                 torus_bisection, tp_limit, training_flops)
from ...quantity import figures, show
from ..draws import Choice, LogUniform
from ..functions import gives, holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

H100, V5E, V6E, V7 = chips["H100 SXM"], chips["TPU v5e"], chips["TPU v6e"], chips["TPU v7"]
LLAMA = models["Llama 3 70B"]
CHIPS = ("TPU v6e", "TPU v7", "TPU v5p", "H100 SXM", "H200", "B200")
LAYER = (LLAMA.hidden, LLAMA.ffn)
IRONWOOD, TRILLIUM = runs["Ironwood Llama 3.1 70B"], runs["Trillium Llama 3.1 70B"]


def _peak(g: Givens, field: str = "bf16_flops") -> float:
    return getattr(chips[g.chip], field)


def _width(g: Givens) -> float:
    return chips[g.chip].hbm_bandwidth


def _other(g: Givens, field: str, factor: float = 1) -> float | None:
    """The ridge with another peak of the chip; None where it has none that differs."""
    peak = chips[g.chip].fields.get(field)
    return ridge(peak, _width(g)) if peak and peak > 1.05 * _peak(g) else None


def _integer_ridge(g: Givens) -> float | None:
    """The ridge with the integer rate, on chips that neither fp8 nor sparsity makes faster."""
    faster = _other(g, "bf16_sparse") or _other(g, "fp8_flops")
    return None if faster else _other(g, "int8_ops")


def _weights(g: Givens, size: float = 2) -> float:
    return model_bytes(g.params, size)


def _slice(g: Givens, size: float = 2, usable: float | None = None) -> float:
    share = g.usable if usable is None else usable
    return round_up_chips(chips_for_memory(_weights(g, size), V6E.hbm, share), 1, 1)


def _chips(g: Givens, peak: float | None = None, mfu: float | None = None,
           factor: float = 6) -> float:
    return chips_needed(training_flops(g.params, g.tokens, factor), g.time, peak or _peak(g),
        mfu or g.mfu)


def _shard(g: Givens) -> float:
    return g.ffn / g.ranks


def _spread(g: Givens, link: float = 1) -> float:
    return all_to_all_rate(torus_bisection(g.chips, g.longest, link * g.link), g.chips)


def _layer(g: Givens) -> tuple[int, int]:
    return models[g.model].hidden, models[g.model].ffn


def _ask_batch(g: Givens, peak: float | None = None, width: float | None = None,
               size: float = 2) -> float:
    return matmul_batch(*_layer(g), peak or _peak(g), width or _width(g), size)


_SPARSE = "That peak counts sparsity. Training is dense, at half of it."
_FP8 = "That is the peak in eight bits, twice the one in bf16."
_BOTH = "That link bandwidth counts both directions; it is stated one way here."
SHEET = {"peak": lambda g: show(_peak(g), "FLOP/s"), "width": lambda g: show(_width(g), "B/s")}

QUESTIONS = [
    Estimate(
        id="tpu-vs-gpu.1",
        ask="A {chip} does {peak} in dense bf16 and reads its memory at {width}. Where is its "
            "ridge, in FLOPs per byte?",
        givens={"chip": Choice("TPU v6e", CHIPS)},
        facts=SHEET,
        answer=lambda g: ridge(_peak(g), _width(g)), unit="",
        traps=(
            Trap("sparsity", lambda g: _other(g, "bf16_sparse"), _SPARSE),
            Trap("fp8", lambda g: None if _other(g, "bf16_sparse") else _other(g, "fp8_flops"),
                _FP8),
            Trap("integer rate", _integer_ridge,
                 "That is the rate of integers in eight bits. The peak is the one in bf16."),
            Trap("upside down", lambda g: 1 / ridge(_peak(g), _width(g)),
                "That is bytes per FLOP, the inverse."),
        ),
        hints=("How many FLOPs could be done while one byte arrives?",
            "Peak over memory bandwidth."),
        next="How many tokens does a layer need to get there?"),
    Estimate(
        id="tpu-vs-gpu.2",
        ask="From how many tokens on is a bf16 product with the feed-forward weight of {model}, "
            "{d_in} by {d_out}, bound by compute on a {chip}, {peak} and {width}? Count the "
            "activations too.",
        givens={"chip": Choice("TPU v6e", ("TPU v6e", "TPU v7", "H100 SXM", "B200")),
            "model": Choice("Llama 3 70B", ("Llama 3 70B", "Llama 3 8B"))},
        facts={"d_in": lambda g: figures(_layer(g)[0]), "d_out": lambda g: figures(_layer(g)[1]),
               **SHEET},
        answer=_ask_batch, unit="tokens",
        traps=(
            Trap("ridge", lambda g: ridge(_peak(g), _width(g)),
                 "That is the ridge: right for a very large weight. Activations in and out are "
                 "moved as well."),
            Trap("v5e", lambda g: _ask_batch(g, V5E.bf16_flops, V5E.hbm_bandwidth),
                 "That holds for a v5e. Each chip has its own ridge."),
            Trap("two bytes twice", lambda g: _ask_batch(g, size=4),
                "That counts four bytes an element; bf16 has two."),
            Trap("bits for bytes", lambda g: 8 * ridge(_peak(g), _width(g)),
                "Bits have been taken for bytes: memory bandwidth is in bytes."),
        ),
        hints=("Set the time of the FLOPs equal to the time of the bytes.",
            "Bytes: weight, activations in, activations out."),
        remark="The ridge alone comes out a few percent low.",
        next="What does the chip reach at half of these tokens?"),
    Estimate(
        id="tpu-vs-gpu.3",
        ask="The bf16 weights of {params} parameters are to fit on TPU v6e with {hbm} each, of "
            "which {usable} may hold weights. Slices come in powers of "
            "two. How many chips?",
        givens={"params": Choice(405e9, (405e9, 22e9, 34e9, 70.6e9, 130e9, 180e9)),
            "usable": Choice(0.9, (0.8, 0.9), "%")},
        facts={"hbm": lambda g: show(V6E.hbm, "B")},
        answer=_slice, unit="chips", whole=True,
        traps=(
            Trap("fp32", lambda g: _slice(g, 4), "That is four bytes a weight; bf16 has two."),
            Trap("one byte", lambda g: _slice(g, 1), "That is one byte a weight; bf16 has two."),
            Trap("training state", lambda g: _slice(g, 16),
                "That is the whole training state. Only the weights are to fit."),
        ),
        hints=("Bytes of the weights over usable bytes of a chip.", "Up to the next power of two."),
        next="And the training state?"),
    Estimate(
        id="tpu-vs-gpu.4",
        ask="{params} parameters, {tokens} tokens, {time}, by the rule 6ND. A {chip} does {peak} "
            "in bf16 and the model reaches {mfu} of it. How many chips, before "
            "rounding to pods?",
        givens={"chip": Choice("TPU v6e", ("TPU v6e", "TPU v7")),
                "params": LogUniform(70.6e9, 20e9, 400e9),
                "tokens": Choice(15e12, (10e12, 15e12), "tokens"),
                "time": Choice(30 * DAY, (30 * DAY, 60 * DAY), "s"),
                "mfu": Choice(0.47, (0.40, 0.47, 0.52), "%")},
        facts={"peak": lambda g: show(_peak(g), "FLOP/s")},
        answer=_chips, unit="chips",
        traps=(
            Trap("H100", lambda g: _chips(g, H100.bf16_flops) if g.chip == "TPU v7" else None,
                "That is the count for H100s: put in the peak of this chip."),
            Trap("one core", lambda g: 2 * _chips(g) if g.chip == "TPU v7" else None,
                 "That takes one of the two cores for a chip. The peak is per chip, both cores."),
            Trap("fp8", lambda g: _chips(g, V7.fp8_flops) if g.chip == "TPU v7" else None, _FP8),
            Trap("integer rate", lambda g: _chips(g, V6E.int8_ops) if g.chip == "TPU v6e" else None,
                 "That takes the integer rate. In fp8 as in bf16 a v6e has half of it."),
            Trap("no utilization", lambda g: _chips(g, mfu=1),
                "That assumes the whole peak. Multiply it by the utilization."),
            Trap("forward only", lambda g: _chips(g, factor=2),
                "That is the forward pass alone, two FLOPs per parameter and token. Training takes "
                "six."),
        ),
        hints=("Work, `6ND`, over what one chip does in that time.",),
        next="How many pods is that, and what crosses from one to the next?"),
    Estimate(
        id="tpu-vs-gpu.5",
        ask="A feed-forward width of {ffn} is cut over {ranks} tensor-parallel ranks and padded to "
            "tiles of {tile}. Which share of the multiplications along "
            "it is useful?",
        givens={"ffn": Choice(11_008, (11_008, 13_824, 14_336, 17_920)),
                "ranks": Choice(32, (32, 64)), "tile": Choice(256, (256,))},
        facts={"shard": lambda g: figures(_shard(g))},
        answer=lambda g: _shard(g) / padded(_shard(g), g.tile), unit="%",
        traps=(
            Trap("before the cut", lambda g: g.ffn / padded(g.ffn, g.tile),
                "That pads the whole width. First it is cut, then each shard is padded."),
            Trap("inverse", lambda g: padded(_shard(g), g.tile) / _shard(g),
                "That is the padded width over the useful one; turn it over."),
            Trap("padding", lambda g: 1 - _shard(g) / padded(_shard(g), g.tile),
                "That is the share of zeros. The rest is useful."),
            Trap("both sides", lambda g: (_shard(g) / padded(_shard(g), g.tile)) ** 2,
                "That pads two dimensions. Only this one is cut."),
        ),
        hints=("How wide is a shard?", "Round it up to whole tiles."),
        remark="A shard is {shard} wide.",
        next="How would you choose the number of ranks instead?"),
    Estimate(
        id="tpu-vs-gpu.6",
        ask="A torus of {chips} chips has {longest} along its longest axis; its rings are closed "
            "and each link carries {link} one way. All chips send alike to all. "
            "How much can each send per second, by the bisection?",
        givens={"chips": Choice(256, (256, 512, 1_024)), "longest": Choice(16, (16, 32)),
            "link": Choice(90e9, (45e9, 50e9, 90e9, 100e9), "B/s")},
        answer=_spread, unit="GB/s",
        traps=(
            Trap("rings open", lambda g: _spread(g, 1 / 2),
                "The cut meets each closed ring twice."),
            Trap("both directions", lambda g: _spread(g, 2), _BOTH),
            Trap("four links", lambda g: 4 * g.link,
                 "That is what a chip's links carry to its neighbours. Half of the bytes must "
                 "cross the middle."),
            Trap("share of the bisection", lambda g: _spread(g) / 4,
                "Half of the chips send half of their bytes across: the cut allows four times "
                "this."),
        ),
        hints=("Cut across the longest axis. How many links does the cut meet?",
            "Half of the chips send half of their bytes over it."),
        next="What would eight GPUs behind a switch do?"),
    Implement(
        id="tpu-vs-gpu.7",
        ask="Write the least time of a bf16 product on one chip, with both dimensions of the "
            "weight padded to whole tiles, and raise `ValueError` for anything "
            "that is not above zero.",
        stub='def my_layer_time(batch, d_in, d_out, peak, bandwidth, tile=1):\n'
             '    """Least seconds of a bf16 product whose weight is padded to whole tiles."""\n    return ...',
        cases=(
            gives("without tiles it is the longer of compute and memory", matmul_time, 240,
                *LAYER, V6E.bf16_flops, V6E.hbm_bandwidth),
            gives("a single token is bound by memory", matmul_time, 1, *LAYER, H100.bf16_flops,
                H100.hbm_bandwidth),
            gives("many tokens are bound by compute", matmul_time, 8192, *LAYER, H100.bf16_flops,
                H100.hbm_bandwidth),
            holds("the two bounds meet at the batch where compute takes over",
                lambda f: _bounds_meet(f)),
            holds("whole tiles cost nothing more",
                  lambda f: f(64, 512, 1024, 1e12, 1e12, 256) == f(64, 512, 1024, 1e12, 1e12)),
            holds("one element more than a tile takes the time of two tiles",
                lambda f: _near(f(4096, 257, 256, 1e12, 1e15, 256), f(4096, 512, 256, 1e12, 1e15))),
            holds("a dimension smaller than the tile fills it",
                  lambda f: _near(f(4096, 256, 128, 1e12, 1e15, 256),
                                  2 * f(4096, 256, 128, 1e12, 1e15))),
            holds("the batch is not padded", lambda f: _near(f(2000, 256, 256, 1e12, 1e15, 256),
                2 * f(1000, 256, 256, 1e12, 1e15, 256))),
            refuses("a peak of zero is refused", 1, 8, 8, 0, 1e12, error=ValueError),
            refuses("a negative bandwidth is refused", 1, 8, 8, 1e12, -1, error=ValueError),
            refuses("no tokens are refused", 0, 8, 8, 1e12, 1e12, error=ValueError),
            refuses("a tile of zero is refused", 1, 8, 8, 1e12, 1e12, 0, error=ValueError),
        ),
        hints=("Pad first: `-(-d // tile) * tile`.",
            "`2 * batch * d_in * d_out` FLOPs; two bytes for each element of weight, input and "
            "output."),
        solution='''
def my_layer_time(batch, d_in, d_out, peak, bandwidth, tile=1):
    """Least seconds of a bf16 product whose weight is padded to whole tiles."""
    if not min(batch, d_in, d_out, peak, bandwidth, tile) > 0:
        raise ValueError("all arguments must be above 0")
    rows, columns = -(-d_in // tile) * tile, -(-d_out // tile) * tile
    moved = 2 * (batch * rows + rows * columns + batch * columns)
    return max(2 * batch * rows * columns / peak, moved / bandwidth)
''',
        next="Which of the two bounds does a larger tile move?"),
    Rubric(
        id="tpu-vs-gpu.8",
        ask="A colleague says: TPUs have no CUDA, so none of our GPU estimates apply to v6e. What "
            "do you answer?",
        facts={"gpu": lambda g: figures(ridge(H100.bf16_flops, H100.hbm_bandwidth), 3),
               "tpu": lambda g: figures(ridge(V6E.bf16_flops, V6E.hbm_bandwidth), 3),
               "tile": lambda g: figures(V6E.tile),
               "pod": lambda g: figures(V6E.domain),
               "limit": lambda g: figures(tp_limit(LLAMA.ffn, V6E.bf16_flops,
                                                   V6E.axis_bandwidth), 2),
               "edge": lambda g: figures(V6E.link_bandwidth / V6E.network_bandwidth),
               "node_edge": lambda g: figures(H100.link_bandwidth / H100.network_bandwidth),
               "rate": lambda g: figures(round(TRILLIUM.chip_token_rate)),
               "new_rate": lambda g: figures(round(IRONWOOD.chip_token_rate))},
        points=((1, "Formulas and units are the same; constants are exchanged."),
                (1, "It computes the ridge again: {tpu} in place of {gpu}."),
                (1, "It names who writes kernels: XLA, and Pallas where that is not enough."),
                (1, "It mentions fixed shapes and padding to tiles of {tile}."),
                (1, "It mentions the torus of {pod} chips and the drop of {edge} times at its "
                    "edge."),
                (1, "It asks for a measured rate in place of a ratio of peaks, and quotes one.")),
        model="FLOPs, bytes and rings do not know the vendor. With the constants of v6e the ridge "
              "is {tpu} FLOPs per byte in place of {gpu}, so we need about twice the tokens per "
              "chip, and tensor parallelism stops at about {limit} chips on Llama 3 70B. New are "
              "the compiler that writes the kernels, with Pallas beside it, shapes that are fixed "
              "and padded to {tile}, and a torus of {pod} chips with a drop of {edge} times at "
              "its edge against {node_edge}. Utilization must be measured: Llama 3.1 70B trains "
              "at {rate} tokens per second and chip on v6e, at {new_rate} on v7.",
        hints=("What in a roofline depends on CUDA?", "What would you measure before you plan?"),
        next="Which of these differences would make you refuse the offer?"),
]


def _near(a: float, b: float) -> bool:
    return abs(a / b - 1) < 1e-9


def _bounds_meet(function) -> bool:
    """Below the batch the time hardly grows, above it in proportion."""
    batch = matmul_batch(*LAYER, V7.bf16_flops, V7.hbm_bandwidth)
    at = [function(int(batch * k), *LAYER, V7.bf16_flops, V7.hbm_bandwidth)
          for k in (0.5, 0.95, 1.05, 2.1)]
    return at[1] / at[0] < 1.1 and abs(at[3] / at[2] - 2) < 0.01
