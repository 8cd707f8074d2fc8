"""Questions of chapter 5: what a token costs to train on, to read and to write."""
from __future__ import annotations

import math

from ... import (HOUR, Number, Share, break_even_batch, chip_cost, chip_time_needed, chips,
                 context_wall, decode_cost, formula, kv_bytes, models, token_cost, training_flops)
from ...quantity import figures, show
from ..draws import Choice, LogUniform
from ..functions import gives, holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

H100 = chips["H100 SXM"]
LLAMA = models["Llama 3 70B"]
LLAMA_PARAMS = 70.6e9
KV = kv_bytes(LLAMA.layers, LLAMA.kv_heads, LLAMA.head_dim)
SHAPES = ("Llama 3 8B", "Llama 3 70B", "Llama 3.1 405B")
MFUS = (0.3, 0.35, 0.4, 0.45, 0.5)
RENTS = (1.5, 2.0, 2.5, 3.0, 4.0)
FORWARD = 2
CONTEXT, LARGE = 2048, 64  # of the case that the rubric talks about


def _token(g: Givens, peak: float = H100.bf16_flops, mfu: float | None = None, factor: float = 6) -> float:
    """A training token at the rent and utilization of the question."""
    return token_cost(training_flops(g.params, 1, factor), g.price / HOUR, peak,
                      g.mfu if mfu is None else mfu)


def _run(g: Givens, peak: float = H100.bf16_flops, mfu: float | None = None, factor: float = 6) -> float:
    work = training_flops(g.params, g.tokens, factor)
    return chip_cost(chip_time_needed(work, peak, g.mfu if mfu is None else mfu), g.price / HOUR)


def _llama_token(g: Givens, factor: float = 6, mfu: float | None = None) -> float:
    return token_cost(training_flops(LLAMA_PARAMS, 1, factor), g.price / HOUR, H100.bf16_flops,
                      g.mfu if mfu is None else mfu)


def _even(g: Givens, cost: float | None = None, kv: float = KV, size: float = 2,
          share: float | None = None) -> float | None:
    """The crossing, or None where there is none."""
    found = break_even_batch(LLAMA_PARAMS, g.context, kv, _llama_token(g) if cost is None else cost,
                             g.price / HOUR, H100.hbm_bandwidth, size,
                             g.share if share is None else share)
    return found if math.isfinite(found) else None


def _written(g: Givens, batch: int | None = None, context: float | None = None, size: float = 2) -> float:
    return decode_cost(LLAMA_PARAMS, g.batch if batch is None else batch,
                       g.context if context is None else context, KV, g.price / HOUR,
                       H100.hbm_bandwidth, H100.bf16_flops, size)


def _kv(g: Givens) -> float:
    shape = models[g.model]
    return kv_bytes(shape.layers, shape.kv_heads, shape.head_dim)


def _wall(g: Givens, factor: float = 6, mfu: float | None = None, kv: float = 1,
          share: float | None = None) -> float:
    price = g.price / HOUR
    cost = token_cost(training_flops(models[g.model].params, 1, factor), price, H100.bf16_flops,
                      g.mfu if mfu is None else mfu)
    return context_wall(cost, kv * _kv(g), price, H100.hbm_bandwidth, g.share if share is None else share)


@formula("r", mfu=r"\eta_t", busy=r"\eta_s")
def price_ratio(mfu: Share, busy: Share) -> Number:
    """Price of a served token over that of a training token, on the same GPU."""
    return 2 / 6 * (mfu / busy)


def _tflops(rate: float) -> str:
    return f"{figures(rate / 1e12)} TFLOP/s"


_PEAKS = {"sparse": lambda g: _tflops(H100.bf16_sparse), "dense": lambda g: _tflops(H100.bf16_flops)}
_MEMORY = {"params": lambda g: f"{figures(LLAMA_PARAMS / 1e9)}B", "kv": lambda g: show(KV, "B"),
           "bandwidth": lambda g: H100.hbm_bandwidth, "dense": _PEAKS["dense"]}

QUESTIONS = [
    Estimate(
        id="token-price.1",
        ask="What does one training token of a dense model of {params} parameters cost, in dollars, on H100s at "
            "{price} an hour and {mfu} MFU?",
        givens={"params": LogUniform(8.03e9, 1e9, 500e9), "price": Choice(2.5, RENTS, "$"),
                "mfu": Choice(0.4, MFUS, "%")},
        facts=_PEAKS, answer=_token, unit="$",
        traps=(
            Trap("sparse peak", lambda g: _token(g, H100.bf16_sparse),
                 "The peak is the figure with sparsity, {sparse}. Training uses the dense one."),
            Trap("no MFU", lambda g: _token(g, mfu=1),
                 "That sells every FLOP of the peak. Divide by the utilization: idle time is paid, too."),
            Trap("multiplied by MFU", lambda g: _token(g) * g.mfu**2,
                 "The utilization has been multiplied with. A lower one makes the token dearer."),
            Trap("forward only", lambda g: _token(g, factor=FORWARD),
                 "That is a token that is read: a forward pass. Training does three times the FLOPs."),
            Trap("recompute counted", lambda g: _token(g, factor=8),
                 "That counts recomputation, which MFU leaves out."),
            Trap("no factor", lambda g: _token(g, factor=1),
                 "How many FLOPs does one parameter cost per token? One is too few."),
            Trap("node price", lambda g: _token(g) * H100.domain,
                 "That puts the rent of a whole node over the FLOPs of one GPU."),
            Trap("hour as second", lambda g: _token(g) * HOUR,
                 "The rent is per hour, the peak per second."),
            Trap("price of a FLOP", lambda g: _token(g) / training_flops(g.params, 1),
                 "That is the price of one FLOP. How many does the token take?"),
        ),
        hints=("What does one useful FLOP cost?",
               "Rent per second over peak times MFU, with the dense peak of {dense}; then six FLOPs per parameter."),
        remark="It is easier to say per million tokens.",
        next="Which of these inputs would you not bet on?"),
    Estimate(
        id="token-price.2",
        ask="What does it cost to train {params} parameters on {tokens} tokens, on H100s at {price} an hour and "
            "{mfu} MFU?",
        givens={"params": LogUniform(405e9, 7e9, 500e9), "tokens": LogUniform(15.6e12, 1e12, 20e12),
                "price": Choice(2.5, RENTS, "$"), "mfu": Choice(0.4, MFUS, "%")},
        facts=_PEAKS, answer=_run, unit="$",
        traps=(
            Trap("sparse peak", lambda g: _run(g, H100.bf16_sparse),
                 "The peak is the figure with sparsity, {sparse}."),
            Trap("no MFU", lambda g: _run(g, mfu=1),
                 "That is the bill of a fleet that runs at its peak. Divide by the utilization."),
            Trap("forward only", lambda g: _run(g, factor=FORWARD),
                 "That counts the forward pass alone: the bill for reading these tokens."),
            Trap("recompute counted", lambda g: _run(g, factor=8),
                 "That counts recomputation, which MFU leaves out."),
            Trap("billions for trillions", lambda g: _run(g) / 1000,
                 "The tokens are trillions; that pays for as many billions."),
            Trap("node price", lambda g: _run(g) * H100.domain,
                 "That pays the rent of a node for each GPU."),
        ),
        hints=("The price of a token times the tokens.", "You need not know how many GPUs."),
        next="The published hours of such runs cost more. What is in them?"),
    Estimate(
        id="token-price.3",
        ask="A report gives {hours} GPU-hours for {tokens} tokens, at {price} an hour. What did a training token "
            "cost, in dollars?",
        givens={"hours": LogUniform(2.664e6, 1e5, 4e7, digits=3),
                "tokens": LogUniform(14.8e12, 1e12, 20e12, digits=3),
                "price": Choice(2.0, RENTS, "$")},
        answer=lambda g: chip_cost(g.hours * HOUR, g.price / HOUR) / g.tokens, unit="$",
        traps=(
            Trap("bill", lambda g: chip_cost(g.hours * HOUR, g.price / HOUR),
                 "That is the bill of the run. Share it among the tokens."),
            Trap("no rent", lambda g: g.hours / g.tokens,
                 "Those are GPU-hours per token; the rent is missing."),
            Trap("utilization again",
                 lambda g: chip_cost(g.hours * HOUR, g.price / HOUR) / g.tokens / 0.4,
                 "Hours that were spent contain the utilization already."),
            Trap("forward share",
                 lambda g: chip_cost(g.hours * HOUR, g.price / HOUR) / g.tokens / 3,
                 "That is the forward third. The hours pay for all of the training."),
        ),
        hints=("No FLOPs are needed here.", "Hours times rent, over tokens."),
        remark="This is the number to hold a formula against.",
        next="Which utilization do these hours imply, if you know the model?"),
    Estimate(
        id="token-price.4",
        ask="A model of {params} parameters is served in bf16 on H100s. How many sequences must decode together, "
            "with {context} tokens in each cache, until a decoded token costs no more than a training token at {mfu} "
            "MFU? The cache takes {kv} a token; decoding gets {share} of {bandwidth}.",
        givens={"context": Choice(2048, (1024, 2048, 3072, 4096)), "mfu": Choice(0.4, MFUS, "%"),
                "share": Choice(1.0, (0.6, 0.7, 0.8, 1.0), "%"),
                "price": Choice(2.5, (2.5,), "$")},
        facts=_MEMORY, answer=_even, unit="sequences",
        traps=(
            Trap("no cache", lambda g: _even(g, kv=0),
                 "That leaves out the caches. Each sequence reads its own in every step."),
            Trap("prompt price", lambda g: _even(g, _llama_token(g, FORWARD)),
                 "That compares with a token that is read: two FLOPs per parameter. A training token does six."),
            Trap("training at peak", lambda g: _even(g, _llama_token(g, mfu=1)),
                 "That has training run at its peak. At its MFU a training token costs more, so fewer sequences "
                 "suffice."),
            Trap("ridge", lambda g: H100.bf16_flops / H100.hbm_bandwidth,
                 "That is the ridge: where decoding becomes bound by compute. The prices cross earlier."),
            Trap("one byte", lambda g: _even(g, size=1),
                 "That reads the weights in one byte each; bf16 takes two."),
            Trap("half the cache", lambda g: _even(g, kv=2 * KV),
                 "The cache has been doubled: the figure given holds keys and values already."),
        ),
        hints=("Decoding waits for memory: a step reads all weights once, and each sequence's cache.",
               "Set the GPU-time of a training token, six FLOPs per parameter over peak times MFU with a peak of "
               "{dense}, equal to the bytes per decoded token over the bandwidth. The rent cancels."),
        remark="The rent is on both sides.",
        next="Does that batch fit into the memory of two GPUs?"),
    Estimate(
        id="token-price.5",
        ask="{batch} sequences with {context} tokens of cache each decode together: {params} parameters in bf16, "
            "{kv} of cache a token, H100s at {price} an hour that read at their full {bandwidth}. What does a "
            "decoded token cost, in dollars?",
        givens={"batch": Choice(8, (8, 16, 32, 64)), "context": Choice(2048, (2048, 4096, 8192)),
                "price": Choice(2.5, RENTS, "$")},
        facts=_MEMORY, answer=_written, unit="$",
        traps=(
            Trap("no cache", lambda g: _written(g, context=0),
                 "That reads the weights alone, or hardly more. Each sequence also reads its own cache, and no "
                 "other."),
            Trap("whole step", lambda g: _written(g) * g.batch,
                 "That is the price of the step. It makes one token for every sequence."),
            Trap("one alone", lambda g: _written(g, batch=1),
                 "That is a sequence on its own, which reads all weights for itself."),
            Trap("compute", lambda g: token_cost(training_flops(LLAMA_PARAMS, 1, FORWARD),
                                                 g.price / HOUR, H100.bf16_flops, 1),
                 "That is what the FLOPs take at peak. Decoding waits for memory."),
            Trap("one byte", lambda g: _written(g, size=1),
                 "That reads the weights in one byte each; bf16 takes two."),
        ),
        hints=("Which bytes does one step read, and which of them are shared?",
               "Bytes of the step over bandwidth, times rent per second, over sequences. How many GPUs share the "
               "work does not matter."),
        next="What is the least it can cost, with as many sequences as you like?"),
    Estimate(
        id="token-price.6",
        ask="{model}, {params} parameters, is served in bf16: {kv} of cache a token, H100s with {share} of "
            "{bandwidth}. Beyond which context does a decoded token cost more than a training token at {mfu} MFU, "
            "however many sequences decode together?",
        givens={"model": Choice("Llama 3 70B", SHAPES), "mfu": Choice(0.4, MFUS, "%"),
                "share": Choice(0.6, (0.3, 0.5, 0.6, 0.8), "%"),
                "price": Choice(2.5, (2.5,), "$")},
        facts={"params": lambda g: f"{figures(models[g.model].params / 1e9)}B",
               "kv": lambda g: show(_kv(g), "B"), "bandwidth": _MEMORY["bandwidth"],
               "dense": _PEAKS["dense"]},
        answer=_wall, unit="tokens",
        traps=(
            Trap("prompt price", lambda g: _wall(g, FORWARD),
                 "That compares with a token that is read: two FLOPs per parameter. Training takes six."),
            Trap("training at peak", lambda g: _wall(g, mfu=1),
                 "That has training run at its peak; the utilization is missing."),
            Trap("all the bandwidth", lambda g: _wall(g, share=1),
                 "That reads at full bandwidth."),
            Trap("keys alone", lambda g: _wall(g, kv=1 / 2),
                 "The cache has been halved: keys and values are both read."),
            Trap("share multiplied twice", lambda g: _wall(g, share=g.share**2),
                 "The share of the bandwidth has been counted twice."),
        ),
        hints=("With very many sequences the weights cost nothing. What is left?",
               "Bytes of one cache over the bandwidth that is reached, against six FLOPs per parameter over peak "
               "times MFU, with a peak of {dense}."),
        remark="Fewer key and value heads, or a cache in fewer bits, move the wall out.",
        next="What do latent attention and sliding windows do to it?"),
    Estimate(
        id="token-price.7",
        ask="Training runs at {mfu} MFU. A server of the same model, on the same GPUs, does its own forward FLOPs at "
            "{busy} of the peak. What does a served token cost, as a multiple of a training token?",
        givens={"mfu": Choice(0.4, MFUS, "%"),
                "busy": Choice(0.02, (0.02, 0.03, 0.05, 0.08, 0.15, 0.2), "%")},
        answer=lambda g: price_ratio(g.mfu, g.busy), unit="",
        traps=(
            Trap("FLOPs alone", lambda g: price_ratio(g.mfu, g.mfu),
                 "That is the ratio of FLOPs. It is the ratio of prices only at equal utilization."),
            Trap("utilizations alone", lambda g: g.mfu / g.busy,
                 "That leaves out that a served token does fewer FLOPs."),
            Trap("upside down", lambda g: g.busy / g.mfu / 3,
                 "The utilizations stand upside down: the busier side is the cheaper one."),
            Trap("FLOPs upside down", lambda g: 3 * g.mfu / g.busy,
                 "It is the training token that does three times the FLOPs."),
        ),
        hints=("Price is FLOPs over what a GPU-second delivers.",
               "Two FLOPs per parameter against six, and the utilizations the other way round."),
        next="At which utilization do the two cost the same?"),
    Implement(
        id="token-price.8",
        ask="Write the price of a decoded token of a dense model. A step reads the weights once and each sequence's "
            "cache, or computes two FLOPs per parameter and sequence, whichever takes longer. Raise `ValueError` for "
            "a batch below one, an efficiency outside `(0, 1]`, a negative context or rent, and what is no number.",
        stub='''
def my_decode_cost(params, batch, context, kv, price, bandwidth, peak, size=2, efficiency=1):
    """Dollars per decoded token."""
    return ...
''',
        cases=(
            gives("a small batch pays for bytes", decode_cost, 7e10, 8, 2048, 3e5, 7e-4, 3e12, 1e15),
            gives("a large batch without cache pays for FLOPs", decode_cost, 7e10, 4096, 0, 3e5, 7e-4, 3e12, 1e15),
            gives("half the bandwidth doubles a memory-bound price", decode_cost, 7e10, 8, 2048,
                  3e5, 7e-4, 3e12, 1e15, 2, 0.5),
            gives("weights of one byte", decode_cost, 7e10, 8, 2048, 3e5, 7e-4, 3e12, 1e15, 1),
            holds("without cache, twice the sequences halve the price until compute binds",
                  lambda f: abs(f(7e10, 16, 0, 0, 7e-4, 3e12, 1e15)
                                / f(7e10, 8, 0, 0, 7e-4, 3e12, 1e15) * 2 - 1) < 1e-12),
            holds("the cache of a sequence is not shared",
                  lambda f: f(7e10, 256, 32768, 3e5, 7e-4, 3e12, 1e15) > 32768 * 3e5 / 3e12 * 7e-4),
            gives("a GPU for nothing makes tokens for nothing", decode_cost, 7e10, 8, 2048, 3e5, 0, 3e12, 1e15),
            refuses("a batch of none is refused", 7e10, 0, 2048, 3e5, 7e-4, 3e12, 1e15, error=ValueError),
            refuses("an efficiency above one is refused", 7e10, 8, 2048, 3e5, 7e-4, 3e12, 1e15, 2,
                    1.2, error=ValueError),
            refuses("an efficiency of zero is refused", 7e10, 8, 2048, 3e5, 7e-4, 3e12, 1e15, 2, 0, error=ValueError),
            refuses("a negative context is refused", 7e10, 8, -1, 3e5, 7e-4, 3e12, 1e15, error=ValueError),
            refuses("a negative rent is refused", 7e10, 8, 2048, 3e5, -7e-4, 3e12, 1e15, error=ValueError),
            refuses("a rent that is not a number is refused", 7e10, 8, 2048, 3e5, float("nan"),
                    3e12, 1e15, error=ValueError),
        ),
        hints=("First the time of a step on one GPU: the larger of two times.",
               "Rent times that, over the sequences. `not price >= 0` is true for NaN as well."),
        solution='''
def my_decode_cost(params, batch, context, kv, price, bandwidth, peak, size=2, efficiency=1):
    """Dollars per decoded token."""
    if not batch >= 1:
        raise ValueError(f"batch must be at least 1, got {batch!r}")
    if not 0 < efficiency <= 1:
        raise ValueError(f"efficiency must be in (0, 1], got {efficiency!r}")
    if not context >= 0 or not price >= 0:
        raise ValueError("context and price must not be negative")
    reading = (size * params + batch * context * kv) / (bandwidth * efficiency)
    computing = 2 * params * batch / peak
    return price * max(reading, computing) / batch
''',
        next="Why does the number of GPUs not appear, and when would it?"),
    Implement(
        id="token-price.9",
        ask="Write the batch from which a decoded token costs less than `cost`, memory-bound. Return `math.inf` when "
            "reading one sequence's cache costs as much already, and raise `ValueError` for an efficiency outside "
            "`(0, 1]`.",
        stub='''
def my_break_even_batch(params, context, kv, cost, price, bandwidth, size=2, efficiency=1):
    """The batch from which a decoded token costs less than `cost`."""
    return ...
''',
        cases=(
            gives("without cache it is the weights' price over the cost", break_even_batch, 7e10, 0,
                  3e5, 7e-7, 7e-4, 3e12),
            gives("caches raise it", break_even_batch, 7e10, 2048, 3e5, 7e-7, 7e-4, 3e12),
            gives("so does a lower efficiency", break_even_batch, 7e10, 2048, 3e5, 7e-7, 7e-4, 3e12, 2, 0.5),
            gives("weights of one byte lower it", break_even_batch, 7e10, 2048, 3e5, 7e-7, 7e-4, 3e12, 1),
            holds("beyond the wall there is no such batch",
                  lambda f: math.isinf(f(7e10, 16384, 3e5, 7e-7, 7e-4, 3e12))),
            holds("nor exactly at the wall", lambda f: math.isinf(f(1, 4, 2, 8.0, 1, 1))),
            holds("with rent and cost doubled it stays",
                  lambda f: abs(f(7e10, 2048, 3e5, 14e-7, 14e-4, 3e12)
                                / f(7e10, 2048, 3e5, 7e-7, 7e-4, 3e12) - 1) < 1e-9),
            refuses("an efficiency above one is refused", 7e10, 2048, 3e5, 7e-7, 7e-4, 3e12, 2, 1.2,
                    error=ValueError),
        ),
        hints=("What does it cost to read one byte?",
               "Weights' bytes times that, over what the cache leaves of the cost."),
        solution='''
import math

def my_break_even_batch(params, context, kv, cost, price, bandwidth, size=2, efficiency=1):
    """The batch from which a decoded token costs less than `cost`."""
    if not 0 < efficiency <= 1:
        raise ValueError(f"efficiency must be in (0, 1], got {efficiency!r}")
    per_byte = price / (bandwidth * efficiency)
    left = cost - context * kv * per_byte
    return size * params * per_byte / left if left > 0 else math.inf
''',
        next="For which models does the wall lie beyond any context you serve?"),
    Rubric(
        id="token-price.10",
        ask="“Training does three times the FLOPs of serving, so our price per token should be what a training token "
            "costs us, divided by three.” Training {params} parameters runs at {mfu} MFU. Defend or refute it.",
        givens={"mfu": Choice(0.4, MFUS, "%")},
        facts={"params": _MEMORY["params"], "context": lambda g: CONTEXT, "large": lambda g: LARGE,
               "few": lambda g: show(_busy(8), "%", 2),
               "many": lambda g: show(_busy(LARGE), "%", 2),
               "needed": lambda g: show(g.mfu / 3, "%", 2),
               "even": lambda g: f"{_rubric_even(g):.0f}",
               "wall": lambda g: figures(float(f"{_rubric_wall(g):.2g}"))},
        points=((1, "It grants the ratio of FLOPs and says that prices follow it only at equal utilization."),
                (1, "It puts a number on the utilization of decoding at some batch: about {few} of the peak at eight "
                    "sequences, {many} at {large}."),
                (1, "It gives the batch where the prices meet, about {even} at full bandwidth and a short context, "
                    "and says what moves it."),
                (1, "It names the floor: each sequence reads its own cache, so beyond some context, about {wall} "
                    "tokens, no batch helps."),
                (1, "It separates cost from price: prompts, idle hours and margin are paid by the output token as "
                    "well.")),
        model="The FLOPs are right, training does three times those of a forward pass. The price is FLOPs over "
              "utilization, and there the two differ. Training reaches {mfu} because each weight read from memory "
              "serves thousands of tokens. Decoding reads all weights for one token of each sequence: about {few} of "
              "the peak with eight sequences, {many} with {large}. The prices meet where serving reaches {needed}, "
              "at about {even} sequences with full bandwidth and {context} tokens of context. Caches are not shared, "
              "so past about {wall} tokens of context they never meet. On top come prompts, hours at low load and "
              "margin. A third is the price of a prompt token, and the promise of a server that is always full.",
        hints=("What does a GPU-second deliver on either side?",
               "What does a decoding step read, and for how many tokens?"),
        next="What would you measure on your fleet to settle it?"),
]


def _busy(batch: int) -> float:
    """Utilization of a decoding step at full bandwidth and the rubric's context."""
    per_token = decode_cost(LLAMA_PARAMS, batch, CONTEXT, KV, 1, H100.hbm_bandwidth, H100.bf16_flops)
    return training_flops(LLAMA_PARAMS, 1, FORWARD) / (H100.bf16_flops * per_token)


def _rubric_cost(g: Givens) -> float:
    return token_cost(training_flops(LLAMA_PARAMS, 1), 1, H100.bf16_flops, g.mfu)


def _rubric_even(g: Givens) -> float:
    return break_even_batch(LLAMA_PARAMS, CONTEXT, KV, _rubric_cost(g), 1, H100.hbm_bandwidth)


def _rubric_wall(g: Givens) -> float:
    return context_wall(_rubric_cost(g), KV, 1, H100.hbm_bandwidth)
