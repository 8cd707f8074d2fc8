"""Tables of computed numbers: HTML for the page, aligned text for terminals and for nbval."""
from __future__ import annotations

import html
import re
from typing import Any, Iterable, Sequence

from .quantity import show


def _text(cell: Any) -> str:
    """Text as it is; a number with unit as `show` prints it; a plain number to four figures."""
    if isinstance(cell, str):
        return cell
    return show(cell, getattr(cell, "unit", ""))


_NUMERIC = re.compile(r"^[+\-−×$~]?\s?[\d.,]+(e-?\d+)?\s?(%|×|[A-Za-zµ/ ]{0,24})$")


_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])+)\]\((https?://[^)\s]+)\)")  # brackets may stand inside the words


def _markup(text: str) -> str:
    """Escaped, with `code` spans and [words](address) links set."""
    out = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))
    return _LINK.sub(r'<a href="\2">\1</a>', out)


def _plain(text: str) -> str:
    return _LINK.sub(r"\1", text).replace("`", "")


class Table:
    """Rows under column heads.

    Args:
        rows: one sequence a row; a cell is text, or a number that is printed with its unit.
        columns: heads.
        caption: one sentence above the table; empty for none.
    Raises: ValueError when a row and the heads differ in length.
    """

    def __init__(self, rows: Iterable[Sequence[Any]], columns: Sequence[str], caption: str = ""):
        self.columns, self.caption = tuple(columns), caption
        self.rows = [tuple(_text(cell) for cell in row) for row in rows]
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a table row has {len(row)} cells under {len(self.columns)} heads: {row}")

    def _numeric(self, column: int) -> bool:
        cells = [row[column] for row in self.rows if row[column]]
        return bool(cells) and sum(bool(_NUMERIC.match(c)) for c in cells) * 2 > len(cells)

    def _repr_html_(self) -> str:
        kinds = [' class="number"' if self._numeric(i) else "" for i in range(len(self.columns))]
        head = "".join(f'<th scope="col"{k}>{_markup(c)}</th>' for k, c in zip(kinds, self.columns))
        body = "\n".join("<tr>" + "".join(f"<td{k}>{_markup(c)}</td>" for k, c in zip(kinds, row)) + "</tr>"
                         for row in self.rows)
        caption = f"<caption>{_markup(self.caption)}</caption>\n" if self.caption else ""
        return f'<table class="figures">\n{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>'

    def __repr__(self) -> str:
        lines = [tuple(map(_plain, row)) for row in (self.columns, *self.rows)]
        widths = [max(len(row[i]) for row in lines) for i in range(len(self.columns))]
        right = [self._numeric(i) for i in range(len(self.columns))]
        text = ["  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right)).rstrip() for row in lines]
        return "\n".join([self.caption, *text] if self.caption else text)


def references(*keys: str) -> Table:
    """The sources of a chapter, rendered from the sources registry, in the order given."""
    from .registry import sources

    rows = []
    for key in keys:
        s = sources[key]
        rows.append((s.authors, f"[{s.title}]({s.address})", str(s.fields.get("year", "")), s.fields.get("identifier", "")))
    return Table(rows, ("authors", "title", "year", "identifier"))
