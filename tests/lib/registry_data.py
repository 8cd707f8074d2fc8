"""The registries as plain data, read without the library: so that a test can change a copy."""

from __future__ import annotations

import copy
import tomllib
from functools import cache
from pathlib import Path

DATA = Path(__file__).parents[2] / "lib" / "clustermath" / "data"
KINDS = sorted(p.stem for p in DATA.iterdir())


def files(kind: str) -> list[Path]:
    """The files of one registry."""
    folder = DATA / kind
    return sorted(folder.glob("*.toml")) if folder.is_dir() else [DATA / f"{kind}.toml"]


@cache
def _content(kind: str) -> tuple[dict, dict]:
    fields, entries = {}, {}
    for file in files(kind):
        content = tomllib.loads(file.read_text("utf8"))
        fields |= content.get("fields", {})
        entries |= content.get("entries", {})
    return fields, entries


def fields(kind: str) -> dict[str, dict]:
    """Unit and meaning of each column."""
    return _content(kind)[0]


def entries(kind: str) -> dict[str, dict]:
    """A copy of the entries, to read or to spoil."""
    return copy.deepcopy(_content(kind)[1])


def number(cell: object) -> float | None:
    """The figure in a cell; None for text and flags."""
    value = cell["value"] if isinstance(cell, dict) else cell
    return None if isinstance(value, bool) or not isinstance(value, (int, float)) else value


def note(cell: object) -> str:
    return cell.get("note", "") if isinstance(cell, dict) else ""


def numbers(table: dict) -> dict[str, float]:
    """All figures of an entry by column."""
    return {key: value for key, cell in table.items() if (value := number(cell)) is not None}


def change(table: dict, key: str, factor: float) -> None:
    """Multiply one figure of an entry, in place."""
    if isinstance(table[key], dict):
        table[key]["value"] *= factor
    else:
        table[key] *= factor
