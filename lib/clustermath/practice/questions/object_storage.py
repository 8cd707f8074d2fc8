"""Questions of chapter 18: object storage is a latency system."""
from __future__ import annotations

from ... import (MIB, connections_needed, in_flight, prefixes, request_size, request_throughput,
                 request_time, sample_rate,
                 stall_share, tiers)
from ...ops import ceil
from ...quantity import show
from ..draws import Choice, Integer
from ..functions import gives, holds, is_number, refuses
from ..grading import near
from ..spec import Estimate, Givens, Implement, Rubric, Trap

GBIT = 1e9 / 8  # bytes per second in one Gb/s
TOKEN = 2  # bytes of a token on disk
WIDER = 8e6  # bytes of the ranges that the rubric proposes
LATENCIES = (0.02, 0.03, 0.05, 0.08, 0.1)
RATES = (60e6, 90e6, 120e6, 200e6)


def _connection(g: Givens, size: float, latency: float) -> float:
    return request_throughput(1, size, latency, g.bandwidth, 100 * GBIT)


def _needed(g: Givens, bit: float = GBIT, latency: float | None = None) -> float:
    return connections_needed(g.gbits * bit, g.size, g.latency if latency is None else latency,
                              g.bandwidth)


def _not_rounded(g: Givens) -> float | None:
    """The exact count, unless it is whole as it stands."""
    exact = _needed(g)
    return None if near(exact, round(exact), 1e-6) else exact


def _latency_only(g: Givens) -> float:
    return in_flight(g.gbits * GBIT / g.size, g.latency)


def _sample_time(g: Givens) -> float:
    return request_time(g.seq * TOKEN, g.latency, g.bandwidth)


def _whole(target: float, size: float, latency: float, bandwidth: float) -> int:
    return ceil(connections_needed(target, size, latency, bandwidth))


def _lost(g: Givens) -> float:
    """Seconds per request that the model of the diagnosis does not explain."""
    return request_time(g.size, g.latency, g.bandwidth) * (1 / g.slower - 1)


_CONNECTION = {"latency": Choice(0.05, LATENCIES, "s"), "bandwidth": Choice(90e6, RATES, "B/s")}

QUESTIONS = [
    Estimate(
        id="object-storage.1",
        ask="The first byte of a GET takes {latency}, then a connection streams at {bandwidth}. "
            "One connection reads objects of {size}, one after the other. How many megabytes per "
            "second does it get?",
        givens={"size": Choice(64e3, (16e3, 32e3, 64e3, 128e3, 256e3), "B"), **_CONNECTION},
        answer=lambda g: _connection(g, g.size, g.latency), unit="MB/s",
        traps=(
            Trap("no latency", lambda g: g.bandwidth,
                 "That is what a connection streams once bytes flow. It waits most of the time."),
            Trap("latency twice", lambda g: _connection(g, g.size, 2 * g.latency),
                 "That waits twice. Over an open connection a GET waits once for its first byte."),
        ),
        hints=("How long does one request take from start to end?",
               "Bytes of a request over the time of a request."),
        remark="Almost all of that time is the wait for the first byte.",
        next="What would you change first: the size of the requests or their number?"),
    Estimate(
        id="object-storage.2",
        ask="First byte after {latency}, then {bandwidth} per connection. From which request size "
            "on is a connection busy {efficiency} of its time?",
        givens={**_CONNECTION, "efficiency": Choice(0.95, (0.75, 0.8, 0.9, 0.95), "%")},
        answer=lambda g: request_size(g.efficiency, g.latency, g.bandwidth), unit="MB",
        traps=(
            Trap("half", lambda g: request_size(0.5, g.latency, g.bandwidth),
                 "That is the size at which half of the time is transfer: latency × bandwidth."),
            Trap("share of it", lambda g: g.efficiency * request_size(0.5, g.latency, g.bandwidth),
                 "The share has been applied to latency × bandwidth. Ask what the waiting time may "
                 "be of the whole request."),
            Trap("rule of thumb",
                 lambda g: request_size(g.efficiency, g.latency, g.bandwidth) / g.efficiency,
                 "That is latency × bandwidth over the idle share, a fair rule of thumb. The "
                 "transfer is the busy share of that."),
            Trap("shares swapped", lambda g: request_size(1 - g.efficiency, g.latency, g.bandwidth),
                 "That is busy for the other share of the time: the two have been swapped."),
        ),
        hints=("Latency is the idle part, size over bandwidth the busy part.",
               "Busy over idle is `e/(1 - e)`, and busy is `S/B`, idle `L`."),
        next="Why may a node read in smaller ranges and fill its link all the same?"),
    Estimate(
        id="object-storage.3",
        ask="A node has {gbits} Gb/s and reads ranges of {size}; first byte after {latency}, "
            "{bandwidth} per connection. About how many requests must be in flight to fill the "
            "link?",
        givens={"gbits": Choice(100, (25, 50, 100, 200, 400)),
                "size": Choice(8e6, (4e6, 8e6, 16e6, 32e6), "B"), **_CONNECTION},
        answer=_needed, unit="requests",
        traps=(
            Trap("latency only", _latency_only,
                 "That counts the wait alone, as if bytes arrived at once. A request also has to "
                 "stream."),
            Trap("bandwidth only", lambda g: g.gbits * GBIT / g.bandwidth,
                 "That is the link over one connection's rate, as if there were no wait for the "
                 "first byte."),
            Trap("bits for bytes", lambda g: _needed(g, 8 * GBIT),
                 "The link is in bits: eight of them make a byte."),
        ),
        hints=("Little's law: in flight = requests per second × seconds each.",
               "Requests per second are bytes per second over bytes each; a request lasts latency "
               "plus transfer."),
        next="How much memory do these buffers take, and what does p99 latency change?"),
    Estimate(
        id="object-storage.4",
        ask="On another store the first byte takes {latency} and a connection streams at "
            "{bandwidth}. How many whole connections fill {gbits} Gb/s with ranges of {size}?",
        givens={"latency": Choice(0.08, (0.005, 0.03, 0.06, 0.08), "s"),
                "bandwidth": Choice(200e6, RATES, "B/s"),
                "gbits": Choice(25, (10, 25, 40, 100)),
                "size": Choice(16e6, (1e6, 4e6, 8e6, 16e6), "B")},
        answer=lambda g: ceil(_needed(g)), unit="connections", whole=True,
        traps=(
            Trap("rounded down", lambda g: ceil(_needed(g)) - 1,
                 "Just short: the last part of a connection needs a whole one."),
            Trap("not rounded up", _not_rounded,
                 "That is the exact quotient. Connections come whole: round up."),
            Trap("bits for bytes", lambda g: ceil(_needed(g, 8 * GBIT)),
                 "The link is in bits: eight of them make a byte."),
            Trap("latency only", lambda g: ceil(_latency_only(g)),
                 "One of the two halves of a request is missing: wait and transfer both take "
                 "time."),
        ),
        hints=("Requests per second, times seconds each.", "Round up at the end, not on the way."),
        next="What is the floor that no request size gets below?"),
    Estimate(
        id="object-storage.5",
        ask="A fleet trains on {rate} tokens per second. Each sample of {seq} tokens, two bytes "
            "each, is one GET; first byte after {latency}, {bandwidth} per connection. How many "
            "GETs are in flight over the whole fleet?",
        givens={"rate": Choice(15.3e6, (5e6, 10e6, 15.3e6, 20e6)),
                "seq": Choice(8192, (2048, 4096, 8192)), **_CONNECTION},
        answer=lambda g: in_flight(sample_rate(g.rate, g.seq), _sample_time(g)), unit="requests",
        traps=(
            Trap("a GET per token", lambda g: in_flight(g.rate, _sample_time(g)),
                 "That is one GET for every token. A GET fetches a whole sample."),
            Trap("rate over time", lambda g: sample_rate(g.rate, g.seq) / _sample_time(g),
                 "Rate and time have been divided. Little's law multiplies them."),
            Trap("rate alone", lambda g: sample_rate(g.rate, g.seq),
                 "Those are GETs per second; each lasts a fraction of a second."),
        ),
        hints=("Arrivals per second, times how long each stays.",
               "Samples per second are tokens per second over tokens per sample."),
        remark="That is not much for a whole fleet. Bandwidth is not what hurts; waiting for one "
               "request at a time is.",
        next="What does the same loader cost when it asks for one sample at a time?"),
    Estimate(
        id="object-storage.6",
        ask="A data-parallel rank uses {samples} samples of {seq} tokens per second and fetches "
            "each with a GET of its own when it needs it (two bytes a token, first byte after "
            "{latency}, {bandwidth}). Which share of the wall clock does it wait?",
        givens={"samples": Choice(3.65, (1.2, 2.4, 3.65, 7.3, 14.6)),
                "seq": Choice(8192, (4096, 8192)), **_CONNECTION},
        answer=lambda g: stall_share(in_flight(g.samples, _sample_time(g)), 1), unit="%",
        traps=(
            Trap("over compute", lambda g: in_flight(g.samples, _sample_time(g)),
                 "That is waiting over compute time. The wall clock holds both."),
            Trap("one sample", lambda g: stall_share(_sample_time(g), 1),
                 "That waits for one sample; a second of compute uses several."),
            Trap("share that computes",
                 lambda g: 1 - stall_share(in_flight(g.samples, _sample_time(g)), 1),
                 "That is the share that computes. The other one is asked for."),
        ),
        hints=("For each second of compute, how many seconds of waiting?",
               "Waiting over waiting plus computing."),
        next="How deep must a prefetch queue be to make this zero?"),
    Estimate(
        id="object-storage.7",
        ask="After a failure all nodes read a checkpoint at {burst} in ranges of {size}. A key "
            "prefix serves {limit} GETs per second. Over how many prefixes must the checkpoint be "
            "spread?",
        givens={"burst": Choice(108e9, (54e9, 108e9, 216e9, 432e9), "B/s"),
                "size": Choice(8e6, (1e6, 2e6, 4e6, 8e6), "B")},
        facts={"limit": lambda g: f"{tiers['Amazon S3'].get_rate:,.0f}"},
        answer=lambda g: prefixes(g.burst / g.size, tiers["Amazon S3"].get_rate), unit="prefixes",
        whole=True,
        traps=(
            Trap("rounded down",
                 lambda g: prefixes(g.burst / g.size, tiers["Amazon S3"].get_rate) - 1 or None,
                 "Rounded down: the last GETs would be refused with `503 Slow Down`."),
            Trap("writes", lambda g: prefixes(g.burst / g.size, tiers["Amazon S3"].put_rate),
                 "That is the limit for writes. A restore reads."),
            Trap("bits", lambda g: prefixes(g.burst / 8 / g.size, tiers["Amazon S3"].get_rate),
                 "The burst is in bytes per second already."),
        ),
        hints=("How many GETs per second is that?", "Round up."),
        next="What happens in the first half hour after the keys are spread?"),
    Implement(
        id="object-storage.8",
        ask="Write how many whole connections deliver a bandwidth. No bandwidth needs none; a "
            "whole number must not be rounded up by a floating-point residue; negative values, no "
            "size, no connection bandwidth and NaN are refused.",
        stub='''
def my_connections(target, size, latency, bandwidth):
    """Whole connections that deliver `target` bytes per second."""
    return ...
''',
        cases=(
            gives("it is Little's law: requests per second times seconds each", _whole, 12.5e9, 8e6,
                  0.05, 90e6),
            holds("without latency, one connection delivers its own bandwidth",
                  lambda f: f(90e6, 8e6, 0, 90e6) == 1),
            gives("without latency it is the link over a connection, rounded up", _whole, 12.5e9,
                  8e6, 0, 90e6),
            holds("a result that is whole stays so", lambda f: f(0.9e9, 7e6, 0, 0.3e9) == 3),
            holds("no bandwidth needs no connection", lambda f: f(0, 8e6, 0.05, 90e6) == 0),
            holds("one-byte requests need many, but not infinitely many",
                  lambda f: is_number(f(1e6, 1, 0.05, 90e6)) and f(1e6, 1, 0.05, 90e6) > 1000),
            holds("larger requests never need more connections",
                  lambda f: all(f(12.5e9, 2.0**k, 0.05, 90e6) >= f(12.5e9, 2.0 ** (k + 1), 0.05,
                                                                   90e6) for k in range(10, 28))),
            refuses("a negative bandwidth is refused", -1, 8e6, 0.05, 90e6),
            refuses("a size of zero is refused", 12.5e9, 0, 0.05, 90e6),
            refuses("a connection without bandwidth is refused", 12.5e9, 8e6, 0.05, 0),
            refuses("a negative latency is refused", 12.5e9, 8e6, -0.05, 90e6),
            refuses("not-a-number is refused", float("nan"), 8e6, 0.05, 90e6),
        ),
        hints=("Write the law first, then `math.ceil`, then the refusals.",
               "`x - 1e-9 * x` before rounding up takes the residue away. `not x >= 0` also "
               "catches NaN."),
        solution='''
import math

def my_connections(target, size, latency, bandwidth):
    """Whole connections that deliver `target` bytes per second."""
    if not (target >= 0 and latency >= 0):
        raise ValueError(f"target and latency must be 0 or more, got {target!r} and {latency!r}")
    if not (size > 0 and bandwidth > 0):
        raise ValueError(f"size and bandwidth must be above 0, got {size!r} and {bandwidth!r}")
    exact = target / size * (latency + size / bandwidth)
    return math.ceil(exact - 1e-9 * exact)
''',
        next="Your node has eight processes. Who decides how many connections each opens?"),
    Rubric(
        id="object-storage.9",
        ask="A loader keeps {n} ranges of {range} in flight. You believe in {latency} to the first "
            "byte and {bandwidth} per connection, and measure {seen} on a {gbits} Gb/s link. What "
            "is wrong, and what do you change?",
        givens={"n": Integer(32, 16, 64, 16), "size": Choice(float(MIB), (float(MIB), 2.0 * MIB)),
                **_CONNECTION, "slower": Choice(0.625, (0.5, 0.625, 0.75)),
                "gbits": Choice(100, (100, 200))},
        facts={"range": lambda g: f"{g.size / MIB:.0f} MiB", "wider": lambda g: show(WIDER, "B"),
               "seen": lambda g: request_throughput.worked(g.n, g.size, g.latency + _lost(g),
                                                           g.bandwidth, g.gbits * GBIT),
               "expected": lambda g: request_throughput.worked(g.n, g.size, g.latency, g.bandwidth,
                                                               g.gbits * GBIT),
               "time": lambda g: request_time.worked(g.size, g.latency + _lost(g), g.bandwidth),
               "modelled": lambda g: request_time.worked(g.size, g.latency, g.bandwidth),
               "larger": lambda g: request_throughput.worked(g.n, WIDER, g.latency, g.bandwidth,
                                                             g.gbits * GBIT),
               "needed": lambda g: f"{_whole(g.gbits * GBIT, WIDER, g.latency, g.bandwidth)}"},
        points=((1, "It uses Little's law to get the real time of a request, {time}, where the "
                    "model says {modelled}."),
                (1, "It separates the time to the first byte from the transfer."),
                (1, "It names what to look at: first-byte histogram, refusals and retries, reused "
                    "connections and TLS, client CPU."),
                (1, "It picks a change with arithmetic: at {wider} the same number in flight gives "
                    "{larger}."),
                (1, "It says what would fill the link: about {needed} such ranges in flight.")),
        model="The model predicts {expected}. By Little's law a request really takes {time}, not "
              "{modelled}; the rest is unexplained. I would look at the first-byte histogram, "
              "count refusals and retries, check that connections are reused, and watch the client's "
              "CPU. Independently of the cause the ranges are too small: at {wider} the same {n} give "
              "{larger}, and about {needed} of them fill the link.",
        hints=("You know N and the throughput. What does Little's law give you?",),
        next="The histogram has a second peak at ten times the latency. What is it?"),
]
