"""Where a measured step went: time intervals, profiler traces, and what a fix is worth."""
from __future__ import annotations

import json
import re
from os import PathLike
from typing import Any, Callable, Iterable, NamedTuple

from .checking import check, checked
from .formulas import formula
from .types import Bandwidth, Count, Duration, Natural, Params, Positive, Seconds, Share, Size

Intervals = list[tuple[float, float]]  # half-open; disjoint and in order once `union` made them

_HOST = re.compile(r"Synchronize|\bitem\b|local_scalar_dense|\bgc\b")
_OPTIMIZER = re.compile(r"adam|optimizer\.step", re.IGNORECASE)


@formula("U", step="t", ideal="t_i", target=r"\eta")
def unaccounted_time(step: Seconds, ideal: Seconds, target: Share) -> Seconds:
    """Time of a step beyond what it would take at a target utilization; negative when it beats it.

    Args:
        step: measured.
        ideal: its model FLOPs over the peak of all chips.
        target: utilization to compare with; 1 compares with the peak itself.
    """
    return step - ideal / target


@formula("v", step="t", saved="d", requires="saved < step")
def speedup(step: Duration, saved: Seconds) -> Positive:
    """How much faster a step becomes when time is taken out of it.

    Args:
        step: measured.
        saved: what a fix removes.
    Raises: ValueError when saved is not below step.
    """
    return step / (step - saved)


@formula("t_o", params="N", shards="n", bandwidth="W", size="b")
def adam_time(params: Params, shards: Count, bandwidth: Bandwidth, size: Size = 30) -> Seconds:
    """The least time of an Adam step, bound by the traffic of its state.

    Args:
        params: parameters of the model.
        shards: ranks that share the optimizer state.
        bandwidth: memory bandwidth of one chip.
        size: bytes moved per parameter: 16 read and 12 written in fp32, 2 for the bf16 weight.
    """
    return params / shards * size / bandwidth


def union(intervals: Iterable[tuple[float, float]]) -> Intervals:
    """The same points as disjoint intervals in order; touching ones joined, empty ones dropped."""
    out: Intervals = []
    for start, end in sorted(intervals):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        elif start < end:
            out.append((start, end))
    return out


def minus(a: Intervals, b: Intervals) -> Intervals:
    """The points of ``a`` outside ``b``, both as `union` returns them."""
    out, j = [], 0
    for start, end in a:
        while j < len(b) and b[j][1] <= start:
            j += 1
        k = j
        while k < len(b) and b[k][0] < end:
            if start < b[k][0]:
                out.append((start, b[k][0]))
            start = b[k][1]
            k += 1
        if start < end:
            out.append((start, end))
    return out


def common(a: Intervals, b: Intervals) -> Intervals:
    """The points of both ``a`` and ``b``."""
    return minus(a, minus(a, b))


def length(intervals: Intervals) -> float:
    """Their summed length."""
    return sum(end - start for start, end in intervals)


def exposed_time(comm: Iterable[tuple[float, float]],
                 compute: Iterable[tuple[float, float]]) -> float:
    """Time in which something communicates and nothing computes.

    Args:
        comm: (start, end) of each communication, half-open, in seconds; may overlap.
        compute: the same of each computation.
    Raises: ValueError for an interval that ends before it starts; TypeError for what is none.
    """
    return length(minus(union(_pairs("comm", comm)), union(_pairs("compute", compute))))


def _pairs(name: str, intervals: Iterable[tuple[float, float]]) -> Intervals:
    where, seconds = f"exposed_time: {name}", Seconds.__metadata__[0]
    pairs = []
    for interval in intervals:
        if not hasattr(interval, "__len__") or len(interval) != 2:
            raise TypeError(f"{where} must hold (start, end) pairs, but holds {interval!r}")
        start, end = (check(where, seconds, x) for x in interval)
        if end < start:
            raise ValueError(f"{where} holds an interval that ends before it starts: {interval!r}")
        pairs.append((start, end))
    return pairs


class Timeline(NamedTuple):
    """Where one step of a trace went, in seconds.

    ``idle + exposed + optimizer + compute == step``; the other fields are parts of these.
    """

    step: float
    idle: float  # no kernel runs, the optimizer's span aside
    idle_data: float  # part of idle: the host waits for the data loader
    idle_host: float  # part of idle: the host waits for the device, logs, collects garbage
    idle_optimizer: float  # part of optimizer: no kernel runs between its first and its last
    comm: float  # collectives run, hidden or not
    exposed: float  # collectives run and nothing else does, the optimizer's span aside
    optimizer: float  # from its first kernel to its last
    compute: float  # other kernels run


@checked
def read_trace(path: str | PathLike, step: Natural) -> Timeline:
    """Where the time of one step went, from a Chrome trace as torch.profiler exports it.

    Kernels are events of category ``kernel``; collectives have ``nccl`` in their name, optimizer
    kernels ``adam``. What crosses the edge of the step is cut there.

    Args:
        path: the JSON file; its times are microseconds.
        step: number of the ProfilerStep.
    Raises: ValueError for a step that is missing, empty, or overlaps another; what opening and
        reading the file raises.
    """
    with open(path, encoding="utf8") as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X" and "dur" in e]
    window = _step(events, int(step))

    def pick(wanted: Callable[[dict[str, Any]], bool]) -> Intervals:
        return common(union((e["ts"], e["ts"] + e["dur"]) for e in events if wanted(e)), window)

    kernels = pick(lambda e: e.get("cat") == "kernel")
    comm = pick(lambda e: e.get("cat") == "kernel" and _is_collective(e))
    busy = pick(lambda e: e.get("cat") == "kernel" and not _is_collective(e))
    optimizer = _span(pick(lambda e: e.get("cat") in ("kernel", "gpu_user_annotation")
                           and _OPTIMIZER.search(e["name"]) is not None))
    waits = pick(lambda e: e.get("cat") != "kernel" and _HOST.search(e["name"]) is not None)
    loads = pick(lambda e: "DataLoader" in e["name"])
    gaps = minus(window, kernels)
    idle = minus(gaps, optimizer)
    parts = (window, idle, common(idle, loads), minus(common(idle, waits), loads),
             common(gaps, optimizer), comm, minus(minus(comm, busy), optimizer), optimizer,
             minus(busy, optimizer))
    return Timeline(*(length(part) / 1e6 for part in parts))


def _is_collective(event: dict[str, Any]) -> bool:
    return "nccl" in event["name"].lower()


def _span(intervals: Intervals) -> Intervals:
    return [(intervals[0][0], intervals[-1][1])] if intervals else []


def _step(events: list[dict[str, Any]], number: int) -> Intervals:
    """The interval of a step, after checking it against the others."""
    steps = {}
    for e in events:
        # A trace repeats the host's annotations on the device's rows, shifted.
        if e["name"].startswith("ProfilerStep#") and e.get("cat") != "gpu_user_annotation":
            if steps.setdefault(e["name"][13:], e) is not e:
                raise ValueError(f"read_trace: {e['name']} occurs twice; read the ranks one by one")
    if str(number) not in steps:
        known = ", ".join(steps) or "none"
        raise ValueError(f"read_trace: the trace has no step {number}; it has {known}")
    spans = sorted((e["ts"], e["ts"] + e["dur"], name) for name, e in steps.items())
    for (_, end, name), (start, _, following) in zip(spans, spans[1:]):
        if start < end - 1e-3:
            raise ValueError(f"read_trace: steps {name} and {following} overlap")
    start, end = next((a, b) for a, b, name in spans if name == str(number))
    if not start < end:
        raise ValueError(f"read_trace: step {number} has no length")
    return [(start, end)]
