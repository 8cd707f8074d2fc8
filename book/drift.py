"""Where a chapter and its notebook are out of step, in words; nothing is executed."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbformat import NotebookNode

from . import chapter

REMAKE = "run make notebooks"


def differences(path: str | Path) -> list[str]:
    """What separates ``path`` (a `.md`) from the `.ipynb` beside it; empty when they agree.

    Only what the author writes counts: what editors add to a notebook's metadata does not.
    """
    path = Path(path)
    notebook_path = path.with_suffix(".ipynb")
    if not notebook_path.exists():
        return [f"{notebook_path} is missing: {REMAKE}"]
    wanted = chapter.read(path)
    try:
        found = nbformat.read(notebook_path, as_version=4)
    except Exception as error:  # nbformat raises many kinds, all mean the same here
        return [
            f"{notebook_path} is not a notebook ({' '.join(str(error).split())[:80]}): {REMAKE}"
        ]
    written = chapter.fingerprint(found)
    if written == wanted.metadata.source:
        return _broken_targets(notebook_path, wanted, found)
    # The notebook remembers what it was made from: so we know which of the two was edited.
    edited = written != found.metadata.get("source")
    advice = (
        f"{notebook_path} was edited; {path} is the source: make the change there, then {REMAKE}"
        if edited
        else f"{path} has changed since {notebook_path} was made: {REMAKE}"
    )
    return [advice, *_cells(wanted.cells, found.cells)]


def _cells(wanted: list[NotebookNode], found: list[NotebookNode]) -> list[str]:
    said = []
    if len(wanted) != len(found):
        said.append(f"{len(wanted)} cells are written, the notebook has {len(found)}")
    for number, (ours, theirs) in enumerate(zip(wanted, found)):
        if ours.cell_type != theirs.cell_type:
            said.append(f"cell {number} is {ours.cell_type}, in the notebook {theirs.cell_type}")
        elif ours.source != theirs.source:
            said.append(f"cell {number}: the source of the {chapter.label(ours)} differs")
        elif chapter.tags(ours) != chapter.tags(theirs):
            said.append(
                f"cell {number}: the {chapter.label(ours)} is tagged {chapter.tags(ours)}, "
                f"in the notebook {chapter.tags(theirs)}"
            )
    return said


def _broken_targets(path: Path, wanted: NotebookNode, found: NotebookNode) -> list[str]:
    """Links to cells that the notebook no longer names: some editors drop ids and metadata."""
    if [c.get("id") for c in found.cells] != [c.id for c in wanted.cells]:
        return [f"{path}: another editor has changed the ids of its cells: {REMAKE}"]
    targets = {target for target, _ in chapter.number_links(wanted)}
    lost = sorted(targets - set(found.metadata.get("numbers", {})))
    return [f"{path} does not know the numbers {', '.join(lost)}: {REMAKE}"] if lost else []
