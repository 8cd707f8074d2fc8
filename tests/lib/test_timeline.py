"""Intervals against a clock that ticks, traces against hand-made ones whose answer is known."""
import json
import math
import random

import pytest

from clustermath import adam_time, exposed_time, read_trace, speedup, unaccounted_time
from clustermath.timeline import common, length, minus, union


def ticks(intervals, end=60):
    """The integer ticks that intervals cover: [a, b) covers a to b - 1."""
    return {t for t in range(end) for a, b in intervals if a <= t < b}


def test_intervals_tick_by_tick():
    rng = random.Random(0)
    for _ in range(300):
        a, b = (
            [tuple(sorted((rng.randrange(60), rng.randrange(60)))) for _ in range(rng.randrange(6))]
            for _ in "ab"
        )
        for result, expected in (
            (union(a), ticks(a)),
            (minus(union(a), union(b)), ticks(a) - ticks(b)),
            (common(union(a), union(b)), ticks(a) & ticks(b)),
        ):
            assert ticks(result) == expected and length(result) == len(expected)
            assert all(x < y for x, y in result)
        assert all(p[1] < q[0] for p, q in zip(union(a), union(a)[1:]))  # touching ones are joined
        assert exposed_time(a, b) == len(ticks(a) - ticks(b))


def test_exposed_time_is_half_open_and_counts_overlaps_once():
    assert exposed_time([(0, 4), (6, 8)], [(1, 2), (3, 7)]) == 3
    assert (
        exposed_time([(0, 1)], [(1, 2)]) == 1 and exposed_time([(0, 1), (0, 1), (0.5, 1)], []) == 1
    )
    assert exposed_time([], [(0, 9)]) == 0 and exposed_time([(1, 1)], []) == 0


@pytest.mark.parametrize(
    "bad, error",
    [
        ([(2, 1)], ValueError),
        ([(0, math.nan)], ValueError),
        ([(-1, 1)], ValueError),
        ([(0, math.inf)], ValueError),
        ([1, 2], TypeError),
        ([(0, 1, 2)], TypeError),
        ([(0, "1")], TypeError),
        ([(False, True)], TypeError),
    ],
)
def test_intervals_that_are_none(bad, error):
    for arguments in ((bad, []), ([], bad)):
        with pytest.raises(error, match="exposed_time: com(m|pute)"):
            exposed_time(*arguments)


# --- what a fix is worth ---


def test_time_beyond_the_target():
    flops, fleet, peak = 6 * 7e9 * 2**20, 64, 989e12
    ideal = flops / (fleet * peak)
    missing = unaccounted_time(2.16103, ideal, 0.4)
    assert flops / (fleet * peak * (2.16103 - missing)) == pytest.approx(
        0.4
    )  # without it, the target is met
    assert unaccounted_time(ideal / 0.5, ideal, 0.4) < 0 == unaccounted_time(ideal, ideal, 1)


def test_fixes_in_a_row_multiply():
    step, cuts = 2.16103, (0.2400, 0.1700, 0.0855, 0.0360)
    product, left = 1.0, step
    for cut in cuts:
        product *= speedup(left, cut)
        left -= cut
    assert speedup(step, sum(cuts)) == pytest.approx(product) == pytest.approx(1.326, abs=5e-4)
    assert speedup(step, 0) == 1


@pytest.mark.parametrize(
    "before, after, published", [(5762, 6667, 1.157), (597.3, 652.4, 1.092)]
)  # torchtitan
def test_published_speedups(before, after, published):
    assert speedup(1 / before, 1 / before - 1 / after) == pytest.approx(published, abs=5e-4)


def test_adam_state_touched_value_by_value():
    read, written = (
        4 * 4,
        3 * 4 + 2,
    )  # gradient, master and two averages in; three and the bf16 weight out
    assert adam_time(7e9, 64, 3.35e12) == pytest.approx(7e9 * (read + written) / 64 / 3.35e12)
    assert adam_time(7e9, 1, 3.35e12, 12) / adam_time(7e9, 4, 3.35e12, 12) == 4


# --- traces ---


def event(name, start, end, cat="kernel"):
    return dict(ph="X", name=name, cat=cat, ts=start, dur=end - start, pid=0, tid=0)


@pytest.fixture
def trace(tmp_path):
    def write(*events):
        path = tmp_path / "trace.json"
        path.write_text(json.dumps({"traceEvents": [*events, dict(ph="M", name="process_name")]}))
        return path

    return write


STEP = event("ProfilerStep#3", 100, 200, "user_annotation")


def parts(timeline):
    return {name: round(1e6 * value, 6) for name, value in timeline._asdict().items()}


def test_a_step_taken_apart(trace):
    path = trace(
        STEP,
        event("ProfilerStep#2", 0, 100, "user_annotation"),
        event("ProfilerStep#3", 120, 230, "gpu_user_annotation"),
        event("gemm", 90, 110),
        event("gemm", 105, 120),
        event("gemm on another stream", 115, 130),  # 30 within the step
        event(
            "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
            125,
            140,
            "user_annotation",
        ),
        event("aten::item", 138, 150, "cpu_op"),
        event("cudaStreamSynchronize", 139, 145, "cuda_runtime"),
        event("gemm", 160, 170),
        event("ncclDevKernel_AllGather", 165, 175),
        event("ncclDevKernel_AllGather", 172, 178),
        event("adam_foreach", 180, 182),
        event("adam_foreach", 185, 190),
        event("ncclDevKernel_Broadcast", 186, 195),
    )
    timeline = read_trace(path, 3)
    assert parts(timeline) == dict(
        step=100,
        idle=30 + 2 + 5,
        idle_data=10,
        idle_host=10,
        idle_optimizer=3,
        comm=13 + 9,
        exposed=8 + 5,
        optimizer=10,
        compute=30 + 10,
    )
    assert (
        timeline.idle + timeline.exposed + timeline.optimizer + timeline.compute
        == pytest.approx(timeline.step)
    )


def test_a_random_trace_tick_by_tick(trace):
    rng = random.Random(4)
    for _ in range(20):
        made = [
            event(
                rng.choice(["gemm", "ncclDevKernel", "adam"]),
                *sorted(rng.sample(range(80, 220), 2))
            )
            for _ in range(8)
        ]
        waits = [
            event(
                rng.choice(["DataLoader.__next__", "cudaDeviceSynchronize"]),
                *sorted(rng.sample(range(80, 220), 2)),
                "cuda_runtime"
            )
            for _ in range(4)
        ]

        def on(*words):
            return {
                t
                for t in range(100, 200)
                for e in made + waits
                if any(w in e["name"] for w in words) and e["ts"] <= t < e["ts"] + e["dur"]
            }

        window, comm, adam = set(range(100, 200)), on("nccl"), on("adam")
        optimizer = set(range(min(adam), max(adam) + 1)) if adam else set()
        busy, gaps = on("gemm", "adam"), window - on("gemm", "adam", "nccl")
        idle = gaps - optimizer
        expected = dict(
            step=window,
            idle=idle,
            idle_data=idle & on("DataLoader"),
            idle_host=(idle & on("Synchronize")) - on("DataLoader"),
            idle_optimizer=gaps & optimizer,
            comm=comm,
            exposed=comm - busy - optimizer,
            optimizer=optimizer,
            compute=busy - optimizer,
        )
        assert parts(read_trace(trace(STEP, *made, *waits), 3)) == {
            k: len(v) for k, v in expected.items()
        }


def test_an_optimizer_known_by_its_annotation(trace):
    path = trace(
        STEP,
        event("gemm", 100, 150),
        event("multi_tensor_apply_kernel", 160, 190),
        event("Optimizer.step#AdamW.step", 160, 190, "gpu_user_annotation"),
    )
    assert parts(read_trace(path, 3))["optimizer"] == 30


@pytest.mark.parametrize(
    "events, step, text",
    [
        ([STEP], 4, "the trace has no step 4; it has 3"),
        ([event("gemm", 0, 1)], 0, "the trace has no step 0; it has none"),
        ([event("ProfilerStep#3", 5, 5, "user_annotation")], 3, "step 3 has no length"),
        ([STEP, event("ProfilerStep#4", 150, 250, "user_annotation")], 3, "steps 3 and 4 overlap"),
        (
            [STEP, event("ProfilerStep#3", 100, 200, "user_annotation")],
            3,
            "ProfilerStep#3 occurs twice",
        ),
    ],
)
def test_traces_that_cannot_be_read(trace, events, step, text):
    with pytest.raises(ValueError, match=text):
        read_trace(trace(*events), step)


def test_what_is_no_trace(trace, tmp_path):
    with pytest.raises(FileNotFoundError):
        read_trace(tmp_path / "none.json", 0)
    for bad in (-1, 1.5):
        with pytest.raises(ValueError, match="read_trace: step must be a whole number"):
            read_trace(trace(STEP), bad)
