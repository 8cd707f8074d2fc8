"""What `check`, `hint` and `solution` show: text, with mathematics where the front end can."""
from __future__ import annotations

import re


class Note:
    """Paragraphs of plain text, some of them formulas in LaTeX with a plain-text twin.

    ``verdict`` is ``right``, ``wrong``, ``unread`` or empty when nothing was marked.
    """

    def __init__(self, *paragraphs: str | "Mathematics", verdict: str = ""):
        self.paragraphs, self.verdict = paragraphs, verdict

    @property
    def right(self) -> bool:
        """Whether an answer was marked and is right."""
        return self.verdict == "right"

    def __repr__(self) -> str:
        return "\n".join(str(p) for p in self.paragraphs)

    def _repr_markdown_(self) -> str:
        return "\n\n".join(_markdown(p) for p in self.paragraphs)


class Mathematics:
    """A worked chain: LaTeX for those who can set it, lines of text for the rest."""

    def __init__(self, latex: str, text: str):
        self.latex, self.text = latex, text

    def __str__(self) -> str:
        return self.text


def _markdown(paragraph: str | Mathematics) -> str:
    """A paragraph for a Markdown cell, where a bare dollar would begin a formula; code stays."""
    if isinstance(paragraph, Mathematics):
        return f"$$ {paragraph.latex} $$"
    if paragraph.startswith("```"):
        return paragraph
    parts = re.split(r"(`[^`]*`)", paragraph)
    return "".join(p if p.startswith("`") else re.sub(r"([$*_\\])", r"\\\1", p) for p in parts)
