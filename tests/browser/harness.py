"""Static pages around single widgets: what a widget does must not depend on the built book."""
from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

RUNTIME = (Path(__file__).parents[2] / "book" / "static" / "widgets.js").read_text(encoding="utf8")
KINDS = "application/vnd.jupyter.widget-"

# The colours that the theme sets, light and dark.
LIGHT = {"text-base": "#222832", "text-muted": "#48566b", "border": "#d1d5da", "background": "#fff",
         "surface": "#f3f4f5", "primary": "#0a7d91", "success": "#00843f", "danger": "#d72d47"}
DARK = {"text-base": "#ced6dd", "text-muted": "#9ca4af", "border": "#48566b",
        "background": "#14181e",
        "surface": "#222832", "primary": "#3fb1c5", "success": "#5fb488", "danger": "#e78894"}


def page(*widgets: Any, dark: bool = False) -> str:
    """A page that shows the widgets one under the other, by the book's own runtime."""
    state = {w.model_id: {"state": _state(w)} for w in widgets}
    views = "".join(
        f'<div class="cell_output">{_script("view", {"model_id": w.model_id})}'
        f'<pre class="twin">{html.escape(repr(w))}</pre></div>' for w in widgets)
    colours = "".join(f"--pst-color-{name}:{value};" for name,
                      value in (DARK if dark else LIGHT).items())
    scheme = "dark" if dark else "light"
    style = (f":root{{color-scheme:{scheme};{colours}}} .replaced{{display:none}}"
             "body{margin:1rem;background:var(--pst-color-background);"
             "color:var(--pst-color-text-base);font:16px system-ui,sans-serif}")
    head = ('<meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width,initial-scale=1">')
    return (f'<!doctype html><html lang="en">{head}<style>{style}</style><body>{views}'
            f"{_script('state', {'state': state})}<script>{RUNTIME}</script>")


def _state(widget: Any) -> dict:
    return {k: v for k, v in widget.get_state().items() if k in ("_esm", "_css", "spec", "values")}


def _script(kind: str, data: dict) -> str:
    text = json.dumps(data).replace("</", "<\\/")
    return f'<script type="{KINDS}{kind}+json">{text}</script>'


def save(folder: Path, *widgets: Any, dark: bool = False) -> str:
    """The address of such a page in a folder."""
    file = folder / "page.html"
    file.write_text(page(*widgets, dark=dark), encoding="utf8")
    return file.as_uri()
