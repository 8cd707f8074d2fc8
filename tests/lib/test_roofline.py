"""One chip: bounds by counting, decoding step by step, tiles by their cells."""
import math

import numpy as np
import pytest

from clustermath import (INF, break_even_batch, bucket_efficiency, context_wall, decode_batch,
                         decode_cost, decode_time, kv_bytes, matmul_batch, matmul_intensity,
                         matmul_time, padded, ridge, tile_utilization, token_cost)

PEAK, HBM, PRICE = 989e12, 3.35e12, 2.5 / 3600
KV, COST = kv_bytes(80, 8, 128), token_cost(6 * 70.6e9, PRICE, PEAK, 0.4)


@pytest.mark.parametrize(
    "peak, bandwidth, published",
    [
        (197e12, 819e9, 240.5),
        (459e12, 2765e9, 166.0),
        (918e12, 1638e9, 560.4),
        (2307e12, 7380e9, 312.6),
        (312e12, 2.039e12, 153.0),
        (1979e12, 3.35e12, 590.7),
    ],
)
def test_ridges_of_chips(peak, bandwidth, published):
    assert ridge(peak, bandwidth) == pytest.approx(published, abs=0.06)


def test_a_product_element_by_element():
    batch, d_in, d_out = 3, 4, 5
    flops = sum(2 for _ in range(batch * d_out) for _ in range(d_in))
    moved = sum(
        np.zeros(shape, np.float16).nbytes
        for shape in ((batch, d_in), (d_in, d_out), (batch, d_out))
    )
    assert matmul_intensity(batch, d_in, d_out) == pytest.approx(flops / moved)
    assert matmul_time(batch, d_in, d_out, 1e3, 1.0) == pytest.approx(moved)  # bound by memory
    assert matmul_time(batch, d_in, d_out, 1.0, 1e3) == pytest.approx(flops)  # bound by compute


def test_intensity_of_a_thin_batch_is_the_batch():
    assert matmul_intensity(1, 10**6, 10**6) == pytest.approx(1, rel=1e-5)
    assert matmul_intensity(240, 10**6, 10**6, size=1) == pytest.approx(480, rel=1e-3)


@pytest.mark.parametrize("peak, bandwidth", [(PEAK, HBM), (918e12, 1638e9), (2307e12, 7380e9)])
def test_the_batch_at_which_both_bounds_meet(peak, bandwidth):
    batch = matmul_batch(8192, 28672, peak, bandwidth)
    low, high = math.floor(batch), math.ceil(batch)
    assert (
        matmul_intensity(low, 8192, 28672)
        <= ridge(peak, bandwidth)
        <= matmul_intensity(high, 8192, 28672)
    )
    tried = next(
        b
        for b in range(1, 5000)
        if 2 * b * 8192 * 28672 / peak >= 2 * (b * 8192 + 8192 * 28672 + b * 28672) / bandwidth
    )
    assert tried == high


def test_small_weights_are_never_bound_by_compute():
    assert matmul_batch(512, 512, PEAK, HBM) == INF
    assert matmul_intensity(10**9, 512, 512) < ridge(PEAK, HBM)


@pytest.mark.parametrize(
    "peak, bandwidth, times",
    [  # H100, v6e, v7 at batch 1, 240, 1,024
        (PEAK, HBM, (140.2e-6, 145.5e-6, 486.4e-6)),
        (918e12, 1638e9, (286.8e-6, 297.6e-6, 524.0e-6)),
        (2307e12, 7380e9, (63.7e-6, 66.1e-6, 208.5e-6)),
    ],
)
def test_one_layer_on_three_chips(peak, bandwidth, times):
    for batch, seconds in zip((1, 240, 1024), times):
        assert matmul_time(batch, 8192, 28672, peak, bandwidth) == pytest.approx(seconds, rel=1e-3)


def test_measured_product_stays_above_its_bound():
    bound = matmul_time(8192, 8192, 8192, 918e12, 1638e9)
    assert bound / 1.3288e-3 == pytest.approx(0.901, abs=1e-3)  # TPU recipes, v6e bf16


# --- decoding ---


def step(params, batch, context, kv, chips, efficiency):
    """Each chip reads its part of the weights once, and its part of every sequence's cache."""
    read = 0.0
    for _ in range(chips):
        read += 2 * params / chips
        for _ in range(batch):
            read += context * kv / chips
    return max(
        read / (chips * HBM * efficiency), sum(2 * params for _ in range(batch)) / (chips * PEAK)
    )


@pytest.mark.parametrize(
    "batch, context, chips, efficiency",
    [(1, 0, 1, 1), (64, 2048, 8, 1), (512, 128, 4, 0.6), (1024, 0, 2, 1)],
)
def test_a_decoding_step_read_by_read(batch, context, chips, efficiency):
    ours = decode_time(70.6e9, batch, context, KV, chips, HBM, PEAK, efficiency=efficiency)
    assert ours == pytest.approx(step(70.6e9, batch, context, KV, chips, efficiency))


def test_chips_cancel_in_the_price():
    for chips in (1, 2, 8):
        tokens_per_second = 64 / decode_time(70.6e9, 64, 2048, KV, chips, HBM, PEAK)
        assert chips * PRICE / tokens_per_second == pytest.approx(
            decode_cost(70.6e9, 64, 2048, KV, PRICE, HBM, PEAK)
        )


@pytest.mark.parametrize(
    "batch, ratio", [(1, 39.6), (8, 5.11), (32, 1.42), (64, 0.80), (128, 0.49), (256, 0.34)]
)
def test_decoded_tokens_against_trained_ones(batch, ratio):
    assert decode_cost(70.6e9, batch, 2048, KV, PRICE, HBM, PEAK) / COST == pytest.approx(
        ratio, abs=0.006 * max(1, ratio)
    )


@pytest.mark.parametrize("efficiency, batch", [(1, 48.4), (0.6, 95.3), (0.3, 349)])
def test_break_even_by_search(efficiency, batch):
    ours = break_even_batch(70.6e9, 2048, KV, COST, PRICE, HBM, efficiency=efficiency)
    searched = next(
        b
        for b in range(1, 1000)
        if PRICE * (2 * 70.6e9 + b * 2048 * KV) / (HBM * efficiency) / b <= COST
    )
    assert math.ceil(ours) == searched and ours == pytest.approx(batch, rel=2e-3)


def test_beyond_the_wall_no_batch_helps():
    wall = context_wall(COST, KV, PRICE, HBM)
    assert break_even_batch(70.6e9, wall * 1.000001, KV, COST, PRICE, HBM) == INF
    assert break_even_batch(70.6e9, wall * 0.999, KV, COST, PRICE, HBM) < INF
    floor = decode_cost(70.6e9, 10**9, wall, KV, PRICE, HBM, 1e30)
    assert floor == pytest.approx(COST, rel=1e-6)
    assert context_wall(COST, KV, PRICE, HBM, 0.3) == pytest.approx(3284, abs=1)
    with pytest.raises(ValueError, match="context_wall needs price > 0"):
        context_wall(COST, KV, 0, HBM)


def test_the_batch_from_which_decoding_is_bound_by_compute():
    for total, active in ((70.6e9, 70.6e9), (234_470_506_496, 21_567_635_456)):
        batch = decode_batch(PEAK, HBM, total, active)
        assert 2 * total / HBM == pytest.approx(2 * active * batch / PEAK)
    assert decode_batch(PEAK, HBM, 7e9, 7e9) == pytest.approx(ridge(PEAK, HBM))
    for total, active in ((22e9, 235e9), (7e9, 0)):  # active and total exchanged; none active
        with pytest.raises(ValueError, match="decode_batch needs 0 < active <= total"):
            decode_batch(PEAK, HBM, total, active)


# --- tiles and buckets ---


def test_padding_by_stepping():
    for tile in (1, 8, 128, 256):
        for dim in (1, 127, 128, 129, 688, 6400):
            assert padded(dim, tile) == next(n for n in range(tile, 10**6, tile) if n >= dim)


def test_useful_cells_of_the_tiles():
    dims, tile = (5, 7), 4
    covered = np.zeros((8, 8), bool)
    covered[:5, :7] = True
    assert tile_utilization(dims, tile) == covered.mean()
    assert tile_utilization((256, 512), 256) == 1
    assert tile_utilization(np.array([1600, 6400], dtype=np.uint16), 256) == pytest.approx(
        0.8929, abs=5e-5
    )
    for bad in ((), (0, 4), (2.5,), "12", 12):
        with pytest.raises((ValueError, TypeError), match="tile_utilization: dims"):
            tile_utilization(bad, 4)


def test_buckets_one_sequence_at_a_time():
    lengths, buckets = [3, 4, 5, 16, 1], [16, 4, 8]
    used = sum(min(b for b in buckets if b >= n) for n in lengths)
    assert bucket_efficiency(lengths, buckets) == sum(lengths) / used
    assert buckets == [16, 4, 8]
    with pytest.raises(ValueError, match="lengths reach 17, the largest of buckets holds 16"):
        bucket_efficiency([17], buckets)
    with pytest.raises(ValueError, match="bucket_efficiency: lengths is an empty array"):
        bucket_efficiency([], buckets)


def test_finer_buckets_waste_less():
    lengths = (
        np.random.default_rng(0).lognormal(math.log(700), 0.8, 200_000).clip(16, 8192).astype(int)
    )
    powers = [2**k for k in range(4, 14)]
    halves = sorted({*powers, *(3 * 2**k for k in range(3, 12))})
    shares = [
        bucket_efficiency(lengths, b) for b in ([8192], powers, halves, range(128, 8193, 128))
    ]
    assert shares == pytest.approx([0.1174, 0.6965, 0.8342, 0.9382], abs=2e-3)
