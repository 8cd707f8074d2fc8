"""Runs a chapter's notebook and reads the values that its text links to."""

from __future__ import annotations

import ast
import importlib.util
import json
import logging
from pathlib import Path

from IPython.core.inputtransformer2 import TransformerManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from .chapter import ChapterError, label, number_links, tags

PROBE = Path(__file__).with_name("probe.py").read_text(encoding="utf-8")
NEEDS = {"needs-torch": "torch", "needs-jax": "jax"}
SECONDS_PER_CELL = 300
# Without this, a closing kernel prints the name of its connection file.
logging.getLogger("traitlets").setLevel(logging.ERROR)


async def run(path: Path, notebook: NotebookNode, stored: NotebookNode | None) -> list[str]:
    """Fill in outputs and `metadata.numbers`; return the library's files that decided them.

    Args:
        path: the chapter's `.md`, for its folder and for messages.
        notebook: as `chapter.read` gives it; changed in place.
        stored: the notebook as it was; cells that cannot run here keep its outputs.
    """
    links = number_links(notebook)
    client = NotebookClient(
        notebook,
        timeout=SECONDS_PER_CELL,
        kernel_name="python3",
        record_timing=False,
        extra_arguments=["--log-level=40"],  # else each kernel remarks on how it is connected
        resources={"metadata": {"path": str(path.parent)}},
    )
    kept = _carry_over(path, notebook, stored)
    try:
        found = await _execute(client, notebook, kept, sorted({target for target, _ in links}))
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        raise ChapterError(f"{path}: {_reason(error, notebook)}") from None
    notebook.metadata["numbers"] = _numbers(path, notebook, links, found["numbers"], stored, kept)
    return found["library"]


def _carry_over(path: Path, notebook: NotebookNode, stored: NotebookNode | None) -> set[str]:
    """Cells whose package is missing here get their stored outputs back; the set of their ids."""
    outputs = {
        c.source: c.outputs for c in (stored.cells if stored else []) if c.cell_type == "code"
    }
    kept = set()
    for cell in notebook.cells:
        missing = [
            NEEDS[t] for t in tags(cell) if t in NEEDS and not importlib.util.find_spec(NEEDS[t])
        ]
        if not missing:
            continue
        if not outputs.get(cell.source):
            raise ChapterError(
                f"{path}: {label(cell)} needs {missing[0]}, and no outputs of it are stored: "
                f"run .venv-labs/bin/python -m book.notebooks {path} (make labs makes .venv-labs)"
            )
        cell.outputs = outputs[cell.source]
        kept.add(cell.id)
    return kept


async def _execute(
    client: NotebookClient, notebook: NotebookNode, kept: set[str], targets: list[str]
) -> dict:
    scope = "{'__name__': 'probe'}"
    probe = new_code_cell(
        f"(lambda s: [exec({PROBE!r}, s), print(s['report'](globals(), {targets!r}))])({scope})[0]"
    )
    async with client.async_setup_kernel():
        for index, cell in enumerate(notebook.cells):
            if cell.cell_type == "code" and cell.source.strip() and cell.id not in kept:
                await client.async_execute_cell(cell, index)
        notebook.cells.append(probe)
        await client.async_execute_cell(probe, len(notebook.cells) - 1)
        notebook.cells.pop()
        client.set_widgets_metadata()
    ran = (c for c in notebook.cells if c.cell_type == "code" and c.source.strip())
    for count, cell in enumerate(ran, start=1):
        cell.execution_count = count
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = count
    return json.loads("".join(o.text for o in probe.outputs if o.get("name") == "stdout"))


def _reason(error: Exception, notebook: NotebookNode) -> str:
    for cell in notebook.cells:
        if any(o.output_type == "error" for o in cell.get("outputs", [])):
            output = next(o for o in cell.outputs if o.output_type == "error")
            return f"{label(cell)} raised {output.ename}: {output.evalue}"
    return " ".join(str(error).split())[:300]


def _numbers(
    path: Path,
    notebook: NotebookNode,
    links: list[tuple[str, str]],
    found: dict,
    stored: NotebookNode | None,
    kept: set[str],
) -> dict:
    """`metadata.numbers`: for each target its value, expression, cell and source."""
    where = bindings(notebook)
    old = stored.metadata.get("numbers", {}) if stored else {}
    numbers, wrong = {}, []
    for target, text in links:
        name = target.partition(".")[0]
        cell, expression = where.get(name, ("", ""))
        about = found[target]
        if "error" in about and cell in kept and target in old:
            about = old[target]
        if "error" not in about and not cell:
            about = {"error": f"no cell of the notebook binds {name!r}"}
        if "error" in about:
            wrong.append(f"{path}: [{text}](#{target}): {about['error']}")
            continue
        shown = target if "." in target else expression
        known = {k: v for k, v in about.items() if v or k in ("value", "source")}
        numbers[target] = {**known, "expr": shown, "cell": cell}
    if wrong:
        raise ChapterError("\n".join(dict.fromkeys(wrong)))
    return numbers


def bindings(notebook: NotebookNode) -> dict[str, tuple[str, str]]:
    """name -> (id of the cell that binds it last, the expression bound)."""
    where = {}
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        # IPython's magics are no Python until it has rewritten them.
        source = TransformerManager().transform_cell(cell.source)
        try:
            tree = ast.parse(source)
        except SyntaxError:
            continue  # a cell that raises on purpose binds nothing
        visitor = _Bindings(source)
        visitor.visit(tree)
        where.update({name: (cell.id, text) for name, text in visitor.found.items()})
    return where


class _Bindings(ast.NodeVisitor):
    """Names bound at the top level of a cell, each with its expression."""

    def __init__(self, source: str):
        self.source = source
        self.found: dict[str, str] = {}

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._bind(target, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._bind(node.target, node.value)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for part, its_value in zip(target.elts, value.elts):
                self._bind(part, its_value)
        else:
            for node in ast.walk(target):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    self.found[node.id] = self._text(value)

    def _text(self, node: ast.expr) -> str:
        text = ast.get_source_segment(self.source, node) or ""
        return ast.unparse(node) if "\n" in text else text

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.found[node.id] = ""

    def visit_alias(self, node: ast.alias) -> None:
        self.found[(node.asname or node.name).partition(".")[0]] = ""

    def _skip(self, node: ast.AST) -> None:
        """Functions, classes and comprehensions bind names of their own."""

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _skip
    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _skip
