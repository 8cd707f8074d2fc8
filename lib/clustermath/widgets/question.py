"""A question as a form in the page: it marks, hints and explains without kernel or network."""
from __future__ import annotations

from typing import Any

import traitlets

from ..practice import form, mistakes
from ..practice.drawn import Drawn
from .page import PageWidget, module, style
from .reading import tables

_MISTAKES = {"factors": mistakes.FACTORS, "binary": mistakes.BINARY,
             "binaryWithin": mistakes.BINARY_WITHIN, "binaryKinds": mistakes.BINARY_KINDS,
             "distances": mistakes.DISTANCES, "farthest": mistakes.FARTHEST, "says": mistakes.SAYS,
             "kinds": mistakes.KINDS, "filler": mistakes.FILLER}
FILES = ("quantity.js", "reading_units.js", "reading.js", "grading.js", "page.js", "question.js")
CONSTANTS: dict[str, Any] = {"TABLES": tables(), "MISTAKES": _MISTAKES}


class QuestionForm(PageWidget):
    """The form of one question; `ask` makes it."""

    _esm = module(*FILES, **CONSTANTS)
    _css = style("page.css", "question.css")
    spec = traitlets.Dict().tag(sync=True)

    def __init__(self, drawn: Drawn, seed: int | None = None):
        self.text = form.text(drawn)
        self._static = form.static_html(drawn)
        super().__init__(spec=form.specification(drawn.question, seed))

    def _html(self) -> str:
        return self._static
