"""Static rules for a notebook: what its cells may hold, and that nothing in it goes unchecked."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nbformat import NotebookNode

from .cells import NEEDS, Cell, code_cells
from .literals import captions, is_typed_in, literals
from .names import EVERYTHING, Binding, bindings, loaded
from .prose import Link

# Tags and comments with which nbval leaves a cell uncompared.
SWITCHES = {
    "nbval-skip",
    "nbval-ignore-output",
    "nbval-raises-exception",
    "raises-exception",
    "pytest-validate-ignore-output",
    "skip-execution",
}
MARKERS = ("NBVAL_", "PYTEST_VALIDATE_")
UNCOMPARED = ("image/png", "image/jpeg")
WIDGET = "application/vnd.jupyter.widget-view+json"


def faults(notebook: NotebookNode, links: list[Link]) -> list[str]:
    """Everything in the notebook that breaks a rule, in words; empty when it keeps them all."""
    cells = code_cells(notebook)
    found = [fault for cell in cells for fault in _cell(cell)]
    bound = bindings(cells)
    found += _targets(links, bound)
    found += _typed_in(links, bound, cells)
    found += _borrowed(bound, cells)
    return found


def _cell(cell: Cell) -> Iterator[str]:
    """Rules for one cell."""
    try:
        tree = cell.tree
    except SyntaxError as error:
        yield f"{cell.label} is no Python: {error.msg}"
        return
    if cell.is_chain and (typed := literals(cell)):
        yield (
            f"{cell.label} has numbers typed in: {', '.join(typed)}; "
            "put them into the cell tagged givens"
        )
    elif not cell.is_chain and (typed := captions(cell)):
        yield f"{cell.label} has numbers typed into a caption: {', '.join(typed)}; compute them"
    yield from _switches(cell)
    yield from _outputs(cell, tree)


def _switches(cell: Cell) -> Iterator[str]:
    for tag in sorted(cell.tags & SWITCHES):
        yield f"{cell.label} is tagged {tag}, which switches its comparison off: remove the tag"
    for line in cell.source.splitlines():
        comment = line.strip().lstrip("#").strip()
        if line.strip().startswith("#") and comment.startswith(MARKERS):
            yield f"{cell.label} says {comment}, which switches its comparison off: remove it"
    for tag in sorted(t for t in cell.tags if t.startswith("needs-")):
        if tag not in NEEDS:
            packages = " or ".join(sorted(NEEDS.values()))
            yield f"{cell.label} is tagged {tag}: a lab may need {packages} only"
        elif not cell.tags & {"lab", "plot", "setup"}:
            yield f"{cell.label} is tagged {tag}, but is no lab: the chain runs everywhere"


def _outputs(cell: Cell, tree: ast.Module) -> Iterator[str]:
    """What is stored of the cell must have been run, and be of a kind that is compared."""
    outputs = cell.node.get("outputs", [])
    if cell.node.get("execution_count") is None:
        yield f"{cell.label} was never run: run make notebooks"
    elif not outputs and _shows(tree):
        yield f"{cell.label} shows something, but no output is stored: run make notebooks"
    for output in outputs:
        if output.output_type == "error":
            yield f"{cell.label} stores an error: {output.get('ename')}: {output.get('evalue')}"
        elif output.output_type == "stream" and output.name == "stderr":
            yield f"{cell.label} stores a message on stderr: {output.text.strip()[:60]}"
        data = output.get("data", {})
        if WIDGET in data and not str(data.get("text/plain", "")).strip():
            yield (
                f"{cell.label} shows a widget without text/plain, so nothing of it is compared: "
                "define __repr__"
            )
        for kind in UNCOMPARED:
            if kind in data:
                yield f"{cell.label} stores {kind}, which nobody compares: make it SVG"


def _shows(tree: ast.Module) -> bool:
    """Whether the cell is sure to show something: it prints, or ends in a name or a sum."""
    for statement in tree.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            function = statement.value.func
            if isinstance(function, ast.Name) and function.id in ("print", "display"):
                return True
    last = tree.body[-1] if tree.body else None
    certain = (ast.Name, ast.Attribute, ast.BinOp, ast.JoinedStr, ast.Tuple, ast.List, ast.Dict)
    return isinstance(last, ast.Expr) and isinstance(last.value, certain)


def _targets(links: list[Link], bound: list[Binding]) -> Iterator[str]:
    """Each name that the text links to is bound, and bound once."""
    known = {b.name for b in bound}
    for target in dict.fromkeys(link.target for link in links):
        name = target.partition(".")[0]
        paths = {name} | {target[:i] for i, c in enumerate(target) if c == "."} | {target}
        mine = [b for b in bound if b.name in paths]
        if not mine and EVERYTHING not in known:
            yield f"the text links to #{target}, but no cell binds {name}"
        places = ", ".join(dict.fromkeys(b.cell.label for b in mine))
        if len(mine) > 1:
            yield (
                f"{name} is bound {len(mine)} times, and the text links to it: "
                f"give each value its own name ({places})"
            )
        elif any(b.repeats for b in mine):
            yield (
                f"{name} changes as the cell runs, and the text links to it: "
                f"bind the value once ({places})"
            )


def _typed_in(links: list[Link], bound: list[Binding], cells: list[Cell]) -> Iterator[str]:
    """A literal bound in a free cell is an input: neither text nor chain may use it there."""
    used = {link.name for link in links}
    for cell in cells:
        if cell.is_chain:
            used |= _names_read(cell)
    for binding in bound:
        cell = binding.cell
        if cell.is_chain or "givens" in cell.tags or binding.name not in used:
            continue
        if is_typed_in(binding.value):
            yield (
                f"{binding.name} is typed into {cell.label}: "
                "inputs belong into the cell tagged givens"
            )


def _borrowed(bound: list[Binding], cells: list[Cell]) -> Iterator[str]:
    """Who uses names of a cell that needs a package needs that package too."""
    for tag in sorted(NEEDS):
        owners = {b.name for b in bound if tag in b.cell.tags}
        others = {b.name for b in bound if tag not in b.cell.tags}
        for cell in cells:
            if tag not in cell.tags and (names := sorted(_names_read(cell) & (owners - others))):
                used = ", ".join(names)
                yield f"{cell.label} uses {used} of a cell tagged {tag}: tag it {tag}, too"


def _names_read(cell: Cell) -> set[str]:
    try:
        return loaded(cell.tree)
    except SyntaxError:
        return set()
