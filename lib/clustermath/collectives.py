"""Bytes and seconds of collectives. Bandwidth is one way, of the ring or link that is named."""
from __future__ import annotations

from collections import Counter
from typing import Sequence

from .checking import check_all, checked
from .formulas import formula
from .types import Bandwidth, Bytes, Count, Duration, Flag, Natural, Number, Positive, Seconds


@formula("k", ranks="n", legs="l", source="nccl-tests-performance")
def ring_factor(ranks: Count, legs: Positive = 2) -> Number:
    """Passes over the ring, each of which moves (n - 1)/n of the buffer.

    Args:
        ranks: ranks on the ring; one rank sends nothing.
        legs: 2 for an all-reduce; 1 for reduce-scatter, all-gather, all-to-all; 3 for a step of
            ZeRO-3.
    """
    return legs * (ranks - 1) / ranks


@formula("B", size="S", ranks="n", legs="l")
def ring_bytes(size: Bytes, ranks: Count, legs: Positive = 2) -> Bytes:
    """Bytes that each rank sends in a ring collective.

    Args:
        size: bytes of the whole buffer.
        ranks, legs: as in `ring_factor`.
    """
    return ring_factor(ranks, legs) * size


@formula("T", size="S", ranks="n", bandwidth="W", legs="l", latency=r"\alpha", hop="h")
def ring_time(size: Bytes, ranks: Count, bandwidth: Bandwidth, legs: Positive = 2,
              latency: Seconds = 0, hop: Seconds = 0) -> Seconds:
    """Time of a ring collective.

    Args:
        size, ranks, legs: as in `ring_bytes`.
        bandwidth: one way, that the ring sustains.
        latency: fixed cost of the call.
        hop: cost of each step around the ring.
    """
    return ring_bytes(size, ranks, legs) / bandwidth + latency + legs * (ranks - 1) * hop


@formula("B", size="S", ranks="n", source="nccl-issue-1506")
def nvls_bytes(size: Bytes, ranks: Count) -> Bytes:
    """Bytes that each rank sends in an all-reduce that the switch adds up.

    The whole buffer goes to the switch once, and the rank's reduced shard once for all to receive.

    Args:
        size: bytes of the whole buffer.
        ranks: ranks on the switch; one rank sends nothing.
    """
    return size * (1 + 1 / ranks) if ranks > 1 else 0


@formula("W_b", size="S", time="T", ranks="n", legs="l", source="nccl-tests-performance")
def busbw(size: Bytes, time: Duration, ranks: Count, legs: Positive = 2) -> Bandwidth:
    """The bus bandwidth of a measured collective: what a ring would have moved, over the time.

    Args:
        size: bytes of the whole buffer.
        time: measured.
        ranks, legs: as in `ring_factor`.
    Source: nccl-tests, PERFORMANCE.md.
    """
    return ring_bytes(size, ranks, legs) / time


@formula("S^*", ranks="n", bandwidth="W", latency=r"\alpha", hop="h", legs="l",
         requires="ranks > 1")
def half_size(ranks: Count, bandwidth: Bandwidth, latency: Seconds, hop: Seconds,
              legs: Positive = 2) -> Bytes:
    """The buffer whose transfer takes as long as the ring's latency: half the bandwidth is left.

    Args:
        ranks, legs: as in `ring_factor`; at least two ranks.
        bandwidth, latency, hop: as in `ring_time`.
    """
    return (latency + legs * (ranks - 1) * hop) * bandwidth / ring_factor(ranks, legs)


@formula("T", size="S", bandwidth="W", legs="l", wrap="w", source="scaling-book")
def torus_time(size: Bytes, bandwidth: Bandwidth, legs: Positive = 2, wrap: Flag = 1) -> Seconds:
    """Time of a collective on the axes of a torus, both directions at once, for a large buffer.

    Args:
        size: bytes of the whole buffer.
        bandwidth: what one chip sends over those axes, both ways round summed.
        legs: 2 for an all-reduce, 1 for a reduce-scatter or an all-gather.
        wrap: 0 without the link that closes the ring, which takes twice as long.
    Source: How to Scale Your Model, "Sharded Matrices".
    """
    return legs * size / bandwidth * (1 if wrap == 1 else 2)


@formula("W_2", chips="N", longest="d", link="W_l", wrap="w", requires="chips % longest == 0")
def torus_bisection(chips: Count, longest: Count, link: Bandwidth, wrap: Flag = 1) -> Bandwidth:
    """Bandwidth, one way, between the halves of a torus cut across its longest axis.

    Args:
        chips: of the torus.
        longest: chips along its longest axis.
        link: one link, one way.
        wrap: 1 if the axis is closed, so that the cut meets every ring twice.
    Raises: ValueError when longest does not divide chips.
    """
    return chips / longest * (2 if wrap == 1 else 1) * link


@formula("W_a", bisection="W_2", chips="N")
def all_to_all_rate(bisection: Bandwidth, chips: Count) -> Bandwidth:
    """Bytes per second that each chip sends when all send alike to all: a quarter crosses each way.

    Args:
        bisection: as `torus_bisection` gives it.
        chips: that take part.
    """
    return 4 * bisection / chips


@formula("B_t", hidden="h", copies="c", layers="L", dispatch="b_d", combine="b_c", passes="p")
def all_to_all_bytes(hidden: Count, copies: Number, layers: Count, dispatch: Bytes = 2,
                     combine: Bytes = 2, passes: Positive = 2) -> Bytes:
    """Bytes per token that expert parallelism sends to other ranks.

    Args:
        hidden: width of the residual stream.
        copies: copies of a token that leave its rank: 7 of 8 choices at 8 ranks, or
            `distinct_ranks` less the share that stays.
        layers: layers with experts.
        dispatch, combine: bytes of one element on the way there and back.
        passes: 2 in training (forward and backward), 1 in serving.
    """
    return hidden * copies * layers * (dispatch + combine) * passes


@checked
def ring_link_load(order: Sequence[int], dims: Sequence[int], wrap: Flag = 1) -> tuple[int, int]:
    """How rings laid over a two-dimensional torus share its links.

    Device ``d`` sits at row ``d // columns``. Each run of ``columns`` devices of the order is a
    ring; a message goes the shortest way along the row, then along the column.

    Args:
        order: every device once, in the order in which the mesh takes them.
        dims: rows and columns of the torus.
        wrap: 0 without the links that close rows and columns.
    Returns: messages on the busiest link in one step of all rings, and link traversals in all.
    Raises: ValueError when order is no permutation of the devices.
    """
    order = [int(d) for d in check_all("ring_link_load: order", Natural, order)]
    dims = [int(n) for n in check_all("ring_link_load: dims", Count, dims)]
    if len(dims) != 2:
        raise ValueError(f"ring_link_load: dims must be rows and columns, got {len(dims)} numbers")
    rows, columns = dims
    if sorted(order) != list(range(rows * columns)):
        raise ValueError(f"ring_link_load: order must hold each of {rows * columns} devices once")
    load: Counter = Counter()
    for start in range(0, rows * columns, columns):
        ring = order[start:start + columns]
        for source, target in zip(ring, ring[1:] + ring[:1]):
            load.update(_route(divmod(source, columns), divmod(target, columns), dims, wrap == 1))
    return max(load.values(), default=0), load.total()


def _route(at: tuple[int, int], to: tuple[int, int], dims: list[int], wrap: bool) -> list[tuple]:
    """Links (row, column, axis, direction) from one chip to another: along the row first."""
    links, here = [], list(at)
    for axis in (1, 0):
        size, ahead = dims[axis], (to[axis] - here[axis]) % dims[axis]
        forward = ahead <= size - ahead if wrap else to[axis] > here[axis]
        step = 1 if forward else -1
        while here[axis] != to[axis]:
            links.append((*here, axis, step))
            here[axis] = (here[axis] + step) % size
    return links
