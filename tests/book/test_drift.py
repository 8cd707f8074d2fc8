"""A chapter and its notebook out of step: what is said, and what is let pass."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pytest

from book import chapter, notebooks
from book.notebooks import differences

from samples import ROOT, cell

TEXT = (
    "# Sample\n\nIt takes [11 days](#run_time).\n"
    + cell("run_time = 950400", "givens")
    + cell("run_time")
)


@pytest.fixture
def pair(write):
    """A chapter with its notebook, not executed: drift is a matter of sources alone."""
    path = write(TEXT)
    notebook = chapter.read(path)
    notebook.metadata["numbers"] = {"run_time": {"value": 950400.0}}
    nbformat.write(notebook, path.with_suffix(".ipynb"))
    return path


def edit(path: Path, change) -> None:
    file = path.with_suffix(".ipynb")
    notebook = json.loads(file.read_text(encoding="utf-8"))
    change(notebook)
    file.write_text(json.dumps(notebook), encoding="utf-8")


def test_in_step(pair):
    assert differences(pair) == []


def test_missing_notebook(pair):
    pair.with_suffix(".ipynb").unlink()
    assert differences(pair) == [f"{pair.with_suffix('.ipynb')} is missing: run make notebooks"]


def test_not_a_notebook(pair):
    pair.with_suffix(".ipynb").write_text("<<<<<<< ours")
    assert "is not a notebook" in differences(pair)[0]


def test_changed_chapter(pair):
    pair.write_text(pair.read_text().replace("950400", "86400"))
    said = differences(pair)
    assert "has changed since" in said[0] and "the code cell 'run_time = 86400' differs" in said[1]


def test_changed_tag(pair):
    pair.write_text(pair.read_text().replace("[givens]", "[plot]"))
    assert "tagged ['plot'], in the notebook ['givens']" in differences(pair)[1]


def test_added_cell(pair):
    pair.write_text(pair.read_text() + cell("1 + 1"))
    assert "5 cells are written, the notebook has 4" in differences(pair)


def test_only_the_notebook_was_edited(pair):
    edit(pair, lambda n: n["cells"][3].update(source="run_time * 2"))
    said = differences(pair)
    assert "was edited" in said[0] and f"{pair} is the source" in said[0]


def test_what_editors_add_is_let_pass(pair):
    def change(notebook):
        notebook["metadata"]["kernelspec"]["display_name"] = ".venv (3.11.7)"
        notebook["metadata"]["language_info"]["version"] = "3.13.1"
        notebook["metadata"]["colab"] = {"provenance": []}
        for c in notebook["cells"]:
            c["metadata"]["outputId"] = "x"
            c["source"] = "".join(c["source"])
            if c["cell_type"] == "code":
                c["execution_count"] = 17

    edit(pair, change)
    assert differences(pair) == []


def test_lost_ids_and_lost_numbers(pair):
    edit(pair, lambda n: n["metadata"].pop("numbers"))
    assert "does not know the numbers run_time" in differences(pair)[0]
    edit(pair, lambda n: [c.update(id=f"x{i}") for i, c in enumerate(n["cells"])])
    assert "ids of its cells" in differences(pair)[0]


@pytest.mark.parametrize("path", notebooks.sources(ROOT), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_the_book_is_in_step(path):
    assert differences(path) == []


def test_every_notebook_has_a_source():
    orphans = [n for folder in ("chapters", "exercises") for n in (ROOT / folder).glob("*.ipynb")]
    assert [n.name for n in orphans if not n.with_suffix(".md").exists()] == []


def test_the_repository_address_stands_in_one_place():
    url = re.search(r"url: (\S+)", (ROOT / "_config.yml").read_text())[1]
    sources = [
        *ROOT.glob("book/**/*.py"),
        *ROOT.glob("lib/**/*.py"),
        *ROOT.glob("*/*.md"),
        ROOT / "Makefile",
    ]
    assert [str(f) for f in sources if url in f.read_text(encoding="utf-8")] == []
