"""Questions of chapter 11: what activations weigh, and what fused attention and checkpoints change."""
from __future__ import annotations

from ... import activation_bytes, layer_activation_bytes, model_bytes, models, recompute_factor, state_bytes
from ...quantity import show
from ..draws import Choice, LogUniform
from ..functions import gives, holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

GPT = 34
LLAMA = models["Llama 3 70B"]
WIDTHS = (4096, 5120, 8192, 12_288, 16_384)
DEPTHS = (32, 40, 64, 80, 96, 126)
CONTEXTS = (4096, 8192, 16_384, 32_768)


def _stack(g: Givens, coefficient: float = GPT, heads: int = 0, interval: int = 0) -> float:
    layer = layer_activation_bytes(g.seq, g.hidden, 1, coefficient, heads)
    return activation_bytes(g.layers, layer, 2 * g.seq * g.hidden, interval)


def _map(g: Givens, size: float) -> float:
    """A layer with so many bytes for each head and pair of positions."""
    return layer_activation_bytes(g.seq, g.hidden, 1, GPT + size * g.heads * g.seq / g.hidden)


def _rank(g: Givens, tp: int, sequence_parallel: int) -> float:
    return activation_bytes(LLAMA.layers, layer_activation_bytes(g.seq, LLAMA.hidden, 1, GPT, 0, tp,
                                                                 sequence_parallel))


def _equal(g: Givens, size: float = 2, layers: int | None = None) -> float:
    return model_bytes(g.params, size) / (GPT * g.hidden * (layers or g.layers))


def _by(heads: int, seq: int) -> float:
    """All layers of Llama 3 70B."""
    layer = layer_activation_bytes(seq, LLAMA.hidden, 1, GPT, heads)
    return activation_bytes(LLAMA.layers, layer)


def my_activation_bytes(layers, seq, hidden, batch=1, coefficient=34, heads=0, interval=0):
    """The library's way, with the arguments of the exercise."""
    layer = layer_activation_bytes(seq, hidden, batch, coefficient, heads)
    return activation_bytes(layers, layer, 2 * batch * seq * hidden, min(interval, layers))


FACTS = {"gpt": lambda g: GPT}
CURVE = {
    "short": lambda g: 512, "long": lambda g: f"{LLAMA.context:,}",
    "short_plain": lambda g: show(_by(LLAMA.heads, 512), "B", 3), "short_fused": lambda g: show(_by(0, 512), "B", 3),
    "long_plain": lambda g: show(_by(LLAMA.heads, LLAMA.context), "B", 3),
    "long_fused": lambda g: show(_by(0, LLAMA.context), "B", 4),
    "short_cut": lambda g: show(1 - _by(0, 512) / _by(LLAMA.heads, 512), "%", 2),
    "long_cut": lambda g: show(1 - _by(0, LLAMA.context) / _by(LLAMA.heads, LLAMA.context), "%", 2),
    "short_map": lambda g: round(5 * LLAMA.heads * 512 / LLAMA.hidden),
    "long_map": lambda g: round(5 * LLAMA.heads * LLAMA.context / LLAMA.hidden),
    "cross": lambda g: round(GPT * LLAMA.hidden / (5 * LLAMA.heads)), "gpt": lambda g: GPT,
    "third": lambda g: show(recompute_factor() - 1, "%", 2),
}

QUESTIONS = [
    Estimate(
        id="activations.1",
        ask="A model of {layers} layers and hidden width {hidden} trains on one sequence of {seq} tokens at a time, {gpt} "
            "bytes per token and unit of width. How many bytes of activations wait at the end of the forward pass?",
        givens={"layers": Choice(80, DEPTHS), "hidden": Choice(8192, WIDTHS), "seq": Choice(8192, CONTEXTS)},
        facts=FACTS, answer=_stack, unit="GB",
        traps=(
            Trap("one layer", lambda g: _stack(g) / g.layers, "That is one layer. All {layers} of them wait."),
            Trap("layer inputs", lambda g: _stack(g, 2),
                 "That is one hidden state per layer: what full checkpointing keeps, without the layer in work."),
            Trap("fp32", lambda g: _stack(g, 2 * GPT), "That stores everything in fp32. The {gpt} already counts bytes, in bf16."),
            Trap("one byte", lambda g: _stack(g, GPT / 2), "That is one byte per number. The {gpt} already counts bytes."),
            Trap("maps counted", lambda g: _stack(g, heads=g.hidden // 128),
                 "That counts the attention maps. Fused attention does not keep them."),
            Trap("eight GPUs", lambda g: 8 * _stack(g), "Activations are per GPU; do not multiply by the GPUs of a node."),
            Trap("divided by eight", lambda g: _stack(g) / 8, "Data parallelism does not divide activations."),
        ),
        hints=("Bytes per layer first: the constant times tokens times width.", "Then times the layers."),
        remark="Linear in tokens, width and layers.",
        next="At which context is that as much as the weights?"),
    Estimate(
        id="activations.2",
        ask="The same GPT layer with attention written out, five bytes for each head and pair of positions: {heads} heads, width "
            "{hidden}, one sequence of {seq} tokens. How many bytes does one layer keep?",
        givens={"heads": Choice(64, (32, 40, 64, 96, 128)), "hidden": Choice(8192, WIDTHS), "seq": Choice(8192, CONTEXTS)},
        facts=FACTS, answer=lambda g: layer_activation_bytes(g.seq, g.hidden, 1, GPT, g.heads), unit="GB",
        traps=(
            Trap("fused", lambda g: _map(g, 0), "That is the layer with fused attention: the maps are missing."),
            Trap("maps alone", lambda g: _map(g, 5) - _map(g, 0) if _map(g, 5) < 8 * _map(g, 0) else None,
                 "That is the maps alone. The rest of the layer keeps {gpt} bytes per token and unit of width."),
            Trap("one map", lambda g: _map(g, 2), "That keeps one bf16 map. There are three tensors of its size: two, one and two bytes."),
        ),
        hints=("Two terms: one with tokens times width, one with heads times tokens squared.",
               "The maps take five bytes times heads times tokens squared."),
        next="At which context are the two terms equal?"),
    Estimate(
        id="activations.3",
        ask="{layers} layers of width {hidden}, one sequence of {seq} tokens, {gpt} bytes per token and unit of width, and a checkpoint at "
            "the input of every layer. What is the peak of the activations?",
        givens={"layers": Choice(80, DEPTHS), "hidden": Choice(8192, WIDTHS), "seq": Choice(8192, CONTEXTS)},
        facts=FACTS, answer=lambda g: _stack(g, interval=1), unit="GB",
        traps=(
            Trap("inputs alone", lambda g: _stack(g, 2),
                 "Those are the stored inputs. The layer whose backward runs is whole in memory beside them."),
            Trap("nothing recomputed", _stack, "That is without checkpoints."),
            Trap("fp32 inputs", lambda g: _stack(g, 4) + _stack(g) / g.layers, "The stored inputs are bf16: two bytes."),
            Trap("one layer", lambda g: _stack(g) / g.layers, "That is the layer in work alone; the inputs of all layers are stored too."),
        ),
        hints=("What is stored for each layer, and what is live while one layer is recomputed?",
               "Two bytes per token and unit of width for each layer, plus one whole layer."),
        next="Which interval between checkpoints needs the least memory?"),
    Estimate(
        id="activations.4",
        ask="A model of {params} parameters, {layers} layers of width {hidden}, fused attention, {gpt} bytes per token and unit of width. "
            "From how many tokens on do activations outweigh the bf16 weights?",
        givens={"params": LogUniform(70.6e9, 7e9, 400e9), "layers": Choice(80, DEPTHS), "hidden": Choice(8192, WIDTHS)},
        facts=FACTS | {"state": lambda g: state_bytes(1)}, answer=_equal, unit="tokens",
        traps=(
            Trap("training state", lambda g: _equal(g, 16), "That compares with the whole training state of {state} bytes per parameter."),
            Trap("one byte", lambda g: _equal(g, 1), "A bf16 weight has two bytes."),
            Trap("fp32 weights", lambda g: _equal(g, 4), "A bf16 weight has two bytes, not four."),
            Trap("one layer", lambda g: _equal(g, layers=1), "That is one layer's activations against all weights."),
        ),
        hints=("Set the two sums of bytes equal.", "Weights over the activations of one token."),
        next="And with attention written out?"),
    Estimate(
        id="activations.5",
        ask="Checkpointing repeats the forward of {share} of the layers and no others. By which percentage does the compute of a step grow?",
        givens={"share": Choice(0.5, (0.2, 0.25, 0.4, 0.5, 0.6, 0.75), "%")},
        facts={"all": lambda g: show(recompute_factor() - 1, "%", 3)},
        answer=lambda g: recompute_factor(g.share) - 1, unit="%",
        traps=(
            Trap("all layers", lambda g: recompute_factor() - 1, "That is {all}, for a forward of all layers."),
            Trap("over the backward", lambda g: g.share / 2, "That compares with the backward alone. A step is a forward and a backward."),
            Trap("step doubled", lambda g: g.share, "Only the forward runs again, one of the step's three passes."),
        ),
        hints=("Which part of a step is its forward?", "The backward takes twice the forward."),
        remark="MFU counts the useful work only, so it falls by the factor that the compute grows.",
        next="Why is the measured cost often a little lower?"),
    Estimate(
        id="activations.6",
        ask="Llama 3 70B, {layers} layers of width {hidden}, {gpt} bytes per token and unit of width, one sequence of {seq} tokens, "
            "tensor parallelism over {tp} GPUs with sequence parallelism. What does each GPU keep?",
        givens={"seq": Choice(8192, CONTEXTS), "tp": Choice(8, (2, 4, 8))},
        facts=FACTS | {"layers": lambda g: LLAMA.layers, "hidden": lambda g: LLAMA.hidden, "unsplit": lambda g: 10},
        answer=lambda g: _rank(g, g.tp, 1), unit="GB",
        traps=(
            Trap("no sequence parallelism", lambda g: _rank(g, g.tp, 0),
                 "That leaves {unsplit} of the {gpt} bytes whole, as tensor parallelism alone does."),
            Trap("not divided", lambda g: _rank(g, 1, 0), "Nothing is divided there."),
            Trap("one layer", lambda g: _rank(g, g.tp, 1) / LLAMA.layers, "That is one layer."),
        ),
        hints=("Which of the bytes does each of the two divide?", "Together they divide all of them."),
        next="What does sequence parallelism send in exchange?"),
    Implement(
        id="activations.7",
        ask="Write the bytes of activations on one GPU. `heads` is zero when attention is fused; `interval` is the number of layers per "
            "checkpoint, zero for none, and more than there are layers means one segment. Refuse what cannot be.",
        stub='''
def my_activation_bytes(layers, seq, hidden, batch=1, coefficient=34, heads=0, interval=0):
    """Bytes of activations on one GPU; heads: of unfused attention; interval: layers per checkpoint, 0 for none."""
    return ...
''',
        cases=(
            gives("one layer of width and context eight thousand", my_activation_bytes, 1, 8192, 8192),
            gives("eighty of them", my_activation_bytes, 80, 8192, 8192),
            gives("unfused attention adds five bytes per head and pair", my_activation_bytes, 80, 8192, 8192, 1, 34, 64),
            gives("a checkpoint at every layer keeps inputs and one whole layer", my_activation_bytes, 80, 8192, 8192, 1, 34, 0, 1),
            gives("a checkpoint every two layers", my_activation_bytes, 80, 8192, 8192, 1, 34, 0, 2),
            gives("an interval that does not divide the layers rounds the segments up", my_activation_bytes, 80, 8192, 8192, 1, 34, 0, 7),
            gives("an interval beyond the layers is one segment", my_activation_bytes, 32, 4096, 4096, 2, 34, 0, 100),
            holds("twice the sequences, twice the bytes",
                  lambda f: abs(f(80, 8192, 8192, 2, 34, 64) / f(80, 8192, 8192, 1, 34, 64) - 2) < 1e-9),
            gives("another layer constant is used", my_activation_bytes, 32, 8192, 4096, 1, 52.5),
            refuses("a micro-batch of no sequences is refused", 80, 8192, 8192, 0),
            refuses("a model without layers is refused", 0, 8192, 8192),
            refuses("a negative interval is refused", 80, 8192, 8192, 1, 34, 0, -1),
        ),
        hints=("A layer first: tokens times width times the constant, plus the maps.",
               "With checkpoints: segments rounded up times one input of two bytes, plus one segment of whole layers."),
        solution='''
def my_activation_bytes(layers, seq, hidden, batch=1, coefficient=34, heads=0, interval=0):
    """Bytes of activations on one GPU; heads: of unfused attention; interval: layers per checkpoint, 0 for none."""
    if min(layers, seq, hidden, batch) < 1 or heads < 0 or interval < 0:
        raise ValueError("sizes must be at least 1, heads and interval not negative")
    layer = batch * seq * hidden * coefficient + 5 * heads * batch * seq**2
    if interval == 0:
        return layers * layer
    interval = min(interval, layers)
    segments = -(-layers // interval)
    return segments * 2 * batch * seq * hidden + interval * layer
''',
        next="What does the last segment cost when the interval does not divide the layers?"),
    Rubric(
        id="activations.8",
        ask="“With {short} tokens FlashAttention cut the activations of our Llama 3 70B by about a third, with {long} by nine tenths. Is the first "
            "measurement wrong?” Explain, and say what you would do next.",
        facts=CURVE,
        points=((2, "The removed term is `5as/h` per token and unit of width: {short_map} at {short} tokens, {long_map} at {long}, beside {gpt}."),
                (1, "It computes both cuts: {short_plain} to {short_fused} ({short_cut}), {long_plain} to {long_fused} ({long_cut})."),
                (1, "One term is linear in the context, the other quadratic; they are equal at about {cross} tokens."),
                (1, "What remains is not attention's: next comes checkpointing, one layer input each, for {third} more compute."),
                (1, "Or splitting by tensor, sequence or context parallelism; data parallelism and ZeRO do not divide activations.")),
        model="Both are right. Unfused attention keeps five bytes for each head and pair of positions, which grows with the square of the "
              "context, while the rest of the layer grows with the context. At {short} tokens the maps are {short_map} beside {gpt}, so "
              "removing them saves {short_cut}; at {long} they are {long_map}, and it saves {long_cut}. The {long_fused} that remain are "
              "inputs of products and nonlinearities. Checkpointing keeps one input per layer instead and costs one more forward, {third} of "
              "the compute; tensor parallelism with sequence parallelism divides what is left.",
        hints=("Write the bytes of a layer as two terms.", "How does each grow with the context?"),
        next="Which of the two terms does grouped-query attention change?"),
]
