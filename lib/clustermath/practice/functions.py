"""Checks a learner's function on hidden cases and names the first property that fails.

A message says which property, never which value was expected.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable

from .grading import Mark


class Stumble(Exception):
    """What a learner's function did instead of returning a fit value, in words."""


class NotWritten(Exception):
    """The function is still its stub."""


@dataclass(frozen=True)
class Case:
    """A property in words, and a test of it: true, false, or a `Stumble` on the way."""

    words: str
    test: Callable[[Callable], bool]


def gives(words: str, expected: Callable, *args: Any, **kwargs: Any) -> Case:
    """The function returns what the library's function ``expected`` returns for these arguments."""

    def test(function: Callable) -> bool:
        return _same(function(*args, **kwargs), expected(*args, **kwargs))

    return Case(words, test)


def refuses(words: str, *args: Any, error: type[Exception] | tuple = (ValueError, TypeError),
            **kwargs: Any) -> Case:
    """The function raises ``error`` for these arguments."""

    def test(function: Callable) -> bool:
        try:
            result = function.plain(*args, **kwargs)
        except error:
            return True
        except Exception as other:
            raise Stumble(f"it should be refused with {_names(error)}, your function raised "
                          f"{type(other).__name__}") from None
        if result is ...:
            raise NotWritten
        raise Stumble(f"it should be refused with {_names(error)}, your function returned a value")

    return Case(words, test)


def holds(words: str, test: Callable[[Callable], bool]) -> Case:
    """A property of the function: ``test`` calls it and compares what it gives."""
    return Case(words, test)


def _names(error: type[Exception] | tuple) -> str:
    kinds = error if isinstance(error, tuple) else (error,)
    return " or ".join(kind.__name__ for kind in kinds)


def _same(got: Any, expected: Any) -> bool:
    """Equal up to rounding; an array has to have the same shape."""
    import numpy as np

    if got is None or expected is None:
        return got is expected
    wanted = np.asarray(expected, dtype=float)
    try:
        found = np.asarray(got, dtype=None if isinstance(got, (str, bytes)) else float) + 0.0
    except (TypeError, ValueError):  # NumPy would read the text "6" as a number
        raise Stumble(f"your function returned {_kind(got)}, not a number") from None
    if found.shape != wanted.shape:
        raise Stumble(f"your function returned {_kind(got)}, not {_kind(expected)}")
    return bool(np.all(np.abs(found - wanted) <= 1e-9 * np.maximum(np.abs(wanted), 1e-300)))


def _kind(value: Any) -> str:
    if value is None:
        return "nothing; is a return missing?"
    if getattr(value, "shape", ()):
        return f"an array of shape {value.shape}"
    return {float: "a number", int: "a number"}.get(type(value), f"a {type(value).__name__}")


class _Guarded:
    """The learner's function; what it raises becomes a `Stumble`."""

    def __init__(self, function: Callable):
        self.plain = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            result = self.plain(*args, **kwargs)
        except NotImplementedError:
            raise NotWritten from None
        except (Exception, SystemExit) as error:
            raise Stumble(f"your function raised {type(error).__name__}") from None
        if result is ...:
            raise NotWritten
        if _has_nan(result):
            raise Stumble("your function returned not-a-number (NaN)")
        return result


def _has_nan(result: Any) -> bool:
    try:
        return bool((result != result).any()) if hasattr(result, "shape") else result != result
    except Exception:  # an object with comparisons of its own: the case decides
        return False


def mark_function(function: Callable, cases: tuple[Case, ...]) -> Mark:
    """``right``, ``wrong`` with the first property that fails, or ``unread`` for a stub."""
    guarded = _Guarded(function)
    for case in cases:
        try:
            passed, how = case.test(guarded), ""
        except NotWritten:
            return Mark("unread", "Not attempted yet: the function still returns its stub.")
        except Stumble as stumble:
            passed, how = False, f": {stumble}"
        except Exception:  # the test compared what cannot be compared, such as None with a number
            passed, how = False, ": your function returned something that is no number"
        if not passed:
            return Mark("wrong", f"Not yet. This should hold: {case.words}{how}.")
    return Mark("right", f"Right: all {len(cases)} properties hold.")


def is_number(value: Any) -> bool:
    """A finite number, for tests of properties."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
