"""What sharding sends, when it hides, and which layouts exist."""
from __future__ import annotations

from .checking import checked
from .collectives import ring_bytes
from .formulas import formula
from .ops import maximum
from .types import (Bandwidth, Bytes, Count, Duration, Flag, FlopRate, Natural, Number, Params,
                    Seconds, Share, Size, Stage, Tokens)


@formula("B", params="N", ranks="n", stage="s", grad="g", weight="w", microbatches="M", reshard="r",
         source="zero-2019")
def wire_bytes(params: Params, ranks: Count, stage: Stage, grad: Bytes = 2, weight: Bytes = 2,
               microbatches: Count = 1, reshard: Flag = 1) -> Bytes:
    """Bytes that each rank sends per optimizer step under a ZeRO stage, ring collectives.

    Args:
        params, ranks, stage: as in `memory.state_bytes`.
        grad, weight: bytes per parameter of gradients and weights on the wire.
        microbatches: forward-backward passes per optimizer step. Stages 0 and 1 reduce once;
            stage 2 reduces every time; stage 3 gathers every time as well.
        reshard: 1 frees the gathered weights after the forward, so that stage 3 gathers twice.
    Source: ZeRO (Rajbhandari et al. 2019), section 7.
    """
    leg = params * (ranks - 1) / ranks
    gathers = (1 + reshard) * microbatches if stage >= 3 else 1
    reductions = microbatches if stage >= 2 else 1
    return leg * (2 * grad if stage == 0 else reductions * grad + gathers * weight)


@formula("v", unit="legs", weights="q_w", local_backward="q_b", grads="q_g", source="zeropp-2023")
def quantised_volume(weights: Flag = 0, local_backward: Flag = 0, grads: Flag = 0) -> Number:
    """Legs of bf16 that a ZeRO-3 step sends across nodes under ZeRO++.

    Args:
        weights: 1 sends the gathered weights in 8 bits.
        local_backward: 1 keeps a second copy in the node, so the backward gather stays inside it.
        grads: 1 reduces the gradients in 4 bits.
    Source: ZeRO++ (Wang et al. 2023), section 3.
    """
    forward = 1 / 2 if weights == 1 else 1
    backward = 0 if local_backward == 1 else forward
    reduction = 1 / 4 if grads == 1 else 1
    return forward + backward + reduction


@checked
def layouts(chips: Count, layers: Count, kv_heads: Count, sequences: Count,
            node: Count = 8) -> list[tuple[int, int, int]]:
    """Ways to split a fleet into tensor, pipeline and data parallelism.

    Args:
        chips: all of them are used: tp * pp * dp.
        layers: divided by the pipeline stages.
        kv_heads: divided by the tensor-parallel ranks, which also divide a node.
        sequences: of the global batch, divided by the data-parallel ranks.
        node: chips per node.
    Returns: (tp, pp, dp), sorted; empty when no split exists.
    """
    tensor = [tp for tp in _divisors(node) if kv_heads % tp == 0]
    splits = [(tp, pp, int(chips) // (tp * pp)) for tp in tensor for pp in _divisors(layers)
              if chips % (tp * pp) == 0]
    return [split for split in splits if sequences % split[2] == 0]


def _divisors(n: float) -> list[int]:
    return [d for d in range(1, int(n) + 1) if n % d == 0]


@checked
def collective_counts(blocks: Count, reshard_root: Flag = 0) -> tuple[int, int]:
    """All-gathers and reduce-scatters of one fully sharded step.

    Args:
        blocks: units that are sharded on their own, beside the root that holds the rest.
        reshard_root: 1 if the root's weights too are freed after the forward and gathered again.
    Returns: (all_gathers, reduce_scatters).
    """
    units = int(blocks) + 1
    return units + int(blocks) + int(reshard_root), units


@checked
def dim0_shard(rows: Count, shards: Count, rank: Natural) -> int:
    """Rows of a tensor that a rank holds when it is cut along its first dimension.

    Args:
        rows: of the whole tensor.
        shards: ranks that share it, in chunks of the rounded-up quotient.
        rank: from 0; late ranks hold a short chunk or nothing.
    Raises: ValueError when there is no such rank.
    """
    if rank >= shards:
        raise ValueError(f"dim0_shard: rank must be below shards, got rank={rank} of {shards}")
    chunk = -(-int(rows) // int(shards))
    return max(0, min(chunk, int(rows) - int(rank) * chunk))


@formula("t", read="S_r", written="S_w", read_bandwidth="W_r", write_bandwidth="W_w")
def offload_time(read: Bytes, written: Bytes, read_bandwidth: Bandwidth,
                 write_bandwidth: Bandwidth) -> Seconds:
    """Time per step to read offloaded state and write it back, one after the other.

    Args:
        read, written: bytes each way.
        read_bandwidth, write_bandwidth: of the drives or links they cross.
    """
    return read / read_bandwidth + written / write_bandwidth


@formula("W", nics="m", nic="W_1", efficiency="e")
def node_bandwidth(nics: Count, nic: Bandwidth, efficiency: Share = 1) -> Bandwidth:
    """What a node sends to others when every network card carries a part of the ring.

    Args:
        nics: cards of the node.
        nic: bandwidth of one, one way.
        efficiency: share of it that is reached.
    """
    return nics * nic * efficiency


@formula("W^*", size="S", ranks="n", step="t", window=r"\varphi")
def hiding_bandwidth(size: Bytes, ranks: Count, step: Duration, window: Share = 2 / 3) -> Bandwidth:
    """Bandwidth that hides an all-reduce of the gradients behind the backward.

    Args:
        size: bytes of the gradients.
        ranks: data-parallel ranks on the ring.
        step: time of a step that communicates nothing.
        window: share of it in which gradients can travel; the backward is two thirds.
    """
    return ring_bytes(size, ranks) / (window * step)


@formula("t^*", comm="T_c", window=r"\varphi", microbatches="M")
def hiding_step(comm: Seconds, window: Share = 2 / 3, microbatches: Count = 1) -> Seconds:
    """The shortest step that hides its communication.

    Args:
        comm: time of the communication of one micro-batch.
        window: as in `hiding_bandwidth`.
        microbatches: 1 where gradients travel once a step, else the times they do.
    """
    return comm * microbatches / window


@formula("b^*", peak="P", bandwidth="W", mfu=r"\eta", size="g", window=r"\varphi",
         source="scaling-book")
def token_threshold(peak: FlopRate, bandwidth: Bandwidth, mfu: Share = 1, size: Size = 2,
                    window: Share = 2 / 3) -> Tokens:
    """Tokens per chip and step above which data parallelism hides its gradients, at any model size.

    Args:
        peak, mfu: dense peak of a chip, and the share of it that is reached.
        bandwidth: that a chip's share of the ring sustains: one way, or both ways round a torus.
        size: bytes of a gradient on the wire.
        window: as in `hiding_bandwidth`.
    Source: How to Scale Your Model, "Training".
    """
    return 2 * size * mfu * peak / (6 * window * bandwidth)


@formula("t^*", ffn="F", peak="P", bandwidth="W", source="scaling-book")
def tp_limit(ffn: Count, peak: FlopRate, bandwidth: Bandwidth) -> Number:
    """Tensor-parallel ranks beyond which communication takes longer than the products, in bf16.

    Args:
        ffn: width of the feed-forward block.
        peak: dense peak of a chip.
        bandwidth: one way, between the ranks.
    Source: How to Scale Your Model, "Training".
    """
    return ffn * bandwidth / peak


@formula("b^*", peak="P", bandwidth="W", ffn="F", axes="a", source="scaling-book")
def fsdp_tp_threshold(peak: FlopRate, bandwidth: Bandwidth, ffn: Count, axes: Count = 2) -> Tokens:
    """Tokens per chip above which sharding over data and tensors hides its transfers, in bf16.

    Args:
        peak: dense peak of a chip.
        bandwidth: of one torus axis, both ways round.
        ffn: width of the feed-forward block.
        axes: product of the numbers of torus axes that the two directions use.
    Source: How to Scale Your Model, "Training".
    """
    return 4 * (peak / bandwidth) ** 2 / (axes * ffn)


@formula("T_e", backward="T_b", comm="T_c", buckets="L")
def exposed_comm(backward: Seconds, comm: Seconds, buckets: Count) -> Seconds:
    """Communication that sticks out after a backward which sends its gradients bucket by bucket.

    Args:
        backward: time of the backward; its buckets become ready evenly over it.
        comm: time of all buckets on the one link that serves them in order.
        buckets: how many, alike in size.
    """
    return maximum(backward + comm / buckets, backward / buckets + comm) - backward
