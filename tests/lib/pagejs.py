"""The page's own JavaScript in an engine, to compare it with Python. Values travel as JSON."""
from __future__ import annotations

import json
from typing import Any

import quickjs

from clustermath.widgets import explorer, question
from clustermath.widgets.page import script

ATTEMPT = """
function attempt(f, args) {
  try { return { value: f(...args) ?? null }; }
  catch (error) {
    if (error.constructor.name !== "Unreadable") throw error;
    return { refused: error.message };
  }
}
"""


class Page:
    """Functions of the widgets' scripts by name."""

    def __init__(self, *files: str, **constants: Any):
        self._context = quickjs.Context()
        self._context.eval(script(*files, **constants) + ATTEMPT)

    def call(self, name: str, *args: Any) -> Any:
        """The function's value; `Refused` with its message when it throws Unreadable."""
        answer, = self.calls(name, [args])
        if isinstance(answer, Refused):
            raise answer
        return answer

    def calls(self, name: str, rows: list) -> list:
        """The values for many rows of arguments; a `Refused` stands where one was refused."""
        sent = json.dumps(rows)
        found = self._context.eval(f"JSON.stringify({sent}.map((row) => attempt({name}, row)))")
        answers = json.loads(found, parse_int=float)
        return [Refused(a["refused"]) if "refused" in a else a["value"] for a in answers]


class Refused(ValueError):
    """What the page's reader refuses."""


def question_page() -> Page:
    """All that a question form computes with."""
    return Page(*(f for f in question.FILES if f != "question.js"), **question.CONSTANTS)


def explorer_page() -> Page:
    """All that an explorer computes with."""
    return Page(*explorer.FILES, TABLES=question.CONSTANTS["TABLES"])
