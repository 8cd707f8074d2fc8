"""The order of samples: the same for every number of ranks, after restarts, on every machine."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from clustermath import LoaderState, sample_indices

SEED = 7


def batch_of(
    step: int, ranks: int, batch: int = 16, samples: int = 426, seed: int = SEED
) -> np.ndarray:
    """The global batch as the ranks together read it, rank by rank."""
    return np.stack(
        [sample_indices(step, batch, ranks, rank, samples, seed) for rank in range(ranks)], axis=1
    ).ravel()


@pytest.mark.parametrize("ranks", [1, 2, 4, 8, 16])
def test_any_number_of_ranks_reads_the_same_global_batch(ranks):
    for step in (0, 1, 25, 26, 27, 1000):
        assert batch_of(step, ranks).tolist() == batch_of(step, 1).tolist()


def test_ranks_share_nothing():
    parts = [sample_indices(3, 16, 4, rank, 426, SEED).tolist() for rank in range(4)]
    assert len({sample for part in parts for sample in part}) == 16


@pytest.mark.parametrize("samples", [1, 2, 3, 5, 17, 64, 426, 1000])
def test_every_epoch_reads_every_sample_once(samples):
    batch = 16
    run = np.concatenate(
        [batch_of(step, 1, batch, samples) for step in range(3 * samples // batch + 1)]
    )
    for epoch in range(3):
        assert sorted(run[epoch * samples : (epoch + 1) * samples]) == list(range(samples))


def test_the_tail_of_an_epoch_is_carried_into_the_next_batch():
    # 426 samples, batches of 16: step 26 takes 10 of the first epoch and 6 of the second.
    whole = [sample_indices(0, 426, 1, 0, 426, SEED), sample_indices(1, 426, 1, 0, 426, SEED)]
    assert batch_of(26, 1).tolist() == [*whole[0][-10:], *whole[1][:6]]


def test_seeds_and_epochs_give_different_orders():
    first = sample_indices(0, 426, 1, 0, 426, SEED)
    for other in (
        sample_indices(0, 426, 1, 0, 426, SEED + 1),
        sample_indices(1, 426, 1, 0, 426, SEED),
    ):
        assert (first == other).mean() < 0.05 and abs(np.corrcoef(first, other)[0, 1]) < 0.2


def test_a_wrong_seed_after_a_restart_repeats_samples_and_the_right_one_none():
    before = [batch_of(step, 4) for step in range(9)]
    right = np.concatenate(before + [batch_of(step, 8) for step in range(9, 20)])
    wrong = np.concatenate(before + [batch_of(step, 8, seed=SEED + 1) for step in range(9, 20)])
    assert len(np.unique(right)) == len(right)
    assert len(wrong) - len(np.unique(wrong)) == pytest.approx(144 * 176 / 426, abs=25)


def test_the_shuffle_is_uniform():
    samples, seeds = 12, 3000
    seen = np.zeros((samples, samples))
    for seed in range(seeds):
        seen[np.arange(samples), sample_indices(0, samples, 1, 0, samples, seed)] += 1
    expected = seeds / samples
    chi2 = ((seen - expected) ** 2 / expected).sum()
    freedom = (samples - 1) ** 2
    assert abs(chi2 - freedom) < 5 * np.sqrt(2 * freedom)
    large = sample_indices(0, 50_000, 1, 0, 50_000, SEED)
    assert abs(np.corrcoef(large[:-1], large[1:])[0, 1]) < 0.02  # neighbours are strangers


def test_fifteen_trillion_tokens_need_no_stored_permutation():
    samples = 15 * 10**12 // 8192
    read = np.concatenate(
        [sample_indices(800_000, 2048, 4, rank, samples, SEED) for rank in range(4)]
    )
    assert len(np.unique(read)) == 2048 and 0 <= read.min() and read.max() < samples


MASK = 2**64 - 1


def _mix(x: int) -> int:
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def _twin(index: int, samples: int, seed: int, epoch: int) -> int:
    """The same bijection in Python's own integers, one number at a time."""
    half = max(1, -(-(samples - 1).bit_length() // 2))
    base = _mix(_mix(seed) + epoch & MASK)
    keys = [_mix(base + r * 0x9E3779B97F4A7C15 & MASK) for r in range(1, 7)]
    while True:
        left, right = index >> half, index % 2**half
        for key in keys:
            left, right = right, left ^ _mix(right ^ key) % 2**half
        index = left << half | right
        if index < samples:
            return index


@pytest.mark.parametrize("samples", [1, 2, 426, 1_831_054_687])
def test_arrays_agree_with_plain_integers(samples):
    start = 5 * 16
    expected = [
        _twin(i % samples, samples, 123456789, i // samples) for i in range(start, start + 16)
    ]
    assert sample_indices(5, 16, 1, 0, samples, 123456789).tolist() == expected


def test_the_hash_seed_of_python_does_not_matter():
    call = "print(sample_indices(3, 16, 2, 1, 426, 7).tolist())"
    code = f"from clustermath import sample_indices; {call}"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert outputs == {f"{sample_indices(3, 16, 2, 1, 426, 7).tolist()}\n"}


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(ranks=3), "batch of 16 does not divide over 3"),
        (dict(rank=4), "rank 4"),
        (dict(step=-1), "step"),
        (dict(samples=0), "samples"),
        (dict(seed=-1), "seed"),
        (dict(batch=2.5), "batch"),
        (dict(rank=-1), "rank"),
    ],
)
def test_sample_indices_refuses_by_name(change, message):
    at = dict(step=0, batch=16, ranks=4, rank=0, samples=426, seed=7)
    with pytest.raises(ValueError, match=message):
        sample_indices(**{**at, **change})


def test_resume_on_other_ranks_by_state():
    state = LoaderState(0, 0, SEED, "sha256:a", 426)
    read = []
    for step in range(60):  # past the end of two epochs, on 4 ranks and then on 8
        ranks = 4 if step < 33 else 8
        read.append(
            np.stack([state.indices(16, ranks, rank) for rank in range(ranks)], axis=1).ravel()
        )
        state = state.advance(16)
    assert np.array_equal(
        np.concatenate(read), np.concatenate([batch_of(step, 1) for step in range(60)])
    )
    assert (state.epoch, state.sample_index) == divmod(60 * 16, 426)


def test_a_state_reads_the_whole_batch_unless_told_otherwise():
    state = LoaderState(2, 7, SEED, "m", 426)
    assert np.array_equal(state.indices(16), state.indices(16, 1, 0))
    assert len(state.indices(16)) == 16


def test_advance_counts_like_single_steps():
    state = LoaderState(epoch=1, sample_index=400, seed=1, manifest="m", samples=426)
    one_by_one = state
    for _ in range(1000):
        one_by_one = one_by_one.advance(1)
    assert one_by_one == state.advance(1000) == state.advance(600).advance(400)
    assert state.advance(0) == state and state.consumed == 826


def test_a_state_names_what_changed():
    state = LoaderState(0, 0, 1, "sha256:a", 426)
    state.require("sha256:a")
    with pytest.raises(ValueError, match="sha256:b.*sha256:a"):
        state.require("sha256:b")


@pytest.mark.parametrize(
    "bad", [dict(sample_index=426), dict(epoch=-1), dict(samples=0), dict(seed=0.5)]
)
def test_a_state_refuses_a_place_that_is_none(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        LoaderState(**{**dict(epoch=0, sample_index=0, seed=1, manifest="m", samples=426), **bad})
    with pytest.raises(TypeError, match="advance|n must"):
        LoaderState(0, 0, 1, "m", 426).advance(True)
