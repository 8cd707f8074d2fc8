"""A chapter as it is written: the notebook that a `.md` stands for, before anything has run."""

from __future__ import annotations

import hashlib
import json
import re
from functools import lru_cache
from pathlib import Path

import jupytext
import yaml
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

INSTALL = "install"
# Cells whose source no reader of the notebook comes for; givens and labs stay open there.
HIDDEN = {INSTALL, "setup", "plot", "table", "explorer", "ask"}
TARGET = re.compile(r"#([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")
MARKDOWN = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin)

INSTALL_CELL = """\
# @title Install the library (does nothing where it is installed)
import importlib.util

if importlib.util.find_spec("clustermath") is None:
    import subprocess, sys

    class NotInstalled(ImportError):
        def _render_traceback_(self):
            return [str(self)]

    ADDRESS = "{address}"
    COMMAND = [sys.executable, "-m", "pip", "install", "-q", ADDRESS]
    if subprocess.run(COMMAND, capture_output=True).returncode:
        raise NotInstalled(f"The library could not be installed from {{ADDRESS}}: no network?")
    importlib.invalidate_caches()"""


class ChapterError(Exception):
    """Something in a chapter that its author has to mend."""


@lru_cache
def root_of(path: Path) -> Path:
    """The folder of the book that holds ``path``: the nearest one above with a `_config.yml`."""
    for folder in path.resolve().parents:
        if (folder / "_config.yml").exists():
            return folder
    raise ChapterError(f"{path}: no _config.yml in any folder above it")


def install_address(root: Path) -> str:
    """What pip installs in Colab; the repository's address stands in `_config.yml` alone."""
    configuration = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    repository = configuration["repository"]
    return f"git+{repository['url']}@{repository['branch']}#subdirectory=lib"


def read(path: Path) -> NotebookNode:
    """The notebook that ``path`` asks for: the install cell, then its own cells, no outputs."""
    if not path.exists():
        raise ChapterError(f"{path}: no such file")
    if path.suffix != ".md":
        raise ChapterError(f"{path}: give the .md, from which the notebook is made")
    notebook = jupytext.read(path, fmt="md:myst")
    source = INSTALL_CELL.format(address=install_address(root_of(path)))
    notebook.cells.insert(0, new_code_cell(source, metadata={"tags": [INSTALL]}))
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"{path.stem}-{number:02d}"
        if HIDDEN & set(tags(cell)):
            cell.metadata["jupyter"] = {"source_hidden": True}
            cell.metadata["cellView"] = "form"
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook["metadata"] = NotebookNode(
        kernelspec={"display_name": "Python 3", "language": "python", "name": "python3"},
        # myst-nb asks for the lexer; the version of Python would differ between machines.
        language_info={"name": "python", "pygments_lexer": "ipython3"},
        source=fingerprint(notebook),
    )
    return notebook


def tags(cell: NotebookNode) -> list[str]:
    """The tags of a cell."""
    return list(cell.metadata.get("tags", []))


def label(cell: NotebookNode) -> str:
    """A cell as an error names it: its first line that says something."""
    lines = [line for line in cell.source.splitlines() if line.strip()]
    return (
        f"{cell.cell_type} cell {lines[0].strip()[:60]!r}"
        if lines
        else f"empty {cell.cell_type} cell"
    )


def fingerprint(notebook: NotebookNode) -> str:
    """A hash of what the author writes: types, sources and tags of all cells."""
    written = [[cell.cell_type, cell.source, tags(cell)] for cell in notebook.cells]
    return hashlib.sha256(json.dumps(written).encode()).hexdigest()[:16]


def number_links(notebook: NotebookNode) -> list[tuple[str, str]]:
    """(target, text) of every link to a name of the notebook, in order."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            continue
        for token in MARKDOWN.parse(cell.source):
            found += _links(token.children or [])
    return found


def _links(tokens: list) -> list[tuple[str, str]]:
    found, target, text = [], None, ""
    for token in tokens:
        if token.type == "link_open":
            match = TARGET.fullmatch(str(token.attrs.get("href", "")))
            target, text = match and match[1], ""
        elif token.type == "link_close":
            if target:
                found.append((target, text))
            target = None
        else:
            text += token.content
    return found
