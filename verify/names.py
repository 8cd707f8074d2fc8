"""Which names a chapter binds at its top level, where, and how often."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from .cells import Cell

LOOPS = (ast.For, ast.AsyncFor, ast.While)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
EVERYTHING = "*"  # bound by a star import


@dataclass(frozen=True)
class Binding:
    """A name, or an attribute path, bound by a cell."""

    name: str
    cell: Cell
    repeats: bool  # inside a loop, or an operator with assignment
    value: ast.expr | None  # what a plain assignment binds
    imported: bool = False


def bindings(cells: list[Cell]) -> list[Binding]:
    """All bindings of all cells, in order; cells that are no Python bind nothing."""
    found: list[Binding] = []
    for cell in cells:
        try:
            tree = cell.tree
        except SyntaxError:
            continue
        visitor = _Visitor(cell)
        visitor.visit(tree)
        found += visitor.found
    return found


def path_of(node: ast.expr) -> str:
    """`h100.bf16_flops` for such an expression, else nothing."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (base := path_of(node.value)):
        return f"{base}.{node.attr}"
    return ""


def loaded(tree: ast.AST) -> set[str]:
    """Every name that the code reads, inside functions too."""
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


class _Visitor(ast.NodeVisitor):
    """Collects bindings of the module's own scope."""

    def __init__(self, cell: Cell):
        self.cell = cell
        self.found: list[Binding] = []
        self.loops = 0

    def _bind(self, name: str, value: ast.expr | None = None, repeats: bool = False) -> None:
        if name:
            self.found.append(Binding(name, self.cell, repeats or self.loops > 0, value))

    def visit(self, node: ast.AST) -> None:
        """Count loops, and leave scopes of their own alone except for `global`."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._bind(node.name)
        if isinstance(node, SCOPES):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Global):
                    for name in inner.names:
                        self._bind(name, repeats=True)
            return
        self.loops += isinstance(node, LOOPS)
        super().visit(node)
        self.loops -= isinstance(node, LOOPS)

    def _comprehension(self, node: ast.AST) -> None:
        """A comprehension binds its own names; only := escapes from it."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                self._bind(path_of(inner.target), repeats=True)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._targets(target, node.value)
        self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._targets(node.target, node.value)
            self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._bind(path_of(node.target), repeats=True)
        self.visit(node.value)

    def _targets(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            values: list[ast.expr | None] = [None] * len(target.elts)
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                values = list(value.elts)
            for part, its_value in zip(target.elts, values, strict=True):
                self._targets(part, its_value)
        elif isinstance(target, ast.Starred):
            self._targets(target.value, None)
        elif isinstance(target, ast.Subscript) and self._is_namespace(target.value):
            key = target.slice
            self._bind(str(key.value) if isinstance(key, ast.Constant) else EVERYTHING)
        else:
            self._bind(path_of(target), value)

    @staticmethod
    def _is_namespace(node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and path_of(node.func) in ("globals", "locals", "vars")

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):  # targets of for, with, del and :=
            self._bind(node.id)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._bind(node.name or "")
        self.generic_visit(node)

    def visit_alias(self, node: ast.alias) -> None:
        name = EVERYTHING if node.name == "*" else (node.asname or node.name.partition(".")[0])
        self.found.append(Binding(name, self.cell, self.loops > 0, None, imported=True))
