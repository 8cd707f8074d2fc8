"""A notebook run in this process, again and again with one input moved."""

from __future__ import annotations

import ast
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbformat import NotebookNode
from traitlets.config import Config

from .cells import Cell, code_cells
from .names import bindings, loaded

SHOWN = ("text/plain", "text/latex", "text/markdown", "text/html", "image/svg+xml")
PATIENCE = 2  # a moved cell may compute so many times as long as before, and as many seconds
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


Move = Callable[[dict[str, Any]], None]  # moves one input in a namespace


class Stopped(Exception):
    """A cell raised, or did not end; the message says which and what."""


class _TooLong(BaseException):
    """A moved input has sent a cell into a search without end; not for a cell to catch."""


class Runner:
    """The namespace of a notebook after its last cell, and ways to rerun parts of it."""

    def __init__(self, notebook: NotebookNode, folder: Path):
        self.folder = folder
        self.cells = [
            cell for cell in code_cells(notebook) if "install" not in cell.tags and not cell.missing
        ]
        self.bound = bindings(self.cells)
        self.shell = _shell()
        self.outputs: dict[int, str] = {}
        self.seconds: dict[int, float] = {}  # of computing, by cell

    @property
    def names(self) -> dict[str, Any]:
        """The notebook's namespace."""
        return self.shell.user_ns

    def run_all(self) -> list[Cell]:
        """Run every cell, keep what each shows; return those that vary from run to run."""
        self.shell.reset(new_session=False)
        with _in_folder(self.folder):
            for cell in self.cells:
                began = time.process_time()
                self.outputs[cell.number] = self.show(cell)
                self.seconds[cell.number] = time.process_time() - began
        # A table of givens grows with the namespace: it is shown, not compared.
        compared = [cell for cell in self.cells if "givens" not in cell.tags]
        with self.restored():
            return [cell for cell in compared if self.show(cell) != self.outputs[cell.number]]

    @contextmanager
    def restored(self) -> Iterator[None]:
        """What is run inside leaves no trace in the namespace."""
        before = dict(self.names)
        try:
            with _in_folder(self.folder):
                yield
        finally:
            self.names.clear()
            self.names.update(before)

    def show(self, cell: Cell) -> str:
        """Run a cell; what it shows as text."""
        with capture_output() as captured, self._limited(cell):
            result = self.shell.run_cell(cell.source, store_history=False)
        if not result.success:
            error = result.error_in_exec or result.error_before_exec
            raise Stopped(f"{cell.label} raised {type(error).__name__}: {error}")
        shown = [
            output.data[kind]
            for output in captured.outputs
            for kind in SHOWN
            if kind in output.data
        ]
        return ADDRESS.sub("", "\n".join([captured.stdout, *map(str, shown)]))

    def give(self, cell: Cell, name: str, move: Move) -> None:
        """Run a cell of givens by statements: what follows the moved input sees it moved."""
        with capture_output(), self._limited(cell):
            for statement in cell.tree.body:
                code = compile(ast.Module([statement], []), "<givens>", "exec")
                try:
                    exec(code, self.names)
                except (Exception, _TooLong) as error:
                    raise Stopped(f"{cell.label} raised {type(error).__name__}: {error}") from None
                if name in _bound_by(statement):
                    move(self.names)

    @contextmanager
    def _limited(self, cell: Cell) -> Iterator[None]:
        """Stop a cell that computes far longer than it did before anything was moved."""

        def stop(*_: Any) -> None:
            raise _TooLong("it does not end")

        before = signal.signal(signal.SIGPROF, stop)
        if cell.number in self.seconds:
            signal.setitimer(signal.ITIMER_PROF, PATIENCE * (1 + self.seconds[cell.number]))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)

    def affected(self, name: str) -> list[Cell]:
        """The cells that bind `name`, read it, or read anything computed from it, in order."""
        moved, found = {name}, []
        for cell in self.cells:
            binds = {b.name for b in self.bound if b.cell is cell}
            if loaded(cell.tree) & moved:
                moved |= self._follow(cell, moved) if "givens" in cell.tags else binds
            elif name not in binds:
                continue
            found.append(cell)
        return found

    @staticmethod
    def _follow(cell: Cell, moved: set[str]) -> set[str]:
        """The givens of a cell that are computed from moved ones: others stay as they are."""
        following = set(moved)
        for statement in cell.tree.body:
            if loaded(statement) & following:
                following |= _bound_by(statement)
        return following


def _bound_by(statement: ast.stmt) -> set[str]:
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }


def _shell() -> InteractiveShell:
    """A shell as a kernel has it, without history and without a display of its own."""
    os.environ.setdefault("MPLBACKEND", "agg")
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    return InteractiveShell.instance(config=config)


@contextmanager
def _in_folder(folder: Path) -> Iterator[None]:
    here = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)
