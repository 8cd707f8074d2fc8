"""Bytes that a model holds: static state, adapters, activations, and the chips they need."""
from __future__ import annotations

from .checking import checked
from .formulas import formula
from .ops import ceil, sqrt
from .types import Bytes, Count, Flag, Natural, Number, Params, Positive, Share, Size, Stage


@formula("b", unit="B", weight="w", grad="g", master="c", momentum="m", variance="v",
         source="zero-2019")
def bytes_per_param(weight: Bytes = 2, grad: Bytes = 2, master: Bytes = 4, momentum: Bytes = 4,
                    variance: Bytes = 4) -> Bytes:
    """Bytes per parameter of the training state; 16 for bf16 weights and gradients with Adam.

    Args:
        weight, grad: the copies that the matrix products use and make.
        master: the fp32 copy that the optimizer updates.
        momentum, variance: Adam's two averages.
    Source: ZeRO (Rajbhandari et al. 2019), section 3.1.
    """
    return weight + grad + master + momentum + variance


@formula("S", params="N", size="b")
def model_bytes(params: Params, size: Bytes = 2) -> Bytes:
    """Bytes of one value per parameter: weights, gradients on the wire, a checkpoint.

    Args:
        params: parameters.
        size: bytes for each.
    """
    return params * size


@formula("M", params="N", ranks="n", stage="s", weight="w", grad="g", optimizer="o",
         source="zero-2019")
def state_bytes(params: Params, ranks: Count = 1, stage: Stage = 0, weight: Bytes = 2,
                grad: Bytes = 2, optimizer: Bytes = 12) -> Bytes:
    """Static training state that each data-parallel rank holds under a ZeRO stage.

    Args:
        params: parameters.
        ranks: data-parallel ranks that share the state.
        stage: 0 replicates all; 1 shards the optimizer state, 2 also gradients, 3 also weights.
        weight, grad, optimizer: bytes per parameter of each part.
    Source: ZeRO (Rajbhandari et al. 2019), figure 1.
    """
    weights = weight / (ranks if stage >= 3 else 1)
    gradients = grad / (ranks if stage >= 2 else 1)
    optimizers = optimizer / (ranks if stage >= 1 else 1)
    return params * (weights + gradients + optimizers)


@checked
def min_ranks(params: Params, hbm: Size, stage: Stage, usable: Share = 1, weight: Bytes = 2,
              grad: Bytes = 2, optimizer: Bytes = 12) -> int | None:
    """The fewest ranks whose share of the state fits a chip, before rounding to nodes.

    Args:
        params, stage, weight, grad, optimizer: as in `state_bytes`.
        hbm: memory of a chip; usable: the share of it left for static state.
    Returns: the count, or None when what the stage replicates is too large for any count.
    """
    parts = (optimizer, grad, weight)  # in the order in which the stages shard them
    sharded = params * sum(parts[: int(stage)])
    room = usable * hbm - params * sum(parts[int(stage):])
    if room < 0 or (room == 0 and sharded > 0):
        return None
    return max(1, -int(-sharded * (1 - 1e-12) // room)) if sharded else 1


@formula("n", unit="chips", size="S", hbm="H", usable="u")
def chips_for_memory(size: Bytes, hbm: Size, usable: Share = 0.8) -> Number:
    """Chips whose usable memory together holds a number of bytes, before rounding.

    Args:
        size: bytes to hold.
        hbm: memory of a chip.
        usable: share of it left for them.
    """
    return size / (usable * hbm)


@formula("M_l", layer="N_l", prefetch="p", weight="w", grad="g")
def gathered_layer_bytes(layer: Params, prefetch: Number = 1, weight: Bytes = 2,
                         grad: Bytes = 2) -> Bytes:
    """What stage 3 holds on top of its shards while it computes one layer.

    Args:
        layer: parameters of the largest layer.
        prefetch: layers gathered ahead of the one in use.
        weight, grad: bytes per parameter of the gathered weights and of the layer's own gradient.
    """
    return layer * (weight * (1 + prefetch) + grad)


@formula("M", params="N", adapters="N_a", weight="w", adapter="b_a", source="lora-2021")
def lora_bytes(params: Params, adapters: Params, weight: Bytes = 2, adapter: Bytes = 16) -> Bytes:
    """Static state of a fine-tune that trains adapters over frozen weights.

    Args:
        params: frozen parameters.
        adapters: trained ones, as `lora_params` counts them.
        weight: bytes per frozen parameter; 4.127/8 for QLoRA's 4-bit format with its constants.
        adapter: bytes per trained parameter, as `bytes_per_param` adds them up.
    Source: LoRA (Hu et al. 2021).
    """
    return weight * params + adapter * adapters


@formula("k", unit="B", layers="L", kv_heads="n_{kv}", head_dim="d_h", size="b")
def kv_bytes(layers: Count, kv_heads: Count, head_dim: Count, size: Size = 2) -> Bytes:
    """Bytes that one token leaves in the key-value cache.

    Args:
        layers, kv_heads, head_dim: of the model; neither width nor parameters enter.
        size: bytes of one element.
    """
    return 2 * layers * kv_heads * head_dim * size


@formula("c", unit="B", ffn_ratio="r_f", kv_ratio="r_{kv}", silu_kept="q_s", eager_norms="q_n")
def activation_coefficient(ffn_ratio: Positive = 3.5, kv_ratio: Positive = 0.125,
                           silu_kept: Flag = 0, eager_norms: Flag = 0) -> Positive:
    """Bytes that a Llama layer keeps for its backward per token and unit of hidden width, in bf16.

    Two norms' inputs (4) and outputs (4), queries (2), keys and values, attention's output (2);
    gate, up and their product in the feed-forward block. A GPT layer with dropout keeps 34.

    Args:
        ffn_ratio: feed-forward width over hidden width.
        kv_ratio: width of the keys over hidden width; 1 without grouped queries.
        silu_kept: 1 if the activated gate is stored too, not recomputed.
        eager_norms: 1 if norms run in fp32 unfused, which stores six more two-byte copies.
    """
    return 4 + 4 + 2 + 4 * kv_ratio + 2 + (6 + 2 * silu_kept) * ffn_ratio + 12 * eager_norms


@formula("A_l", seq="s", hidden="h", batch="b", coefficient="c", heads="a", tp="t",
         sequence_parallel="q", source="korthikanti-2022", requires="heads % tp == 0")
def layer_activation_bytes(seq: Count, hidden: Count, batch: Count = 1, coefficient: Positive = 34,
                           heads: Natural = 0, tp: Count = 1, sequence_parallel: Flag = 0) -> Bytes:
    """Activations of one layer that wait for its backward, per tensor-parallel rank.

    Args:
        seq, hidden, batch: tokens of a sequence, width, sequences of a micro-batch.
        coefficient: bytes per token and unit of width outside the attention map: 34 for a GPT
            layer, `activation_coefficient` for a Llama layer.
        heads: attention heads whose score matrix is stored; 0 when attention is fused.
        tp: tensor-parallel ranks, a divisor of the heads.
        sequence_parallel: 1 shards the ten bytes of norms, residuals and masks as well.
    Raises: ValueError when tp does not divide heads.
    Source: Korthikanti et al. 2022, equations 1, 2 and 4.
    """
    sharded = (coefficient + 5 * heads * seq / hidden) / tp
    return seq * batch * hidden * (sharded + 10 * (tp - 1) / tp * (1 - sequence_parallel))


@formula("A", layers="L", layer="A_l", boundary="B_l", interval="k", requires="interval <= layers")
def activation_bytes(layers: Count, layer: Bytes, boundary: Bytes = 0,
                     interval: Natural = 0) -> Bytes:
    """Activations of a stack of layers at the start of its backward.

    Args:
        layers: how many.
        layer: what one keeps, as `layer_activation_bytes` counts it.
        boundary: what a checkpoint keeps, the input of a layer: 2 bytes times tokens times width.
        interval: layers from one checkpoint to the next; 0 for no checkpoints.
    Raises: ValueError when interval exceeds layers.
    """
    return (layers * layer if interval == 0
            else ceil(layers / interval) * boundary + interval * layer)


@formula("k^*", layers="L", coefficient="c")
def checkpoint_every(layers: Count, coefficient: Positive = 34) -> Positive:
    """The interval between checkpoints that keeps the fewest bytes, before rounding.

    Args:
        layers: how many.
        coefficient: as in `layer_activation_bytes`; a boundary counts 2 against it.
    """
    return sqrt(2 * layers / coefficient)


@formula("A_V", seq="s", vocab="V", batch="b", size="e")
def logits_bytes(seq: Count, vocab: Count, batch: Count = 1, size: Size = 4) -> Bytes:
    """One copy of the logits.

    Args:
        seq, batch: tokens of a sequence, sequences of a micro-batch.
        vocab: vocabulary.
        size: bytes of one element; losses are computed in fp32.
    """
    return seq * batch * vocab * size
