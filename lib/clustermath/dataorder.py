"""The order in which a run reads its samples: a function of seed, epoch and index, nothing else.

Not the number of ranks or workers, not files, hash seeds or the version of NumPy: a keyed bijection
of whole numbers stands in for a stored permutation, so a resumed run needs five small values.
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .checking import check, checked
from .types import Count, Domain, Natural

_ROUNDS = 6  # of the Feistel network; four already make a good shuffle
_WORD = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: splitmix64's step between keys


def _mix(x: Any) -> Any:
    """The finalizer of splitmix64: every bit of the result hangs on every bit of ``x`` (uint64)."""
    import numpy as np

    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _keys(seed: int, epoch: int) -> Any:
    """One key for each round, different for every seed and epoch."""
    import numpy as np

    base = _mix(_mix(np.array([seed & _WORD], np.uint64)) + np.uint64(epoch & _WORD))
    return _mix(base + np.arange(1, _ROUNDS + 1, dtype=np.uint64) * np.uint64(_GOLDEN))


def _feistel(x: Any, half: int, keys: Any) -> Any:
    """A bijection of the numbers of twice ``half`` bits."""
    import numpy as np

    bits, mask = np.uint64(half), np.uint64(2**half - 1)
    left, right = x >> bits, x & mask
    for key in keys:
        left, right = right, left ^ (_mix(right ^ key) & mask)
    return (left << bits) | right


def _shuffled(index: Any, samples: int, seed: int, epoch: int) -> Any:
    """Where a bijection of 0 to ``samples - 1`` sends each index of an array."""
    import numpy as np

    half = max(1, ((samples - 1).bit_length() + 1) // 2)
    keys = _keys(seed, epoch)
    out = _feistel(index.astype(np.uint64), half, keys)
    # The network permutes up to four times as many numbers: walk on from those beyond the end.
    outside = np.flatnonzero(out >= samples)
    while outside.size:
        out[outside] = _feistel(out[outside], half, keys)
        outside = outside[out[outside] >= samples]
    return out.astype(np.int64)


def _run_of_samples(start: int, count: int, samples: int, seed: int) -> Any:
    """Samples number ``start`` to ``start + count - 1`` of a run, epoch after epoch."""
    import numpy as np

    first, last = start // samples, (start + count - 1) // samples
    parts = []
    for epoch in range(first, last + 1):
        origin = epoch * samples
        low, high = max(start - origin, 0), min(start + count - origin, samples)
        parts.append(_shuffled(np.arange(low, high), samples, seed, epoch))
    return np.concatenate(parts)


def _of_rank(start: int, batch: int, ranks: int, rank: int, samples: int, seed: int) -> Any:
    if batch % ranks:
        raise ValueError(f"sample_indices: a batch of {batch} does not divide over {ranks} ranks; "
                         "choose a batch that every number of ranks in use divides")
    if rank >= ranks:
        raise ValueError(f"sample_indices: rank {rank} is not one of {ranks}; ranks count from 0")
    return _run_of_samples(start, batch, samples, seed)[rank::ranks]


@checked
def sample_indices(step: Natural, batch: Count, ranks: Count, rank: Natural, samples: Count,
                   seed: Natural) -> Any:
    """The samples that a rank reads at a step, as an array.

    Together the ranks of a step read the same global batch for every number of ranks. An epoch
    reads each sample once; what is left at its end opens a batch that the next epoch fills.

    Args:
        step: counts from 0.
        batch: samples of a step, all ranks together; the same throughout a run.
        ranks: data-parallel ranks; each takes every ``ranks``-th sample, from its own number on.
        rank: the one that asks, from 0.
        samples: in the data set.
        seed: of the order; each epoch gets another order from it.
    Raises: ValueError when the ranks do not divide the batch, or the rank is not one of them.
    """
    step, batch, ranks, rank = int(step), int(batch), int(ranks), int(rank)
    return _of_rank(step * batch, batch, ranks, rank, int(samples), int(seed))


def _whole(name: str, value: Any, low: int = 0) -> int:
    return int(check(f"LoaderState: {name}", Domain(low=low, whole=True), value))


@dataclass(frozen=True)
class LoaderState:
    """Where a run stands in its data: what a checkpoint must hold for the loader.

    Samples that were fetched ahead and not trained on do not count.

    Args:
        epoch: passes completed.
        sample_index: samples trained on in this pass.
        seed: of the order, as in `sample_indices`.
        manifest: hash of the manifest of the data set.
        samples: in the data set.
    Raises: ValueError for a place beyond the data; TypeError or ValueError for what is no count.
    """

    epoch: int
    sample_index: int
    seed: int
    manifest: str
    samples: int

    def __post_init__(self):
        for name, low in (("epoch", 0), ("sample_index", 0), ("seed", 0), ("samples", 1)):
            object.__setattr__(self, name, _whole(name, getattr(self, name), low))
        if self.sample_index >= self.samples:
            raise ValueError(f"LoaderState: sample_index {self.sample_index} lies beyond the "
                             f"{self.samples} samples of an epoch; use advance() to roll over")

    @property
    def consumed(self) -> int:
        """Samples trained on since the start of the run."""
        return self.epoch * self.samples + self.sample_index

    def advance(self, n: int) -> "LoaderState":
        """The state ``n`` samples later, in the next epoch when this one is through."""
        epoch, index = divmod(self.consumed + _whole("n", n), self.samples)
        return replace(self, epoch=epoch, sample_index=index)

    def indices(self, batch: int, ranks: int = 1, rank: int = 0) -> Any:
        """The samples that a rank reads for the next batch; see `sample_indices`."""
        batch, ranks = _whole("batch", batch, 1), _whole("ranks", ranks, 1)
        rank = _whole("rank", rank)
        return _of_rank(self.consumed, batch, ranks, rank, self.samples, self.seed)

    def require(self, manifest: str) -> None:
        """Raise ValueError when the data set at hand is not the one of the state."""
        if manifest != self.manifest:
            raise ValueError(f"the data set changed: its manifest is {manifest}, the checkpoint "
                             f"comes from {self.manifest}; restore those shards or start a new run")
