"""The code cells of a notebook: their tags, their syntax tree, how a message names them."""

from __future__ import annotations

import ast
import importlib.util
from dataclasses import dataclass
from functools import cached_property

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

# Cells whose code may hold any literal. All other cells are links of the chain.
FREE = {"givens", "plot", "lab", "explorer", "setup", "install", "ask"}
# Packages that a lab may need and a reader may lack (requirements-labs.txt), by tag.
NEEDS = {"needs-torch": "torch", "needs-jax": "jax"}


@dataclass(frozen=True)
class Cell:
    """One code cell with something in it."""

    node: NotebookNode
    number: int  # among the code cells, from 0, as nbval counts

    @property
    def tags(self) -> set[str]:
        """Its tags."""
        return set(self.node.metadata.get("tags", []))

    @property
    def source(self) -> str:
        """Its code as written, magics included."""
        return self.node.source

    @property
    def is_chain(self) -> bool:
        """Whether it is a link of the chain from givens to results."""
        return not self.tags & FREE

    @property
    def missing(self) -> list[str]:
        """The packages that it needs and that are not installed."""
        packages = sorted(NEEDS[tag] for tag in self.tags & set(NEEDS))
        return [p for p in packages if importlib.util.find_spec(p) is None]

    @property
    def label(self) -> str:
        """How a message names it: number, id if it has one of ours, first line."""
        lines = [line.strip() for line in self.source.splitlines() if line.strip()]
        first = lines[0] if lines else ""
        return f"cell {self.number} ({first if len(first) <= 50 else first[:47] + '...'})"

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree; IPython rewrites magics into Python first."""
        return ast.parse(TransformerManager().transform_cell(self.source))


def code_cells(notebook: NotebookNode) -> list[Cell]:
    """The code cells that hold code, numbered as nbval numbers them."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [Cell(node, n) for n, node in enumerate(code) if node.source.strip()]
