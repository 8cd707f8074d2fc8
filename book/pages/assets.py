"""Styles, scripts and vendored files: all from the site itself, and only what a page uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

BOOK = Path(__file__).parent.parent
STYLES = ("tokens.css", "page.css", "content.css", "cells.css", "print.css")
SCRIPTS = ("numbers.js", "print.js")
# The search fetches each page it has found for an excerpt; browsers forbid that to local files.
NO_EXCERPTS = (
    'if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;'
)
# Jupyter Book brings these along: cells run on a server, its own folds and grids. None is used.
UNUSED = ("thebe", "togglebutton", "design-tabs", "sphinx-design", "sphinx-thebe")


def add_folders(app: Sphinx) -> None:
    # Not in the configuration: Jupyter Book would load all their scripts on every page.
    app.config.html_static_path += [str(BOOK / "static"), str(BOOK / "vendor")]
    # Else a build that fails early leaves the theme's logo under this name, and so do all later.
    (Path(app.outdir) / "_static").mkdir(parents=True, exist_ok=True)
    for style in STYLES:
        app.add_css_file(style, priority=900)
    for script in SCRIPTS:
        app.add_js_file(script, loading_method="defer")
    app.add_js_file(None, body=NO_EXCERPTS)


def drop_unused(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    for kind in ("script_files", "css_files"):
        context[kind] = [file for file in context.get(kind, []) if not _is_unused(file)]


def _is_unused(file: Any) -> bool:
    inline = str(getattr(file, "attributes", {}).get("body", ""))
    text = inline + str(getattr(file, "filename", file))
    return any(word in text for word in UNUSED)


def setup(app: Sphinx) -> None:
    """Register the handlers."""
    # MathJax on every page: an exercise sheet has no formula until a solution is opened.
    app.set_html_assets_policy("always")
    app.connect("builder-inited", add_folders)
    app.connect("html-page-context", drop_unused, priority=900)
