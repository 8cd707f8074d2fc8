"""JavaScript from the source of a formula: the same IEEE operations in the same order."""
from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING

from .grammar import COMPARISONS, OPERATORS, Unsupported, arguments, body, called, constant, local_names

if TYPE_CHECKING:
    from ..formulas import Formula

# Twins of clustermath.ops. Math.log2 is exact for powers of two, as math.log2 is.
PRELUDE = """\
const floor = Math.floor;
const ceil = (x) => (x - floor(x) <= 1e-9 * Math.abs(x) ? floor(x) : floor(x) + 1);
const sqrt = Math.sqrt, log2 = Math.log2, exp = Math.exp;
const minimum = Math.min, maximum = Math.max;
"""


def _literal(x: float) -> str:
    return "Infinity" if x == math.inf else repr(x)


# Names that Python allows and JavaScript keeps for itself.
RESERVED = frozenset("""
    arguments await break case catch class const continue debugger default delete do else enum eval export extends
    false finally for function if implements import in instanceof interface let new null package private protected
    public return static super switch this throw true try typeof undefined var void while with yield
""".split())


class _Translator(ast.NodeVisitor):
    def __init__(self, formula: "Formula"):
        self.formula, self.locals, self.dependencies = formula, local_names(formula), []

    def generic_visit(self, node):
        raise Unsupported(f"{self.formula.__name__}: {type(node).__name__} has no JavaScript face")

    def visit_Constant(self, node):
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
            raise Unsupported(f"{self.formula.__name__}: the literal {node.value!r} is no number")
        return repr(node.value)

    def visit_Name(self, node):
        return node.id if node.id in self.locals else _literal(float(constant(self.formula, node.id)))

    def visit_UnaryOp(self, node):
        if not isinstance(node.op, ast.USub):
            self.generic_visit(node)
        return f"(-{self.visit(node.operand)})"

    def visit_BinOp(self, node):
        operator = OPERATORS.get(type(node.op)) or self.generic_visit(node.op)
        left, right = self.visit(node.left), self.visit(node.right)
        return f"Math.floor({left} / {right})" if operator == "//" else f"({left} {operator} {right})"

    def visit_Compare(self, node):
        sides = [self.visit(n) for n in (node.left, *node.comparators)]
        tests = zip(sides, (COMPARISONS[type(op)] for op in node.ops), sides[1:])
        return "(" + " && ".join(" ".join(test) for test in tests) + ")"

    def visit_IfExp(self, node):
        return f"({self.visit(node.test)} ? {self.visit(node.body)} : {self.visit(node.orelse)})"

    def visit_Call(self, node):
        target = called(self.formula, node)
        if isinstance(target, str):
            return f"{target}({', '.join(map(self.visit, node.args))})"
        self.dependencies.append(target)
        values = arguments(node, target).values()
        return f"{target.__name__}({', '.join(self.visit(v) if isinstance(v, ast.AST) else repr(v) for v in values)})"


def functions(formula: "Formula", done: dict[str, str] | None = None) -> dict[str, str]:
    """Name to JavaScript function, of the formula and all that it calls, callees first."""
    done = {} if done is None else done
    translator = _Translator(formula)
    taken = RESERVED & translator.locals
    if taken:
        raise Unsupported(f"{formula.__name__}: {min(taken)} is a word of JavaScript; take another name")
    assigns, result = body(formula)
    lines = [f"  const {name} = {translator.visit(node)};" for name, node in assigns]
    lines.append(f"  return {translator.visit(result)};")
    for callee in translator.dependencies:
        if callee.__name__ not in done:
            functions(callee, done)
    head = f"function {formula.__name__}({', '.join(formula.signature.parameters)})"
    done[formula.__name__] = head + " {\n" + "\n".join(lines) + "\n}"
    return done


def script(*formulas: "Formula") -> str:
    """The prelude and every function that the formulas need, each once."""
    done: dict[str, str] = {}
    for formula in formulas:
        functions(formula, done)
    return PRELUDE + "\n".join(done.values())
