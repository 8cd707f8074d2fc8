"""One chip: compute against memory traffic, products and their tiles, decoding and its price."""
from __future__ import annotations

from typing import Sequence

from .checking import check_all, checked
from .formulas import formula
from .ops import INF, ceil, maximum
from .types import (Bandwidth, Bytes, Count, Dollars, FlopRate, Number, Params, Positive, Price,
                    Seconds, Share, Size, Tokens)


@formula("I^*", unit="FLOP/B", peak="P", bandwidth="W", source="roofline-2009")
def ridge(peak: FlopRate, bandwidth: Bandwidth) -> Positive:
    """FLOPs per byte at which a chip's compute and its memory take equally long.

    Args:
        peak: dense peak of the chip at the precision in use.
        bandwidth: of its memory.
    Source: Williams, Waterman and Patterson 2009.
    """
    return peak / bandwidth


@formula("I", unit="FLOP/B", batch="B", d_in="D", d_out="F", size="b")
def matmul_intensity(batch: Count, d_in: Count, d_out: Count, size: Size = 2) -> Positive:
    """FLOPs per byte of a matrix product whose operands and result each move once.

    Args:
        batch: rows of the activation, tokens.
        d_in, d_out: rows and columns of the weight.
        size: bytes of one element.
    """
    return 2 * batch * d_in * d_out / (size * (batch * d_in + d_in * d_out + batch * d_out))


@formula("t", batch="B", d_in="D", d_out="F", peak="P", bandwidth="W", size="b")
def matmul_time(batch: Count, d_in: Count, d_out: Count, peak: FlopRate, bandwidth: Bandwidth,
                size: Size = 2) -> Seconds:
    """The least time of a matrix product on one chip.

    Args:
        batch, d_in, d_out, size: as in `matmul_intensity`.
        peak, bandwidth: as in `ridge`.
    """
    moved = size * (batch * d_in + d_in * d_out + batch * d_out)
    return maximum(2 * batch * d_in * d_out / peak, moved / bandwidth)


@formula("B^*", d_in="D", d_out="F", peak="P", bandwidth="W", size="b", needed="I")
def matmul_batch(d_in: Count, d_out: Count, peak: FlopRate, bandwidth: Bandwidth,
                 size: Size = 2) -> Positive:
    """Tokens from which a matrix product is bound by compute; infinite for too small a weight.

    Args:
        d_in, d_out, size: as in `matmul_intensity`.
        peak, bandwidth: as in `ridge`.
    """
    needed = size / 2 * peak / bandwidth
    return (d_in * d_out * needed / (d_in * d_out - needed * (d_in + d_out))
            if needed * (d_in + d_out) < d_in * d_out else INF)


@formula("B^*", peak="P", bandwidth="W", total="N", active="N_a", size="b",
         requires="0 < active <= total")
def decode_batch(peak: FlopRate, bandwidth: Bandwidth, total: Params, active: Params,
                 size: Size = 2) -> Positive:
    """Sequences from which a decoding step is bound by compute, the cache left out.

    Args:
        peak, bandwidth: as in `ridge`.
        total: parameters that are read.
        active: parameters that each token multiplies; the same for a dense model.
        size: bytes of one element.
    Raises: ValueError unless 0 < active <= total.
    """
    return size / 2 * peak / bandwidth * total / active


@formula("t", params="N", batch="B", context="c", kv="k", chips="G", bandwidth="W", peak="P",
         size="b", efficiency="e")
def decode_time(params: Params, batch: Count, context: Tokens, kv: Bytes, chips: Count,
                bandwidth: Bandwidth, peak: FlopRate, size: Bytes = 2,
                efficiency: Share = 1) -> Seconds:
    """One decoding step of a dense model: weights and cache are read once, or compute takes longer.

    Args:
        params: parameters of the model.
        batch: sequences that decode together.
        context: tokens of each that are in the cache, on average.
        kv: bytes per cached token, as `kv_bytes` counts them.
        chips: chips that share the work evenly.
        bandwidth, peak: as in `ridge`.
        size: bytes of a weight.
        efficiency: share of the bandwidth that is reached.
    """
    reading = (size * params + batch * context * kv) / (chips * bandwidth * efficiency)
    return maximum(reading, 2 * params * batch / (chips * peak))


@formula("C_d", params="N", batch="B", context="c", kv="k", price="p", bandwidth="W", peak="P",
         size="b", efficiency="e")
def decode_cost(params: Params, batch: Count, context: Tokens, kv: Bytes, price: Price,
                bandwidth: Bandwidth, peak: FlopRate, size: Bytes = 2,
                efficiency: Share = 1) -> Dollars:
    """What one decoded token costs; the number of chips cancels.

    Args:
        params, batch, context, kv, bandwidth, peak, size, efficiency: as in `decode_time`.
        price: dollars per chip-second.
    """
    return (price * decode_time(params, batch, context, kv, 1, bandwidth, peak, size, efficiency)
            / batch)


@formula("B^*", params="N", context="c", kv="k", cost="C_t", price="p", bandwidth="W", size="b",
         efficiency="e", per_byte=r"\beta")
def break_even_batch(params: Params, context: Tokens, kv: Bytes, cost: Dollars, price: Price,
                     bandwidth: Bandwidth, size: Bytes = 2, efficiency: Share = 1) -> Number:
    """The batch from which a decoded token is cheaper than a given cost, memory-bound.

    Args:
        params, context, kv, bandwidth, size, efficiency: as in `decode_time`.
        cost: dollars per token to beat.
        price: dollars per chip-second.
    Returns: the batch; infinite when reading the cache alone costs as much.
    """
    per_byte = price / (bandwidth * efficiency)
    return (size * params * per_byte / (cost - context * kv * per_byte)
            if context * kv * per_byte < cost else INF)


@formula("c^*", cost="C_t", kv="k", price="p", bandwidth="W", efficiency="e", requires="price > 0")
def context_wall(cost: Dollars, kv: Size, price: Price, bandwidth: Bandwidth,
                 efficiency: Share = 1) -> Tokens:
    """The context beyond which no batch decodes a token for less than a given cost.

    Args:
        cost: dollars per token to beat.
        kv, bandwidth, efficiency: as in `decode_time`.
        price: dollars per chip-second, above 0.
    """
    return cost * bandwidth * efficiency / (price * kv)


@formula("d'", dim="d", tile="t")
def padded(dim: Count, tile: Count) -> Count:
    """A dimension rounded up to whole tiles.

    Args:
        dim: elements.
        tile: elements of a tile along it.
    """
    return ceil(dim / tile) * tile


@checked
def tile_utilization(dims: Sequence[int], tile: Count) -> float:
    """The share of a tiled product that is not padding.

    Args:
        dims: the dimensions that are cut into tiles, one or more counts.
        tile: elements of a tile along each.
    Raises: ValueError for no dimension or one that is no count.
    """
    dims = check_all("tile_utilization: dims", Count, dims)
    return float((dims / padded(dims, tile)).prod())


@checked
def bucket_efficiency(lengths: Sequence[int], buckets: Sequence[int]) -> float:
    """The share of useful tokens when each sequence is padded to the next bucket.

    Args:
        lengths: tokens of each sequence.
        buckets: lengths that are compiled, in any order.
    Raises: ValueError for a length that no bucket holds, or for no lengths.
    """
    lengths = check_all("bucket_efficiency: lengths", Count, lengths)
    buckets = check_all("bucket_efficiency: buckets", Count, buckets)  # a copy
    buckets.sort()
    longest = lengths.max()
    if longest > buckets[-1]:
        raise ValueError(f"bucket_efficiency: lengths reach {longest:g}, the largest of buckets "
                         f"holds {buckets[-1]:g}")
    return float(lengths.sum() / buckets[buckets.searchsorted(lengths)].sum())
