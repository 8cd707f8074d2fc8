"""Mixtures of experts, routing and adapters: tensor by tensor, token by token."""
import itertools
import random
from fractions import Fraction

import numpy as np
import pytest

from clustermath import (MoeTransformer, Transformer, distinct_ranks, expert_weight_bytes,
                         experts_touched, flops_per_token, linear_shapes, lora_params, models, moe)
from clustermath.transformer import Model

QWEN3 = MoeTransformer(94, 4096, 64, 4, 128, 1536, 128, 8, 151_936, qk_norm=True)
MIXTRAL = MoeTransformer(32, 4096, 32, 8, 128, 14_336, 8, 2, 32_000)


def tensors(m):
    """Names and shapes of a checkpoint, as Qwen3's and Mixtral's files list them."""
    wide, narrow = m.heads * m.head_dim, m.kv_heads * m.head_dim
    yield "embed", (m.vocab, m.hidden)
    if not m.tied:
        yield "lm_head", (m.vocab, m.hidden)
    yield "norm", (m.hidden,)
    for layer in range(m.layers):
        for name, shape in (
            ("q", (wide, m.hidden)),
            ("k", (narrow, m.hidden)),
            ("v", (narrow, m.hidden)),
            ("o", (m.hidden, wide)),
            ("norm1", (m.hidden,)),
            ("norm2", (m.hidden,)),
        ):
            yield f"{layer}.{name}", shape
        if m.qk_norm:
            yield f"{layer}.q_norm", (m.head_dim,)
            yield f"{layer}.k_norm", (m.head_dim,)
        if layer < m.dense_layers:
            width, kinds = m.dense_ffn, ["dense"]
        else:
            width = m.expert_ffn
            kinds = [*range(m.experts), *(f"shared{i}" for i in range(m.shared))]
            yield f"{layer}.router", (m.experts, m.hidden)
        for kind in kinds:
            for name in ("gate", "up", "down"):
                yield f"{layer}.expert.{kind}.{name}", (width, m.hidden)


def count(m, wanted):
    total = 0
    for name, shape in tensors(m):
        if wanted(name, shape):
            size = 1
            for d in shape:
                size *= d
            total += size
    return total


def routed_elsewhere(m, name):
    """Whether a token that goes to the first top_k experts of each layer passes a tensor by."""
    kind = name.split(".")[2] if ".expert." in name else ""
    return kind.isdigit() and int(kind) >= m.top_k


@pytest.mark.parametrize(
    "m",
    [
        QWEN3,
        MIXTRAL,
        MoeTransformer(
            5, 64, 4, 2, 16, 32, 8, 2, 100, shared=1, dense_layers=1, dense_ffn=96, tied=True
        ),
        MoeTransformer(2, 8, 2, 1, 4, 4, 4, 4, 10),
    ],
)
def test_counts_tensor_by_tensor(m):
    assert m.total_params == count(m, lambda name, shape: True)
    assert m.active_params == count(m, lambda name, shape: not routed_elsewhere(m, name))

    def multiplies(name, shape):
        return len(shape) == 2 and (name != "embed" or m.tied)

    assert m.total_matmul_params == count(m, multiplies)
    assert m.active_matmul_params == count(
        m, lambda n, s: multiplies(n, s) and not routed_elsewhere(m, n)
    )
    assert m.routed == count(m, lambda n, s: ".expert." in n and n.split(".")[2].isdigit())
    assert m.expert * m.experts * (m.layers - m.dense_layers) == m.routed


@pytest.mark.parametrize(
    "m, total, active, digits",
    [(QWEN3, 235e9, 22e9, 0.5e9), (MIXTRAL, 46.7e9, 12.9e9, 0.05e9)],  # model card  # announcement
)
def test_published_counts(m, total, active, digits):
    assert abs(m.total_params - total) <= digits and abs(m.active_params - active) <= digits


def test_published_non_embedding_count():
    assert (QWEN3.total_params - QWEN3.embedding) / 1e9 == pytest.approx(234, abs=0.5)


def test_with_every_expert_chosen_all_is_active():
    everyone = MoeTransformer(94, 4096, 64, 4, 128, 1536, 128, 128, 151_936)
    assert everyone.active_params == everyone.total_params
    dense = Transformer(32, 4096, 14_336, 32, 8, 128, 32_000)
    one = MoeTransformer(32, 4096, 32, 8, 128, 14_336, 1, 1, 32_000)
    assert one.total_params - dense.params == 32 * 4096  # a router for the only expert
    assert one.total_matmul_params - dense.matmul_params == 32 * 4096


@pytest.mark.parametrize(
    "change, text",
    [
        (dict(top_k=129), "top_k must lie in 1 to experts=128, got 129"),
        (dict(top_k=0), "top_k must lie in 1"),
        (dict(dense_layers=94, dense_ffn=8), "dense_layers must stay below layers"),
        (dict(dense_layers=1), "goes with dense_ffn"),
        (dict(dense_ffn=8), "goes with dense_ffn"),
        (dict(kv_heads=5), "kv_heads must divide heads"),
        (dict(layers=2.5), "layers must be a whole number"),
        (dict(experts=-1), "experts must be"),
        (dict(hidden=0), "hidden must be"),
    ],
)
def test_mixtures_that_cannot_be(change, text):
    shape = dict(
        layers=94,
        hidden=4096,
        heads=64,
        kv_heads=4,
        head_dim=128,
        expert_ffn=1536,
        experts=128,
        top_k=8,
        vocab=151_936,
    )
    with pytest.raises(ValueError, match=text):
        MoeTransformer(**{**shape, **change})
    with pytest.raises(TypeError, match="MoeTransformer: vocab"):
        MoeTransformer(**{**shape, "vocab": True})


def test_numpy_integers_do_not_overflow_a_shape():
    small = [np.int32(x) for x in (80, 8192, 28672, 64, 8, 128, 128_256)]
    assert Transformer(*small).params == 70_553_706_496
    with pytest.raises(ValueError, match="kv_heads must divide heads, got 7 and 64"):
        Transformer(80, 8192, 28672, 64, 7, 128, 128_256)


def test_total_and_active_cannot_be_mistaken():
    fields = dict(
        source="kaplan-2020",
        layers=32,
        hidden=4096,
        heads=32,
        kv_heads=8,
        head_dim=128,
        expert_ffn=14_336,
        experts=8,
        top_k=2,
        vocab=32_000,
    )
    units = {k: {"unit": "", "meaning": k} for k in fields if k != "source"}
    mixtral = Model("models", "Mixtral", units, fields)
    assert (mixtral.total_params, mixtral.active_params) == (
        MIXTRAL.total_params,
        MIXTRAL.active_params,
    )
    assert mixtral.active_params.meaning == "active params of Mixtral, counted from its shape"
    for name in ("params", "matmul_params"):  # which of the two?
        with pytest.raises(
            AttributeError, match=f"has no '{name}'; it has .*total_params, active_params"
        ):
            getattr(mixtral, name)
        assert not hasattr(MIXTRAL, name)
    dense = models["Llama 3 70B"]
    with pytest.raises(AttributeError, match="has no 'active_params'; it has params"):
        dense.active_params
    with pytest.raises(AttributeError, match="has no 'colour'"):
        dense.colour


@pytest.mark.parametrize("name", [n for n in moe if hasattr(moe[n], "kv_heads")])
def test_registered_mixtures_count_as_published(name):
    m = moe[name]
    for counted, published, digits in (
        (m.total_params, m.published, m.published_digits),
        (m.active_params, m.published_active, m.published_active_digits),
    ):
        half = 0.5 * 10 ** (len(str(int(published))) - digits)
        table = m.vocab * m.hidden  # some publishers leave the look-up table out
        assert min(abs(counted - published), abs(counted - table - published)) <= half


def test_latent_attention_is_not_counted():
    with pytest.raises(ValueError, match="'DeepSeek-V3' has no kv_heads, head_dim: a shape like"):
        moe["DeepSeek-V3"].total_params


def test_published_flops_of_a_mixture():
    ours = flops_per_token(QWEN3.active_matmul_params, 94, 64 * 128, 4096)
    assert ours == pytest.approx(629.79e12 / 4245.89, rel=2e-5)  # TPU recipes


# --- routing ---


def touched_exactly(experts, top_k, tokens):
    """Mean number of used experts over all ways in which tokens can choose."""
    choices = list(itertools.combinations(range(experts), top_k))
    used = [len(set().union(*drawn)) for drawn in itertools.product(choices, repeat=tokens)]
    return Fraction(sum(used), len(used))


@pytest.mark.parametrize(
    "experts, top_k, tokens", [(4, 1, 3), (4, 2, 3), (5, 2, 2), (3, 3, 2), (6, 2, 1)]
)
def test_experts_touched_over_all_routings(experts, top_k, tokens):
    assert experts_touched(experts, top_k, tokens) == pytest.approx(
        float(touched_exactly(experts, top_k, tokens))
    )


def test_experts_touched_by_sampling():
    rng = random.Random(0)
    mean = (
        sum(len(set().union(*(rng.sample(range(128), 8) for _ in range(8)))) for _ in range(2000))
        / 2000
    )
    assert experts_touched(128, 8, 8) == pytest.approx(mean, rel=0.005)


def test_touched_experts_grow_from_none_to_all():
    ladder = experts_touched(128, 8, np.array([0, 1, 2, 8, 64, 10_000]))
    assert ladder[0] == 0 and ladder[1] == pytest.approx(8) and ladder[-1] == pytest.approx(128)
    assert (np.diff(ladder) > 0).all() and (ladder <= 128).all()


def test_weights_read_expert_by_expert():
    def read(tokens):
        rng, total = random.Random(1), 0
        for _ in range(94):
            used = set().union(*(rng.sample(range(128), 8) for _ in range(tokens)))
            total += sum(2 * QWEN3.expert for _ in used)
        return total + 2 * (QWEN3.total_matmul_params - QWEN3.routed)

    for tokens in (1, 8, 32):
        ours = expert_weight_bytes(
            QWEN3.total_matmul_params - QWEN3.routed, QWEN3.routed, 128, 8, tokens
        )
        assert ours == pytest.approx(read(tokens), rel=0.01)
    assert expert_weight_bytes(7e9, 227e9, 128, 8, 1) == pytest.approx(2 * (7e9 + 227e9 / 16))


def test_the_mixture_reads_more_than_the_dense_model_from_five_sequences():
    dense = 2 * models["Llama 3 70B"].matmul_params
    crossing = next(
        b for b in range(1, 20) if expert_weight_bytes(7.374e9, 227.1e9, 128, 8, b) > dense
    )
    assert crossing == 5


@pytest.mark.parametrize(
    "experts, top_k, ranks", [(8, 2, 4), (8, 3, 2), (6, 4, 3), (6, 1, 6), (6, 6, 3), (8, 2, 1)]
)
def test_ranks_hit_over_all_choices(experts, top_k, ranks):
    per_rank = experts // ranks
    hit = [
        len({e // per_rank for e in chosen})
        for chosen in itertools.combinations(range(experts), top_k)
    ]
    assert distinct_ranks(experts, top_k, ranks) == pytest.approx(sum(hit) / len(hit))


@pytest.mark.parametrize("experts, top_k, ranks", [(128, 8, 3), (128, 129, 8), (8, 2, 16)])
def test_ranks_that_do_not_fit(experts, top_k, ranks):
    with pytest.raises(
        ValueError, match=f"distinct_ranks: .* got experts={experts}, top_k={top_k}, ranks={ranks}"
    ):
        distinct_ranks(experts, top_k, ranks)


# --- adapters ---


def test_adapters_factor_by_factor():
    shapes, rank, layers = [(8, 6), (8, 2)], 2, 3
    factors = [
        np.zeros((d_in, rank)).size + np.zeros((rank, d_out)).size
        for d_in, d_out in shapes
        for _ in range(layers)
    ]
    assert lora_params(shapes, rank, layers) == sum(factors)
    assert (
        lora_params(iter(linear_shapes(4096, 14_336, 32, 8, 128)), 16, 32) == 41_943_040
    )  # as PEFT prints it


def test_adapted_matrices_are_those_of_the_layer():
    model = models["Llama 3 70B"]
    shapes = linear_shapes(8192, 28_672, 64, 8, 128)
    assert sum(a * b for a, b in shapes) * 80 == model.attention + model.mlp
    assert (
        sum(a * b for a, b in linear_shapes(8192, 28_672, 64, 8, 128, "attention")) * 80
        == model.attention
    )
    assert [
        sum(a + b for a, b in linear_shapes(8192, 28_672, 64, 8, 128, t))
        for t in ("all", "attention", "qv")
    ] == [161_792, 51_200, 25_600]
    assert linear_shapes(4096, 1, 64, 4, 128, "qv") == [
        (4096, 8192),
        (4096, 512),
    ]  # heads wider than the model


@pytest.mark.parametrize(
    "call",
    (
        lambda: linear_shapes(8, 8, 4, 3, 2),
        lambda: linear_shapes(8, 8, 4, 2, 2, "mlp"),
        lambda: lora_params([], 1, 1),
        lambda: lora_params([(8, 4)], 5, 1),
        lambda: lora_params([(8, 0)], 1, 1),
    ),
)
def test_adapters_that_cannot_be(call):
    with pytest.raises(
        ValueError, match="linear_shapes: (kv_heads|targets)|lora_params: (rank|shapes)"
    ):
        call()
