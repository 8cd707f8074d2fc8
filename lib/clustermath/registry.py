"""Published figures as data: TOML, one table an entry, a source for each.

A registry is one file, or a folder of files that are read as one.
``[fields]`` gives unit and meaning of each column, once (in a folder: in any of its files), and
``[entries."Name"]`` tables hold the figures.
A field is a number, or ``{value, source, note}`` where it departs from the entry's own source.
"""
from __future__ import annotations

import difflib
import tomllib
from functools import cached_property
from importlib import resources
from typing import Any, Iterator

from .value import described


def _near(kind: str, name: str, names: dict[str, str]) -> KeyError:
    """The error for an unknown name; ``names`` leads from names and aliases in lower case to names."""
    close = [names[m] for m in difflib.get_close_matches(name.lower(), names, n=3)]
    inside = [known for low, known in names.items() if name.lower() in low or low in name.lower()]
    near = list(dict.fromkeys(close + inside))[:4]
    hint = f"near: {', '.join(near)}" if near else f"known: {', '.join(dict.fromkeys(names.values()))}"
    return KeyError(f"no {kind} named {name!r}; {hint}")


class Entry:
    """One entry; its fields are attributes, numbers among them know unit and source."""

    def __init__(self, registry: str, name: str, fields: dict[str, dict], table: dict[str, Any]):
        self.registry, self.name = registry, name
        self._fields: dict[str, Any] = {}
        for key, raw in table.items():
            self._fields[key] = self._read(key, raw, fields, table)

    def _read(self, key: str, raw: Any, fields: dict[str, dict], table: dict[str, Any]) -> Any:
        cell = raw if isinstance(raw, dict) else {"value": raw}
        value = cell["value"]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return value
        if key not in fields:
            raise ValueError(f"{self.registry}.toml: field {key!r} of {self.name} has no unit; add it to [fields]")
        source = cell.get("source") or table.get("source")
        if not source:
            raise ValueError(f"{self.registry}.toml: {key} of {self.name} has no source; add `source = \"key\"`")
        about = fields[key]
        return described(value, unit=about["unit"], source=source, meaning=about["meaning"], note=cell.get("note", ""))

    def __getattr__(self, key: str) -> Any:
        fields = self.__dict__.get("_fields", {})
        if key in fields:
            return fields[key]
        raise AttributeError(f"{self.registry} {self.name!r} has no {key!r}; it has {', '.join(fields)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    @property
    def fields(self) -> dict[str, Any]:
        """All fields by name."""
        return dict(self._fields)

    def __repr__(self) -> str:
        return f"<{self.registry}: {self.name}>"


class Registry:
    """The entries of one file, read when first asked for; names and their aliases are keys."""

    entry = Entry

    def __init__(self, kind: str):
        self.kind = kind

    @cached_property
    def _entries(self) -> dict[str, Entry]:
        data = resources.files(__package__) / "data"
        folder = data / self.kind
        files = sorted(folder.iterdir(), key=str) if folder.is_dir() else [data / f"{self.kind}.toml"]
        contents = {file.name: tomllib.loads(file.read_text("utf8")) for file in files}
        fields = {k: v for content in contents.values() for k, v in content.get("fields", {}).items()}
        found: dict[str, Entry] = {}
        for file, content in contents.items():
            for name, table in content.get("entries", {}).items():
                if name in found:
                    raise ValueError(f"{file}: {name} is already in the {self.kind} registry; keep one")
                found[name] = self.entry(self.kind, name, fields, table)
        return found

    @cached_property
    def _aliases(self) -> dict[str, str]:
        names = {n.lower(): n for n in self._entries}
        for name, entry in self._entries.items():
            for alias in entry.fields.get("aliases", ()):
                names.setdefault(alias.lower(), name)
        return names

    def __getitem__(self, name: str) -> Entry:
        found = self._aliases.get(str(name).lower())
        if found is None:
            raise _near(self.kind.rstrip("s"), str(name), self._aliases)
        return self._entries[found]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: str) -> bool:
        return str(name).lower() in self._aliases

    def __repr__(self) -> str:
        return f"<{self.kind}: {', '.join(self._entries)}>"


class Source(Entry):
    """A publication: authors, title, year, identifier, address."""

    def _read(self, key: str, raw: Any, fields: dict[str, dict], table: dict[str, Any]) -> Any:
        return raw  # years are no quantities

    @property
    def reference(self) -> str:
        """One line of plain text: authors, title, year, identifier."""
        f = self._fields
        parts = (f["authors"], f["title"], str(f["year"]) if "year" in f else "", f.get("identifier", ""))
        return ", ".join(p for p in parts if p)


class Sources(Registry):
    entry = Source


checkpoints = Registry("checkpoints")
chips = Registry("chips")
corpora = Registry("corpora")
failures = Registry("failures")
footprints = Registry("footprints")
gains = Registry("gains")
ledgers = Registry("ledgers")
links = Registry("links")
pools = Registry("pools")
prices = Registry("prices")
runs = Registry("runs")
serving = Registry("serving")
signals = Registry("signals")
tiers = Registry("tiers")
tools = Registry("tools")
sources = Sources("sources")
