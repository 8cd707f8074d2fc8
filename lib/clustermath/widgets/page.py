"""What every widget of the book shares: one script, one style sheet, one way to be displayed."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anywidget

_HERE = Path(__file__).parent


def script(*names: str, **constants: Any) -> str:
    """JavaScript files joined to one text, each constant in front of them as JSON.

    A function has one home; a widget is one module and so gets a copy. Comment lines and
    indentation are dropped, since every saved widget carries the text.
    """
    lines = [f"const {n} = {json.dumps(x, ensure_ascii=False)};" for n, x in constants.items()]
    for name in names:
        text = (_HERE / name).read_text(encoding="utf-8")
        lines += [line.strip() for line in text.splitlines()]
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def module(*names: str, **constants: Any) -> str:
    """`script` as a module whose widget is the function ``render`` of the last file."""
    return script(*names, **constants) + "\nexport default { render };\n"


def style(*names: str) -> str:
    """Style sheets joined to one text."""
    return "\n".join((_HERE / name).read_text(encoding="utf-8") for name in names)


class PageWidget(anywidget.AnyWidget):
    """A widget whose plain text says what it shows: readers without scripts and nbval see that."""

    text = ""
    # ipywidgets 7 would display by itself, cutting the text at 110 characters.
    _ipython_display_ = None

    def __repr__(self) -> str:
        return self.text

    def _html(self) -> str:
        """HTML for viewers that show no widgets; empty where the plain text says it all."""
        return ""

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict, dict]:
        data, metadata = super()._repr_mimebundle_(**kwargs)
        data["text/plain"] = self.text
        if html := self._html():
            data["text/html"] = html
        return data, metadata
