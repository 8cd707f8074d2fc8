"""Questions of chapter 7: what follows total parameters, what active ones, and what neither."""
from __future__ import annotations

import math

from ... import (DAY, MoeTransformer, all_to_all_bytes, chips, chips_for_memory, chips_needed,
                 decode_batch, expert_weight_bytes, experts_touched, kv_bytes, model_bytes, models,
                 moe, round_up_chips, runs, serving, training_flops)
from ...quantity import show
from ..draws import Choice, LogUniform
from ..functions import gives, holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

H100 = chips["H100 SXM"]
BF16, FP8, BATCH = 2, 1, 32
SERVING = 0.9  # usable memory
QWEN = MoeTransformer(**{name: value for name, value in moe["Qwen3-235B-A22B"].fields.items()
                         if name in MoeTransformer.__annotations__})
LLAMA = models["Llama 3 70B"]
WIDTHS = {4096: 1536, 5120: 1536, 7168: 2048}  # hidden width: width of an expert


def _unless(value: float, *others: float) -> float | None:
    """A trap's value, unless it can hardly be told from one of the others."""
    return None if any(abs(math.log(value / other)) < 0.06 for other in others) else value


def _stored(g: Givens, chosen: int | None = None, matrices: int = 3, layers: int | None = None
            ) -> float:
    """Parameters with all experts, or with the chosen ones only."""
    expert = matrices * g.hidden * WIDTHS[g.hidden]
    count = (layers or g.layers) * (chosen or g.experts)
    return count * expert + g.other


def _ratio(g: Givens) -> float:
    return _stored(g) / _stored(g, g.top_k)


def _batch(g: Givens, chance: float | None = None, share: float | None = None) -> float:
    """The batch that touches a share of the experts."""
    missed = 1 - (g.top_k / g.experts if chance is None else chance)
    return math.log(1 - (g.share if share is None else share)) / math.log(missed)


def _power(count: float) -> int:
    return int(round_up_chips(count, power_of_two=1))


def _servers(g: Givens, params: float | None = None, size: float = FP8) -> float:
    return chips_for_memory(model_bytes(g.total if params is None else params, size), H100.hbm,
                            SERVING)


def _fleet(g: Givens, params: float | None = None, factor: float = 6, mfu: float | None = None,
           peak: float = H100.bf16_flops) -> float:
    work = training_flops(g.active if params is None else params, g.tokens, factor)
    return chips_needed(work, g.days * DAY, peak, g.mfu if mfu is None else mfu)


def _exchange(g: Givens, layers: float | None = None, dispatch: float = FP8, combine: float = BF16,
              copies: float | None = None, passes: float = 1) -> float:
    return all_to_all_bytes(g.hidden, g.top_k if copies is None else copies,
                            g.layers if layers is None else layers, dispatch, combine, passes)


def _tie(g: Givens, size: float = BF16) -> float:
    return size * (g.total - g.dense) / (g.dense_kv - g.moe_kv)


def _read(g: Givens, touched: float | None = None) -> float:
    """Weights that a step reads when it touches a number of experts."""
    if touched is None:
        return expert_weight_bytes(g.always, g.routed, g.experts, g.top_k, g.batch)
    return BF16 * (g.always + g.routed * touched / g.experts)


def _holding(params: float) -> int:
    """H100s for bf16 weights, as a power of two."""
    return _power(chips_for_memory(model_bytes(params), H100.hbm, SERVING))


def _crossing() -> float:
    """The batch at which Qwen3 reads as many weights as Llama 3 70B."""
    always = QWEN.total_matmul_params - QWEN.routed
    share = (LLAMA.matmul_params - always) / QWEN.routed
    return math.log(1 - share) / math.log(1 - QWEN.top_k / QWEN.experts)


def _bound(total: float, active: float) -> str:
    """Sequences from which an H100 is limited by arithmetic."""
    return show(decode_batch(H100.bf16_flops, H100.hbm_bandwidth, total, active), "", 3)


def _cache(model) -> str:
    return show(kv_bytes(model.layers, model.kv_heads, model.head_dim), "B", 3)


def _relative(mixture, dense) -> str:
    return f"{mixture.chip_token_rate / dense.chip_token_rate:.2f}×"


QUESTIONS = [
    Estimate(
        id="moe-vs-dense.1",
        ask="A mixture of experts has {layers} layers of {experts} experts, each three matrices of {hidden} × "
            "{width}. A token is routed to {top_k} experts per layer. Attention, routers and embeddings, which every "
            "token uses, add {other} parameters. How many times as many parameters must memory hold as one token "
            "meets?",
        givens={"layers": Choice(94, (60, 64, 80, 94)), "experts": Choice(128, (64, 128, 256)),
                "hidden": Choice(4096, tuple(WIDTHS)), "top_k": Choice(8, (4, 6, 8)),
                "other": LogUniform(8.0e9, 7e9, 12e9)},
        facts={"width": lambda g: WIDTHS[g.hidden], "stored": _stored,
               "met": lambda g: _stored(g, g.top_k)},
        answer=_ratio, unit="times", within=0.01,
        traps=(
            Trap("experts alone", lambda g: g.experts / g.top_k,
                 "That is the ratio of the experts. Attention and embeddings are not routed: they count once on both "
                 "sides."),
            Trap("one matrix",
                 lambda g: _unless(_stored(g, matrices=1) / _stored(g, g.top_k, matrices=1),
                                   _ratio(g)),
                 "That takes one matrix for an expert. A gated block has three: gate, up and down."),
            Trap("one layer", lambda g: _stored(g, layers=1) / _stored(g, g.top_k, layers=1),
                 "Those are the experts of one layer. Every layer has its own."),
            Trap("one expert a token", lambda g: _stored(g) / _stored(g, 1),
                 "That routes a token to one expert per layer."),
        ),
        hints=("Count one expert: three times hidden times width.",
               "Times layers and experts, or times layers and chosen experts; then the rest."),
        remark="Memory holds {stored} parameters, a token meets {met}.",
        next="Which of the two counts goes into 6ND, and which into the number of GPUs that hold the model?"),
    Estimate(
        id="moe-vs-dense.2",
        ask="Each layer has {experts} experts and a token is routed to {top_k} of them, uniformly and independently "
            "of others. How many tokens decode together when {share} of the experts are touched, on average?",
        givens={"experts": Choice(128, (64, 128, 160, 256)), "top_k": Choice(8, (4, 6, 8)),
                "share": Choice(0.5, (0.5, 0.75, 0.9, 0.95), "%")},
        facts={"missed": lambda g: show(1 - g.top_k / g.experts, "%")},
        answer=_batch, unit="tokens",
        traps=(
            Trap("disjoint choices", lambda g: g.share * g.experts / g.top_k,
                 "That takes all choices for different. Tokens often choose the same expert, so it takes more of "
                 "them."),
            Trap("one expert a token", lambda g: _batch(g, chance=1 / g.experts),
                 "That routes each token to one expert."),
            Trap("left out", lambda g: _unless(_batch(g, share=1 - g.share), _batch(g)),
                 "At that batch the given share is still left out."),
        ),
        hints=("With which probability does one token miss a given expert? And a whole batch?",
               "Set one minus that power equal to the share and take logarithms."),
        remark="One token misses a given expert with probability {missed}. Real routers are not uniform: popular "
               "experts are touched sooner, rare ones later.",
        next="What does a decoding step read at that batch, compared with a batch of one?"),
    Estimate(
        id="moe-vs-dense.3",
        ask="A mixture of experts with {total} parameters, {active} of them active, is served in fp8 on H100s ({hbm} "
            "each, {usable} of it for weights and cache). How many GPUs do the weights alone take, rounded up to a "
            "power of two?",
        givens={"total": Choice(671e9, (235e9, 400e9, 480e9, 671e9, 1000e9)),
                "active": Choice(37e9, (17e9, 22e9, 32e9, 37e9))},
        facts={"hbm": lambda g: show(H100.hbm, "B"), "usable": lambda g: show(SERVING, "%")},
        answer=lambda g: _power(_servers(g)), unit="GPUs", whole=True,
        traps=(
            Trap("active parameters", lambda g: _power(_servers(g, g.active)),
                 "That is room for the active parameters. Which experts the next token needs is not known, so all of "
                 "them stay in memory."),
            Trap("bf16", lambda g: _unless(_power(_servers(g, size=BF16)), _power(_servers(g))),
                 "That takes two bytes per parameter. In fp8 it is one."),
            Trap("not rounded up", lambda g: _unless(math.ceil(_servers(g)), _power(_servers(g))),
                 "That many hold the bytes, but heads and experts are cut into equal parts: round up to a power of "
                 "two."),
        ),
        hints=("Memory follows total parameters.", "One byte each, over the usable memory."),
        next="How many sequences fit beside the weights, and what decides that?"),
    Estimate(
        id="moe-vs-dense.4",
        ask="How many H100s train a mixture of experts of {total} parameters, {active} of them active, on {tokens} "
            "tokens in {days} days at {mfu} MFU? Before rounding.",
        givens={"total": Choice(671e9, (235e9, 400e9, 671e9)),
                "active": Choice(37e9, (17e9, 22e9, 37e9)),
                "tokens": LogUniform(15e12, 8e12, 40e12), "days": Choice(30, (30, 45, 60, 90)),
                "mfu": Choice(0.4, (0.15, 0.2, 0.25, 0.3, 0.4), "%")},
        facts={"dense": lambda g: show(H100.bf16_flops, "FLOP/s")},
        answer=_fleet, unit="GPUs",
        traps=(
            Trap("total parameters", lambda g: _fleet(g, g.total),
                 "That charges for experts that a token never visits. FLOPs follow the active parameters."),
            Trap("forward only", lambda g: _fleet(g, factor=2),
                 "That counts the forward pass alone."),
            Trap("no MFU", lambda g: _fleet(g, mfu=1),
                 "Those GPUs run at their peak. Divide by the MFU."),
            Trap("sparse peak", lambda g: _fleet(g, peak=H100.bf16_sparse),
                 "The peak is the figure with sparsity. Training uses the dense one."),
        ),
        hints=("Solve six FLOPs per active parameter and token = GPUs × peak × MFU × time.",
               "An H100 does {dense} dense bf16."),
        remark="The MFU has to be one that a mixture of experts reaches. Published ones on H100s are far below those "
               "of dense models.",
        next="Where does a mixture of experts lose utilization?"),
    Estimate(
        id="moe-vs-dense.5",
        ask="Experts are spread so widely that all {top_k} copies of a token leave its GPU. The model has {layers} "
            "layers with experts and a hidden width of {hidden}; tokens go out in fp8 and results come back in bf16. "
            "How many bytes does one token send in a forward pass?",
        givens={"hidden": Choice(7168, (4096, 5120, 7168)), "top_k": Choice(8, (4, 6, 8)),
                "layers": Choice(58, (48, 58, 64, 94))},
        answer=_exchange, unit="MB",
        traps=(
            Trap("no way back", lambda g: _exchange(g, combine=0),
                 "That is the way out. The experts' results come back, at two bytes a value."),
            Trap("bf16 both ways", lambda g: _exchange(g, dispatch=BF16),
                 "That sends bf16 both ways. The way out is fp8."),
            Trap("one layer", lambda g: _exchange(g, layers=1),
                 "That is one layer. Each layer routes anew."),
            Trap("one copy", lambda g: _exchange(g, copies=1),
                 "That sends the token to a single expert."),
            Trap("training", lambda g: _exchange(g, passes=2),
                 "That is forward and backward. A forward pass exchanges once each way."),
        ),
        hints=("Bytes of one hidden state out, and of one back.",
               "Times the copies, times the layers."),
        remark="Several chosen experts may share a GPU or a node. Sending a token there once saves a part.",
        next="At which rate does that run, and over which link?"),
    Estimate(
        id="moe-vs-dense.6",
        ask="A mixture of experts has {total} parameters and {moe_kv} of KV cache per token; a dense model has "
            "{dense} and {dense_kv}. Weights are bf16. At how many cached tokens do both need the same memory?",
        givens={"total": LogUniform(235e9, 180e9, 400e9), "dense": LogUniform(70.6e9, 30e9, 110e9),
                "moe_kv": Choice(192512, (98304, 131072, 192512), "B"),
                "dense_kv": Choice(327680, (262144, 327680, 524288), "B")},
        facts={"gap": lambda g: show(model_bytes(g.total - g.dense), "B"),
               "saved": lambda g: show(g.dense_kv - g.moe_kv, "B")},
        answer=_tie, unit="tokens",
        traps=(
            Trap("bytes forgotten", lambda g: _tie(g, size=1),
                 "That takes one byte per parameter; bf16 has two."),
            Trap("caches added", lambda g: _tie(g) * (g.dense_kv - g.moe_kv)
                 / (g.dense_kv + g.moe_kv),
                 "The caches have been added. What counts is how much less the mixture needs per token."),
            Trap("dense weights forgotten", lambda g: BF16 * g.total / (g.dense_kv - g.moe_kv),
                 "The dense model has weights as well: take the difference."),
            Trap("one cache", lambda g: _unless(BF16 * (g.total - g.dense) / g.dense_kv,
                                                _tie(g) * (g.dense_kv - g.moe_kv)
                                                / (g.dense_kv + g.moe_kv)),
                 "That is where the dense model's cache equals the difference in weights. The mixture has a cache "
                 "too."),
        ),
        hints=("Write both memories as weights plus cached tokens times cache per token.",
               "Difference in weights over difference in cache."),
        remark="The mixture has {gap} more of weights and saves {saved} per cached token.",
        next="How many GPUs is that, and what does it say about serving on one node?"),
    Estimate(
        id="moe-vs-dense.7",
        ask="A mixture of experts has {always} parameters that every token uses and {routed} in its experts: "
            "{experts} per layer, {top_k} chosen per token, uniformly. How many bytes of bf16 weights does a "
            "decoding step of {batch} sequences read?",
        givens={"always": LogUniform(7.4e9, 5e9, 15e9), "routed": LogUniform(227e9, 150e9, 600e9),
                "experts": Choice(128, (128, 160, 256)), "top_k": Choice(8, (6, 8)),
                "batch": Choice(16, (8, 12, 16, 24))},
        answer=_read, unit="GB",
        traps=(
            Trap("chosen alone", lambda g: _read(g, g.top_k),
                 "Those are the experts of one token. Others choose others, and each one touched is read."),
            Trap("all experts", lambda g: _unless(_read(g, g.experts), _read(g)),
                 "That reads every expert. At this batch some are still missed by all."),
            Trap("disjoint", lambda g: _unless(_read(g, min(g.experts, g.top_k * g.batch)),
                                               _read(g), _read(g, g.experts)),
                 "That takes all choices for different ones."),
            Trap("each token apart", lambda g: _read(g, g.top_k) * g.batch,
                 "That reads the weights anew for each sequence. A step reads each weight once."),
        ),
        hints=("Which share of the experts is touched by at least one of the sequences?",
               "An expert is missed by one token with probability one minus chosen over all."),
        remark="At a large batch the mixture reads like a dense model of its total size.",
        next="From which batch on does it read more than Llama 3 70B?"),
    Implement(
        id="moe-vs-dense.8",
        ask="Write the bytes of weights that a decoding step reads from a mixture of experts, with uniform routing. "
            "It takes single batches and NumPy arrays of them, and raises `ValueError` for a negative batch, for a "
            "`top_k` above `experts` and for one below one.",
        stub='''
def my_weight_bytes(dense, expert_total, experts, top_k, tokens, size=2):
    """Bytes of weights that a decoding step reads."""
    return ...
''',
        cases=(
            gives("one token reads its own experts and what every token uses",
                  expert_weight_bytes, 7e9, 227e9, 128, 8, 1),
            gives("several tokens read the union of their experts", expert_weight_bytes, 7e9,
                  227e9, 128, 8, 16),
            gives("no token touches no expert", expert_weight_bytes, 7e9, 227e9, 128, 8, 0),
            gives("a huge batch reads everything", expert_weight_bytes, 7e9, 227e9, 128, 8, 10**6),
            gives("with every expert chosen, one token reads everything", expert_weight_bytes, 7e9,
                  227e9, 16, 16, 1),
            gives("the size of an element counts", expert_weight_bytes, 7e9, 227e9, 128, 8, 16, 1),
            holds("an array of batches gives an array of bytes", lambda f: _array_like(f)),
            holds("a simulated router agrees to a percent", lambda f: _like_a_router(f)),
            refuses("a negative batch is refused", 7e9, 227e9, 128, 8, -1, error=ValueError),
            refuses("more experts chosen than there are is refused", 7e9, 227e9, 8, 16, 1,
                    error=ValueError),
            refuses("a token without experts is refused", 7e9, 227e9, 128, 0, 1,
                    error=ValueError),
        ),
        hints=("First the share of experts touched; it is between zero and one.",
               "Missed by one: `1 - top_k / experts`. Missed by all: that to the power of the batch."),
        solution='''
import numpy as np

def my_weight_bytes(dense, expert_total, experts, top_k, tokens, size=2):
    """Bytes of weights that a decoding step reads."""
    if not 1 <= top_k <= experts:
        raise ValueError(f"top_k must be in 1 to experts={experts}, got {top_k!r}")
    if np.any(np.asarray(tokens) < 0):
        raise ValueError(f"tokens must be at least 0, got {tokens!r}")
    touched = 1 - (1 - top_k / experts) ** tokens
    return size * (dense + expert_total * touched)
''',
        next="What changes when some experts are far more popular than others?"),
    Rubric(
        id="moe-vs-dense.9",
        ask="“This mixture of experts has {total} parameters but only {active} active, and our dense model has "
            "{dense}. So serving it costs {share} as much, and so does training it.” What do you answer?",
        facts={"total": lambda g: float(QWEN.total_params), "dense": lambda g: float(LLAMA.params),
               "active": lambda g: float(QWEN.active_params),
               "share": lambda g: show(QWEN.active_params / LLAMA.params, "%", 2),
               "moe_weights": lambda g: show(model_bytes(QWEN.total_params), "B", 3),
               "dense_weights": lambda g: show(model_bytes(LLAMA.params), "B", 3),
               "moe_gpus": lambda g: _holding(QWEN.total_params),
               "dense_gpus": lambda g: _holding(LLAMA.params),
               "batch": lambda g: BATCH,
               "touched": lambda g: show(experts_touched(QWEN.experts, QWEN.top_k, BATCH)
                                         / QWEN.experts, "%", 2),
               "crossing": lambda g: f"{_crossing():.0f}",
               "moe_bound": lambda g: _bound(QWEN.total_matmul_params, QWEN.active_matmul_params),
               "dense_bound": lambda g: _bound(LLAMA.matmul_params, LLAMA.matmul_params),
               "moe_kv": lambda g: _cache(QWEN),
               "dense_kv": lambda g: _cache(LLAMA),
               "served": lambda g: _relative(serving["Qwen3 235B on 8 H100, 1,000 in"],
                                             serving["70B on 2 H100, 1,000 in"]),
               "served_more": lambda g: _relative(serving["Qwen3 235B on 4 H200, 1,000 in"],
                                                  serving["70B on 2 H200, 1,000 in"]),
               "trained": lambda g: _relative(runs["Megatron Bridge Qwen3 235B on 256 H100"],
                                              runs["Megatron Bridge Llama 3 70B on 64 H100"])},
        points=((1, "It begins with memory: {moe_weights} of bf16 weights against {dense_weights}, {moe_gpus} H100s "
                    "against {dense_gpus} before any cache."),
                (1, "It says that a batch reads the union of its experts: at {batch} sequences {touched} of them."),
                (1, "It gives the batch above which the mixture reads more weights per step than the dense model: "
                    "about {crossing}."),
                (1, "It says that the arithmetic it saves counts only from {moe_bound} sequences on, against "
                    "{dense_bound}."),
                (1, "It asks for batch and context before answering, or weighs the caches: {moe_kv} per token "
                    "against {dense_kv}."),
                (1, "It knows a measurement: per H100 {served} of the dense model's output, per H200 {served_more}, "
                    "in training {trained}; or it says that the MFU of the two differs.")),
        model="{share} of the FLOPs, yes, and decoding is not paid in FLOPs. The weights are {moe_weights} against "
              "{dense_weights}, so {moe_gpus} H100s against {dense_gpus} before the first cache. A step reads every "
              "expert that some sequence chose: at a batch of {batch} that is {touched} of them, and above "
              "{crossing} sequences already more bytes than the dense model reads. Its arithmetic would be the limit "
              "from {moe_bound} sequences on. Its cache is smaller, {moe_kv} per token against {dense_kv}, so with "
              "many long sequences on many GPUs it does win. Which batch and context do we have? NVIDIA measured "
              "{served} of the dense output per H100 and {served_more} per H200. In training {share} would need "
              "equal MFU; on H100s the measured speed is {trained} of the dense one.",
        hints=("In what is decoding paid: FLOPs or bytes?",
               "How many experts does a batch read, and where do the caches enter?"),
        next="At which batch and context would you choose the mixture?"),
]


def _array_like(function) -> bool:
    import numpy as np

    batches = np.array([1, 8, 64])
    return np.allclose(function(7e9, 227e9, 128, 8, batches),
                       expert_weight_bytes(7e9, 227e9, 128, 8, batches), rtol=1e-12)


def _like_a_router(function) -> bool:
    """Random routing of twelve tokens, many times over."""
    import numpy as np

    rng = np.random.default_rng(0)
    touched = np.mean([len(np.unique(rng.random((12, 64)).argsort(1)[:, :4])) for _ in range(600)])
    return abs(function(1e9, 64e9, 64, 4, 12) / (2 * (1e9 + touched * 1e9)) - 1) < 0.01
