"""Speeds worth knowing, printed beside their targets: ``make bench``. Nothing here passes or fails."""
from __future__ import annotations

import shutil
import subprocess
import sys
import timeit
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable


def import_time() -> float:
    """Milliseconds that ``import clustermath`` adds to a bare interpreter; the best of nine."""
    code = "from time import perf_counter as t; a = t(); import clustermath; print(1000 * (t() - a))"
    runs = [subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True) for _ in range(9)]
    return min(float(r.stdout) for r in runs)


def scalar_rate() -> float:
    """Checked calls of the fleet equation in a second, in millions."""
    from clustermath import training_time

    calls = 200_000
    return calls / min(timeit.repeat(lambda: training_time(6.354e24, 16_384, 989e12, 0.4), number=calls, repeat=5)) / 1e6


def array_time() -> float:
    """Milliseconds for a million values in one call."""
    import numpy as np
    from clustermath import training_time

    mfu = np.linspace(0.1, 0.6, 1_000_000)
    return 1000 * min(timeit.repeat(lambda: training_time(6.354e24, 16_384, 989e12, mfu), number=1, repeat=9))


def command(*words: str) -> float:
    """Seconds of a command run from the root."""
    start = perf_counter()
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    return perf_counter() - start


def slider_latency() -> float:
    """Milliseconds from a slider's input event to the read-out in the page, median."""
    sys.path.insert(0, str(ROOT))
    from tests.browser.bench_slider import median_latency

    return median_latency()


def main() -> None:
    rows = [
        ("import clustermath", import_time, "ms", "below 50"),
        ("checked scalar calls", scalar_rate, "million/s", "above 0.5"),
        ("a million values", array_time, "ms", "below 50"),
        ("slider to read-out", slider_latency, "ms", "below 16"),
        ("make book", lambda: command("make", "book"), "s", "below 30"),
        ("make test", lambda: command("make", "test"), "s", "below 60 for three chapters"),
    ]
    if not (shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")):
        rows = [row for row in rows if row[1] is not slider_latency]
        print("no Chromium found: slider latency left out")
    for name, measure, unit, target in rows:
        print(f"{name:24} {measure():10.3g} {unit:10} target {target}", flush=True)


if __name__ == "__main__":
    main()
