"""Questions of chapter 16: bytes and rates of a corpus pipeline, and where its cores go."""
from __future__ import annotations

from ... import (DAY, HOUR, core_time, cores_needed, corpora, dataset_bytes, mean_rate, token_bits,
                 token_size, tools)
from ...quantity import figures, show
from ..draws import Choice, LogUniform
from ..functions import holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

EXTRACTION = tools["NeMo Curator extraction"]
NARROW = 2**16
UINT16 = token_size(NARROW)
INT64 = 8
WEEKS = (7 * DAY, 14 * DAY, 21 * DAY, 28 * DAY)


def _unless_right(value: float, answer: float) -> float | None:
    """A mistake that leads to the right number for some givens is no mistake there."""
    return None if abs(value / answer - 1) < 0.05 else value


def _shards(g: Givens) -> float:
    return dataset_bytes(g.tokens, token_size(g.vocab))


def _text(g: Givens) -> float:
    return dataset_bytes(g.tokens, g.size)


def _extraction(g: Givens, cores: float = EXTRACTION.vcpus, time: float = EXTRACTION.time) -> float:
    """Core-seconds to extract all snapshots."""
    return g.snapshots * cores * time


def _step(g: Givens) -> float:
    return 1 / (1 - g.share + g.share / g.speedup)


def _recipe_dedup() -> float:
    """Core-seconds that FineWeb's limits allow for deduplicating one snapshot."""
    steps = (tools[f"FineWeb recipe, {name}"] for name in ("signatures", "buckets", "clustering", "filter"))
    return sum(step.tasks * step.cores * step.time for step in steps)


QUESTIONS = [
    Estimate(
        id="data-pipeline.1",
        ask="{tokens} tokens of a vocabulary with {vocab} entries are written as flat files of ids, in the "
            "narrowest unsigned integer that NumPy has for them. How many TB is that?",
        givens={"tokens": LogUniform(36e12, 1e12, 40e12), "vocab": Choice(151_643, (32_000, 50_257, 128_256, 151_643))},
        facts={"narrow": lambda g: f"{NARROW:,}"},
        answer=_shards, unit="TB",
        traps=(
            Trap("uint16 for all", lambda g: _unless_right(dataset_bytes(g.tokens, UINT16), _shards(g)),
                 "Two bytes tell {narrow} entries apart, and this vocabulary has more. Cast to uint16 the ids would wrap "
                 "without an error."),
            Trap("bytes of text", lambda g: _unless_right(dataset_bytes(g.tokens, 2 * UINT16), _shards(g)),
                 "Four bytes are about the text behind a token, or an id of a large vocabulary. This one fits into two."),
            Trap("one byte", lambda g: dataset_bytes(g.tokens, 1), "One byte holds few ids indeed: only those of single bytes."),
            Trap("int64", lambda g: dataset_bytes(g.tokens, INT64),
                 "That is NumPy's default integer, wider than any vocabulary needs."),
        ),
        hints=("How many bits does the largest id have?", "NumPy's unsigned integers have one, two, four or eight bytes."),
        next="What would packing the bits save, and what would it cost the loader?"),
    Estimate(
        id="data-pipeline.2",
        ask="A pipeline has to write the text of {tokens} kept tokens, {size} each, within {time}. Which rate is that, on average?",
        givens={"tokens": LogUniform(10e12, 2e12, 30e12), "size": Choice(4.0, (3.5, 4.0, 4.5), "B"), "time": Choice(7 * DAY, WEEKS, "s")},
        answer=lambda g: mean_rate(_text(g), g.time), unit="MB/s",
        traps=(
            Trap("shards", lambda g: mean_rate(dataset_bytes(g.tokens, UINT16), g.time),
                 "That is the rate of the shards at two bytes an id; the text is asked for."),
            Trap("tokens", lambda g: mean_rate(g.tokens, g.time), "That is tokens per second, not bytes."),
            Trap("bits", lambda g: 8 * mean_rate(_text(g), g.time), "That is in bits per second."),
        ),
        hints=("Bytes of text first.", "A day has {day} seconds."),
        facts={"day": lambda g: f"{DAY:,.0f}"},
        next="At which stage is the rate largest, and by how much?"),
    Estimate(
        id="data-pipeline.3",
        ask="A training job reads {rate} tokens per second, and its corpus has {tokens} tokens; {kept} of the rate remains "
            "when restarts are counted. How many days does one pass take?",
        givens={"rate": LogUniform(1.7e6, 5e5, 2e7), "tokens": LogUniform(10e12, 2e12, 20e12), "kept": Choice(0.9, (0.8, 0.85, 0.9), "%")},
        answer=lambda g: core_time(g.tokens, g.rate * g.kept), unit="days",
        traps=(
            Trap("no restarts", lambda g: core_time(g.tokens, g.rate), "That is the time without restarts; the rate is lower on average."),
            Trap("restarts speed it up", lambda g: core_time(g.tokens, g.rate / g.kept), "Restarts make the run longer: divide by the share that remains."),
            Trap("bytes over tokens", lambda g: core_time(dataset_bytes(g.tokens, UINT16), g.rate * g.kept),
                 "That divides bytes by tokens per second."),
        ),
        hints=("Tokens over tokens per second.",),
        next="How many GPUs read that fast, for a model that you choose?"),
    Estimate(
        id="data-pipeline.4",
        ask="Extracting the text of one snapshot took {hours} on {nodes} nodes of {vcpus} vCPUs. How many vCPUs extract "
            "{snapshots} snapshots within {time}?",
        givens={"hours": Choice(EXTRACTION.time, (24 * HOUR, 30 * HOUR, EXTRACTION.time, 48 * HOUR), "s"), "nodes": Choice(30, (20, 30, 40)),
                "vcpus": Choice(96, (64, 96)), "snapshots": Choice(64, (32, 48, 64, 96)), "time": Choice(7 * DAY, WEEKS, "s")},
        answer=lambda g: _extraction(g, g.nodes * g.vcpus, g.hours) / g.time, unit="vCPUs",
        traps=(
            Trap("nodes", lambda g: _extraction(g, g.nodes, g.hours) / g.time, "That is nodes. Each of them has many vCPUs."),
            Trap("core-days", lambda g: _extraction(g, g.nodes * g.vcpus, g.hours) / DAY,
                 "Those are core-days, what one day would take. Spread them over the time allowed."),
            Trap("one snapshot", lambda g: g.nodes * g.vcpus * g.hours / g.time, "That is one snapshot."),
            Trap("all at once", lambda g: g.snapshots * g.nodes * g.vcpus,
                 "That gives every snapshot nodes of its own for the whole time, though each is done long before."),
        ),
        hints=("Core-hours of one snapshot, then of all.", "Over the hours allowed."),
        next="What would you check before you trust a figure measured on one snapshot?"),
    Estimate(
        id="data-pipeline.5",
        ask="{tokens} token ids of a vocabulary with {vocab} entries are packed with as few whole bits as each id needs. How many TB?",
        givens={"tokens": LogUniform(15e12, 2e12, 30e12), "vocab": Choice(151_643, (32_000, 50_257, 151_643, 262_144, 200_019))},
        answer=lambda g: dataset_bytes(g.tokens, token_bits(g.vocab) / 8), unit="TB",
        traps=(
            Trap("uint16", lambda g: _unless_right(dataset_bytes(g.tokens, UINT16), dataset_bytes(g.tokens, token_bits(g.vocab) / 8)),
                 "That is two whole bytes an id, and not what the bits of this vocabulary need."),
            Trap("uint32", lambda g: dataset_bytes(g.tokens, 2 * UINT16), "That is four whole bytes an id. Packed bits do not stop at bytes."),
            Trap("bits as bytes", lambda g: dataset_bytes(g.tokens, token_bits(g.vocab)), "Those are bits. Eight of them make a byte."),
            Trap("whole bytes", lambda g: _unless_right(dataset_bytes(g.tokens, 3), dataset_bytes(g.tokens, token_bits(g.vocab) / 8)),
                 "That rounds up to whole bytes; packed bits do not."),
        ),
        hints=("Which power of two is large enough for the vocabulary?", "Bits over eight are bytes."),
        next="Would you do it?"),
    Estimate(
        id="data-pipeline.6",
        ask="Extraction takes {share} of the cores of a pipeline, and a new extractor is {speedup} times as fast. By which factor "
            "do the cores of the whole pipeline fall?",
        givens={"share": Choice(0.85, (0.6, 0.7, 0.8, 0.85, 0.9), "%"), "speedup": Choice(8, (4, 6, 8, 12))},
        answer=_step, unit="",
        traps=(
            Trap("the speedup itself", lambda g: g.speedup, "Only extraction became faster. The other stages need what they needed."),
            Trap("infinitely fast", lambda g: 1 / (1 - g.share), "That is an extractor that costs nothing; this one still costs something."),
            Trap("what is left", lambda g: 1 / _step(g), "That is the share of the cores that remains. Turn it over for the factor."),
        ),
        hints=("What is left of one core of the old pipeline?", "One minus the share, plus the share over the speedup."),
        next="Which stage is the largest then?"),
    Implement(
        id="data-pipeline.7",
        ask="Write the cast that cannot wrap: ids become an array of the narrowest unsigned integer that holds the vocabulary, one, two or "
            "four bytes wide. Raise `ValueError` for an id outside the vocabulary or a vocabulary without entries.",
        stub='def my_cast_tokens(ids, vocab):\n    """The ids as an array of the narrowest unsigned type that holds the vocabulary."""\n    return ...',
        cases=(
            holds("the values stay as they are", lambda f: list(f([0, 5, 31_999], 32_000)) == [0, 5, 31_999]),
            holds("a vocabulary that just fits two bytes gets two", lambda f: _width(f, NARROW) == token_size(NARROW)),
            holds("one entry more gets four", lambda f: _width(f, NARROW + 1) == token_size(NARROW + 1)),
            holds("a vocabulary of single bytes gets one", lambda f: _width(f, 256) == token_size(256)),
            holds("the type is unsigned", lambda f: f([1, 2], 50_257).dtype.kind == "u"),
            holds("the width follows the vocabulary, not the ids at hand", lambda f: _width(f, 128_256) == token_size(128_256)),
            holds("no ids give an empty array", lambda f: len(f([], 50_257)) == 0),
            refuses("an id equal to the vocabulary is refused", [0, 50_257], 50_257, error=ValueError),
            refuses("an id that would wrap is refused", [70_000], 50_257, error=ValueError),
            refuses("a negative id is refused", [-1, 3], 50_257, error=ValueError),
            refuses("a vocabulary without entries is refused", [], 0, error=ValueError),
        ),
        hints=("Compare in a wide type first, cast last.", "`np.asarray(ids, dtype=np.int64)` holds them all; then look at its least and largest."),
        solution='''
import numpy as np

def my_cast_tokens(ids, vocab):
    """The ids as an array of the narrowest unsigned type that holds the vocabulary."""
    if vocab < 1:
        raise ValueError(f"vocab must be at least 1, got {vocab!r}")
    ids = np.asarray(ids, dtype=np.int64)
    if ids.size and not 0 <= ids.min() <= ids.max() < vocab:
        raise ValueError(f"ids must lie in [0, {vocab}), got {ids.min()} to {ids.max()}")
    for dtype in (np.uint8, np.uint16, np.uint32):
        if vocab - 1 <= np.iinfo(dtype).max:
            return ids.astype(dtype)
    raise ValueError(f"vocab must fit into four bytes, got {vocab!r}")
''',
        next="Where in your pipeline does this check stand, and what does the reader of the file check?"),
    Rubric(
        id="data-pipeline.8",
        ask="Your pipeline turns {snapshots} snapshots into {tokens} tokens within {time}. Somebody offers you {offer} more cores. Where do "
            "you put them, and what would you rather have?",
        givens={"snapshots": Choice(96, (96,)), "tokens": Choice(15e12, (15e12,)), "time": Choice(14 * DAY, (14 * DAY,), "s"),
                "offer": Choice(1000, (1000,))},
        facts={"extract": lambda g: figures(round(_extraction(g) / g.time, -3)),
               "gain": lambda g: f"{figures(100 * g.offer / (_extraction(g) / g.time), 2)}%",
               "dedup": lambda g: figures(round(g.snapshots * _recipe_dedup() / g.time, -2)),
               "tokenize": lambda g: figures(cores_needed(dataset_bytes(g.tokens, 4), 1e6, g.time), 2),
               "serial": lambda g: show(tools["FineWeb recipe, clustering"].time, "s", 2),
               "input": lambda g: show(mean_rate(g.snapshots * corpora["Common Crawl"].compressed, g.time), "B/s", 2)},
        points=((2, "To extraction, by far the largest stage, with {extract} cores or so; not to the tokenizer, which needs {tokenize}."),
                (1, "It says what that gains: about {gain} for the stage."),
                (1, "It would rather have a faster parser, or GPUs for deduplication, and says what is largest afterwards: {dedup} cores."),
                (1, "It knows the step that more cores do not shorten: joining the clusters, one task, up to {serial}."),
                (1, "It mentions that the input, {input}, is no bottleneck.")),
        model="To extraction, which has about {extract} of the cores; {offer} more shorten it by about {gain}. The tokenizer needs {tokenize} and "
              "would not notice. I would rather have a parser that is several times as fast: then deduplication, {dedup} cores, is the largest "
              "stage, and GPUs do that within weeks. More cores do not shorten its clustering, one task of up to {serial}. "
              "Reading {input} of crawl is easy.",
        hints=("Which stage has most of the cores?", "Which step waits for all the others and runs alone?"),
        next="What do you do if the clustering task runs out of memory?"),
]


def _width(function, vocab: int) -> int:
    """Bytes of an id that the learner's function gives this vocabulary."""
    return function([0, 1], vocab).dtype.itemsize
