"""Questions of chapter 1: the rule of six, what it leaves out, and which parameters it means."""
from __future__ import annotations

from ... import (Transformer, attention_context, attention_flops, chips, flops_per_token, models,
                 moe, recompute_factor, runs, show, training_flops)
from ..draws import Choice, LogUniform
from ..functions import gives, holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

WITHIN = 0.01
SIX, FORWARD, FROZEN, EIGHT = 6, 2, 4, 8
DENSE = ("Llama 3 8B", "Llama 3 70B", "Llama 3.1 405B")
SHAPES = (*DENSE, "Llama 2 7B", "Llama 2 13B", "Llama 2 70B", "LLaMA 65B", "GPT-3 175B", "MPT 30B")
MIXTURES = ("Qwen3-235B-A22B", "Mixtral 8x7B", "DeepSeek-V3")
SHORT = runs["Ironwood Llama 3.1 70B"]
LONG = runs["Ironwood Llama 3.1 70B at 131,072"]
LLAMA = models["Llama 3 70B"]


def _run(g: Givens, factor: float = SIX) -> float:
    return training_flops(g.params, g.tokens, factor)


def _width(g: Givens) -> int:
    return models[g.model].heads * models[g.model].head_dim


def _token(g: Givens, causal: int = 1) -> float:
    m = models[g.model]
    return flops_per_token(m.matmul_params, m.layers, _width(g), g.context, causal)


def _forward_attention(g: Givens) -> float:
    """The weights in all three passes, attention in one."""
    m = models[g.model]
    return (training_flops(m.matmul_params, 1)
            + attention_flops(m.layers, _width(g), g.context, 1, FORWARD))


def _crossing(g: Givens, causal: int = 1, layers: int | None = None) -> float:
    m = models[g.model]
    return attention_context(m.matmul_params, layers or m.layers, _width(g), causal)


def _mixture(g: Givens, field: str = "published_active", factor: float = SIX) -> float:
    return training_flops(getattr(moe[g.model], field), g.tokens, factor)


def _routed_share(g: Givens) -> float:
    """All parameters times the share of the experts that a token meets."""
    m = moe[g.model]
    return _mixture(g, "published") * m.top_k / m.experts


_MODEL_FACTS = {"width": _width, "layers": lambda g: models[g.model].layers,
                "params": lambda g: float(models[g.model].params),
                "matmul": lambda g: float(models[g.model].matmul_params)}


def _dashboard(run, attention: bool) -> str:
    """The MFU of a run in percent, with and without attention in the numerator."""
    width = LLAMA.heads * LLAMA.head_dim
    flops = (flops_per_token(LLAMA.matmul_params, LLAMA.layers, width, run.context) if attention
             else training_flops(LLAMA.params, 1))
    return show(flops * run.chip_token_rate / chips[run.chip].bf16_flops, "%", 3)


def _attention_share(run) -> str:
    width = LLAMA.heads * LLAMA.head_dim
    return show(attention_flops(LLAMA.layers, width, run.context)
                / flops_per_token(LLAMA.matmul_params, LLAMA.layers, width, run.context), "%", 2)


def _both(matmul: float, layers: int, width: int, seq, causal: bool = True,
          recompute: str = "none"):
    """The model's and the hardware's FLOPs by the library."""
    model = flops_per_token(matmul, layers, width, seq, int(causal))
    return model, model * recompute_factor(int(recompute == "full"))


QUESTIONS = [
    Estimate(
        id="six-nd.1",
        ask="How many FLOPs does it take to train a dense model of {params} parameters on {tokens} "
            "tokens, attention not counted?",
        givens={"params": LogUniform(175e9, 1e9, 600e9),
                "tokens": LogUniform(300e9, 100e9, 20e12)},
        answer=_run, unit="FLOPs", within=WITHIN,
        traps=(
            Trap("forward only", lambda g: _run(g, FORWARD),
                 "That counts the forward pass alone. The backward pass makes two products for "
                 "each one of the forward."),
            Trap("backward once", lambda g: _run(g, FROZEN),
                 "That takes the backward pass for as large as the forward. It makes gradients of "
                 "the inputs and of the weights: twice the forward. (Four is right for a frozen "
                 "base.)"),
            Trap("multiply-adds", lambda g: _run(g, SIX / 2),
                 "That counts multiply-adds. Each is two FLOPs."),
            Trap("recompute counted", lambda g: _run(g, EIGHT),
                 "That counts a second forward pass. Recomputation is work for the hardware; the "
                 "model's FLOPs do not contain it."),
            Trap("doubled twice", lambda g: _run(g, SIX * 2),
                 "Twice too much: the two FLOPs of a multiply-add are inside the six already."),
            Trap("no constant", lambda g: _run(g, 1),
                 "That is parameters times tokens. How many FLOPs does one parameter cost per "
                 "token?"),
        ),
        hints=("What does one weight do with one token on the way forward, and on the way back?",
               "Two FLOPs forward, four backward."),
        next="Where do the four of the backward pass come from?"),
    Estimate(
        id="six-nd.2",
        ask="A dense model of {params} parameters reads a prompt. How many FLOPs per token, "
            "attention not counted?",
        givens={"params": LogUniform(8.03e9, 1e9, 500e9)},
        answer=lambda g: training_flops(g.params, 1, FORWARD), unit="FLOPs", within=WITHIN,
        traps=(
            Trap("training", lambda g: training_flops(g.params, 1),
                 "That is the cost of a training token. Reading a prompt has no backward pass."),
            Trap("multiply-adds", lambda g: training_flops(g.params, 1, 1),
                 "That counts multiply-adds. Each is two FLOPs."),
            Trap("backward only", lambda g: training_flops(g.params, 1, FROZEN),
                 "That is the size of a backward pass, and there is none here."),
        ),
        hints=("Which of the three products of a layer does inference need?",
               "The forward one: a multiplication and an addition per weight."),
        next="Why does writing a token take so much longer than its FLOPs suggest?"),
    Estimate(
        id="six-nd.3",
        ask="{model} has {params} parameters, of which {matmul} multiply activations, {layers} "
            "layers, and heads that together are {width} wide. How many FLOPs does a training "
            "token cost at a context of {context}, with causal attention counted?",
        givens={"model": Choice("Llama 3 8B", DENSE),
                "context": Choice(8192, (8192, 32768, 131072))},
        facts=_MODEL_FACTS, answer=_token, unit="FLOPs", within=WITHIN,
        traps=(
            Trap("no attention", lambda g: training_flops(models[g.model].params, 1),
                 "That is the rule of six. It leaves out attention, whose products have no "
                 "parameters."),
            Trap("full square", lambda g: _token(g, 0),
                 "That counts the whole square of scores. A causal kernel skips half of it."),
            Trap("attention forward only", lambda g: _forward_attention(g)
                 if abs(_forward_attention(g) / _token(g) - 1) > 2 * WITHIN else None,
                 "Attention is counted in the forward pass alone here. Its backward pass costs "
                 "twice that again."),
            Trap("attention alone",
                 lambda g: attention_flops(models[g.model].layers, _width(g), g.context),
                 "That is attention alone; the weights are missing."),
            Trap("forward", lambda g: _token(g) / 3,
                 "That is the forward pass, with attention. Training costs three times as much."),
        ),
        hints=("Two parts: six FLOPs for each parameter that multiplies, and the products that "
               "have no parameters.",
               "Scores and weighted sum cost two FLOPs each per layer, width and context going "
               "forward; training is three times that, a causal mask half of it. That makes six "
               "times layers, width and context."),
        remark="The look-up table of the input embedding multiplies nothing, so it is left out.",
        next="What would the same model's MFU be on a dashboard that divides by the rule of six?"),
    Estimate(
        id="six-nd.4",
        ask="{model}: {matmul} parameters multiply activations, {layers} layers, heads {width} "
            "wide in all. At which context does causal attention cost as many FLOPs as the "
            "weights?",
        givens={"model": Choice("Llama 3 8B", SHAPES)},
        facts=_MODEL_FACTS, answer=_crossing, unit="tokens", within=WITHIN,
        traps=(
            Trap("full square", lambda g: _crossing(g, 0),
                 "That is the crossing when the whole square of scores is counted. The causal half "
                 "takes twice the context."),
            Trap("half of the half", lambda g: 2 * _crossing(g),
                 "Halved twice: six times layers, width and context is the causal count already."),
            Trap("one layer", lambda g: _crossing(g, layers=1),
                 "The number of layers is missing: each of them attends."),
            Trap("forward against training", lambda g: 3 * _crossing(g),
                 "That sets the forward pass of attention against all three passes of the "
                 "weights."),
        ),
        hints=("Set six FLOPs per parameter equal to six times layers, width and context.",
               "Parameters over layers times width."),
        remark="That is a dozen widths or a little more for most dense models, whatever the "
               "depth.",
        next="What does that say about a small model with a long context?"),
    Estimate(
        id="six-nd.5",
        ask="{model}, a mixture of experts, stores {total} parameters and uses {active} per token. "
            "How many FLOPs does training on {tokens} tokens take, attention not counted?",
        givens={"model": Choice("Qwen3-235B-A22B", MIXTURES),
                "tokens": LogUniform(36e12, 1e12, 40e12)},
        facts={"total": lambda g: float(moe[g.model].published),
               "active": lambda g: float(moe[g.model].published_active)},
        answer=_mixture, unit="FLOPs", within=WITHIN,
        traps=(
            Trap("all parameters", lambda g: _mixture(g, "published"),
                 "That charges for experts that the token never visits. FLOPs follow the active "
                 "parameters, memory follows all."),
            Trap("share of the experts", _routed_share,
                 "That scales all parameters by the share of experts chosen. Attention and "
                 "embeddings are not routed: every token meets them."),
            Trap("forward only", lambda g: _mixture(g, factor=FORWARD),
                 "That counts the forward pass alone."),
            Trap("recompute counted", lambda g: _mixture(g, factor=EIGHT),
                 "That counts a second forward pass, which is not the model's work."),
        ),
        hints=("Which parameters does one token meet?",),
        next="Which of the two counts decides how many GPUs the model needs to fit?"),
    Estimate(
        id="six-nd.6",
        ask="A model of {params} parameters trains on {tokens} tokens and keeps no activations: "
            "the whole forward pass runs again during the backward pass. How many FLOPs does the "
            "hardware do, attention not counted?",
        givens={"params": LogUniform(70.6e9, 7e9, 500e9), "tokens": LogUniform(15e12, 1e12, 20e12)},
        answer=lambda g: _run(g) * recompute_factor(1), unit="FLOPs", within=WITHIN,
        traps=(
            Trap("model FLOPs", _run,
                 "Those are the model's FLOPs, which MFU counts. The hardware runs the forward "
                 "pass twice."),
            Trap("everything twice", lambda g: 2 * _run(g),
                 "That repeats the backward pass as well. Only the forward runs twice."),
            Trap("no gradients of weights", lambda g: _run(g, FROZEN),
                 "That is a frozen base: forward and one product backward. Here every weight is "
                 "trained."),
            Trap("forward only", lambda g: _run(g, FORWARD),
                 "That is one forward pass. Count two of them and the backward pass."),
            Trap("forward added twice", lambda g: _run(g, EIGHT + FORWARD),
                 "One forward pass too many: the second one replaces what was not kept."),
        ),
        hints=("Write down the three products of a layer, and which one is done again.",),
        next="By what does MFU change when recomputation is switched off and the step gets "
             "faster?"),
    Estimate(
        id="six-nd.7",
        ask="A report says that a dense model took {flops} FLOPs to train on {tokens} tokens. How "
            "many parameters does it have?",
        givens={"flops": LogUniform(3.8e25, 1e23, 5e25),
                "tokens": LogUniform(15.6e12, 1e12, 20e12)},
        answer=lambda g: g.flops / training_flops(1, g.tokens), unit="parameters", within=WITHIN,
        traps=(
            Trap("no constant", lambda g: g.flops / g.tokens,
                 "Those are FLOPs per token. How many does each parameter cost?"),
            Trap("forward only", lambda g: g.flops / training_flops(1, g.tokens, FORWARD),
                 "That takes two FLOPs per parameter and token: a forward pass."),
            Trap("recompute counted", lambda g: g.flops / training_flops(1, g.tokens, EIGHT),
                 "That takes eight. Reports give model FLOPs, without recomputation."),
            Trap("multiply-adds", lambda g: g.flops / training_flops(1, g.tokens, SIX / 2),
                 "That takes three, as if the report counted multiply-adds."),
        ),
        hints=("Solve the rule of six for the parameters.",),
        remark="If the report counts attention, the model is a few percent smaller.",
        next="How would you tell a dense model from a mixture of experts by these two numbers?"),
    Implement(
        id="six-nd.8",
        ask="Write the parameter count that FLOPs follow: matrices of a decoder with grouped-query "
            "attention, a gated feed-forward block and an output matrix of its own. No look-up "
            "table, no norms. Raise `ValueError` when the key and value heads do not divide the "
            "query heads.",
        stub='''
def my_matmul_params(layers, hidden, ffn, heads, kv_heads, head_dim, vocab):
    """Parameters that multiply activations."""
    return ...
''',
        cases=(
            gives("it fits a model with as many key and value heads as query heads",
                  lambda *shape: Transformer(*shape).matmul_params,
                  32, 4096, 11008, 32, 32, 128, 32000),
            gives("fewer key and value heads make two of the four matrices narrower",
                  lambda *shape: Transformer(*shape).matmul_params,
                  80, 8192, 28672, 64, 8, 128, 128256),
            gives("heads together need not be as wide as the hidden state",
                  lambda *shape: Transformer(*shape).matmul_params,
                  94, 4096, 1536, 64, 4, 128, 151936),
            holds("the output matrix counts once",
                  lambda f: f(2, 64, 192, 4, 4, 16, 512)
                  == f(2, 64, 192, 4, 4, 16, 256) + 64 * 256),
            holds("twice the layers add the layers once more",
                  lambda f: f(4, 64, 192, 4, 2, 16, 512) + 64 * 512
                  == 2 * f(2, 64, 192, 4, 2, 16, 512)),
            refuses("three key and value heads for eight query heads are refused",
                    2, 64, 192, 8, 3, 8, 512, error=ValueError),
        ),
        hints=("Queries and output are hidden × heads·head_dim, keys and values hidden × "
               "kv_heads·head_dim.",
               "A gated block has three matrices of hidden × ffn."),
        solution='''
def my_matmul_params(layers, hidden, ffn, heads, kv_heads, head_dim, vocab):
    """Parameters that multiply activations."""
    if heads % kv_heads:
        raise ValueError(f"kv_heads={kv_heads} must divide heads={heads}")
    attention = 2 * hidden * head_dim * (heads + kv_heads)
    return layers * (attention + 3 * hidden * ffn) + vocab * hidden
''',
        next="Which of these matrices would you leave out for a mixture of experts?"),
    Implement(
        id="six-nd.9",
        ask="Write the careful count. It returns two numbers per training token, the model's FLOPs "
            "and the hardware's; `recompute` is `none` or `full`. It takes single numbers and "
            "NumPy arrays of contexts, and raises `ValueError` for negative parameters, a context "
            "below one and any other word.",
        stub='''
def my_flops_per_token(matmul, layers, width, seq, causal=True, recompute="none"):
    """FLOPs per training token: the model's, and the hardware's."""
    return ...
''',
        cases=(
            gives("causal attention is six times layers, width and context", _both, 69.5e9, 80,
                  8192, 8192),
            gives("the full square doubles the attention part only", _both, 69.5e9, 80, 8192, 8192,
                  causal=False),
            gives("a context of one token is allowed", _both, 7e9, 32, 4096, 1),
            gives("full recomputation leaves the model's FLOPs and adds a third to the hardware's",
                  _both, 7e9, 32, 4096, 4096, recompute="full"),
            holds("an array of contexts gives arrays", lambda f: _array_like(f)),
            refuses("negative parameters are refused", -7e9, 32, 4096, 4096),
            refuses("a context of zero is refused", 7e9, 32, 4096, 0),
            refuses("an unknown word is refused", 7e9, 32, 4096, 4096, recompute="some"),
        ),
        hints=("The model's count first; the hardware's is that times one, or four thirds.",
               "`np.any(...)` of a condition works for numbers and for arrays."),
        solution='''
import numpy as np

def my_flops_per_token(matmul, layers, width, seq, causal=True, recompute="none"):
    """FLOPs per training token: the model's, and the hardware's."""
    if not matmul >= 0:
        raise ValueError(f"matmul must be at least 0, got {matmul!r}")
    if np.any(np.asarray(seq) < 1):
        raise ValueError(f"seq must be at least 1, got {seq!r}")
    if recompute not in ("none", "full"):
        raise ValueError(f"recompute is none or full, got {recompute!r}")
    model = 6 * matmul + (6 if causal else 12) * layers * width * seq
    return model, model * (4 / 3 if recompute == "full" else 1)
''',
        next="Which of the two numbers goes into MFU, and which into HFU?"),
    Rubric(
        id="six-nd.10",
        ask="“Our dashboard's MFU fell from {short_six} to {long_six} when we moved {model} from a "
            "context of {short} to {long}, on the same chips. The network must be too slow.” The "
            "dashboard divides six FLOPs per parameter and token by the peak, {peak}; the chips "
            "ran at {short_rate} and {long_rate} tokens per second each. What do you answer?",
        facts={"model": lambda g: LLAMA.name, "short": lambda g: SHORT.context,
               "long": lambda g: LONG.context,
               "short_six": lambda g: _dashboard(SHORT, False),
               "long_six": lambda g: _dashboard(LONG, False),
               "short_mfu": lambda g: _dashboard(SHORT, True),
               "long_mfu": lambda g: _dashboard(LONG, True),
               "short_share": lambda g: _attention_share(SHORT),
               "long_share": lambda g: _attention_share(LONG),
               "short_rate": lambda g: show(SHORT.chip_token_rate),
               "long_rate": lambda g: show(LONG.chip_token_rate),
               "peak": lambda g: show(chips[SHORT.chip].bf16_flops, "FLOP/s")},
        points=((1, "It names what is missing from the numerator: attention, which grows with the "
                    "context."),
                (1, "It recomputes both figures with causal attention: {short_mfu} and "
                    "{long_mfu}."),
                (1, "It says that utilization did fall, and by far less than the dashboard shows."),
                (1, "It says what the dashboard should print: the convention, beside the "
                    "figure."),
                (1, "It does not blame the network before the numerator is right.")),
        model="The dashboard counts six FLOPs per parameter and token and no attention. At a "
              "context of {short} attention is {short_share} of a token's FLOPs, at {long} it is "
              "{long_share}, so the numerator leaves out more and more of the work. With causal "
              "attention the utilization went from {short_mfu} to {long_mfu}. That drop is real "
              "and worth a profile; the rest is bookkeeping. The dashboard should say which "
              "convention it uses, and use the one with attention.",
        hints=("What does a token cost at each context, attention included?",
               "Compute both utilizations again with that numerator."),
        next="What would you look at first to explain the drop that remains?"),
]


def _array_like(function) -> bool:
    import numpy as np

    contexts = np.array([1024, 8192, 131072])
    return np.allclose(function(7e9, 32, 4096, contexts), _both(7e9, 32, 4096, contexts),
                       rtol=1e-12)
