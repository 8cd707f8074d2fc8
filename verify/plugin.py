"""The pytest plugin: a notebook yields one item per code cell and one per number of its text.

nbval runs a cell and compares its outputs; this replaces its file collector, keeps its comparison,
and adds the items that nbval lacks. No verdict depends on which items a run selects or on which
worker they land: an item that needs earlier cells runs those that its kernel has not run yet.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import nbformat
import pytest
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, RunningKernel
from nbval.plugin import IPyNbCell, IPyNbFile, NbCellError

from . import prose, rules
from .cells import Cell, code_cells
from .judge import judge
from .names import Binding, bindings
from .prose import Link, Prose

AGREES = "md and ipynb agree"
LABS = "pip install -r requirements-labs.txt"
TIMEOUT = 60  # seconds for an output, or for the numbers, to arrive
# A number, exactly; a bool or a string that looks like one is none.
PROBE = (
    "(lambda v: float(v).hex()"
    " if isinstance(v, __import__('numbers').Real) and not isinstance(v, bool)"
    " else '!' + type(v).__name__)({})"
)


class StoredValue(pytest.PytestWarning):
    """A number was compared with the value stored in the notebook, not with a fresh one."""


class Kernel(RunningKernel):
    """nbval's kernel, which also remembers how the last cell ended."""

    status = "ok"

    def await_reply(self, msg_id: str, timeout: float | None = None) -> dict[str, Any]:
        """Wait for the reply to a request and return its content."""
        while True:
            message = self.get_message(stream="shell", timeout=timeout)
            if message["parent_header"].get("msg_id") == msg_id:
                self.status = message["content"]["status"]
                return message["content"]


class Chapter(IPyNbFile):
    """A notebook as a collection of cells, numbers and rules."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.outcomes: dict[int, Exception | None] = {}  # of the cells run so far, by position
        self.position = 0  # how many cells the present kernel has run
        self.running: Kernel | None = None

    @property
    def kernel(self) -> Kernel:
        """The kernel, started when something first has to run."""
        if self.running is None:
            option = self.config.option
            stored = self.nb.metadata.get("kernelspec", {}).get("name", "python3")
            name = (
                CURRENT_ENV_KERNEL_NAME
                if option.nbval_current_env
                else option.nbval_kernel_name or stored
            )
            self.running = Kernel(
                name, cwd=str(self.path.parent), startup_timeout=option.nbval_kernel_startup_timeout
            )
            self.position = 0
        return self.running

    def setup(self) -> None:
        """Nothing: what only reads the notebook needs no kernel."""

    def teardown(self) -> None:
        """Stop the kernel; should an item come later, it starts a new one."""
        if self.running is not None and self.running.is_alive():
            self.running.stop()
        self.running = None

    def collect(self) -> Iterator[pytest.Item]:
        """One item per cell and per number, and three for the whole."""
        try:
            self.nb = nbformat.read(str(self.path), as_version=4)
        except Exception as error:  # nbformat raises many kinds
            reason = " ".join(str(error).split())[:80]
            raise self.CollectError(f"no notebook: {reason}: run make notebooks") from None
        self.prose: Prose = prose.of_notebook(self.nb)
        self.cells = [
            CellItem.of(self, cell, position) for position, cell in enumerate(code_cells(self.nb))
        ]
        yield from self.cells
        seen: Counter[str] = Counter()
        for link in self.prose.links:
            name = f"{link.target}: {link.text}".replace("::", ":")
            seen[name] += 1
            yield Number.from_parent(
                self, name=name if seen[name] == 1 else f"{name} ({seen[name]})", link=link
            )
        for kind in (BareNumerals, Rules, Agreement):
            yield kind.from_parent(self, name=kind.title)

    def outcome(self, position: int) -> Exception | None:
        """How the cell ended, after running it and, in this kernel, every cell before it."""
        if position not in self.outcomes:
            self._run_to(position)
        return self.outcomes[position]

    def _run_to(self, position: int) -> None:
        self.kernel  # noqa: B018  a new kernel starts from the first cell
        while self.position <= position:
            cell = self.cells[self.position]
            self.outcomes.setdefault(self.position, cell.execute())
            self.position += 1

    @cached_property
    def values(self) -> dict[str, float | str]:
        """What every target is after the last cell; a string says why there is no value."""
        if self.cells:
            self._run_to(len(self.cells) - 1)
        targets = {link.target for link in self.prose.links}
        kernel = self.kernel
        if not kernel.is_alive():
            return dict.fromkeys(targets, "the kernel has died")
        request = kernel.kc.execute(
            "", user_expressions={t: PROBE.format(t) for t in targets}, store_history=False
        )
        reply = kernel.await_reply(request, timeout=TIMEOUT)
        return {target: _value(answer) for target, answer in reply["user_expressions"].items()}

    @cached_property
    def bound(self) -> list[Binding]:
        """What the cells bind."""
        return bindings([item.of_book for item in self.cells])

    def missing_for(self, name: str) -> list[str]:
        """The packages without which `name` gets no value here."""
        mine = [b.cell for b in self.bound if b.name == name]
        return mine[-1].missing if mine else []

    def stored(self, target: str) -> float | None:
        """The value that the notebook stores for a target; the page shows it beside the text."""
        entry = self.nb.metadata.get("numbers", {}).get(target)
        return None if entry is None else float(entry["value"])


def _value(answer: dict[str, Any]) -> float | str:
    if answer["status"] != "ok":
        return str(answer["evalue"])
    text = answer["data"]["text/plain"].strip("'\"")
    return f"it is no number but {text[1:]}" if text.startswith("!") else float.fromhex(text)


class CellItem(IPyNbCell):
    """A code cell: it runs without error or stderr, and shows what the notebook stores."""

    of_book: Cell
    position: int

    @classmethod
    def of(cls, chapter: Chapter, cell: Cell, position: int) -> CellItem:
        """The item of a cell. No tag loosens its comparison: that breaks a rule instead."""
        options = defaultdict(bool, check=True)
        item = cls.from_parent(
            chapter,
            name=cell.label.replace("::", ":"),
            cell_num=cell.number,
            cell=cell.node,
            options=options,
        )
        item.of_book, item.position = cell, position
        item.output_timeout = TIMEOUT
        if missing := cell.missing:
            item.add_marker(pytest.mark.skip(reason=f"needs {', '.join(missing)}: {LABS}"))
        return item

    def setup(self) -> None:
        """nbval would expect later cells to fail once one has timed out; here they do fail."""

    def runtest(self) -> None:
        """Report how the cell ended."""
        if error := self.parent.outcome(self.position):
            raise error

    def execute(self) -> Exception | None:
        """Run and compare; the error if there is one."""
        if self.of_book.missing:
            return None
        try:
            super().runtest()
            written = [o.text for o in self.test_outputs if o.get("name") == "stderr"]
            if written:
                self.raise_cell_error("Cell writes to stderr", "".join(written))
            if self.parent.kernel.status != "ok":
                self.raise_cell_error("Cell fails without an exception")
            if self.cell.execution_count is None:
                self.raise_cell_error("Cell was never run: run make notebooks")
        except Exception as error:
            return error
        return None

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str:
        """The cell, what is wrong with it, and where."""
        error = excinfo.value
        if not isinstance(error, NbCellError):
            return f"{self.name}: {error}"
        return f"{self.name}: {error}\n\n{error.source}\n{error.inner_traceback or ''}"


class Check(pytest.Item):
    """An item of ours: it fails with a message, without traceback."""

    title = ""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.obj = lambda: None  # other plugins expect of an item that it has one

    @property
    def chapter(self) -> Chapter:
        """The notebook that the item belongs to."""
        return cast(Chapter, self.parent)

    def runtest(self) -> None:
        """Fail with everything that is wrong."""
        if found := self.faults():
            pytest.fail("\n".join(found), pytrace=False)

    def faults(self) -> list[str]:
        """What is wrong, in words."""
        raise NotImplementedError

    def reportinfo(self) -> tuple[Path, int, str]:
        """How pytest names the item in a report."""
        return self.path, 0, f"{self.path.name}: {self.name}"


class Number(Check):
    """A number of the text is the rounding of its name's value."""

    def __init__(self, *, link: Link, **kwargs: Any):
        super().__init__(**kwargs)
        self.link = link

    def faults(self) -> list[str]:
        """What separates the text from the value, or from what the page shows beside it."""
        stored = self.chapter.stored(self.link.target)
        if missing := self.chapter.missing_for(self.link.name):
            return self._from_store(stored, missing)
        value = self.chapter.values[self.link.target]
        if isinstance(value, str):
            return [f"{self.link}: no value: {value}"]
        found = self._judged(value)
        if stored is not None and not math.isclose(value, stored, rel_tol=1e-9):
            found += self._drifted(value, stored)
        return found

    def _from_store(self, stored: float | None, missing: list[str]) -> list[str]:
        lacking = f"{', '.join(missing)} is not installed"
        if stored is None:
            return [f"{self.link}: {lacking}, and the notebook stores no value: make labs"]
        self.warn(
            StoredValue(f"{self.link}: {lacking}: compared with the stored value {stored:.6g}")
        )
        return self._judged(stored)

    def _judged(self, value: float) -> list[str]:
        verdict = judge(self.link.text, value, self.link.title)
        return [] if verdict.ok else [f"{self.link}: {verdict.message}"]

    def _drifted(self, value: float, stored: float) -> list[str]:
        """A measured value differs from run to run: the text must hold for the stored one, too."""
        if any("lab" in b.cell.tags for b in self.chapter.bound if b.name == self.link.name):
            return self._judged(stored)
        return [
            f"{self.link}: the notebook stores {stored:.10g}, the code gives {value:.10g}: "
            "run make notebooks"
        ]


class BareNumerals(Check):
    """Every number of the text has a name behind it."""

    title = "bare numerals"

    def faults(self) -> list[str]:
        """Numerals without a name, and dollars and links that went astray."""
        found = self.chapter.prose
        bare = [
            f"a number without a name: '{numeral}': write [text](#name)" for numeral in found.bare
        ]
        return bare + found.faults


class Rules(Check):
    """The cells keep the rules, and nothing in them is left uncompared."""

    title = "rules"

    def faults(self) -> list[str]:
        """Broken rules."""
        return rules.faults(self.chapter.nb, self.chapter.prose.links)


class Agreement(Check):
    """The notebook is what its source would make."""

    title = AGREES

    def faults(self) -> list[str]:
        """How the notebook and its source differ; content decides, not time."""
        from book import notebooks  # here, because the rest of the plugin needs no jupytext

        source = self.path.with_suffix(".md")
        if not source.exists():
            return [f"{self.path.name} has no source: write {source.name}, then run make notebooks"]
        try:
            return notebooks.differences(source)
        except Exception as error:
            return [f"{source.name} cannot be compared with its notebook: {error}"]


class Unmade(pytest.File):
    """A chapter whose notebook is missing."""

    def collect(self) -> Iterator[pytest.Item]:
        """The one item that says so."""
        yield Agreement.from_parent(self, name=AGREES)


def _is_chapter_source(path: Path) -> bool:
    if path.suffix != ".md":
        return False
    with path.open(encoding="utf-8") as file:
        head = file.read(400)
    return head.startswith("---") and "jupytext:" in head


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Our collector in place of nbval's; and an item for a chapter without notebook."""
    found = yield
    found = [
        Chapter.from_parent(parent, path=file_path) if type(f) is IPyNbFile else f for f in found
    ]
    alone = parent.config.option.nbval and not file_path.with_suffix(".ipynb").exists()
    if alone and _is_chapter_source(file_path):
        found.append(Unmade.from_parent(parent, path=file_path))
    return found
