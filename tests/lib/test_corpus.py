"""Corpus arithmetic against NumPy's own types, files on disk, and step-by-step counts."""

from __future__ import annotations

import numpy as np
import pytest
from clustermath import (
    core_time,
    cores_needed,
    dataset_bytes,
    loader_demand,
    match_probability,
    mean_rate,
    pipeline,
    prefetch_depth,
    read_rate,
    sample_rate,
    sequence_offset,
    shard_count,
    signature_bytes,
    stall_share,
    token_bits,
    token_size,
)
from clustermath.units import DAY, HOUR, TIB

VOCABULARIES = [
    1,
    2,
    3,
    255,
    256,
    257,
    50_257,
    65_535,
    65_536,
    65_537,
    128_256,
    131_072,
    151_643,
    2**24,
    2**24 + 1,
    2**25,
]


@pytest.mark.parametrize("vocab", VOCABULARIES)
def test_the_largest_id_fits_the_bits_and_no_fewer(vocab):
    assert token_bits(vocab) == (vocab - 1).bit_length()


@pytest.mark.parametrize("vocab", VOCABULARIES)
def test_token_size_is_that_of_numpys_narrowest_type(vocab):
    assert token_size(vocab) == np.min_scalar_type(vocab - 1).itemsize


def test_a_token_count_is_no_vocabulary():
    with pytest.raises(ValueError, match="vocab"):
        token_bits(15e12)


def test_token_size_of_an_array_of_vocabularies():
    assert token_size(np.array([256, 65_536, 65_537])).tolist() == [1, 2, 4]


def test_a_cast_to_fewer_bytes_than_token_size_changes_ids():
    for vocab in (65_536, 65_537):
        ids = np.arange(vocab, dtype=np.uint32)
        kept = (ids.astype(np.uint16) == ids).all()
        assert kept == (token_size(vocab) <= 2)


def test_dataset_bytes_is_what_an_array_occupies():
    ids = np.zeros(12_345, np.uint32)
    assert dataset_bytes(ids.size, token_size(128_256)) == ids.nbytes
    packed = np.packbits(np.zeros(ids.size * 17, np.uint8))
    assert dataset_bytes(ids.size, token_bits(128_256) / 8) == pytest.approx(packed.nbytes, abs=1)


def test_fineweb_holds_three_bytes_of_compressed_text_a_token():
    # 15T tokens in 44 TB on disk; the book's 4 bytes of plain text are 1.36 times that.
    assert dataset_bytes(15e12, 4) / 44e12 == pytest.approx(1.36, abs=0.005)


def test_cores_finish_in_time_when_pieces_are_dealt_out_one_by_one():
    size, rate, time = 1e9, 1e6, 100.0
    cores = cores_needed(size, rate, time)
    free_at = [0.0] * int(cores)
    for _ in range(1000):  # each piece goes to the core that is free first
        free_at[free_at.index(min(free_at))] += core_time(size / 1000, rate)
    assert cores == 10 and max(free_at) == pytest.approx(time)
    assert cores_needed(size, rate, time, efficiency=0.5) == 20


def test_published_rates_of_corpus_stages():
    # Dolma: 122 CPU-hours per 1,024 GB of filtering; NeMo Curator: 36 h on 2,880 vCPU a snapshot.
    assert mean_rate(1024e9, 122 * HOUR) == pytest.approx(2.33e6, rel=0.002)
    assert core_time(300 * TIB, 0.884e6) / HOUR == pytest.approx(36 * 2880, rel=0.002)
    pages = mean_rate(96 * 2.6e9, 14 * DAY)
    assert cores_needed(pages, 23.0, 1) == pytest.approx(
        8972, rel=0.001
    )  # trafilatura: 23 pages a second


def test_bands_match_as_often_as_simulated_minhash_does():
    rng, pairs, bands, rows = np.random.default_rng(5), 20_000, 14, 8
    for jaccard in (0.5, 0.75, 0.8):
        agree = rng.random((pairs, bands, rows)) < jaccard  # a hash agrees with probability Jaccard
        seen = agree.all(axis=2).any(axis=1).mean()
        assert match_probability(jaccard) == pytest.approx(seen, abs=4 * np.sqrt(0.25 / pairs))


def test_real_minhash_agrees_with_the_jaccard_of_two_sets():
    rng, size = np.random.default_rng(1), 120
    found = 0
    for _ in range(400):
        order = rng.random((2 * 3, size)).argsort(axis=1)  # six hashes: two bands of three rows
        first = order[:, :80].min(axis=1) == order[:, 20:100].min(
            axis=1
        )  # sets 0-79 and 20-99: 60 of 100
        found += first.reshape(2, 3).all(axis=1).any()
    assert match_probability(0.6, bands=2, rows=3) == pytest.approx(found / 400, abs=0.08)


def test_match_probability_at_the_ends_and_rising():
    assert (match_probability(0), match_probability(1)) == (0, 1)
    assert (np.diff(match_probability(np.linspace(0, 1, 50))) >= 0).all()
    assert (
        match_probability(0.7, bands=20) > match_probability(0.7) > match_probability(0.7, rows=10)
    )


def test_signatures_are_as_large_as_the_array_that_holds_them():
    assert signature_bytes(1000) == np.zeros((1000, 14 * 8), np.uint64).nbytes
    assert (
        signature_bytes(1000, bands=9, rows=13, size=4) == np.zeros((1000, 9, 13), np.uint32).nbytes
    )


STAGES = [
    ("extract", 96 * 300 * TIB, 144e12, 0.884e6),
    ("dedup", 144e12, 60e12, 28.85e3 * 1e3),
    ("tokenize", 60e12, 30e12, 1e6),
]


def test_pipeline_of_two_weeks():
    extract, dedup, tokenize = pipeline(STAGES, 14 * DAY)
    assert extract.bandwidth == pytest.approx(
        26.2e9, rel=0.002
    ) and tokenize.bandwidth == pytest.approx(49.6e6, rel=1e-3)
    assert extract.cores == pytest.approx(29_623, rel=0.002) and tokenize.cores == pytest.approx(
        49.6, rel=1e-3
    )
    assert sum(stage.share for stage in (extract, dedup, tokenize)) == pytest.approx(1)
    assert dedup.share * (extract.cores + dedup.cores + tokenize.cores) == pytest.approx(
        dedup.cores
    )
    half = pipeline(STAGES, 7 * DAY)
    assert [s.cores for s in half] == pytest.approx(
        [2 * s.cores for s in (extract, dedup, tokenize)]
    )
    assert [s.share for s in half] == pytest.approx([extract.share, dedup.share, tokenize.share])


@pytest.mark.parametrize(
    "stages",
    [
        [],
        [("idle", 0, 0, 1e6)],
        [("slow", 1e12, 0, 0)],
        [("debt", -1, 0, 1)],
        [("nan", float("nan"), 0, 1)],
    ],
)
def test_pipeline_refuses_by_name(stages):
    with pytest.raises(ValueError, match="pipeline"):
        pipeline(stages, DAY)


@pytest.mark.parametrize("size, shard", [(100, 7), (98, 7), (1, 7), (0, 7), (10**9, 2**20)])
def test_shard_count_is_the_number_of_cuts(size, shard):
    assert shard_count(size, shard) == len(range(0, size, shard))


def test_a_sequence_is_read_from_its_offset(tmp_path):
    tokens = np.arange(40 * 16, dtype=np.uint32).reshape(40, 16)
    (tmp_path / "shard.bin").write_bytes(tokens.tobytes())
    with open(tmp_path / "shard.bin", "rb") as file:
        for index in (0, 1, 39):
            file.seek(sequence_offset(index, 16, token_size(128_256)))
            assert np.frombuffer(file.read(64), np.uint32).tolist() == tokens[index].tolist()


def test_loader_reads_what_a_walk_over_the_steps_reads():
    seq, batch, step_time, size = 8192, 512, 1.25, 4
    read = samples = tokens = 0
    for _ in range(8):
        samples += batch
        tokens += batch * seq
        read += batch * seq * size
    rate = mean_rate(tokens, 8 * step_time)
    assert read_rate(rate, size) == read / (8 * step_time)
    assert sample_rate(rate, seq) == samples / (8 * step_time)


def test_loader_demand_adds_up_to_the_fleet():
    demand = loader_demand(1.53e7, 16_384, 32, 2)
    assert demand.fleet == read_rate(1.53e7, 2)
    assert demand.node * 2048 == pytest.approx(demand.fleet)
    assert demand.rank * 512 == pytest.approx(demand.fleet)
    assert demand.chip * 16_384 == pytest.approx(demand.fleet)
    assert demand.node == 8 * demand.chip and demand.rank == 32 * demand.chip
    with pytest.raises(ValueError, match="16,384 chips.*48"):
        loader_demand(1.53e7, 16_384, 48, 2)


def test_stall_share_of_a_clock_that_counts_both():
    blocked, step = 0.0501820, 1.096
    clock = waited = 0.0
    for _ in range(1000):
        clock += blocked + step
        waited += blocked
    assert stall_share(blocked, step) == pytest.approx(waited / clock)
    assert stall_share(0, step) == 0


def _stalls(depth: int, hiccup: float, step: float) -> float:
    """Time a consumer waits with ``depth`` batches ready when a fetch takes ``hiccup``."""
    clock = 0.0
    for _ in range(depth):  # the batches at hand
        clock += step
    return max(0.0, hiccup - clock)


@pytest.mark.parametrize("hiccup, step", [(5, 1.096), (0.25, 0.02), (9, 1.1), (2, 1), (0.01, 1)])
def test_prefetch_depth_is_the_least_that_hides_the_hiccup(hiccup, step):
    depth = prefetch_depth(hiccup, step)
    assert _stalls(depth, hiccup, step) == 0 and _stalls(depth - 1, hiccup, step) > 0
