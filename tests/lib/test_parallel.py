"""Sharding, hiding and layouts: counted, simulated, and against published thresholds."""
import itertools
import math

import pytest

from clustermath import (collective_counts, dim0_shard, exposed_comm, fsdp_tp_threshold,
                         hiding_bandwidth, hiding_step, layouts, matmul_time, model_bytes,
                         node_bandwidth, offload_time, quantised_volume, ring_bytes, ring_time,
                         token_threshold, torus_time, tp_limit, training_flops, training_time,
                         wire_bytes)

PEAK = 989e12


# --- layouts ---


def test_layouts_by_trying_all_triples():
    for fleet, layers, kv_heads, sequences, node in (
        (64, 6, 4, 32, 8),
        (48, 12, 8, 24, 8),
        (36, 6, 6, 12, 4),
    ):
        tried = [
            (tp, pp, dp)
            for tp, pp, dp in itertools.product(range(1, fleet + 1), repeat=3)
            if tp * pp * dp == fleet
            and kv_heads % tp == 0
            and node % tp == 0
            and layers % pp == 0
            and sequences % dp == 0
        ]
        assert layouts(fleet, layers, kv_heads, sequences, node) == tried


def test_only_one_fleet_between_the_need_and_the_next_power():
    reachable = [n for n in range(6197, 10_240) if layouts(n, 80, 8, 2048)]
    assert reachable == [8192] and layouts(10_240, 80, 8, 2048)
    assert layouts(6400, 80, 8, 1920)  # another batch admits what was impossible
    assert (8, 35, 9) in layouts(2520, 105, 8, 1920 * 3)  # Megatron-530B's shape on 2,520 GPUs


# --- wire ---


def sent(stage, microbatches, reshard, grad, weight, leg):
    """Bytes of one optimizer step, collective by collective."""
    reduce_scatter, gather = grad * leg, weight * leg
    total = 0
    for micro in range(microbatches):
        if stage == 3:
            total += gather  # before the forward
            if reshard:
                total += gather  # again before the backward
            total += reduce_scatter
        elif stage == 2 or micro == microbatches - 1:
            total += reduce_scatter
    if stage == 0:
        total += grad * leg  # the other half of the all-reduce: summed gradients
    if stage in (1, 2):
        total += gather  # updated weights
    return total


@pytest.mark.parametrize("stage", (0, 1, 2, 3))
@pytest.mark.parametrize(
    "microbatches, reshard, grad, weight", [(1, 1, 2, 2), (8, 1, 2, 2), (3, 0, 4, 2), (1, 1, 4, 2)]
)
def test_wire_bytes_collective_by_collective(stage, microbatches, reshard, grad, weight):
    params, ranks = 64e6, 16
    leg = ring_bytes(params, ranks, legs=1)
    assert wire_bytes(params, ranks, stage, grad, weight, microbatches, reshard) == pytest.approx(
        sent(stage, microbatches, reshard, grad, weight, leg)
    )
    assert wire_bytes(params, 1, stage, grad, weight, microbatches, reshard) == 0


def test_published_wire_ratios():
    assert wire_bytes(10e9, 10**6, 0) == pytest.approx(40e9) and wire_bytes(
        10e9, 10**6, 3
    ) == pytest.approx(60e9)
    assert quantised_volume(1, 1, 1) == 3 / 4 and quantised_volume() == 3  # ZeRO++: four times less
    assert (
        quantised_volume(weights=1, local_backward=1) == 1.5
        and quantised_volume(local_backward=1) == 2
    )


@pytest.mark.parametrize("reshard_root", (0, 1))
def test_collectives_of_a_step_by_walking_it(reshard_root):
    for blocks in (1, 3, 80):
        units = ["root", *range(blocks)]
        held, log = set(), []
        for unit in units:  # forward: gather, compute, free
            log.append("gather")
            if unit == "root" and not reshard_root:
                held.add(unit)
        for unit in reversed(units):  # backward: gather what was freed, reduce
            if unit not in held:
                log.append("gather")
            log.append("reduce")
        assert collective_counts(blocks, reshard_root) == (log.count("gather"), log.count("reduce"))
    assert collective_counts(3) == (7, 4)  # what the profiler shows for three blocks


def chunks(rows, shards):
    """Sizes of torch.chunk along the first dimension, filled up with empty ones."""
    size = math.ceil(rows / shards)
    sizes = [len(range(rows)[start : start + size]) for start in range(0, rows, size)]
    return sizes + [0] * (shards - len(sizes))


def test_rows_of_every_rank():
    for rows, shards in itertools.product((1, 2, 7, 8, 97, 8192), (1, 2, 3, 8, 100)):
        assert [dim0_shard(rows, shards, r) for r in range(shards)] == chunks(rows, shards)
    assert (
        sum(dim0_shard(8192, 16384, r) == 0 for r in range(16384)) == 8192
    )  # half of the ranks hold nothing
    with pytest.raises(ValueError, match="rank must be below shards, got rank=2 of 2"):
        dim0_shard(97, 2, 2)


def test_offloaded_state_crosses_the_drives_both_ways():
    read, written, done = 12 * 70.6e9, 12 * 70.6e9, 0.0
    for part in range(100):
        done += read / 100 / 48e9
        done += written / 100 / 24e9
    assert offload_time(read, written, 48e9, 24e9) == pytest.approx(done)
    assert offload_time(read, written, 24e9, 24e9) == pytest.approx(70.6)


# --- hiding ---


def test_a_node_sends_through_all_its_cards():
    assert (
        node_bandwidth(8, 50e9) == sum(50e9 for _ in range(8))
        and node_bandwidth(8, 50e9, 0.8) == 320e9
    )
    # Reduce-scatter in the node, then each GPU all-reduces an eighth through its own card.
    assert ring_time(141.2e9, 2048, node_bandwidth(8, 50e9)) == pytest.approx(
        ring_time(141.2e9 / 8, 2048, 50e9)
    )


def test_hidden_exactly_at_the_bandwidth_and_at_the_step():
    size, ranks, step = model_bytes(7e9), 64, 6.958
    enough = hiding_bandwidth(size, ranks, step)
    assert ring_time(size, ranks, enough) == pytest.approx(2 / 3 * step)
    assert hiding_step(ring_time(size, ranks, enough)) == pytest.approx(step)
    assert (
        hiding_step(1.0, microbatches=8) == pytest.approx(8 * hiding_step(1.0)) == pytest.approx(12)
    )
    assert hiding_bandwidth(size, 1, step) == 0


@pytest.mark.parametrize("params", (7e9, 70.6e9, 405e9))
def test_the_threshold_is_where_the_two_times_meet_for_any_model(params):
    tokens = token_threshold(PEAK, 400e9, 0.4)
    backward = 2 / 3 * training_time(training_flops(params, tokens), 1, PEAK, 0.4)
    assert ring_time(model_bytes(params), 10**9, 400e9) == pytest.approx(backward)


@pytest.mark.parametrize(
    "peak, bandwidth, published, within",
    [
        (4.59e14, 1.8e11, 2550, 1e-9),
        (4.59e14, 3 * 1.8e11, 850, 1e-9),  # How to Scale Your Model, v5p
        (917e12, 180e9, 5100, 0.002),  # MaxText, v6e
    ],
)
def test_published_token_thresholds(peak, bandwidth, published, within):
    assert token_threshold(peak, bandwidth) == pytest.approx(published, rel=within)
    assert 16e6 / token_threshold(4.59e14, 3 * 1.8e11) == pytest.approx(
        18_823, abs=1
    )  # chips for a 16M batch


def test_tensor_parallel_limit_is_where_products_and_transfers_meet():
    hidden, ffn, batch, bandwidth = 8192, 28672, 2**20, 450e9
    ranks = tp_limit(ffn, PEAK, bandwidth)
    # Both products on a shard against gathering and scattering activations [batch, hidden].
    products = 2 * (2 * batch * hidden * ffn / ranks) / PEAK
    transfers = 2 * torus_time(2 * batch * hidden, bandwidth, legs=1)
    assert products == pytest.approx(transfers)
    assert matmul_time(batch, hidden, ffn, PEAK, 3.35e12) / ranks == pytest.approx(
        products / 2, rel=0.05
    )
    assert (
        tp_limit(131_072, 917e12, 180e9) > 16 > tp_limit(80_000, 917e12, 180e9)
    )  # MaxText: TP16 needs 80k


def test_sharding_both_ways_at_its_best_split():
    peak, bandwidth, ffn, hidden, chips_ = 459e12, 1.8e11, 30_000, 8192, 4096

    def busy(tokens, split):
        """Time to gather weights over chips/split and activations over split, an axis each."""
        weights = 2 * hidden * ffn / split / bandwidth
        activations = 2 * tokens * hidden / (chips_ / split) / bandwidth
        return weights + activations

    tokens = chips_ * fsdp_tp_threshold(peak, bandwidth, ffn, axes=1)
    best = min(busy(tokens, 2 ** (k / 50)) for k in range(600))
    assert best == pytest.approx(2 * tokens * hidden * ffn / (chips_ * peak), rel=0.01)
    assert fsdp_tp_threshold(peak, bandwidth, ffn) == fsdp_tp_threshold(peak, bandwidth, ffn, 1) / 2


def simulated(backward, comm, buckets):
    """One link serves equal buckets in the order in which the backward finishes them."""
    link = 0.0
    for k in range(1, buckets + 1):
        ready = backward * k / buckets
        link = max(link, ready) + comm / buckets
    return max(link, backward) - backward


@pytest.mark.parametrize("comm", (0, 0.1, 0.5, 2 / 3, 0.66, 1.0, 5.0))
def test_exposed_communication_by_event(comm):
    for buckets in (1, 2, 4, 64, 706):
        assert exposed_comm(2 / 3, comm, buckets) == pytest.approx(
            simulated(2 / 3, comm, buckets), abs=1e-12
        )
    assert exposed_comm(2 / 3, comm, 1) == pytest.approx(comm)  # nothing overlaps


def test_more_buckets_never_expose_more():
    exposed = [exposed_comm(0.7310, 0.7057, n) for n in (1, 2, 10, 80, 706)]
    assert exposed == sorted(exposed, reverse=True) and exposed[-1] == pytest.approx(
        0.7057 / 706, abs=1e-6
    )
