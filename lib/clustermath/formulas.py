"""One formula, several faces: a plain function with checks, LaTeX, a worked chain, JavaScript.

The body of a formula is a docstring, lines ``name = expression`` and one ``return``. All faces are
read from that source (see `faces.grammar`), so they cannot drift apart from what is computed.
"""
from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, update_wrapper
from typing import Any, Callable

from . import checking
from .types import Domain
from .value import Value

_recorders: list[list[tuple["Formula", dict, Any]]] = []  # those that listen to calls, innermost last


@contextmanager
def recording() -> Iterator[list[tuple["Formula", dict, Any]]]:
    """Every formula called within it, innermost first: (formula, arguments, result)."""
    steps: list = []
    _recorders.append(steps)
    try:
        yield steps
    finally:
        _recorders.pop()


class Formula:
    """A function of annotated numbers that also typesets, explains and translates itself."""

    def __init__(self, fn: Callable, symbol: str, unit: str | None = None, source: str = "",
                 impossible: str = "", requires: str = "", **symbols: str):
        update_wrapper(self, fn)
        self.fn, self.symbol, self.symbols, self.source = fn, symbol, symbols, source
        self._unit, self._impossible, self.requires = unit, impossible, requires

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    @cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.fn)

    @cached_property
    def _annotated(self) -> dict[str, Domain]:
        return checking.domains(self.fn)

    @cached_property
    def domains(self) -> dict[str, Domain]:
        """Domain of each argument, by name."""
        return {name: self._annotated.get(name, Domain()) for name in self.signature.parameters}

    @cached_property
    def result(self) -> Domain:
        """Domain of the result, from the return annotation."""
        return self._annotated.get("return", Domain())

    @cached_property
    def unit(self) -> str:
        """Unit of the result: what the decorator says, else that of the annotation."""
        return self.result.unit if self._unit is None else self._unit

    @cached_property
    def _call(self) -> Callable:
        """The function with its checks written out: no loop over arguments on the fast path.

        Its own names begin with two underscores, so that no argument hides one.
        """
        lines = ["    __plain = True"]
        for name, domain in self.domains.items():
            condition = domain.condition(name).replace("INF", "__INF")
            lines.append(f"    if not ((type({name}) is float or type({name}) is int) and {condition}): "
                         f"__plain, {name} = False, __check('{self.__name__}: {name}', __domains['{name}'], {name})")
        names = ", ".join(self.signature.parameters)
        lines += ["    try:", f"        __y = __core({names})",
                  "    except ValueError as __error:", f"        __y = __each(__error, {names})"]
        lines.append(f"    if not __plain: __y = __spread(__y, {names})")
        record = ", ".join(f"{n!r}: {n}" for n in self.signature.parameters)
        if self._impossible:
            lines.append("    __possible(__y)")
        lines.append(f"    if __recorders: __recorders[-1].append((__formula, {{{record}}}, __y))")
        head = [p.name if p.default is p.empty else f"{p.name}=__defaults[{p.name!r}]"
                for p in self.signature.parameters.values()]
        code = f"def {self.__name__}({', '.join(head)}):\n" + "\n".join(lines) + "\n    return __y\n"
        defaults = {n: p.default for n, p in self.signature.parameters.items()}
        scope = dict(__core=self._core, __each=self._each, __spread=_spread, __check=checking.check,
                     __domains=self.domains, __recorders=_recorders, __formula=self, __possible=self._possible,
                     __defaults=defaults, __INF=sys.float_info.max)
        exec(code, scope)
        return scope[self.__name__]

    @cached_property
    def _core(self) -> Callable:
        """The plain function, after the relation between its arguments where one is required."""
        if not self.requires:
            return self.fn
        names = ", ".join(self.signature.parameters)
        code = (f"def __core({names}):\n    if not ({self.requires}): __refuse(locals())\n"
                f"    return __fn({names})\n")
        scope = dict(__fn=self.fn, __refuse=self._refuse)
        exec(code, scope)
        return scope["__core"]

    def _refuse(self, at: dict[str, Any]) -> None:
        if checking.is_relaxed():
            return
        named = [n for n in self.signature.parameters if re.search(rf"\b{n}\b", self.requires)]
        got = ", ".join(f"{n}={at[n]!r}" for n in named)
        raise ValueError(f"{self.__name__} needs {self.requires}, got {got}")

    def _each(self, error: ValueError, *values: Any) -> Any:
        """Element by element, for a branch that an array cannot take; else the error as it was."""
        if not any(getattr(v, "ndim", 0) for v in values):
            raise error
        import numpy as np

        return np.vectorize(self._core, otypes=[float])(*values)

    def _possible(self, y: Any) -> None:
        top = y.max() if hasattr(y, "max") else y
        if top > self.result.high:
            raise ValueError(f"{self.__name__} gives {top:.4g}, above {self.result.high:g}: {self._impossible}")

    def bind(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """All arguments of a call by name, defaults included."""
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    @cached_property
    def latex(self) -> str:
        """The formula in symbols, for mathematics mode."""
        from .faces.latex import symbolic

        return symbolic(self)

    def js(self) -> str:
        """JavaScript functions, this one last, with the same operations in the same order."""
        from .faces.javascript import script

        return script(self)

    def worked(self, *args: Any, **kwargs: Any) -> "Worked":
        """The result of a scalar call, shown as the chain of formulas that led to it."""
        with recording() as steps:
            value = self._call(*args, **kwargs)
        if getattr(value, "ndim", 0):
            raise TypeError(f"{self.__name__}: a worked chain takes single numbers, not arrays")
        return Worked(self, value, steps)

    def elasticity(self, wrt: str, *args: Any, **kwargs: Any) -> float:
        """d ln y / d ln ``wrt`` at a point: 1 is proportional, -1 inversely proportional.

        A central difference of 1e-4 in the logarithm. Meaningless across a ceil: use the formula
        under the ceil.
        Raises: ValueError when the argument or the result is not above zero.
        """
        at = self.bind(*args, **kwargs)
        if wrt not in at:
            raise ValueError(f"{self.__name__} has no argument {wrt!r}; it has {', '.join(at)}")
        x, h = float(at[wrt]), 1e-4
        with checking.relaxed():
            up, down = self._call(**{**at, wrt: x * (1 + h)}), self._call(**{**at, wrt: x * (1 - h)})
        if not (x > 0 and up > 0 and down > 0):
            raise ValueError(f"{self.__name__}: no elasticity where {wrt} or the result is zero or less")
        return math.log(up / down) / math.log((1 + h) / (1 - h))

    def _repr_latex_(self) -> str:
        return f"$$ {self.latex} $$"

    def __repr__(self) -> str:
        return f"{self.__name__}({', '.join(self.signature.parameters)})"


class Worked(Value):
    """A result that shows how it came about: formulas in symbols, then in numbers."""

    def __new__(cls, formula: Formula, value: float, steps: list):
        self = super().__new__(cls, value, formula.unit, formula.source, formula.__doc__.split("\n")[0])
        self.formula, self.steps = formula, _distinct(steps)
        return self

    def __reduce__(self):
        return Value, (self._plain(), self.unit, self.source, self.meaning, self.note)

    def _repr_latex_(self) -> str:
        from .faces.latex import chain

        return f"$$ {chain(self.steps)} $$"

    def __repr__(self) -> str:
        from .quantity import show

        def call(formula: Formula, at: dict) -> str:
            return ", ".join(f"{k}={show(v, formula.domains[k].unit)}" for k, v in at.items())

        return "\n".join(f"{f.__name__}({call(f, at)}) = {show(y, f.unit)}" for f, at, y in self.steps)


def _spread(y: Any, *values: Any) -> Any:
    """A result that no array entered, such as a branch not taken, in the shape of the arrays given."""
    arrays = [v for v in values if getattr(v, "ndim", 0)]
    if not arrays:
        return y
    import numpy as np

    shape = np.broadcast_shapes(np.shape(y), *map(np.shape, arrays))
    return y if np.shape(y) == shape else np.broadcast_to(y, shape).copy()


def _distinct(steps: list) -> list:
    """Steps without repetitions: a formula called twice alike is one line of the chain."""
    seen, out = set(), []
    for formula, at, y in steps:
        key = (formula.__name__, tuple(at.items()))
        if key not in seen:
            seen.add(key)
            out.append((formula, at, y))
    return out


def formula(symbol: str, *, unit: str | None = None, source: str = "", impossible: str = "",
            requires: str = "", **symbols: str) -> Callable[[Callable], Formula]:
    """Make a function a `Formula`.

    Args:
        symbol: LaTeX of the result.
        unit: unit or counted noun of the result, where the return annotation does not say it.
        source: key of the sources registry.
        impossible: why a result above the domain of the return annotation cannot be; such a
            result then raises ValueError with this text.
        requires: a relation between arguments, as a Python expression over their names; a call
            that breaks it raises ValueError.
        symbols: LaTeX of each argument and, where words will not do, of an assigned name.
    """
    return lambda fn: Formula(fn, symbol, unit, source, impossible, requires, **symbols)
