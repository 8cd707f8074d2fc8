"""Numbers typed into code: chain cells hold no numeric literal but 0, 1 and 2.

All inputs stand in the cell tagged `givens`, so that no result can be typed in and then "computed".
A number in a string counts as well: it is either shown to the reader or on its way to `float`.
"""

from __future__ import annotations

import ast
import re

from .cells import Cell
from .names import loaded, path_of
from .numerals import bare_numerals

ALLOWED = (0, 1, 2)
# Calls that make a number of a string.
CONVERTERS = {
    "int",
    "float",
    "complex",
    "Decimal",
    "Fraction",
    "fromhex",
    "literal_eval",
    "ord",
    "len",
    "hash",
    "read",
    "Value",
    "Whole",
    "given",
    "float64",
    "float32",
    "int64",
}
ASKED = {"ask", "check", "hint", "solution"}
EVALUATORS = {"eval", "exec"}
_FORMATS = re.compile(r"\{[^{}]*\}|%[-+ #0]*[0-9]*(?:\.[0-9]+)?[A-Za-z%]")


def literals(cell: Cell) -> list[str]:
    """The numbers typed into a chain cell, as they stand there."""
    visitor = _Literals()
    visitor.visit(cell.tree)
    return visitor.found


def captions(cell: Cell) -> list[str]:
    """Numbers typed into what a figure or table says of itself; f-strings carry computed ones."""
    visitor = _Literals()
    for node in ast.walk(cell.tree):
        if isinstance(node, ast.Call):
            said = [k.value for k in node.keywords if k.arg in ("alt", "caption")]
            for part in [*said, *(node.args[:1] if _last(node) == "figure" else [])]:
                visitor.visit(part)
    return visitor.found


def is_typed_in(value: ast.expr | None) -> bool:
    """Whether an expression is a number made of literals alone: 11.3 * 86400, float("3e5")."""
    if value is None:
        return False
    calls = [node for node in ast.walk(value) if isinstance(node, ast.Call)]
    converters = {path_of(call.func) for call in calls if _last(call) in CONVERTERS}
    if len(converters) < len({path_of(call.func) for call in calls}):
        return False
    if loaded(value) - {name.partition(".")[0] for name in converters}:
        return False
    return any(
        _is_number(node) or isinstance(node, ast.Constant) and isinstance(node.value, str) and calls
        for node in ast.walk(value)
    )


def _is_number(node: ast.AST) -> bool:
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool):
        return False
    return isinstance(node.value, (int, float, complex)) and node.value not in ALLOWED


def _last(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else path_of(call.func)


class _Literals(ast.NodeVisitor):
    """Walks a cell and notes each number typed into it."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def visit_Constant(self, node: ast.Constant) -> None:
        if _is_number(node):
            self.found.append(repr(node.value))
        elif isinstance(node.value, (str, bytes)):
            text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            if bare_numerals(_FORMATS.sub(" ", text)):
                self.found.append(repr(node.value)[:40])

    def visit_FormattedValue(self, node: ast.FormattedValue) -> None:
        self.visit(node.value)
        for part in node.format_spec.values if isinstance(node.format_spec, ast.JoinedStr) else ():
            if isinstance(part, ast.FormattedValue):
                self.visit(part)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """Names of entries are names: chips["A100 80 GB"]."""
        self.visit(node.value)
        if not (isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)):
            self.visit(node.slice)

    def visit_Call(self, node: ast.Call) -> None:
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        name = _last(node)
        strings = [
            n
            for a in arguments
            for n in ast.walk(a)
            if isinstance(n, ast.Constant) and isinstance(n.value, str)
        ]
        if name in EVALUATORS or (name in CONVERTERS and strings):
            self.found.append(ast.unparse(node)[:40])
        elif name in ASKED:  # the id of a question is its name
            for part in (*node.args[1:], *(k.value for k in node.keywords)):
                self.visit(part)
        elif name == "show":  # its third argument is a number of digits, not a result
            for part in (*node.args[:2], *(k.value for k in node.keywords if k.arg != "digits")):
                self.visit(part)
        elif name == "format" and isinstance(node.func, ast.Name):
            self.visit(node.args[0])
        else:
            self.generic_visit(node)

    def _definition(self, node: ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef) -> None:
        """Docstrings are not shown; the symbols in @formula(...) are LaTeX."""
        body = node.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]
        arguments = [] if isinstance(node, ast.ClassDef) else [node.args]
        for part in (*arguments, *body):
            self.visit(part)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _definition
