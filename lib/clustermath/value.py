"""Numbers that remember where they come from; arithmetic with them gives plain numbers."""
from __future__ import annotations

from typing import Any


class _About:
    """Meaning, unit and source of a number; shared by `Value` and `Whole`."""

    unit: str
    source: str
    meaning: str
    note: str

    def _describe(self, unit: str, source: str, meaning: str, note: str):
        self.unit, self.source, self.meaning, self.note = unit, source, meaning, note
        return self

    def __reduce__(self):
        # Pickled and copied as itself: float.__reduce__ would lose the description.
        about = (self.unit, self.source, self.meaning, self.note)
        return type(self), (self._plain(), *about)


class Value(_About, float):
    """A float with ``unit``, ``source`` (a key of the sources registry), ``meaning``, ``note``."""

    def __new__(cls, x: float, unit: str = "", source: str = "", meaning: str = "", note: str = ""):
        return super().__new__(cls, x)._describe(unit, source, meaning, note)

    def _plain(self) -> float:
        return float.__float__(self)


class Whole(_About, int):
    """An int with the same description."""

    def __new__(cls, x: int, unit: str = "", source: str = "", meaning: str = "", note: str = ""):
        return super().__new__(cls, x)._describe(unit, source, meaning, note)

    def _plain(self) -> int:
        return int(self)


def described(x: float, **about: Any) -> Value | Whole:
    """A `Whole` for an int, else a `Value`."""
    return Whole(x, **about) if isinstance(x, int) else Value(x, **about)
