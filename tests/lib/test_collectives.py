"""Collectives executed rank by rank, counting what is sent; measured figures of others."""
import itertools
import random

import pytest

from clustermath import (all_to_all_bytes, all_to_all_rate, busbw, distinct_ranks, half_size,
                         hlo_collectives, nvls_bytes, ring_bytes, ring_factor, ring_link_load,
                         ring_time, torus_bisection, torus_time)


class Ring:
    """Ranks in a circle that pass chunks to the right; counts bytes sent and steps taken."""

    def __init__(self, ranks, chunk):
        self.ranks, self.chunk, self.steps = ranks, chunk, 0
        self.sent = [0] * ranks
        self.data = [
            [{(rank, c)} for c in range(ranks)] for rank in range(ranks)
        ]  # who is in the sum

    def _step(self, choose, receive):
        moving = [(rank, choose(rank), self.data[rank][choose(rank)]) for rank in range(self.ranks)]
        for rank, c, value in moving:
            self.sent[rank] += self.chunk
            right = (rank + 1) % self.ranks
            self.data[right][c] = receive(self.data[right][c], value)
        self.steps += 1

    def reduce_scatter(self):
        for k in range(self.ranks - 1):
            self._step(lambda rank: (rank - k) % self.ranks, lambda mine, theirs: mine | theirs)

    def all_gather(self):
        for k in range(self.ranks - 1):
            self._step(lambda rank: (rank + 1 - k) % self.ranks, lambda mine, theirs: theirs)


@pytest.mark.parametrize("ranks", (1, 2, 3, 8, 17))
def test_a_ring_all_reduce_executed(ranks):
    size = 40 * ranks
    ring = Ring(ranks, size // ranks)
    ring.reduce_scatter()
    half = list(ring.sent)
    ring.all_gather()
    everyone = [{(rank, c) for rank in range(ranks)} for c in range(ranks)]
    assert all(row == everyone for row in ring.data), "every rank holds every sum"
    assert set(half) == {ring_bytes(size, ranks, legs=1)} and set(ring.sent) == {
        ring_bytes(size, ranks)
    }
    hop, bandwidth = 3e-6, 1e9
    clock = sum(hop + size / ranks / bandwidth for _ in range(ring.steps))
    assert ring_time(size, ranks, bandwidth, latency=8e-6, hop=hop) == pytest.approx(clock + 8e-6)


@pytest.mark.parametrize("ranks", (1, 2, 8))
def test_all_to_all_keeps_one_part_at_home(ranks):
    sent = [[1 for target in range(ranks) if target != rank] for rank in range(ranks)]
    assert {sum(row) for row in sent} == {ring_bytes(ranks, ranks, legs=1)}


def test_factors_limits_and_one_rank():
    assert [ring_factor(n) for n in (1, 2, 4, 8)] == [0, 1, 1.5, 1.75]
    assert ring_factor(10**9) == pytest.approx(2) and ring_factor(8, 3) == pytest.approx(
        1.5 * ring_factor(8)
    )
    for move in (ring_bytes, nvls_bytes):
        assert move(1e9, 1) == 0  # nobody to talk to
    assert ring_time(1e9, 1, 1e9, latency=2e-6) == 2e-6


def test_in_switch_reduction_counted():
    ranks, size = 8, 800
    to_switch = {(rank, shard): size // ranks for rank in range(ranks) for shard in range(ranks)}
    multicast = {
        rank: size // ranks for rank in range(ranks)
    }  # each owner sends its reduced shard once
    sent = [
        sum(b for (r, _), b in to_switch.items() if r == rank) + multicast[rank]
        for rank in range(ranks)
    ]
    assert set(sent) == {nvls_bytes(size, ranks)} and sent[0] < ring_bytes(size, ranks)
    assert nvls_bytes(1e9, 2) > ring_bytes(1e9, 2)  # with two, the switch saves nothing


@pytest.mark.parametrize(
    "algbw, ranks, published, within",
    [
        (275e9, 8, 480e9, 0.005),  # NVIDIA on 8 H100 with in-switch reduction, nccl-tests issue 212
        (211e9, 8, 370e9, 0.003),  # the same without
    ],
)
def test_published_bus_bandwidths(algbw, ranks, published, within):
    size = 16 * 2**30
    assert busbw(size, size / algbw, ranks) == pytest.approx(published, rel=within)


def test_bus_bandwidth_undoes_the_time_of_a_ring():
    assert busbw(1e9, ring_time(1e9, 8, 367.6e9), 8) == pytest.approx(367.6e9)
    assert busbw(1e9, ring_time(1e9, 8, 361.4e9, legs=1), 8, legs=1) == pytest.approx(361.4e9)


def test_half_of_the_bandwidth_is_left_at_half_size():
    at = dict(ranks=8, bandwidth=367.6e9, latency=8.4e-6, hop=3.4e-6)
    size = half_size(**at)
    free = ring_time(size, 8, 367.6e9)
    assert ring_time(size, **at) == pytest.approx(2 * free)
    assert busbw(size, ring_time(size, **at), 8) == pytest.approx(367.6e9 / 2)
    with pytest.raises(ValueError, match="half_size needs ranks > 1"):
        half_size(1, 1e9, 1e-6, 1e-6)


# --- tori ---


def test_a_torus_ring_sends_both_ways():
    ranks, size, link = 16, 1.6e9, 9e10
    # All-gather: everyone's shard travels half way round each way, one link each.
    gathered, clock = 1, 0.0
    while gathered < ranks:
        clock += size / ranks / link
        gathered += min(2, ranks - gathered)
    assert torus_time(size, 2 * link, legs=1) == pytest.approx(clock, rel=0.01)
    assert (
        torus_time(size, 2 * link)
        == 2 * torus_time(size, 2 * link, legs=1)
        == torus_time(size, 2 * link, 1, 0)
    )


@pytest.mark.parametrize(
    "size, bandwidth, published, within",
    [(33.55e6, 9e10, 377e-6, 0.015)],  # How to Scale Your Model: all-gather of a bf16 [2048, 8192]
)
def test_published_torus_time(size, bandwidth, published, within):
    assert torus_time(size, bandwidth, legs=1) == pytest.approx(published, rel=within)


def crossing(dims, wrap):
    """Links between the halves of the longest axis, counted one by one."""
    axis = dims.index(max(dims))
    found = 0
    for node in itertools.product(*map(range, dims)):
        following = node[axis] + 1
        if following == dims[axis] and not wrap:
            continue
        there = following % dims[axis]
        found += (node[axis] < dims[axis] // 2) != (there < dims[axis] // 2)
    return found


@pytest.mark.parametrize("dims", ((16, 16), (4, 8, 8), (4, 4, 4), (2, 4, 6)))
@pytest.mark.parametrize("wrap", (0, 1))
def test_bisection_link_by_link(dims, wrap):
    total = 1
    for d in dims:
        total *= d
    assert torus_bisection(total, max(dims), 100e9, wrap) == crossing(dims, wrap) * 100e9


def test_published_bisections():
    assert (
        torus_bisection(256, 16, 100e9) == 3.2e12 and torus_bisection(256, 16, 50e9) == 1.6e12
    )  # v6e, v5e pages
    with pytest.raises(ValueError, match="chips % longest == 0"):
        torus_bisection(256, 24, 100e9)


def test_all_to_all_saturates_the_cut():
    total, each = 64, all_to_all_rate(3.2e12, 64)
    crossing_rate = sum(
        each / total for a in range(total) for b in range(total) if a < total / 2 <= b
    )
    assert crossing_rate == pytest.approx(3.2e12)


def test_rings_on_a_torus_by_their_distances():
    for wrap in (0, 1):
        order = list(range(24))
        random.Random(wrap).shuffle(order)
        load, traversals = ring_link_load(order, (4, 6), wrap)
        total = 0
        for start in range(0, 24, 6):
            ring = order[start : start + 6]
            for a, b in zip(ring, ring[1:] + ring[:1]):
                for size, gap in ((4, abs(a // 6 - b // 6)), (6, abs(a % 6 - b % 6))):
                    total += min(gap, size - gap) if wrap else gap
        assert traversals == total and load >= total / (4 * 24)
    assert ring_link_load(range(256), (16, 16)) == (1, 256)
    assert ring_link_load(range(256), (16, 16), wrap=0) == (
        1,
        480,
    )  # the closing edge walks back 15 hops
    assert ring_link_load([0], (1, 1)) == (0, 0)
    shuffled = list(range(256))
    random.seed(0)
    random.shuffle(shuffled)
    assert ring_link_load(shuffled, (16, 16)) == (6, 2034)


@pytest.mark.parametrize(
    "order, dims", [([0, 0, 1, 2], (2, 2)), ([0, 1], (2, 2)), ([0, 1, 2, 3], (4,)), ([], (1, 1))]
)
def test_orders_that_are_none(order, dims):
    with pytest.raises(ValueError, match="ring_link_load"):
        ring_link_load(order, dims)


# --- expert parallelism ---


def test_all_to_all_by_routing_one_token():
    ranks, hidden, layers = 8, 16, 3
    sent = 0
    for _ in range(layers):
        for choice in range(8):  # one expert on each rank
            if choice % ranks != 0:  # the token's own rank needs no copy
                sent += hidden * (1 + 2) * 2  # fp8 there, bf16 back, forward and backward
    assert all_to_all_bytes(hidden, 7, layers, dispatch=1, combine=2, passes=2) == sent
    assert all_to_all_bytes(4096, 0, 94) == 0
    assert all_to_all_bytes(4096, 7, 94) == 2 * 2 * 94 * 57_344  # 57 kB each way, layer by layer
    saved = all_to_all_bytes(4096, distinct_ranks(128, 8, 8) * 7 / 8, 94) / all_to_all_bytes(
        4096, 7, 94
    )
    assert saved == pytest.approx(1 - 1 / 3, abs=0.001)  # sending once per rank saves a third


# --- compiled programs ---

COMPILED = """\
ENTRY %main {
  %all-reduce.3 = (f32[], f32[2048,512]{1,0}, f32[512,2048]{1,0}) all-reduce(%fusion.1, %dot.3, %dot.4), channel_id=1
  %all-gather.1 = f32[1024,512]{0,1} all-gather(%copy), channel_id=2, replica_groups=[2,4]<=[4,2]T(1,0), dimensions={1}
  ROOT %tuple = (f32[], f32[2048,512]{1,0}) tuple(%all-reduce.3, %all-gather.1)
}
"""
ASYNCHRONOUS = """\
  %ag = (bf16[128]{0:T(256)(2,1)S(1)}, bf16[1024]{0:T(1024)(128)(2,1)}) all-gather-start(bf16[128]{0} %p), dimensions={0}
  %done = bf16[1024]{0} all-gather-done((bf16[128]{0}, bf16[1024]{0}) %ag)
  %cp = (f32[4,8]{1,0}, f32[4,8]{1,0}, u32[], u32[]) collective-permute-start(f32[4,8]{1,0} %q), channel_id=5
  %cpd = f32[4,8]{1,0} collective-permute-done(%cp)
  %ar = f32[16]{0} all-reduce-start(f32[16]{0} %r), to_apply=%add
  %two = ((s8[2], pred[3]), (s8[16], pred[24])) all-gather-start(%s, %t), dimensions={0}
  %rs = f8e4m3fn[3,5]{1,0} reduce-scatter(%u), dimensions={0}
  %aa = s4[7]{0} all-to-all(%v), dimensions={0}
"""


def test_collectives_of_a_compiled_program():
    assert hlo_collectives(COMPILED) == [
        ("all-reduce", 4 + 2 * 2048 * 512 * 4),
        ("all-gather", 2_097_152),
    ]


def test_asynchronous_pairs_count_once_and_their_results_alone():
    assert hlo_collectives(ASYNCHRONOUS) == [
        ("all-gather", 2048),
        ("collective-permute", 128),
        ("all-reduce", 64),
        ("all-gather", 16 + 24),
        ("reduce-scatter", 15),
        ("all-to-all", 4),
    ]


def test_what_is_no_program():
    assert hlo_collectives("") == []
    with pytest.raises(TypeError, match="text must be a str, got bytes"):
        hlo_collectives(b"")
    with pytest.raises(ValueError, match="no known width of the element type 'token'"):
        hlo_collectives("  %x = token[] all-reduce(%y)\n")
