"""Small notebooks for the tests of the checks."""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from verify import prose, rules


def code(
    source: str, *outputs: NotebookNode, tags: tuple[str, ...] = (), run: bool = True
) -> NotebookNode:
    """A code cell with stored outputs."""
    cell = new_code_cell(source, execution_count=1 if run else None, metadata={"tags": list(tags)})
    cell.outputs = list(outputs)
    return cell


def givens(source: str) -> NotebookNode:
    """A cell tagged givens."""
    return code(source, tags=("givens",))


def result(text: str, **more: str) -> NotebookNode:
    """What a cell's last expression shows."""
    data = {"text/plain": text, **{name.replace("__", "/"): value for name, value in more.items()}}
    return new_output("execute_result", data, execution_count=1)


def stream(text: str, name: str = "stdout") -> NotebookNode:
    """What a cell prints."""
    return new_output("stream", name=name, text=text)


def notebook(*cells: NotebookNode | str, **numbers: float) -> NotebookNode:
    """A notebook of cells; strings are Markdown, `numbers` the stored values of link targets."""
    nodes = [new_markdown_cell(c) if isinstance(c, str) else c for c in cells]
    metadata: dict[str, Any] = {"numbers": {n: {"value": v} for n, v in numbers.items()}}
    return new_notebook(cells=nodes, metadata=metadata)


def broken_rules(*cells: NotebookNode | str) -> str:
    """What the rules say about a notebook, as one text."""
    made = notebook(*cells)
    return "\n".join(rules.faults(made, prose.of_notebook(made).links))
