"""LaTeX from the source of a formula: in symbols, and with the numbers of a call put in."""
from __future__ import annotations

import ast
import copy
import re
from typing import TYPE_CHECKING, Any

from ..quantity import tex
from .grammar import COMPARISONS, OPERATORS, Unsupported, body, called, constant, evaluate, local_names

if TYPE_CHECKING:
    from ..formulas import Formula

_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "**": 4}
_RELATION = {"<=": r"\le", ">=": r"\ge", "==": "=", "!=": r"\ne"}
_BRACKETS = {"ceil": ("lceil", "rceil"), "floor": ("lfloor", "rfloor")}
# Units that read well inside a fraction; shares and counted nouns go in as bare numbers.
_INLINE_UNITS = ("B", "B/s", "s", "chip-s", "1/s", "FLOP", "FLOP/s", "$", "$/s")
_WIDE = 48  # characters of a row beyond which it is broken


def _number(value: Any, unit: str = "") -> str:
    return tex(value, unit if unit in _INLINE_UNITS else "")


class _Typesetter(ast.NodeVisitor):
    """``values`` None: symbols. Else a dict of numbers that replace the names."""

    def __init__(self, formula: "Formula", values: dict[str, Any] | None = None):
        self.formula, self.values, self.locals = formula, values, local_names(formula)

    def generic_visit(self, node):
        raise Unsupported(f"{self.formula.__name__}: {type(node).__name__} has no LaTeX face")

    def visit_Constant(self, node):
        return tex(node.value)

    def visit_Name(self, node):
        name = node.id
        if name not in self.locals:
            return tex(constant(self.formula, name))
        if self.values is not None:
            domain = self.formula.domains.get(name)
            return _number(self.values[name], domain.unit if domain else "")
        escaped = name.replace("_", r"\_")
        return self.formula.symbols.get(name, rf"\text{{{escaped}}}")

    def visit_UnaryOp(self, node):
        return "-" + self._wrapped(node.operand, 3)

    def _wrapped(self, node, precedence: int) -> str:
        if isinstance(node, ast.IfExp) and self.values is not None:
            node = self._taken(node)
        text = self.visit(node)
        inner = _PRECEDENCE[OPERATORS[type(node.op)]] if isinstance(node, ast.BinOp) else 9
        if isinstance(node, (ast.IfExp, ast.Compare)):
            inner = 0
        fraction = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
        return rf"\left({text}\right)" if inner < precedence and not fraction else text

    def visit_BinOp(self, node):
        operator = OPERATORS.get(type(node.op)) or self.generic_visit(node.op)
        if operator in "*/":
            return self._product(node)
        if operator == "//":
            return rf"\left\lfloor \frac{{{self.visit(node.left)}}}{{{self.visit(node.right)}}} \right\rfloor"
        if operator == "**":
            base = self._wrapped(node.left, 5)
            if isinstance(node.left, ast.BinOp) and isinstance(node.left.op, ast.Div):
                base = rf"\left({base}\right)"
            return f"{{{base}}}^{{{self.visit(node.right)}}}"
        # The right side of a minus keeps its parentheses.
        return f"{self._wrapped(node.left, 1)} {operator} {self._wrapped(node.right, 2 if operator == '-' else 1)}"

    def _product(self, node) -> str:
        """a * b / c / d * e / f reads as the fraction ab/cd times the fraction e/f."""
        factors = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
            factors.append((isinstance(node.op, ast.Div), node.right))
            node = node.left
        groups: list[tuple[list, list]] = [([node], [])]
        for divides, factor in reversed(factors):
            if not divides and groups[-1][1]:
                groups.append(([], []))
            groups[-1][divides].append(factor)
        several = len(groups) > 1
        parts = []
        for above, below in groups:
            if below:
                parts.append(rf"\frac{{{self._times(above, len(above) > 1)}}}{{{self._times(below, len(below) > 1)}}}")
            else:
                parts.append(self._times(above, several or len(above) > 1))
        return self._join(parts)

    def _times(self, nodes: list, wrap: bool) -> str:
        return self._join([self._wrapped(n, 2 if wrap else 0) for n in nodes])

    def _join(self, parts: list[str]) -> str:
        out = parts[0]
        for part in parts[1:]:
            numeric = self.values is not None or part[:1].isdigit()
            out += (r" \times " if numeric else r"\,") + part
        return out

    def visit_Compare(self, node):
        out = self.visit(node.left)
        for op, right in zip(node.ops, node.comparators):
            sign = COMPARISONS[type(op)]
            out += f" {_RELATION.get(sign, sign)} {self.visit(right)}"
        return out

    def _taken(self, node: ast.IfExp) -> ast.expr:
        """The branch that a worked line shows."""
        return node.body if evaluate(self.formula, node.test, self.values) else node.orelse

    def visit_IfExp(self, node):
        if self.values is not None:
            return self.visit(self._taken(node))
        return (rf"\begin{{cases}} {self.visit(node.body)} & {self.visit(node.test)} \\ "
                rf"{self.visit(node.orelse)} & \text{{otherwise}} \end{{cases}}")

    def visit_Call(self, node):
        target = called(self.formula, node)
        if not isinstance(target, str):  # a formula stands as its symbol, or as its value
            if self.values is None:
                return target.symbol
            return _number(evaluate(self.formula, node, self.values), target.unit)
        inside = ", ".join(map(self.visit, node.args))
        if target in _BRACKETS:
            left, right = _BRACKETS[target]
            return rf"\left\{left} {inside} \right\{right}"
        if target == "sqrt":
            return rf"\sqrt{{{inside}}}"
        if target == "exp":
            return f"e^{{{inside}}}"
        name = {"log2": r"\log_2", "minimum": r"\min", "maximum": r"\max"}[target]
        return rf"{name}\left({inside}\right)"


def symbolic(formula: "Formula") -> str:
    """The formula in symbols; assigned names get rows of their own."""
    setter = _Typesetter(formula)
    assigns, result = body(formula)
    rows = [f"{setter.visit(ast.Name(name))} &= {setter.visit(node)}" for name, node in assigns]
    rows.append(f"{formula.symbol} &= {setter.visit(result)}")
    return r"\begin{aligned}" + r" \\ ".join(rows) + r"\end{aligned}"


_FRACTION = re.compile(r"\\frac\{((?:[^{}]|\{[^{}]*\})*)\}\{((?:[^{}]|\{[^{}]*\})*)\}")


def _width(latex: str) -> int:
    """Rough width in characters; of a fraction the wider half counts."""
    latex = _FRACTION.sub(lambda m: max(m[1], m[2], key=_width), latex)
    latex = re.sub(r"\\(left|right|text|mathbf|mathrm)|[{}]", "", latex)
    return len(re.sub(r"\\[a-zA-Z]+", "x", latex).replace(" ", ""))


def _row(name: str, symbols: str, numbers: str, result: str) -> str:
    if symbols == numbers and result == rf"\mathbf{{{numbers}}}":
        return f"{name} &= {result}"
    if symbols in (numbers, result) or numbers == result:
        return f"{name} &= {result if symbols == result else f'{symbols} = {result}'}"
    if _width(symbols + numbers + result) <= _WIDE:
        return f"{name} &= {symbols} = {numbers} = {result}"
    gap = " = " if _width(numbers + result) <= _WIDE else r" \\ &= "
    return rf"{name} &= {symbols} \\ &= {numbers}{gap}{result}"


def _same(left: ast.expr, right: ast.expr) -> bool:
    return isinstance(left, ast.Constant) and isinstance(right, ast.Constant) and left.value == right.value


class _Simplifier(ast.NodeTransformer):
    """What a worked line need not say: branches not taken, and arguments left at a neutral default."""

    def __init__(self, formula: "Formula", values: dict[str, Any]):
        self.formula, self.values = formula, values
        defaults = {n: p.default for n, p in formula.signature.parameters.items()}
        self.neutral = {n for n, d in defaults.items() if d in (0, 1) and values[n] == d}

    def visit_IfExp(self, node):
        taken = evaluate(self.formula, node.test, self.values)
        return self.visit(node.body if taken else node.orelse)

    def visit_Name(self, node):
        return ast.Constant(self.values[node.id]) if node.id in self.neutral else node

    def visit_Call(self, node):
        return node  # a callee has a line of its own

    def visit_BinOp(self, node):
        before = node.left, node.right
        left, right = self.visit(node.left), self.visit(node.right)
        # Only what was simplified vanishes: a literal 1 in the source stays.
        new = [n for n, old in zip((left, right), before) if isinstance(n, ast.Constant) and n is not old]
        zero, one = [n for n in new if n.value == 0], [n for n in new if n.value == 1]
        if isinstance(node.op, (ast.Add, ast.Sub)) and right in zero:
            return left
        if isinstance(node.op, ast.Add) and left in zero:
            return right
        if isinstance(node.op, ast.Mult) and zero or isinstance(node.op, ast.Div) and left in zero:
            return ast.Constant(0)
        if isinstance(node.op, ast.Sub) and new and _same(left, right):
            return ast.Constant(0)
        if isinstance(node.op, (ast.Mult, ast.Div)) and right in one:
            return left
        if isinstance(node.op, ast.Mult) and left in one:
            return right
        return ast.copy_location(ast.BinOp(left, node.op, right), node)


def _rows(formula: "Formula", at: dict[str, Any], y: Any) -> list[str]:
    values = dict(at)
    symbols, numbers = _Typesetter(formula), _Typesetter(formula, values)
    simplify = _Simplifier(formula, values).visit
    assigns, result = body(formula)
    rows = []
    for name, node in assigns:
        node = ast.fix_missing_locations(simplify(copy.deepcopy(node)))
        values[name] = evaluate(formula, node, values)
        rows.append(_row(symbols.visit(ast.Name(name)), symbols.visit(node), numbers.visit(node), tex(values[name])))
    result = simplify(copy.deepcopy(result))  # its branches may depend on the names above
    answer = rf"\mathbf{{{tex(y, formula.unit)}}}"
    rows.append(_row(formula.symbol, symbols.visit(result), numbers.visit(result), answer))
    return rows


def chain(steps: list) -> str:
    """Recorded calls, innermost first, each in symbols, in numbers, with its result."""
    rows = [row for formula, at, y in steps for row in _rows(formula, at, y)]
    return r"\begin{aligned}" + r" \\[4pt] ".join(rows) + r"\end{aligned}"
