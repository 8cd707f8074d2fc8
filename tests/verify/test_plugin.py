"""The plugin at work: each guard fails when it should, whatever a run selects."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import nbformat
import pytest
from book import chapter
from nbformat.v4 import new_output
from small_notebooks import code, givens, notebook, result, stream

ROOT = Path(__file__).parents[2]
SOURCE = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {name: python3, display_name: Python 3, language: python}
---
# A chapter
It takes [11 days](#run_time), or [about 12](#rounded "within 20%").

```{code-cell} ipython3
:tags: [givens]
flops, peak = 6.35e24, 6.48e18
rounded = 11
```

```{code-cell} ipython3
run_time = flops / peak
print(f"{run_time:.3e}")
```
"""

NUMBERS = notebook(
    "[2](#loss) [3](#lost) [11 days](#run_time) [12 days](#run_time) [1](#unknown) [1](#nothing) "
    "[1](#flag) [11](#text) [2](#box.size) [3](#box.weight) [4](#moved)",
    givens(
        "run_time = 979684.24\nnothing = float('nan')\nflag = True\ntext = '11'\n"
        "box = type('Box', (), {'size': 2})\nmoved = 4"
    ),
    code("import torch_that_is_not_there\nloss = 1 + 1\nlost = 2", tags=("lab", "needs-torch")),
    loss=2.0,
    moved=4.1,
)
WIDGET = {"application__vnd.jupyter.widget-view+json": "{}"}
CELLS = notebook(
    code("a = 1\na", result("1")),
    code("a + 1", result("3")),
    code("print(a)"),
    code(
        "%nosuchmagic",
        new_output(
            "stream",
            name="stderr",
            text="UsageError: Line magic function `%nosuchmagic` not found.\n",
        ),
    ),
    code("import sys\nprint('careful', file=sys.stderr)", stream("careful\n", "stderr")),
    code("b = a\nb", tags=("nbval-skip",), run=False),
    code("# NBVAL_IGNORE_OUTPUT\nb", result("2")),
    code(
        "class W:\n    def _repr_mimebundle_(self, **k):\n"
        "        widget = 'application/vnd.jupyter.widget-view+json'\n"
        "        return {widget: {}, 'text/plain': 'W(2)'}\nW()",
        result("W(1)", **WIDGET),
    ),
    code("1 / 0"),
    code("b", result("1")),
)


def _write(folder: Path, name: str, made: nbformat.NotebookNode) -> None:
    nbformat.write(made, folder / f"{name}.ipynb")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small book in which every guard has something to find, and one chapter that is in order."""
    folder = tmp_path_factory.mktemp("book")
    (folder / "_config.yml").write_text(
        "repository: {url: 'https://example.org/x', branch: main}\n"
    )
    (folder / "pytest.ini").write_text("[pytest]\n")
    for name in ("good", "stale", "missing"):
        (folder / f"{name}.md").write_text(SOURCE)
    made = chapter.read(folder / "good.md")
    for cell in made.cells:
        if cell.cell_type == "code":
            cell.execution_count = 1
    made.cells[-1].outputs = [stream("9.799e+05\n")]
    made.metadata["numbers"] = {"run_time": {"value": 6.35e24 / 6.48e18}, "rounded": {"value": 11}}
    _write(folder, "good", made)
    made.cells[-1].source += "\nx = 1"
    _write(folder, "stale", made)
    _write(folder, "numbers", NUMBERS)
    _write(folder, "cells", CELLS)
    return folder


def run(folder: Path, *arguments: str) -> dict[str, str]:
    """The verdict of every item: passed, skipped, or why it failed."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "verify.plugin",
        "--nbval",
        "--nbval-current-env",
        "-p",
        "no:cacheprovider",
        "-q",
        "--color=no",
        "--junitxml=report.xml",
        *arguments,
    ]
    # No torch here, whatever this machine has.
    hidden = folder / "hidden" / "sitecustomize.py"
    hidden.parent.mkdir(exist_ok=True)
    hidden.write_text(
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'torch' else find(name, *a)\n"
    )
    path = os.pathsep.join([str(hidden.parent), str(ROOT)])
    subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        timeout=120,
    )
    verdicts = {}
    for case in ET.parse(folder / "report.xml").getroot().iter("testcase"):
        failure = next((f for kind in ("failure", "error") for f in case.iter(kind)), None)
        skipped = next(case.iter("skipped"), None)
        verdict = (
            "passed" if failure is None else f"failed: {failure.text or failure.get('message')}"
        )
        name = f"{case.get('classname')}::{case.get('name')}"
        verdicts[name] = verdict if skipped is None else f"skipped: {skipped.get('message')}"
    return verdicts


@pytest.fixture(scope="module")
def alone(folder):
    """All items, in one process; of the stale chapter the one that says so."""
    return run(folder, "-n", "0", "-k", "not stale or agree")


def failures(verdicts: dict[str, str], notebook_name: str) -> dict[str, str]:
    """The failed items of one notebook, except that a test's notebook has no source."""
    prefix = f"{notebook_name}.ipynb::"
    return {
        name.removeprefix(prefix): verdict
        for name, verdict in verdicts.items()
        if name.startswith(prefix)
        and verdict.startswith("failed")
        and "has no source" not in verdict
    }


def test_a_chapter_in_order_is_green(alone):
    good = {name: verdict for name, verdict in alone.items() if name.startswith("good.")}
    assert set(good.values()) == {"passed"}
    names = [name.removeprefix("good.ipynb::") for name in good]
    assert names[1:] == [
        "cell 1 (flops, peak = 6.35e24, 6.48e18)",
        "cell 2 (run_time = flops / peak)",
        "run_time: 11 days",
        "rounded: about 12",
        "bare numerals",
        "rules",
        "md and ipynb agree",
    ]


def test_wrong_numbers(alone):
    found = failures(alone, "numbers")
    assert {name: said for name, said in found.items() if name != "rules"}.keys() == {
        "run_time: 12 days",
        "unknown: 1",
        "nothing: 1",
        "flag: 1",
        "text: 11",
        "box.weight: 3",
        "moved: 4",
        "lost: 3",
    }
    for name, said in {
        "run_time: 12 days": "write '11 days'",
        "unknown: 1": "name 'unknown' is not defined",
        "nothing: 1": "nan, which is not a number",
        "flag: 1": "no number but bool",
        "text: 11": "no number but str",
        "box.weight: 3": "no attribute 'weight'",
        "moved: 4": "stores 4.1, the code gives 4",
    }.items():
        assert said in found[name]
    assert "no cell binds unknown" in found["rules"]


def test_cells_that_nobody_would_compare(alone):
    found = failures(alone, "cells")
    for name, said in {
        "cell 1 (a + 1)": "outputs differ",
        "cell 2 (print(a))": "Unexpected output",
        "cell 3 (%nosuchmagic)": "stderr",
        "cell 4 (import sys)": "careful",
        "cell 5 (b = a)": "never run",
        "cell 6 (# NBVAL_IGNORE_OUTPUT)": "outputs differ",
        "cell 7 (class W:)": "'W(1)' == 'W(2)'",
        "cell 8 (1 / 0)": "division by zero",
        "rules": "tagged nbval-skip",
    }.items():
        assert said in found.pop(name)
    assert not found, "a failing cell lets the others be judged on their own"


def test_a_lab_whose_package_is_missing_is_skipped_and_says_so(alone):
    skipped = [name for name, verdict in alone.items() if verdict.startswith("skipped")]
    assert skipped == ["numbers.ipynb::cell 1 (import torch_that_is_not_there)"]
    assert "needs torch: pip install -r requirements-labs.txt" in alone[skipped[0]]
    assert alone["numbers.ipynb::loss: 2"] == "passed", "compared with the stored value"
    assert "stores no value" in alone["numbers.ipynb::lost: 3"]


def test_twins_that_drift(alone):
    assert "stale.ipynb was edited" in alone["stale.ipynb::md and ipynb agree"]
    assert "missing.ipynb is missing" in alone["missing.md::md and ipynb agree"]
    assert "has no source: write cells.md" in alone["cells.ipynb::md and ipynb agree"]


def test_distribution_changes_no_verdict(folder, alone):
    spread = run(folder, "-n", "2", "--dist", "load", "cells.ipynb")
    assert spread.keys() == {name for name in alone if name.startswith("cells.")}
    assert all(verdict[:6] == alone[name][:6] for name, verdict in spread.items())


def test_a_number_selected_alone_is_judged_all_the_same(folder):
    found = run(folder, "-n", "0", "-k", "12", "numbers.ipynb", "good.ipynb")
    assert found["numbers.ipynb::run_time: 12 days"].startswith("failed")
    assert found["good.ipynb::rounded: about 12"] == "passed"
    assert len(found) == 2
