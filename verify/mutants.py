"""Whether the guards can fail: `python -m verify.mutants [chapter...]`.

Each number of the text and each given is moved, one at a time. A moved text must be refused by the
judge; a moved given must change what a cell of the chain shows or whether a number of the text
holds, or else what a plot, a lab or an explorer shows. What nothing notices is a survivor.
"""

from __future__ import annotations

import ast
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
from clustermath.reading import Reading, Unreadable, read
from clustermath.value import described

from . import prose
from .cells import Cell
from .judge import judge, tolerance
from .names import path_of
from .prose import Link
from .runner import Move, Runner, Stopped

FOLDERS = ("chapters", "exercises")
SHARE = 0.03  # how far a number is moved


@dataclass
class Report:
    """What became of the mutants of one notebook."""

    path: Path
    numbers: int = 0
    givens: int = 0
    mutants: int = 0
    survivors: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        lines = [
            f"{self.path}: {text}"
            for text in (*self.faults, *(f"survives: {s}" for s in self.survivors))
        ]
        summary = (
            f"{self.path}: {self.numbers} numbers and {self.givens} givens moved "
            f"{self.mutants} times, {len(self.survivors)} survivors ({self.seconds:.1f} s)"
        )
        return "\n".join([*lines, summary])


def examine(path: Path) -> Report:
    """Move every number and every given of a notebook."""
    began = time.monotonic()
    notebook = nbformat.read(str(path), as_version=4)
    text = prose.of_notebook(notebook)
    report = Report(path, faults=list(text.faults))
    runner = Runner(notebook, path.parent)
    if not text.links and not any("givens" in cell.tags for cell in runner.cells):
        return report  # a sheet of questions: there is nothing to move
    try:
        unstable = runner.run_all()
    except Stopped as error:
        report.faults.append(str(error))
        return report
    report.faults += [
        f"{cell.label} shows something else when it runs again: moved inputs cannot be told"
        for cell in unstable
        if cell.is_chain
    ]
    stored = {
        target: entry["value"] for target, entry in notebook.metadata.get("numbers", {}).items()
    }
    values = {link.target: value_of(link.target, runner.names, stored) for link in text.links}
    _move_texts(report, text.links, values)
    _move_givens(report, runner, text.links, stored, unstable)
    report.seconds = time.monotonic() - began
    return report


def value_of(target: str, names: dict[str, Any], stored: dict[str, float]) -> float | None:
    """The number that a target means; as stored where its cell cannot run here."""
    name, *attributes = target.split(".")
    if name not in names:
        return stored.get(target)
    found = names[name]
    for attribute in attributes:
        found = getattr(found, attribute, None)
    return float(found) if is_number(found) else None


def is_number(value: Any) -> bool:
    """Whether a value is one real number."""
    try:
        return not isinstance(value, (bool, str, bytes)) and float(value) == float(value)
    except (TypeError, ValueError):
        return False


def _move_texts(report: Report, links: list[Link], values: dict[str, float | None]) -> None:
    for link in links:
        value = values[link.target]
        if value is None:
            report.faults.append(f"{link} has no value")
            continue
        verdict = judge(link.text, value, link.title)
        if not verdict.ok:
            report.faults.append(f"{link}: {verdict.message}")
            continue
        report.numbers += 1
        for moved in moved_texts(link, value):
            report.mutants += 1
            if judge(moved, value, link.title).ok:
                report.survivors.append(
                    f"the text '{moved}' in place of '{link.text}' (#{link.target})"
                )


def moved_texts(link: Link, value: float) -> Iterator[str]:
    """The text with its last figure one up, one down, and with a value a few percent off."""
    reading = read(link.text)
    allowed = tolerance(link.title) or 0.0
    if value == 0:
        yield reading.rewrite(reading.scale, 1)
        return
    if not allowed:
        yield from _last_figure(reading)
    for sign in (1, -1):
        yield reading.rewrite(value * (1 + sign * (SHARE + 2 * allowed)), max(reading.digits, 3))


def _last_figure(reading: Reading) -> Iterator[str]:
    if not reading.step:
        return
    for step in (reading.step, -reading.step):
        moved = reading.value + step
        if abs(moved) < reading.step / 2:  # one down from 1 is 0.9
            moved = reading.value + step / 10
        text = reading.rewrite(moved)
        try:
            # 999 and one is 1,000: fewer figures are written, and so less is said.
            if read(text).digits >= reading.digits:
                yield text
        except Unreadable:
            continue


def _move_givens(
    report: Report,
    runner: Runner,
    links: list[Link],
    stored: dict[str, float],
    unstable: list[Cell],
) -> None:
    before = _verdicts(links, runner.names, stored)
    for given in list(_givens(runner)):
        report.givens += 1
        cells = [cell for cell in runner.affected(given.name) if cell not in unstable]
        for how, move in given.moves:
            report.mutants += 1
            with runner.restored():
                try:
                    noticed = (
                        _chain_notices(runner, cells, given.name, move)
                        or before != _verdicts(links, runner.names, stored)
                        or _others_notice(runner, cells)
                    )
                except Stopped:  # a cell that now raises has noticed
                    noticed = True
            if not noticed:
                report.survivors.append(
                    f"the given {given.label} {how}: nothing that is computed changes"
                )


def _chain_notices(runner: Runner, cells: list[Cell], name: str, move: Move) -> bool:
    """Run givens and chain with the input moved: whether the chain shows something else."""
    for cell in cells:
        if "givens" in cell.tags:
            runner.give(cell, name, move)
        elif cell.is_chain and runner.show(cell) != runner.outputs[cell.number]:
            return True
    return False


def _others_notice(runner: Runner, cells: list[Cell]) -> bool:
    """Second try: whether plots, labs or explorers show something else."""
    others = [cell for cell in cells if cell.tags & {"plot", "lab", "explorer"}]
    return any(runner.show(cell) != runner.outputs[cell.number] for cell in others)


def _verdicts(links: list[Link], names: dict[str, Any], stored: dict[str, float]) -> list[bool]:
    values = [value_of(link.target, names, stored) for link in links]
    return [
        value is not None and judge(link.text, value, link.title).ok
        for link, value in zip(links, values, strict=True)
    ]


@dataclass(frozen=True)
class Given:
    """An input, or one number within it, and how it is moved."""

    name: str
    label: str
    moves: tuple[tuple[str, Move], ...]


def _givens(runner: Runner) -> Iterator[Given]:
    """Every number bound in a cell of givens, in lists, mappings and records too."""
    names = dict.fromkeys(
        b.name for b in runner.bound if "givens" in b.cell.tags and not b.imported
    )
    for name in names:
        value = runner.names.get(name)
        if is_number(value):
            yield Given(name, name, _moves(name, value, lambda moved: moved))
        elif isinstance(value, (list, tuple, dict)):
            yield from _elements(name, value)
        elif value is not None and not callable(value):
            yield from _fields(runner, name, value)


def _moves(name: str, value: Any, wrap: Callable[[Any], Any]) -> tuple[tuple[str, Move], ...]:
    """How a number is moved, and what its name is bound to then."""

    def binder(moved: Any) -> Move:
        return lambda space: space.update({name: wrap(moved)})

    return tuple((how, binder(moved)) for how, moved in _moved(value))


def _moved(value: Any) -> Iterator[tuple[str, Any]]:
    """The value a few percent up and down; a count by at least one."""
    for sign, how in ((1, "up"), (-1, "down")):
        if isinstance(value, int):
            moved: float = int(value) + sign * max(1, round(abs(value) * SHARE))
        else:
            moved = float(value) * (1 + sign * SHARE) if value else sign * SHARE
        if hasattr(value, "meaning"):
            moved = described(
                moved, unit=value.unit, source=value.source, meaning=value.meaning, note=value.note
            )
        yield how, moved


def _elements(name: str, value: Any) -> Iterator[Given]:
    """The numbers in a list, tuple or mapping."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        if is_number(value[key]):
            yield Given(
                name, f"{name}[{key!r}]", _moves(name, value[key], partial(_with, value, key))
            )


def _with(value: Any, key: Any, moved: Any) -> Any:
    """A copy of a list, tuple or mapping with one element replaced."""
    if isinstance(value, dict):
        return {**value, key: moved}
    return type(value)([moved if i == key else element for i, element in enumerate(value)])


class _Record:
    """A record with one field replaced."""

    def __init__(self, record: Any, field_name: str, moved: Any):
        self.__dict__ = {"_record": record, field_name: moved}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._record, name)


def _fields(runner: Runner, name: str, record: Any) -> Iterator[Given]:
    """The numeric fields of a registry entry that cells read."""
    paths = {
        path_of(node)
        for cell in runner.cells
        for node in ast.walk(cell.tree)
        if isinstance(node, ast.Attribute)
    }
    for path in sorted(paths):
        base, _, attribute = path.rpartition(".")
        if base == name and is_number(getattr(record, attribute, None)):
            yield Given(
                name,
                path,
                _moves(name, getattr(record, attribute), partial(_Record, record, attribute)),
            )


def find(name: str) -> Path:
    """The notebook that a path or a chapter's name means."""
    path = Path(name)
    candidates = [
        path.with_suffix(".ipynb"),
        *(Path(folder) / f"{path.stem}.ipynb" for folder in FOLDERS),
    ]
    for candidate in candidates:
        if candidate.exists():
            return candidate
    raise SystemExit(
        f"no notebook {candidates[0]}: give a chapter's name or path, or run make notebooks"
    )


def main(arguments: list[str]) -> int:
    """Examine the given chapters, or the whole book; 1 if anything survives or fails."""
    wanted = [find(a) for a in arguments] or [
        *sorted(Path().glob("*.ipynb")),
        *(p for folder in FOLDERS for p in sorted(Path(folder).glob("*.ipynb"))),
    ]
    if not wanted:
        print("no notebooks here: run from the book's folder, after make notebooks")
        return 1
    reports = []
    for path in wanted:
        reports.append(examine(path))
        print(reports[-1], flush=True)
    survivors, faults = (
        sum(len(getattr(r, kind)) for r in reports) for kind in ("survivors", "faults")
    )
    print(
        f"{len(reports)} notebooks, {sum(r.mutants for r in reports)} mutants, "
        f"{survivors} survivors, {faults} faults"
    )
    return int(bool(survivors or faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
