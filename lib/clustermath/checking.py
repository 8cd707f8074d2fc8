"""Arguments against the domains of their annotations, for formulas and plain functions alike."""
from __future__ import annotations

import functools
import inspect
import sys
import typing
from contextlib import contextmanager
from numbers import Real
from typing import Any, Callable

from .types import Domain
from .value import _About

_relaxed = False  # elasticities step off whole numbers and over the edge of a domain


@contextmanager
def relaxed():
    """Within it, numbers outside their domain pass; `Formula.elasticity` needs this."""
    global _relaxed
    _relaxed, before = True, _relaxed
    try:
        yield
    finally:
        _relaxed = before


def is_relaxed() -> bool:
    """Whether numbers outside their domain pass at the moment."""
    return _relaxed


def _refuse(where: str, domain: Domain, value: Any) -> ValueError:
    advice = f"; {domain.advice}" if domain.advice else ""
    return ValueError(f"{where} must be {domain}, got {value!r}{advice}")


def _first_bad(domain: Domain, array: Any) -> float:
    return next(x for x in array.flat if not _inside(domain, float(x)))


@functools.cache
def _test(domain: Domain) -> Callable[[float], bool]:
    return eval(f"lambda x: {domain.condition('x')}", {"INF": sys.float_info.max})


def _inside(domain: Domain, value: float) -> bool:
    return _test(domain)(value)


def _check_array(where: str, domain: Domain, array: Any) -> Any:

    if domain.choices:
        raise TypeError(f"{where} must be one number ({domain}), not an array")
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{where} must be an array of numbers, got dtype {array.dtype}")
    if array.size == 0:
        raise ValueError(f"{where} is an empty array; pass at least one number")
    array = array.astype(float, copy=False)  # float64: integer arrays must not wrap around
    high = min(domain.high, sys.float_info.max)
    low, top = array.min(), array.max()  # NaN if any element is: then no comparison holds
    inside = (low > domain.low if domain.low_open else low >= domain.low) and (
        top < high if domain.high_open else top <= high)
    if not inside or (domain.whole and (array % 1).any()):
        raise _refuse(where, domain, float(_first_bad(domain, array)))
    return array


def check(where: str, domain: Domain, value: Any) -> Any:
    """``value`` as a plain number or float array inside ``domain``; the careful, slow path.

    Raises: TypeError for what is no number; ValueError for a number outside the domain.
    """
    if isinstance(value, _About):
        value = value._plain()
    kind = type(value)
    if kind.__module__ == "numpy":
        if getattr(value, "ndim", 0):
            return _check_array(where, domain, value)
        value = value.item()
        kind = type(value)
    if kind is bool or not isinstance(value, (int, float)):
        raise TypeError(f"{where} must be {domain}, got {value!r} ({kind.__name__})")
    if not (_relaxed or _inside(domain, value)):
        raise _refuse(where, domain, value)
    return value


def check_all(where: str, kind: Any, values: Any) -> Any:
    """A sequence as a new flat array of floats, each of a type of `types`; at least one.

    Raises: as `check` does.
    """
    import numpy as np

    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise TypeError(f"{where} must be a sequence of numbers, got {values!r}")
    if not isinstance(values, np.ndarray):
        values = list(values)
        for value in values:
            if isinstance(value, bool) or not isinstance(value, Real):
                raise TypeError(f"{where} must be a sequence of numbers, but holds {value!r}")
        values = np.array(values, dtype=float)
    if values.ndim != 1:
        raise TypeError(f"{where} must be a flat sequence, got {values.ndim} dimensions")
    return _check_array(where, kind.__metadata__[0], values).copy()


def domains(fn: Callable) -> dict[str, Domain]:
    """Domains of the annotated arguments of a function, and of its ``return``."""
    hints = typing.get_type_hints(fn, include_extras=True)
    found = {n: [m for m in getattr(h, "__metadata__", ()) if isinstance(m, Domain)] for n, h in hints.items()}
    return {name: marks[0] for name, marks in found.items() if marks}


def checked(fn: Callable) -> Callable:
    """Check the annotated arguments of a plain function, each one number; defaults stay unchecked.

    Raises: what `check` raises, when the function is called.
    """
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        for name, domain in call.domains().items():
            if name in bound.arguments:
                value = check(f"{fn.__name__}: {name}", domain, bound.arguments[name])
                if getattr(value, "ndim", 0):
                    raise TypeError(f"{fn.__name__}: {name} must be one number ({domain}), "
                                    "not an array")
                bound.arguments[name] = value
        return fn(*bound.args, **bound.kwargs)

    call.domains = functools.cache(lambda: {n: d for n, d in domains(fn).items() if n != "return"})
    return call
