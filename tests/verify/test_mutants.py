"""The mutants: what nothing notices is named, what something notices is not."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from small_notebooks import code, givens, notebook
from verify.judge import judge
from verify.mutants import moved_texts
from verify.prose import Link

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases" / "number_links.csv"

GUARDED = notebook(
    "[11 days](#run_time) of [8](#chips) at [40%](#mfu)",
    givens(
        "flops, chips = 6.35e24, 8\nmfu = 0.4\nsizes = [16.0, 32.0]\nlabels = {'wide': 3}\n"
        "name = 'H100'\nclass card:\n    peak = 2.027e18\n    name = 'H100'\nbox = card()\n"
        "rate = chips * box.peak * mfu\nprint(len(globals()))"
    ),
    code(
        "run_time = flops / rate\nprint(f'{run_time:.4g}', [f'{s:.3g}' for s in sizes], card.name)"
    ),
    code("wide = labels['wide']\nprint(wide)", tags=("plot",)),
    givens("late = 2 * run_time"),
    code("print(f'{late:.4g}')"),
)
UNGUARDED = notebook(
    '[about 11.2](#shown "within 1%")',
    givens("shown = 11.3\nunused = 5\nhidden = 7.0\ncoarse = [100.0]"),
    code("print(round(hidden / hidden), round(coarse[0] / 1000))"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    (folder / "chapters").mkdir()
    nbformat.write(GUARDED, folder / "chapters" / "guarded.ipynb")
    nbformat.write(UNGUARDED, folder / "chapters" / "unguarded.ipynb")
    return folder


def mutants(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "verify.mutants", *arguments],
        cwd=folder,
        text=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=120,
    )


def test_survivors_are_named_and_others_are_not(folder):
    done = mutants(folder)
    assert done.returncode == 1, done.stderr
    survivors = [line for line in done.stdout.splitlines() if "survives:" in line]
    assert {line.split(" nothing")[0].split("the given ")[1] for line in survivors} == {
        f"{name} {way}:" for name in ("unused", "hidden", "coarse[0]") for way in ("up", "down")
    }
    assert "guarded.ipynb: 3 numbers and 9 givens moved" in done.stdout
    assert "2 notebooks" in done.stdout


def test_no_survivor_no_error(folder):
    done = mutants(folder, "guarded")
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_chapter_is_named(folder):
    done = mutants(folder, "nowhere")
    assert done.returncode == 1
    assert "no notebook nowhere.ipynb" in done.stderr


def test_a_text_that_is_wrong_or_swallowed_is_a_fault(folder, tmp_path):
    nbformat.write(
        notebook("[12](#x), [$74k](#x) and [$75k](#x)", givens("x = 11"), code("print(x)")),
        tmp_path / "wrong.ipynb",
    )
    done = mutants(tmp_path, "wrong.ipynb")
    assert done.returncode == 1
    assert "'12' reads 12" in done.stdout
    assert "bare dollar" in done.stdout


def test_a_search_without_end_is_stopped_and_noticed(tmp_path):
    search = "n = 0\nwhile n < x or x > 16:\n    n += 1\nprint(n)"
    nbformat.write(notebook(givens("x = 16"), code(search)), tmp_path / "search.ipynb")
    done = mutants(tmp_path, "search.ipynb")
    assert "1 givens moved 2 times, 0 survivors" in done.stdout
    assert done.returncode == 0


def test_a_cell_that_varies_proves_nothing(folder, tmp_path):
    once = "seen = globals().get('seen', 0) + 1\nprint(seen)"
    nbformat.write(notebook(givens("x = 11"), code(once)), tmp_path / "chain.ipynb")
    nbformat.write(
        notebook(givens("x = 11"), code(f"{once}, x", tags=("lab",))), tmp_path / "lab.ipynb"
    )
    done = mutants(tmp_path, "chain.ipynb", "lab.ipynb")
    assert (
        "cell 1 (seen = globals().get('seen', 0) + 1) shows something else when it runs again"
        in done.stdout
    )
    assert "lab.ipynb: survives: the given x up" in done.stdout


with CASES.open(newline="", encoding="utf-8") as file:
    HOLDING = [row for row in csv.DictReader(file) if row["verdict"] == "holds"]


@pytest.mark.parametrize("row", HOLDING, ids=[row["text"] for row in HOLDING])
def test_every_moved_text_is_refused(row):
    value = float(row["value"])
    moved = list(moved_texts(Link(row["text"], "x", row["title"]), value))
    assert len(moved) >= (2 if value else 1)
    for text in moved:
        assert not judge(text, value, row["title"]).ok, text
