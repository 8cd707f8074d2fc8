"""The generator: same bytes, values with their expressions, errors that name what is wrong."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from book import notebooks
from book.chapter import ChapterError, read

from samples import cell

WIDGET = """\
import anywidget, traitlets
class Box(anywidget.AnyWidget):
    _esm = "export default {}"
    size = traitlets.Int(3).tag(sync=True)
    def __repr__(self): return "Box 3"
class Unseen(Box): pass
hidden = Unseen()
Box()"""

SAMPLE = (
    "# Sample\n\nIt takes [two days](#run_time), [989 TFLOP/s](#h100.bf16_flops), "
    "[1](#a) and [2](#b).\n"
    + cell("from clustermath import chips\nh100 = chips['H100 SXM']", "givens")
    + cell("run_time = 86400\nrun_time = 2 * run_time\na, b = 1, (1 +\n  1)")
    + cell(WIDGET, "explorer")
)


def make(path: Path) -> dict:
    asyncio.run(notebooks.make(path))
    return json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))


def error(path: Path) -> str:
    with pytest.raises(ChapterError) as raised:
        asyncio.run(notebooks.make(path))
    return str(raised.value)


def test_same_bytes_on_every_run(write):
    path = write(SAMPLE)
    make(path)
    first = path.with_suffix(".ipynb").read_bytes()
    make(path)
    assert path.with_suffix(".ipynb").read_bytes() == first
    assert b'"execution":' not in first and b"Unseen" not in first.partition(b'"widgets"')[2]


def test_numbers_know_value_expression_cell_and_source(write):
    notebook = make(write(SAMPLE))
    numbers = notebook["metadata"]["numbers"]
    assert numbers.keys() == {"run_time", "h100.bf16_flops", "a", "b"}
    assert numbers["run_time"]["value"] == 172800
    assert numbers["run_time"]["expr"] == "2 * run_time"
    assert numbers["b"]["expr"] == "1 + 1" and numbers["b"]["value"] == 2
    assert numbers["h100.bf16_flops"]["expr"] == "h100.bf16_flops"
    assert "H100" in numbers["h100.bf16_flops"]["source"]
    ids = {c["id"]: "".join(c["source"]) for c in notebook["cells"]}
    assert "2 * run_time" in ids[numbers["run_time"]["cell"]]
    assert "chips['H100 SXM']" in ids[numbers["h100.bf16_flops"]["cell"]]


def test_first_cell_installs_from_the_address_in_the_configuration(write):
    first = read(write("# Sample\n")).cells[0]
    assert "git+https://example.org/a/b@trunk#subdirectory=lib" in first.source
    assert first.metadata.tags == ["install"] and first.metadata.cellView == "form"


def test_install_cell_says_in_one_sentence_that_there_is_no_network(write, monkeypatch):
    import importlib.util
    import subprocess

    source = read(write("# Sample\n")).cells[0].source
    exec(source, {})  # installed: nothing happens
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: subprocess.CompletedProcess(a, 1))
    with pytest.raises(ImportError) as raised:
        exec(source, {})
    assert raised.value._render_traceback_() == [str(raised.value)]
    assert "network" in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "code, says",
    [
        ("other = 1", "[11 days](#run_time): nothing in the notebook is called 'run_time'"),
        ("run_time = float('nan')", "'run_time' is no number but nan"),
        ("run_time = '11'", "'run_time' is no number but '11'"),
        ("globals().update(run_time=1)", "no cell of the notebook binds 'run_time'"),
        ("1 / 0", "code cell '1 / 0' raised ZeroDivisionError: division by zero"),
    ],
)
def test_errors_name_chapter_and_cause_and_write_nothing(write, code, says):
    path = write("# Sample\n\nIt takes [11 days](#run_time).\n" + cell(code))
    message = error(path)
    assert message.startswith(f"{path}: ") and says in message
    assert not path.with_suffix(".ipynb").exists()


def test_only_what_changed_is_made_again(write, capsys):
    path = write("# Sample\n" + cell("1 + 1"))

    def run() -> str:
        assert notebooks.main([str(path)]) == 0
        return capsys.readouterr().out.splitlines()[0]

    assert run() == "1 of 1 notebooks to make"
    assert run() == "0 of 1 notebooks to make"
    path.touch()
    assert run() == "0 of 1 notebooks to make"
    notebook = path.with_suffix(".ipynb")
    notebook.write_text(notebook.read_text().replace('"2"', '"3"'))
    assert run() == "1 of 1 notebooks to make"
    assert '"2"' in notebook.read_text()


def test_the_library_files_that_a_chapter_used_decide_too(write):
    path = write("# Sample\n" + cell("from clustermath import chips"))
    used = [Path(file).name for file in asyncio.run(notebooks.make(path))]
    assert "registry.py" in used and "chips.toml" in used
    assert "compute.py" not in used


def test_a_cell_whose_package_is_missing_keeps_its_outputs(write, monkeypatch):
    from book import execute

    monkeypatch.setattr(execute, "NEEDS", {"needs-torch": "no_such_package"})
    text = (
        "# Sample\n\nIt gave [7](#gave).\n"
        + cell("gave = 7\ngave", "lab", "needs-torch")
        + cell("1 + 1")
    )
    path = write(text)
    assert "needs no_such_package" in error(path) and ".venv-labs" in error(path)

    monkeypatch.setattr(execute, "NEEDS", {})
    first = make(path)
    before = path.with_suffix(".ipynb").read_bytes()
    monkeypatch.setattr(execute, "NEEDS", {"needs-torch": "no_such_package"})
    make(path)
    assert path.with_suffix(".ipynb").read_bytes() == before
    assert first["metadata"]["numbers"]["gave"]["value"] == 7


def test_bad_arguments_are_refused_in_words(small_book, capsys):
    (small_book / "chapters" / "x.ipynb").write_text("{}")
    assert notebooks.main([str(small_book / "chapters" / "x.ipynb")]) == 1
    assert "give the .md" in capsys.readouterr().err
    assert notebooks.main([str(small_book / "chapters" / "none.md")]) == 1
    assert "no such file" in capsys.readouterr().err
