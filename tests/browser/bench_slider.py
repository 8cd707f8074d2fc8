"""From a slider's input event to the read-out in the page."""
from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parent))

from conftest import FLAGS, NAMES  # noqa: E402
from harness import save  # noqa: E402
from test_explorer import fleet  # noqa: E402

EVENTS = 100
MEASURE = """async (events) => {
  const field = document.querySelector(".cm-row input"), times = [];
  const read = document.querySelector(".cm-out dd");
  for (let k = 0; k < events; k++) {
    field.value = (k * 7) % (Number(field.max) + 1);
    const before = read.textContent, start = performance.now();
    field.dispatchEvent(new Event("input"));
    times.push(performance.now() - start);
    if (read.textContent === before) throw new Error("the read-out stands still");
    await new Promise(requestAnimationFrame);
  }
  return times;
}"""


def latencies() -> list[float]:
    """Milliseconds of each of many events, chart redrawn."""
    path = next(p for name in NAMES if (p := shutil.which(name)))
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page()
        page.goto(save(Path(folder), fleet()))
        page.locator(".cm-row input").first.wait_for()
        times = page.evaluate(MEASURE, EVENTS)
        browser.close()
    return times


def median_latency() -> float:
    """The median, in milliseconds."""
    return statistics.median(latencies())


if __name__ == "__main__":
    times = sorted(latencies())
    print(f"slider to read-out: median {statistics.median(times):.2f} ms, "
          f"95% below {times[int(0.95 * EVENTS)]:.2f} ms")
