"""From text to tokens on disk, and from tokens per second to what a loader must deliver."""
from __future__ import annotations

from typing import Annotated, Iterable, NamedTuple

from .checking import check, checked
from .formulas import formula
from .ops import ceil, log2, maximum
from .types import (Bandwidth, Bytes, Count, Domain, Duration, Loss, Natural, Number, PerSecond,
                    Rate, Seconds, Share, Size, Tokens)

Vocabulary = Annotated[float, Domain(low=1, high=2**25, whole=True)]


@formula("b", unit="bits", vocab="V")
def token_bits(vocab: Vocabulary) -> Number:
    """Bits that tell the tokens of a vocabulary apart.

    Args:
        vocab: entries, the special tokens included; ids run from 0 to ``vocab`` - 1.
    """
    return ceil(log2(vocab))


@formula("s", vocab="V")
def token_size(vocab: Vocabulary) -> Bytes:
    """Bytes of one token id in the narrowest unsigned integer that holds it: 1, 2 or 4.

    2 up to 65,536 entries, 4 beyond. A wider id cast to a narrower type wraps without an error.

    Args:
        vocab: as in `token_bits`.
    """
    return 2 ** ceil(log2(maximum(8, token_bits(vocab)) / 8))


@formula("S", tokens="D", size="s")
def dataset_bytes(tokens: Tokens, size: Size) -> Bytes:
    """Bytes of a tokenized data set, or of its text.

    Args:
        tokens: how many.
        size: bytes for each: that of the id (`token_size`), of packed bits (`token_bits` / 8), or
            of the text behind a token.
    """
    return tokens * size


@formula("r", size="S", time="T")
def mean_rate(size: Number, time: Duration) -> Rate:
    """What must pass per second for a total to be through in time: a stage, a burst, a drain.

    Args:
        size: the total: bytes, pages or tokens; the result counts the same per second.
        time: allowed for it.
    """
    return size / time


@formula("t", size="S", rate="r")
def core_time(size: Number, rate: PerSecond) -> Seconds:
    """Core-seconds of a job; how many cores share them does not matter.

    Args:
        size: the total: bytes, or whatever the rate counts.
        rate: of one core, of the same per second.
    """
    return size / rate


@formula("n", unit="cores", size="S", rate="r", time="T", efficiency="e")
def cores_needed(size: Number, rate: PerSecond, time: Duration, efficiency: Share = 1) -> Number:
    """Cores that finish a job in time, before rounding up.

    Args:
        size, rate: as in `core_time`.
        time: wall clock allowed.
        efficiency: share of it during which a core works.
    """
    return core_time(size, rate) / (time * efficiency)


@formula("S", documents="n", bands="b", rows="r", size="s")
def signature_bytes(documents: Number, bands: Count = 14, rows: Count = 8, size: Size = 8) -> Bytes:
    """Bytes of the MinHash signatures of a corpus.

    Args:
        documents: how many.
        bands, rows: hashes of a document, in ``bands`` groups of ``rows``.
        size: bytes of one hash.
    """
    return documents * bands * rows * size


@formula("p", jaccard="s", bands="b", rows="r")
def match_probability(jaccard: Loss, bands: Count = 14, rows: Count = 8) -> Loss:
    """The probability that MinHash bands make two documents a candidate pair.

    Args:
        jaccard: share of their shingles that two documents have in common.
        bands, rows: a pair matches when all ``rows`` hashes of any of ``bands`` bands agree.
    """
    return 1 - (1 - jaccard**rows) ** bands


class PipelineStage(NamedTuple):
    """A stage of a corpus pipeline: bytes in and out, bytes per second in, cores, their share."""

    name: str
    read: float
    written: float
    bandwidth: float
    cores: float
    share: float


@checked
def pipeline(stages: Iterable[tuple[str, float, float, float]],
             time: Duration) -> list[PipelineStage]:
    """What each stage of a corpus pipeline needs for the whole to finish in time.

    Args:
        stages: for each its name, bytes in, bytes out, and the bytes that one core reads a second.
        time: wall clock allowed; the stages run side by side.
    Returns: one `PipelineStage` a stage; the shares of the cores sum to 1.
    Raises: ValueError without stages, or when none of them reads anything.
    """
    rows = []
    for name, read, written, rate in stages:
        read = check(f"pipeline: bytes into {name}", Domain("B"), read)
        written = check(f"pipeline: bytes out of {name}", Domain("B"), written)
        rate = check(f"pipeline: rate of {name}", Domain("B/s", low_open=True), rate)
        rows.append((name, read, written, mean_rate(read, time), cores_needed(read, rate, time)))
    total = sum(cores for *_, cores in rows)
    if not total:
        raise ValueError("pipeline: no stage reads; pass (name, bytes in, bytes out, rate)")
    return [PipelineStage(*row, row[-1] / total) for row in rows]


@formula("n", unit="shards", size="S", shard="s")
def shard_count(size: Bytes, shard: Size) -> Number:
    """Files that a data set is cut into; the last one may be short.

    Args:
        size: bytes of the data set.
        shard: bytes of a full file.
    """
    return ceil(size / shard)


@formula("o", index="i", seq="s", size="b")
def sequence_offset(index: Natural, seq: Count, size: Size) -> Bytes:
    """Where a sequence of fixed length starts in a flat file of token ids.

    Args:
        index: number of the sequence; the first is 0.
        seq: tokens of a sequence.
        size: bytes of a token id.
    """
    return index * seq * size


@formula("W", rate="r", size="b")
def read_rate(rate: Rate, size: Bytes) -> Bandwidth:
    """Bytes per second read to feed a token rate.

    Args:
        rate: tokens per second.
        size: bytes of one token on disk.
    """
    return rate * size


@formula(r"\lambda", unit="samples/s", rate="r", seq="s")
def sample_rate(rate: Rate, seq: Count) -> Rate:
    """Samples per second read to feed a token rate.

    Args:
        rate: tokens per second.
        seq: tokens of one sample.
    """
    return rate / seq


class LoaderDemand(NamedTuple):
    """Bytes per second for the fleet, a node, a data-parallel rank (a model replica), a chip."""

    fleet: float
    node: float
    rank: float
    chip: float


@checked
def loader_demand(rate: Rate, chips: Count, replica: Count, size: Bytes,
                  node: Count = 8) -> LoaderDemand:
    """Bytes per second of token ids that feed a token rate, for each level of the fleet.

    The chips of a model replica work on the same tokens, so they share one stream: the figure for
    a node or a chip is its part of that stream.

    Args:
        rate: tokens per second of the fleet.
        chips: of the fleet.
        replica: chips that hold one copy of the model, tensor times pipeline parallel.
        size: bytes of one token on disk.
        node: chips of a node.
    Raises: ValueError when the chips are no whole number of replicas.
    """
    if chips % replica:
        raise ValueError(f"loader_demand: {chips:,.0f} chips are no whole number of replicas of "
                         f"{replica:,.0f}; chips must be tensor x pipeline x data parallel")
    fleet = read_rate(rate, size)
    return LoaderDemand(fleet, fleet / chips * node, fleet / chips * replica, fleet / chips)


@formula("f", blocked="b", step="t")
def stall_share(blocked: Seconds, step: Duration) -> Loss:
    """Share of the wall clock that a blocking wait takes.

    Args:
        blocked: time waited per step.
        step: time of a step that waits for nothing.
    """
    return blocked / (step + blocked)


@formula("d", unit="batches", hiccup="h", step="t")
def prefetch_depth(hiccup: Seconds, step: Duration) -> Number:
    """Batches to hold ready so that a slow fetch is not felt.

    Args:
        hiccup: the slowest fetch to hide, a high percentile and not the mean.
        step: time of a step.
    """
    return ceil(hiccup / step)
