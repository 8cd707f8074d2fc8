"""The expression grammar of formulas: what may stand in a body, and how its names resolve.

Closed on purpose: arithmetic, comparison, a ternary, seven functions, module constants and other
formulas. Anything else raises `Unsupported` when a face is asked for, and a test asks for all.
"""
from __future__ import annotations

import ast
import inspect
import textwrap
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..formulas import Formula

FUNCTIONS = ("ceil", "floor", "sqrt", "log2", "exp", "minimum", "maximum")
OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Pow: "**"}
COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


class Unsupported(SyntaxError):
    """A formula uses what the grammar does not have."""


@lru_cache(maxsize=None)
def body(formula: "Formula") -> tuple[list[tuple[str, ast.expr]], ast.expr]:
    """The assignments (name, expression) of a formula, and the expression it returns."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(formula.fn))).body[0]
    statements = [s for s in tree.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    *assigns, last = statements
    simple = all(isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) for s in assigns)
    if not (simple and isinstance(last, ast.Return)):
        raise Unsupported(f"{formula.__name__}: a formula is `name = expression` lines and one return")
    return [(s.targets[0].id, s.value) for s in assigns], last.value


def local_names(formula: "Formula") -> set[str]:
    """Arguments and assigned names."""
    return {*formula.signature.parameters, *(name for name, _ in body(formula)[0])}


def constant(formula: "Formula", name: str) -> float:
    """The value of a module constant; Unsupported for any other global."""
    value = formula.fn.__globals__.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Unsupported(f"{formula.__name__}: {name} is neither an argument nor a constant")
    return value


def called(formula: "Formula", node: ast.Call) -> "Formula | str":
    """The formula, or the name of the grammar's function, that a call calls."""
    from ..formulas import Formula

    name = node.func.id if isinstance(node.func, ast.Name) else ""
    target = formula.fn.__globals__.get(name)
    if isinstance(target, Formula):
        return target
    if name in FUNCTIONS:
        return name
    raise Unsupported(f"{formula.__name__}: {name or ast.unparse(node.func)}() is not in the grammar")


def arguments(node: ast.Call, target: "Formula") -> dict[str, Any]:
    """The expressions of a call by parameter name; a default stands as its plain value."""
    given = dict(zip(target.signature.parameters, node.args)) | {k.arg: k.value for k in node.keywords}
    return {n: given.get(n, p.default) for n, p in target.signature.parameters.items()}


def evaluate(formula: "Formula", node: ast.expr, values: dict[str, Any]) -> Any:
    """The value of an expression of our own source with its names bound to ``values``."""
    code = compile(ast.Expression(node), f"<{formula.__name__}>", "eval")
    return eval(code, formula.fn.__globals__, values)
