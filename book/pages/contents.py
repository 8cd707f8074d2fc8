"""The landing page's table of contents: part by part, each chapter with its question."""

from __future__ import annotations

from html import escape
from posixpath import splitext

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

SECTION = "the-questions"
QUESTION = "the-question"


def rewrite_root(_app: Sphinx, env: BuildEnvironment) -> list[str]:
    """The landing page shows the questions of all chapters, so any change may change it."""
    return [env.config.root_doc]


def add_contents(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Fill the section "The questions" of the landing page."""
    if docname != app.config.root_doc:
        return
    for section in doctree.findall(nodes.section):
        if SECTION in section["ids"]:
            section.append(nodes.raw("", _contents(app), format="html"))


def _contents(app: Sphinx) -> str:
    env = app.env
    out = []
    for part in env.external_site_map.root.subtrees:
        chapters = [splitext(file)[0] for file in part.files()]
        items = "\n".join(_item(app, chapter) for chapter in chapters)
        out.append(f"<h3>{escape(part.caption or '')}</h3>\n<ol>\n{items}\n</ol>")
    return (
        '<nav class="questions" aria-label="Chapters by question">\n' + "\n".join(out) + "\n</nav>"
    )


def _item(app: Sphinx, docname: str) -> str:
    env = app.env
    address = app.builder.get_relative_uri(env.config.root_doc, docname)
    title = escape(env.titles[docname].astext())
    return f'<li><a href="{address}">{title}</a><span>{escape(question(env, docname))}</span></li>'


def question(env: BuildEnvironment, docname: str) -> str:
    """The text of a chapter's section "The question"."""
    for section in env.get_doctree(docname).findall(nodes.section):
        if QUESTION in section["ids"]:
            quotes = section.findall(nodes.block_quote)
            return " ".join(quote.astext() for quote in quotes).replace("\n", " ")
    return ""


def setup(app: Sphinx) -> None:
    """Register the handlers."""
    app.connect("env-updated", rewrite_root)
    app.connect("doctree-resolved", add_contents)
