"""Under each title: open the page as a notebook; at each end: the way between chapter and sheet."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from docutils import nodes
from sphinx.application import Sphinx

COLAB = "https://colab.research.google.com/github"
BINDER = "https://mybinder.org/v2/gh"
FOOTER = (
    'Text CC BY 4.0, code MIT: <a href="{url}">source</a>. '
    'A number is wrong? <a href="{url}/issues/new/choose">Tell us</a>.'
)
CHAPTERS, SHEETS = "chapters/", "exercises/"


def add_actions(
    app: Sphinx,
    pagename: str,
    _template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Insert the row of actions and the cross link into the page's body, and say whose it is."""
    context["theme_extra_footer"] = FOOTER.format(
        url=app.config.html_theme_options["repository_url"]
    )
    if doctree is None or not pagename.startswith((CHAPTERS, SHEETS)):
        return
    context["body"] = context["body"].replace("</h1>", "</h1>\n" + _row(app, pagename, context), 1)
    context["body"] += _partner(app, pagename, context)


def _row(app: Sphinx, pagename: str, context: dict[str, Any]) -> str:
    options = app.config.html_theme_options
    repository = options["repository_url"].removeprefix("https://github.com/").strip("/")
    branch, file = options["repository_branch"], f"{pagename}.ipynb"
    download = context["pathto"](f"_sources/{file}", 1)
    links = [
        f'<a href="{COLAB}/{repository}/blob/{branch}/{file}">Open in Colab</a>',
        f'<a href="{BINDER}/{repository}/{branch}?labpath={quote(file, safe="")}">Binder</a>',
        f'<a href="{download}" download>Download notebook</a>',
    ]
    other = _other(app, pagename)
    if other:
        word = "Exercises" if pagename.startswith(CHAPTERS) else "Chapter"
        links.append(f'<a href="{context["pathto"](other)}">{word}</a>')
    return f'<nav class="actions" aria-label="This page as a notebook">{"".join(links)}</nav>'


def _partner(app: Sphinx, pagename: str, context: dict[str, Any]) -> str:
    other = _other(app, pagename)
    if not other:
        return ""
    if pagename.startswith(CHAPTERS):
        words, label = "Now without looking", "Exercises for this chapter"
    else:
        words, label = (
            "Stuck, or finished?",
            "Back to the chapter: " + app.env.titles[other].astext(),
        )
    return (
        f'<aside class="partner"><span>{words}</span>'
        f'<a href="{context["pathto"](other)}">{label}</a></aside>'
    )


def _other(app: Sphinx, pagename: str) -> str | None:
    """The chapter's sheet, or the sheet's chapter, when the book has it."""
    folder, slug = pagename.split("/", 1)
    other = (SHEETS if folder + "/" == CHAPTERS else CHAPTERS) + slug
    return other if other in app.env.found_docs else None


def setup(app: Sphinx) -> None:
    """Register the handler."""
    app.connect("html-page-context", add_actions)
