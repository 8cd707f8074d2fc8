"""`[11 days](#run_time)` on the page: a link to the cell that computes it, with a tooltip."""

from __future__ import annotations

from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.writers.html5 import HTML5Translator

from clustermath.quantity import show

from .notebook import notebook_of


class number(nodes.Inline, nodes.TextElement):
    """A number of the text; attributes `href` and `tip`."""


class Numbers(SphinxPostTransform):
    """Takes the links to names of the notebook before MyST looks for sections of that name."""

    default_priority = 5  # MyST resolves at 9

    def run(self, **_: object) -> None:
        notebook = notebook_of(self.env, self.env.docname)
        known = notebook["metadata"].get("numbers", {}) if notebook else {}
        for link in list(self.document.findall(_is_local_link)):
            about = known.get(link["reftarget"].lstrip("#"))
            if about is None:
                continue  # a section, or unknown: then MyST warns, and warnings are errors
            tip = tooltip(link["reftarget"].lstrip("#"), about)
            link.replace_self(number("", "", *link.children, href=f"#{about['cell']}", tip=tip))


def _is_local_link(node: nodes.Node) -> bool:
    return (
        node.tagname == "pending_xref"
        and node.get("reftype") == "myst"
        and not node.get("refdomain")
    )


def tooltip(name: str, about: dict) -> str:
    """What the tooltip says, a line for each: expression, value, meaning, source."""
    # A worked formula is the formula, as far as the number is concerned; a given just is.
    expression = about["expr"].replace(".worked(", "(")
    plain = expression in ("", name) or expression.startswith("given(")
    lines = [name if plain else f"{name} = {expression}", f"= {_value(about)}"]
    lines.append(about.get("meaning", ""))
    if about.get("note"):
        lines.append(f"Assumption: {about['note']}" if not about["source"] else about["note"])
    if about["source"]:
        lines.append(f"Source: {about['source']}")
    return "\n".join(line for line in lines if line)


def _value(about: dict) -> str:
    """The value in full, and as one would say it where its unit is known."""
    value, unit = about["value"], about.get("unit", "")
    full = (
        f"{value:,.15g}"
        if 1e-4 <= abs(value) < 1e15 or value == 0
        else f"{value:.15g}".replace("e+", "e")
    )
    # A share is held as a fraction, so its unit belongs to the readable form alone.
    in_full = full if unit in ("", "%") else f"{full} {unit}"
    readable = show(value, unit) if unit else full
    return in_full if readable in (full, in_full) else f"{in_full} = {readable}"


def visit_number(translator: HTML5Translator, node: number) -> None:
    # Without scripts it is a plain link with a title; numbers.js makes a tooltip of the title.
    # Written by hand, since docutils would join the title's lines.
    tip = escape(node["tip"]).replace("\n", "&#10;")
    translator.body.append(f'<a class="num" href="{escape(node["href"])}" title="{tip}">')


def depart_number(translator: HTML5Translator, _node: number) -> None:
    translator.body.append("</a>")


def setup(app: Sphinx) -> None:
    """Register node and transform."""
    app.add_node(number, html=(visit_number, depart_number))
    app.add_post_transform(Numbers)
