"""The inputs of a chapter: numbers with a meaning, and a source or the word "assumption"."""
from __future__ import annotations

from typing import Any

from .checking import check
from .quantity import show
from .registry import sources
from .tables import Table
from .types import Domain
from .value import Value, Whole, _About, described

ASSUMPTION = "assumption"


def given(value: float, kind: Any, meaning: str, source: str = "", assumption: str = "") -> Value | Whole:
    """An input of a chapter.

    Args:
        value: number in base units; a registry value keeps its source.
        kind: a type of `types`, for unit and domain.
        meaning: what it is, in a few words, for the table of givens.
        source: key of the sources registry.
        assumption: instead of a source: why this value.
    Returns: the number, which knows all this.
    Raises: ValueError outside the domain, or without source and assumption; KeyError for an
        unknown source.
    """
    domain: Domain = kind.__metadata__[0]
    source = source or ("" if assumption else getattr(value, "source", ""))
    plain = check(meaning, domain, value)
    if not (source or assumption):
        raise ValueError(f"the given {meaning!r} needs a source or an assumption")
    if source:
        sources[source]
    return described(plain, unit=domain.unit, source=source, meaning=meaning,
                     note=assumption or getattr(value, "note", ""))


def givens(namespace: dict[str, Any]) -> Table:
    """The table of all givens bound in a namespace, in their order; call it as ``givens(globals())``."""
    rows = []
    for name, value in namespace.items():
        if isinstance(value, _About) and not name.startswith("_") and value.meaning and not hasattr(value, "steps"):
            origin = sources[value.source].short if value.source else f"{ASSUMPTION}: {value.note}"
            rows.append((f"`{name}`", value.meaning, show(value, value.unit), origin))
    return Table(rows, ("name", "meaning", "value", "source"))
