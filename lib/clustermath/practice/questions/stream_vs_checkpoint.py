"""Questions of chapter 23: the stream, the burst, and the restore that nobody can hide."""
from __future__ import annotations

from ... import (HOUR, MINUTE, chips, failures, burst_ratio, mean_rate, model_bytes, observed_mtbf, read_rate, restart_share,
                 restore_bandwidth, restore_time, token_rate, training_flops)
from ...quantity import figures
from ..draws import Choice, LogUniform
from ..functions import gives, holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

H100 = chips["H100 SXM"]
LLAMA = failures["Llama 3 405B"]
MTBF = observed_mtbf(LLAMA.elapsed, LLAMA.unexpected)


def _tokens(g: Givens, factor: float = 6) -> float:
    return token_rate(g.chips, H100.bf16_flops, g.mfu, training_flops(g.params, 1, factor))


def _gbps(rate: float) -> str:
    return f"{figures(rate / 1e9, 3)} GB/s"


_FLEET = {"params": LogUniform(8.03e9, 3e9, 100e9), "chips": Choice(1024, (1024, 2048, 4096, 16384)), "mfu": Choice(0.4, (0.35, 0.4, 0.45), "%")}

QUESTIONS = [
    Estimate(
        id="stream-vs-checkpoint.1",
        ask="{chips} H100s train {params} parameters at {mfu} MFU. A token takes {ids} on disk. How many MB/s does the fleet read?",
        givens=_FLEET | {"ids": Choice(4, (2, 4), "B")},
        answer=lambda g: read_rate(_tokens(g), g.ids), unit="MB/s",
        traps=(
            Trap("one byte", lambda g: read_rate(_tokens(g), 1), "Those are tokens per second. Each takes more than a byte."),
            Trap("forward only", lambda g: read_rate(_tokens(g, 2), g.ids), "That counts the forward pass alone, so the fleet looks three times as fast."),
            Trap("bits", lambda g: 8 * read_rate(_tokens(g), g.ids), "A factor of eight: bits and bytes."),
            Trap("no MFU", lambda g: read_rate(_tokens(g) / g.mfu, g.ids), "That is the rate at peak; the MFU is missing."),
        ),
        hints=("How many tokens per second does the fleet see?", "Delivered FLOP/s over six FLOPs per parameter."),
        next="Which storage would you give it?"),
    Estimate(
        id="stream-vs-checkpoint.2",
        ask="A checkpoint of {size} is read at {rate}, each byte once, after a fixed part of {fixed}. How long does the restart take?",
        givens={"size": LogUniform(1.13e12, 0.5e12, 10e12, "B"), "rate": Choice(25e9, (25e9, 50e9, 100e9), "B/s"), "fixed": Choice(60, (30, 60, 90), "s")},
        answer=lambda g: restore_time(g.size, g.rate, g.fixed), unit="s",
        traps=(
            Trap("reading alone", lambda g: restore_time(g.size, g.rate, 0) if g.fixed > 0.06 * restore_time(g.size, g.rate, 0) else None,
                 "That is the reading alone. Detecting, scheduling and starting take time as well."),
            Trap("bits", lambda g: restore_time(g.size, g.rate / 8, g.fixed), "A factor of eight: bits and bytes."),
        ),
        hints=("The fixed part, then bytes over bandwidth.",),
        next="Which part would you shorten first?"),
    Estimate(
        id="stream-vs-checkpoint.3",
        ask="A job of {params} parameters, {state} each in a checkpoint, fails every {mtbf}. Restarts may take {share} of the run, and {fixed} of each is not "
            "reading. Which bandwidth must the store give, if each byte is read once?",
        givens={"params": LogUniform(405e9, 70e9, 600e9), "state": Choice(16, (12, 14, 16), "B"), "mtbf": Choice(6 * HOUR, (6 * HOUR, 8 * HOUR, 12 * HOUR), "s"),
                "share": Choice(0.01, (0.01, 0.015, 0.02), "%"), "fixed": Choice(90, (60, 90, 120), "s")},
        answer=lambda g: restore_bandwidth(model_bytes(g.params, g.state), g.share, g.mtbf, g.fixed), unit="GB/s",
        traps=(
            Trap("fixed part forgotten", lambda g: restore_bandwidth(model_bytes(g.params, g.state), g.share, g.mtbf, 0),
                 "The fixed part uses up some of the budget before the first byte is read."),
            Trap("a minute", lambda g: mean_rate(model_bytes(g.params, g.state), MINUTE), "That is a save within a minute. The budget here comes from the failures."),
            Trap("weights only", lambda g: restore_bandwidth(model_bytes(g.params, 2), g.share, g.mtbf, g.fixed), "That loads the weights alone."),
        ),
        hints=("How long may one restart be?", "A share of the run, times the time between failures; then take off the fixed part."),
        next="What happens when failures come twice as often?"),
    Estimate(
        id="stream-vs-checkpoint.4",
        ask="A restart takes {restart} and the job fails every {mtbf}. Which share of the run do restarts take?",
        givens={"restart": Choice(4 * MINUTE, (2 * MINUTE, 4 * MINUTE, 10 * MINUTE, 20 * MINUTE), "s"), "mtbf": Choice(3 * HOUR, (2 * HOUR, 3 * HOUR, 6 * HOUR), "s")},
        answer=lambda g: restart_share(g.restart, g.mtbf), unit="%",
        traps=(
            Trap("half", lambda g: restart_share(g.restart, g.mtbf) / 2, "The half belongs to lost work. A restart is paid in full each time."),
            Trap("twice", lambda g: 2 * restart_share(g.restart, g.mtbf), "A restart is paid once for each failure."),
        ),
        hints=("Time per failure over time between failures.",),
        next="And the lost work on top of it?"),
    Estimate(
        id="stream-vs-checkpoint.5",
        ask="A checkpoint of {params} parameters, {state} each, is written within {window}. The same run reads {stream}. How many times its reads is the burst?",
        givens={"params": LogUniform(70.6e9, 20e9, 200e9), "state": Choice(16, (12, 14, 16), "B"), "window": Choice(MINUTE, (0.5 * MINUTE, MINUTE, 2 * MINUTE), "s"),
                "stream": LogUniform(30.6e6, 5e6, 60e6, "B/s")},
        answer=lambda g: burst_ratio(model_bytes(g.params, g.state), g.window, g.stream), unit="times",
        traps=(
            Trap("mean write", lambda g: burst_ratio(model_bytes(g.params, g.state), 30 * MINUTE, g.stream), "That is the mean over half an hour, not the burst."),
            Trap("weights only", lambda g: burst_ratio(model_bytes(g.params, 2), g.window, g.stream), "That saves the weights alone."),
            Trap("bits", lambda g: 8 * burst_ratio(model_bytes(g.params, g.state), g.window, g.stream), "A factor of eight: bits and bytes."),
        ),
        hints=("Bytes over the window, over the reads.",),
        next="Would one storage system serve both?"),
    Implement(
        id="stream-vs-checkpoint.6",
        ask="Write the restore bandwidth. When the fixed part alone uses up the budget, no bandwidth is enough: raise a `ValueError` that says so.",
        stub='def my_restore_bandwidth(size, share, mtbf, fixed, readers=1):\n    """Bytes per second at which restarts take no more than a share of the run."""\n    return ...',
        cases=(
            gives("bytes over what the budget leaves", restore_bandwidth, 6.48e12, 0.01, 20_000, 60),
            gives("readers multiply the bytes", restore_bandwidth, 6.48e12, 0.01, 20_000, 60, 128),
            holds("no fixed part leaves the whole budget", lambda f: abs(f(1e12, 0.01, 1e4, 0) / 1e10 - 1) < 1e-9),
            holds("rarer failures need less", lambda f: f(1e12, 0.01, 4e4, 60) < f(1e12, 0.01, 2e4, 60) / 2),
            refuses("a budget smaller than the fixed part is refused", 1e12, 0.01, 5_000, 60, error=ValueError),
            refuses("a budget equal to the fixed part is refused", 1e12, 0.01, 6_000, 60, error=ValueError),
        ),
        hints=("The budget is `share * mtbf`.", "Compare it with the fixed part before you divide."),
        solution='''
def my_restore_bandwidth(size, share, mtbf, fixed, readers=1):
    """Bytes per second at which restarts take no more than a share of the run."""
    budget = share * mtbf - fixed
    if not budget > 0:
        raise ValueError("the fixed part alone uses up the budget: no bandwidth is enough")
    return size * readers / budget
''',
        next="What do you change when it raises?"),
    Rubric(
        id="stream-vs-checkpoint.7",
        ask="On the same filesystem a save takes {save} and a load {load}. Why, and how would you find out?",
        givens={"save": Choice(50, (40, 50, 60), "s"), "load": Choice(15 * MINUTE, (10 * MINUTE, 15 * MINUTE), "s")},
        facts={"need": lambda g: _gbps(restore_bandwidth(model_bytes(405e9, 16), 0.01, MTBF, 60))},
        points=((2, "It suspects that every data-parallel replica reads, so that storage delivers many copies."),
                (1, "It names many small files, or metadata, as a second cause."),
                (1, "It names resharding, or a single thread that unpacks."),
                (1, "It says what to measure: bytes delivered by the store, and time in reading against time in copying.")),
        model="First count the bytes that the store delivers. If they are a multiple of the checkpoint, replicas read the same shards: let one read and broadcast. "
              "If they are not, look at the number of files opened and at the time spent outside of reads, where resharding and unpacking hide. "
              "A 405B job at Llama 3's rate of failures needs about {need} to keep restarts within one percent of the run.",
        hints=("Does the store deliver more bytes than the checkpoint has?",),
        next="What would you try before buying a faster filesystem?"),
]
