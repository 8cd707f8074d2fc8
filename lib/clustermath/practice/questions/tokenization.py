"""Questions of chapter 17: the tokenizing job, its shards, and the order that survives a restart."""
from __future__ import annotations

from ... import (DAY, HOUR, LoaderState, core_time, cores_needed, dataset_bytes, mean_rate, models,
                 read_rate, sequence_offset, shard_count, token_size)
from ...quantity import figures, show
from ..draws import Choice, LogUniform
from ..functions import holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

VOCAB = models["Llama 3 70B"].vocab
UINT16, INT64 = 2, 8
RATES = (1e6, 1.7e6, 3e6, 6e6, 10e6, 16e6)


def _work(g: Givens, size: float | None = None) -> float:
    """Core-seconds; ``size`` in place of the bytes of text behind a token."""
    return core_time(dataset_bytes(g.tokens, g.size if size is None else size), g.rate)


def _shards(g: Givens, size: float | None = None) -> float:
    return dataset_bytes(g.tokens, token_size(VOCAB) if size is None else size)


def _consumed(g: Givens) -> float:
    return LoaderState(0, 0, 0, "", 2**40).advance(int(g.step * g.batch)).sample_index


_TOKENS = "The rate counts bytes of text; tokens have been put in. A token stands for several bytes."
_UINT16 = "That is two bytes an id. This vocabulary does not fit in them."
_INT64 = "That stores NumPy's default integer, twice the width that is needed."

QUESTIONS = [
    Estimate(
        id="tokenization.1",
        ask="{tokens} tokens of text at {size} each are tokenized at {rate} bytes a second per core. How many core-days is that?",
        givens={"tokens": LogUniform(2e12, 5e11, 3e13), "size": Choice(4.2, (3.6, 4.0, 4.2, 4.4), "B"), "rate": Choice(1.7e6, RATES)},
        answer=_work, unit="core-days",
        traps=(
            Trap("tokens for bytes", lambda g: core_time(g.tokens, g.rate), _TOKENS),
            Trap("two bytes", lambda g: _work(g, UINT16), "That is the size of two-byte ids, the output. The tokenizer works through the text."),
            Trap("hours for days", lambda g: _work(g) * DAY / HOUR, "Those are core-hours."),
            Trap("hours twice", lambda g: _work(g) * HOUR / DAY, "The hours have been divided into days twice."),
        ),
        hints=("How many bytes of text are there?", "Bytes over bytes per second are seconds of one core."),
        next="And how many cores for a deadline of one day?"),
    Estimate(
        id="tokenization.2",
        ask="Training reads {train_rate} tokens/s. If it tokenized text of {size} a token as it goes, at {rate} bytes a second per core, how many "
            "cores would be busy with it?",
        givens={"train_rate": LogUniform(5e6, 1e6, 5e7), "size": Choice(4, (3.5, 4, 4.5), "B"), "rate": Choice(1e6, RATES)},
        answer=lambda g: read_rate(g.train_rate, g.size) / g.rate, unit="cores",
        traps=(
            Trap("tokens for bytes", lambda g: g.train_rate / g.rate, _TOKENS),
            Trap("two bytes", lambda g: read_rate(g.train_rate, UINT16) / g.rate, "That is the stream of ids. Here text is read."),
        ),
        hints=("How many bytes of text a second?",),
        remark="Few beside the CPUs of the fleet: throughput is no reason to tokenize ahead.",
        next="What is the reason, then?"),
    Estimate(
        id="tokenization.3",
        ask="{tokens} tokens, {size} of text each, are to be tokenized within {time} at {rate} bytes a second per core. How many cores does it take?",
        givens={"tokens": LogUniform(15e12, 5e12, 3e13), "size": Choice(4, (3.5, 4, 4.5), "B"), "rate": Choice(16e6, RATES),
                "time": Choice(DAY, (12 * HOUR, DAY, 3 * DAY, 14 * DAY), "s")},
        answer=lambda g: cores_needed(dataset_bytes(g.tokens, g.size), g.rate, g.time), unit="cores",
        facts={"stream": lambda g: show(mean_rate(dataset_bytes(g.tokens, g.size), g.time), "B/s", 2)},
        traps=(
            Trap("tokens for bytes", lambda g: cores_needed(g.tokens, g.rate, g.time), _TOKENS),
            Trap("two bytes", lambda g: cores_needed(dataset_bytes(g.tokens, UINT16), g.rate, g.time),
                 "That is the size of two-byte ids. The tokenizer works through the text."),
            Trap("one thread a fleet", lambda g: cores_needed(dataset_bytes(g.tokens, g.size), g.rate * 8, g.time),
                 "The rate has been multiplied by eight threads; it was for a core already."),
        ),
        hints=("Core-seconds first, then share them over the time.",),
        remark="The text passes at {stream}: with so few cores, reading it becomes the thing to plan.",
        next="What does the job read and write per second, and from where?"),
    Estimate(
        id="tokenization.4",
        ask="{tokens} tokens of a vocabulary of {vocab} entries are written in shards of {shard}. How many shards?",
        givens={"tokens": LogUniform(15e12, 1e12, 3e13), "vocab": Choice(VOCAB, (100_277, VOCAB, 151_936, 200_019)),
                "shard": Choice(512e6, (128e6, 256e6, 512e6, 1e9), "B")},
        answer=lambda g: shard_count(dataset_bytes(g.tokens, token_size(g.vocab)), g.shard), unit="shards",
        traps=(
            Trap("uint16", lambda g: shard_count(_shards(g, UINT16), g.shard), _UINT16),
            Trap("int64", lambda g: shard_count(_shards(g, INT64), g.shard), _INT64),
            Trap("one byte", lambda g: shard_count(_shards(g, 1), g.shard), "Tokens have been taken for bytes."),
        ),
        hints=("How wide must an id be to tell these entries apart?", "Bytes of the data set over bytes of a shard."),
        next="What would make you choose larger or smaller ones?"),
    Estimate(
        id="tokenization.5",
        ask="Sequences of {seq} tokens lie in a flat file, four bytes an id. At which byte does sequence number {index} start, counting from zero?",
        givens={"seq": Choice(8192, (2048, 4096, 8192)), "index": Choice(15_000, (3_000, 6_000, 15_000, 25_000))},
        answer=lambda g: sequence_offset(g.index, g.seq, token_size(VOCAB)), unit="MB",
        traps=(
            Trap("two bytes", lambda g: sequence_offset(g.index, g.seq, UINT16), "That is the offset with two bytes an id."),
            Trap("eight bytes", lambda g: sequence_offset(g.index, g.seq, INT64), "That is the offset with eight bytes an id."),
            Trap("in tokens", lambda g: sequence_offset(g.index, g.seq, 1), "That is the offset in tokens."),
        ),
        hints=("A product of three numbers.",),
        next="What changes when documents keep their own lengths?"),
    Estimate(
        id="tokenization.6",
        ask="A run with a global batch of {batch} sequences on {ranks} data-parallel ranks stops after {step} steps, in its first epoch. At which "
            "sample of its order does it resume?",
        givens={"batch": Choice(2048, (512, 1024, 2048, 4096)), "ranks": Choice(512, (64, 128, 256, 512)),
                "step": LogUniform(350_000, 10_000, 500_000)},
        answer=_consumed, unit="samples",
        traps=(
            Trap("batch of a rank", lambda g: _consumed(g) / g.ranks, "That skips by the batch of one rank. All ranks advanced together."),
            Trap("steps", lambda g: g.step, "Those are steps; each took a batch."),
            Trap("ranks for batch", lambda g: None if g.ranks == g.batch else g.step * g.ranks, "Each rank reads more than one sequence a step."),
        ),
        hints=("How many samples does a step take, all ranks together?",),
        next="And what if it resumes on half as many ranks?"),
    Implement(
        id="tokenization.7",
        ask="Write the samples that a rank reads at a step: shuffled, the same global batch for every number of ranks, each sample once an epoch, "
            "another order each epoch, and nothing but the arguments deciding it. Batches run on across the end of an epoch. Raise `ValueError` when "
            "the ranks do not divide the batch.",
        stub='def my_sample_indices(step, batch, ranks, rank, samples, seed):\n'
             '    """The samples that a rank reads at a step, as an array."""\n    return ...',
        cases=(
            holds("one rank reads a whole batch", lambda f: len(f(3, 16, 1, 0, 1000, 7)) == 16),
            holds("the ranks together read the batch of one rank, for one, two, four and eight ranks", lambda f: _same_for_all_ranks(f)),
            holds("no sample is read by two ranks of a step", lambda f: _disjoint(f)),
            holds("an epoch reads each sample once", lambda f: sorted(_epoch(f, 0)) == list(range(96))),
            holds("the next epoch too, in another order", lambda f: sorted(_epoch(f, 1)) == list(range(96)) and _epoch(f, 1) != _epoch(f, 0)),
            holds("samples are shuffled, and another seed gives another order", lambda f: _epoch(f, 0) != list(range(96)) and _epoch(f, 0) != _epoch(f, 0, 8)),
            holds("a batch at the end of an epoch is filled from the next", lambda f: _tail_is_filled(f)),
            holds("the same arguments give the same samples, whatever was drawn before", lambda f: _is_pure(f)),
            refuses("ranks that do not divide the batch are refused", 0, 16, 3, 0, 1000, 7, error=ValueError),
        ),
        hints=("Number the samples of the whole run: the step starts at step times batch.",
               "The number over the samples gives the epoch; a generator keyed by seed and epoch gives its order.",
               "Rank r takes every `ranks`-th sample of the batch, from r on."),
        solution='''
import numpy as np

def my_sample_indices(step, batch, ranks, rank, samples, seed):
    """The samples that a rank reads at a step, as an array."""
    if batch % ranks:
        raise ValueError(f"a batch of {batch} does not divide over {ranks} ranks")
    number = np.arange(step * batch, (step + 1) * batch)
    out = np.empty(batch, dtype=np.int64)
    for epoch in np.unique(number // samples):
        order = np.random.default_rng([seed, int(epoch)]).permutation(samples)
        here = number // samples == epoch
        out[here] = order[number[here] % samples]
    return out[rank::ranks]
''',
        next="What does a stored permutation cost with so many samples, and what replaces it?"),
    Rubric(
        id="tokenization.8",
        ask="The loss of a run drops sharply after each restart and then returns to its old course. It restarted after {share} of the first epoch, "
            "on a different number of ranks. What is wrong, how do you prove it, and what do you change?",
        givens={"share": Choice(0.4, (0.2, 0.3, 0.4, 0.6), "%")},
        facts={"again": lambda g: f"{figures(100 * g.share, 2)}%"},
        points=((2, "The run reads data that it has seen: the order began anew, or depends on the number of ranks."),
                (2, "It proves it by comparing the sample numbers, or hashes of the batches, logged before and after the restart."),
                (1, "It looks at where the state of the loader is saved and whether fetched but unused batches are counted."),
                (1, "The order becomes a function of seed, epoch and sample number, and the sample number goes into the checkpoint with the data set's hash."),
                (1, "It tells this from wrong ids, with which the loss would jump up.")),
        model="The model meets samples that it has been trained on, so the loss is low until the repeated part is over; begun anew, that is {again} of the "
              "data. I compare the sample numbers logged per step on both sides of the restart. Then I look at the state: is it in the checkpoint, does "
              "it count samples trained on and not those fetched, does the order depend on ranks or workers? The fix is an order computed from seed, epoch "
              "and sample number, with that number and the manifest's hash in the checkpoint. Other shards or another tokenizer would show as a jump upwards.",
        hints=("When is a loss lower than it should be?", "What could you log at each step to see it?"),
        next="How would you notice it when the loss does not show it?"),
]


def _epoch(function, epoch: int, seed: int = 7) -> list[int]:
    """Samples of an epoch of six batches of sixteen, on one rank."""
    return [int(i) for step in range(6 * epoch, 6 * epoch + 6) for i in function(step, 16, 1, 0, 96, seed)]


def _parts(function, ranks: int) -> list[list[int]]:
    return [[int(i) for i in function(5, 16, ranks, rank, 1000, 7)] for rank in range(ranks)]


def _same_for_all_ranks(function) -> bool:
    whole = sorted(_parts(function, 1)[0])
    return all(sorted(i for part in _parts(function, ranks) for i in part) == whole for ranks in (2, 4, 8))


def _disjoint(function) -> bool:
    read = [i for part in _parts(function, 4) for i in part]
    return len(set(read)) == len(read) == 16


def _tail_is_filled(function) -> bool:
    """Six epochs of forty samples in batches of sixteen: every epoch holds each sample once."""
    read = [int(i) for step in range(15) for i in function(step, 16, 1, 0, 40, 7)]
    epochs = [read[start : start + 40] for start in range(0, 240, 40)]
    return all(sorted(epoch) == list(range(40)) for epoch in epochs)


def _is_pure(function) -> bool:
    import random

    import numpy as np

    first = [int(i) for i in function(2, 16, 2, 1, 1000, 7)]
    random.random(), np.random.random()
    function(9, 16, 2, 0, 1000, 3)
    return [int(i) for i in function(2, 16, 2, 1, 1000, 7)] == first
