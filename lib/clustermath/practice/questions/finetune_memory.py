"""Questions of chapter 9: what a fine-tune keeps, all of it or with LoRA."""
from __future__ import annotations

from ... import (activation_bytes, bytes_per_param, ceil, chips_for_memory, gathered_layer_bytes, layer_activation_bytes,
                 linear_shapes, logits_bytes, lora_bytes, lora_params, model_bytes, models)
from ...quantity import figures, show
from ..draws import Choice, LogUniform
from ..functions import gives, holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

GROUPED = ("Llama 3 70B", "Llama 3 8B", "Llama 3.1 405B", "Llama 2 70B")
LLAMA = models["Llama 3 70B"]
CONTEXT = 8192


def _adapters(g: Givens, targets: str = "all", grouped: bool = True) -> int:
    m = models[g.model]
    return lora_params(linear_shapes(m.hidden, m.ffn, m.heads, m.kv_heads if grouped else m.heads, m.head_dim, targets),
                       g.rank, m.layers)


def _state(g: Givens) -> float:
    return lora_bytes(models[g.model].params, _adapters(g), g.frozen)


def _full(g: Givens, without: float = 0) -> float:
    return model_bytes(g.params, bytes_per_param(g.weight, g.grad) - without)


def _gpus(g: Givens, size: float, usable: float | None = None) -> int:
    return ceil(chips_for_memory(model_bytes(g.params, size), g.hbm, g.usable if usable is None else usable))


def _other(g: Givens, value: int) -> int | None:
    """A wrong count, or None where it happens to equal the right one."""
    return value if value != _gpus(g, g.size) else None


def _kept(g: Givens, interval: int = 1) -> float:
    m = models[g.model]
    return activation_bytes(m.layers, layer_activation_bytes(g.tokens, m.hidden), 2 * g.tokens * m.hidden, interval)


def _live(g: Givens) -> float:
    return layer_activation_bytes(g.tokens, models[g.model].hidden)


_SHAPE = {"hidden": lambda g: f"{models[g.model].hidden:,}", "ffn": lambda g: f"{models[g.model].ffn:,}",
          "layers": lambda g: models[g.model].layers, "heads": lambda g: models[g.model].heads,
          "kv_heads": lambda g: models[g.model].kv_heads, "head_dim": lambda g: models[g.model].head_dim}

QUESTIONS = [
    Estimate(
        id="finetune-memory.1",
        ask="All {params} parameters of a model are fine-tuned with Adam: weights of {weight}, gradients of {grad}, and in fp32 the master "
            "weights and two averages. How large is the static state?",
        givens={"params": LogUniform(70.6e9, 5e9, 500e9), "weight": Choice(2, (2,), "B"), "grad": Choice(2, (2, 4), "B")},
        answer=_full, unit="GB",
        traps=(
            Trap("weights only", lambda g: model_bytes(g.params, g.weight), "That is the weights alone. Training keeps gradients and optimizer state as well."),
            Trap("four bytes missing", lambda g: _full(g, 4), "Four bytes are missing: the master weights, or one of the two averages."),
            Trap("weights and gradients", lambda g: model_bytes(g.params, g.weight + g.grad), "That leaves out the optimizer state, which is most of it."),
            Trap("other gradients", lambda g: _full(g, 2 * g.grad - 6), "The gradients are counted in the other precision. Look at their bytes again."),
        ),
        hints=("Five terms for each parameter.", "An fp32 number has four bytes, and there are three of them."),
        next="How much of it would LoRA leave?"),
    Estimate(
        id="finetune-memory.2",
        ask="LoRA of rank {rank} on all seven linear matrices of each layer of {model}: width {hidden}, feed-forward width {ffn}, {layers} layers, "
            "{heads} query heads and {kv_heads} key and value heads of width {head_dim}. How many parameters train?",
        givens={"model": Choice("Llama 3 70B", GROUPED), "rank": Choice(16, (4, 8, 16, 32, 64))},
        facts=_SHAPE,
        answer=_adapters, unit="parameters",
        traps=(
            Trap("grouped queries ignored", lambda g: _adapters(g, grouped=False),
                 "Keys and values have been taken as wide as the queries. With grouped queries their matrices are narrow."),
            Trap("attention only", lambda g: _adapters(g, "attention"), "Those are the adapters of attention. The three feed-forward matrices have some too."),
            Trap("queries and values", lambda g: _adapters(g, "qv"), "Those are the adapters on queries and values alone."),
            Trap("one thin matrix", lambda g: _adapters(g) / 2, "An adapter is two thin matrices, one on each side."),
            Trap("one layer", lambda g: _adapters(g) / models[g.model].layers, "That is one layer."),
        ),
        hints=("An adapter has the rank times the sum of its matrix's two sides.", "How wide are the keys and values?"),
        next="What share of the model is that, and what share of the memory?"),
    Estimate(
        id="finetune-memory.3",
        ask="{model} ({params} parameters) is fine-tuned by LoRA, {adapters} adapter parameters in all. Frozen weights take {frozen} each; "
            "what trains takes {per} a parameter. How large is the static state?",
        givens={"model": Choice("Llama 3 70B", GROUPED), "rank": Choice(16, (8, 16, 32)), "frozen": Choice(2, (1, 2), "B")},
        facts={"params": lambda g: float(models[g.model].params), "adapters": lambda g: f"{figures(_adapters(g) / 1e6, 4)} million",
               "per": lambda g: show(bytes_per_param(), "B")},
        answer=_state, unit="GB",
        traps=(
            Trap("adapters only", lambda g: model_bytes(_adapters(g), bytes_per_param()),
                 "That is the adapters' state. The frozen weights have to be in memory as well."),
            Trap("gradients of frozen weights", lambda g: _state(g) + model_bytes(models[g.model].params, 2),
                 "That keeps a gradient for each frozen weight. Nothing needs one."),
            Trap("full fine-tune", lambda g: model_bytes(models[g.model].params, bytes_per_param()),
                 "That is the full fine-tune, in which every parameter has optimizer state."),
        ),
        hints=("Two sums: what is frozen, and what trains.",),
        next="Which of the two would you shrink first?"),
    Estimate(
        id="finetune-memory.4",
        ask="A model of {params} parameters is fine-tuned in full at {size} per parameter, sharded evenly over GPUs of {hbm}. {usable} of the memory may "
            "go to static state. How many GPUs at least, before rounding to nodes?",
        givens={"params": LogUniform(70.6e9, 30e9, 500e9), "size": Choice(16, (12, 14, 16, 18), "B"),
                "hbm": Choice(80e9, (80e9, 141e9), "B"), "usable": Choice(0.8, (0.7, 0.8), "%")},
        answer=lambda g: _gpus(g, g.size), unit="GPUs", whole=True,
        traps=(
            Trap("no headroom", lambda g: _other(g, _gpus(g, g.size, 1)), "That fills the memory to the last byte. Activations and buffers need room."),
            Trap("weights only", lambda g: _other(g, _gpus(g, 2)), "That holds the weights alone."),
            Trap("rounded down", lambda g: _other(g, _gpus(g, g.size) - 1), "A part of a GPU is a GPU: round up."),
        ),
        hints=("How many bytes of state, and how many may a GPU hold?", "Round up."),
        next="And in whole nodes? Does a step fit then?"),
    Estimate(
        id="finetune-memory.5",
        ask="{model} ({layers} layers, width {hidden}) is fine-tuned by LoRA on all linear matrices, one sequence of {tokens} tokens on each GPU. A layer "
            "keeps {coefficient} per token and unit of width; full checkpointing keeps each layer's bf16 input. How many bytes of activations?",
        givens={"model": Choice("Llama 3 70B", GROUPED), "tokens": Choice(CONTEXT, (2048, 4096, 8192, 16384, 32768))},
        facts={**_SHAPE, "coefficient": lambda g: show(layer_activation_bytes(1, 1), "B")},
        answer=_kept, unit="GB",
        traps=(
            Trap("no checkpointing", lambda g: _kept(g, 0), "That is every layer keeping everything. Checkpointing keeps inputs, and one layer at a time."),
            Trap("live layer forgotten", lambda g: _kept(g) - _live(g), "The inputs are there; the layer being computed again is missing."),
            Trap("live layer only", _live, "That is the layer being computed. The inputs of all the layers wait beside it."),
            Trap("boundaries in fp32", lambda g: 2 * _kept(g) - _live(g), "The inputs are kept in bf16, two bytes each."),
        ),
        hints=("LoRA changes nothing here: what does full fine-tuning keep?", "All layers' inputs, and everything of one layer."),
        remark="The figure holds for each data-parallel rank, however many GPUs share the weights.",
        next="Which activations would adapters on queries and values alone save?"),
    Implement(
        id="finetune-memory.6",
        ask="Write the adapter count. `shapes` holds the two sides of each adapted matrix of a layer. Raise `ValueError` when there is no matrix, when the rank is "
            "below one, and when it exceeds a side of a matrix. The count is an exact integer.",
        stub='def my_lora_params(shapes, rank, layers):\n    """Parameters that adapters of one rank add to a model."""\n    return ...',
        cases=(
            gives("one square matrix, one layer", lora_params, [(64, 64)], 4, 1),
            gives("seven matrices with grouped queries", lora_params, linear_shapes(8192, 28672, 64, 8, 128), 16, 80),
            holds("narrow keys and values cost less than wide ones", lambda f: f(linear_shapes(8192, 28672, 64, 8, 128), 16, 80)
                  < f(linear_shapes(8192, 28672, 64, 64, 128), 16, 80)),
            holds("twice the rank, twice the parameters", lambda f: f([(512, 128)], 16, 3) == 2 * f([(512, 128)], 8, 3)),
            holds("a rank as large as the smaller side is allowed", lambda f: f([(512, 128)], 128, 1) == 128 * 640),
            holds("shapes from a generator count once", lambda f: f((side for side in [(64, 32), (32, 64)]), 2, 1) == 384),
            holds("the result is an exact int", lambda f: isinstance(f([(2**40, 2**40 + 1)], 3, 10**6), int)
                  and f([(2**40, 2**40 + 1)], 3, 10**6) == 3 * 10**6 * (2**41 + 1)),
            refuses("rank zero is refused", [(64, 64)], 0, 1, error=ValueError),
            refuses("a negative rank is refused", [(64, 64)], -4, 1, error=ValueError),
            refuses("a rank above a side is refused", [(64, 64), (64, 8)], 16, 1, error=ValueError),
            refuses("no matrices are refused", [], 4, 1, error=ValueError),
        ),
        hints=("Rank times the sum of both sides, over all matrices and layers.", "Make a list of the shapes first: a generator can be read once."),
        solution='''
def my_lora_params(shapes, rank, layers):
    """Parameters that adapters of one rank add to a model."""
    sides = [side for shape in shapes for side in shape]
    if not sides:
        raise ValueError("no shapes given")
    if not 1 <= rank <= min(sides):
        raise ValueError(f"rank must be from 1 to {min(sides)}, got {rank}")
    return layers * rank * sum(sides)
''',
        next="Why is a rank above the smaller side pointless?"),
    Rubric(
        id="finetune-memory.7",
        ask="A colleague fine-tunes Llama 3 70B by LoRA on two GPUs. \"The state is {state}, the GPUs have {total} together, and yet it runs out of memory at "
            "{tokens} tokens. I will lower the rank.\" What do you answer?",
        givens={"tokens": Choice(CONTEXT, (CONTEXT,)), "hbm": Choice(80e9, (80e9,), "B")},
        facts={"state": lambda g: show(_lora70(), "B"), "total": lambda g: show(2 * g.hbm, "B"), "each": lambda g: show(_lora70() / 2, "B", 3),
               "left": lambda g: show(g.hbm - _lora70() / 2, "B", 2), "kept": lambda g: show(_kept70(1), "B", 3), "all": lambda g: show(_kept70(0), "B", 3),
               "gathered": lambda g: show(gathered_layer_bytes(LLAMA.layer_params, 1, 2, 0), "B", 2),
               "logits": lambda g: show(logits_bytes(g.tokens, LLAMA.vocab), "B", 2), "adapters": lambda g: show(_lora70() - 2 * 70.6e9, "B", 2)},
        points=((2, "It counts {each} of state on each GPU and {left} left."),
                (2, "It names the activations, {kept} with checkpointing and {all} without, which LoRA does not shrink."),
                (1, "It names gathered layers, {gathered}, or logits, {logits}."),
                (1, "It says that a lower rank cannot help: the adapters take {adapters} in all."),
                (1, "It proposes what helps: more GPUs, QLoRA, shorter sequences or a chunked loss.")),
        model="On each of two GPUs the state takes {each} and leaves {left}. A step needs {kept} of activations even with checkpointing, {gathered} for gathered "
              "layers and {logits} for logits. The rank is no help, since all adapters together take {adapters}. Take four GPUs, or QLoRA; shorter sequences and "
              "a loss in chunks help too.",
        hints=("What is left on each GPU?", "What does a step need besides the state?", "How much could a lower rank save?"),
        next="Would QLoRA fit one GPU?"),
]


def _lora70() -> float:
    adapters = lora_params(linear_shapes(LLAMA.hidden, LLAMA.ffn, LLAMA.heads, LLAMA.kv_heads, LLAMA.head_dim), 16, LLAMA.layers)
    return lora_bytes(70.6e9, adapters)


def _kept70(interval: int) -> float:
    layer = layer_activation_bytes(CONTEXT, LLAMA.hidden)
    return activation_bytes(LLAMA.layers, layer, 2 * CONTEXT * LLAMA.hidden, interval)
