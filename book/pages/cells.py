"""Code cells on the page: anchors, code folded by tag, figures in line, text beside widgets."""

from __future__ import annotations

import re
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.writers.html5 import HTML5Translator

from .actions import SHEETS
from .notebook import notebook_of

WIDGET = "application/vnd.jupyter.widget-view+json"
SVG = "image/svg+xml"
LEFT_OUT = {"install"}
WITHOUT_CODE = {"ask", "explorer"}
# Code behind a toggle; where the result is what counts, the code stands below it.
FOLDED_BELOW = {"givens", "plot", "table", "setup"}
FOLDED_ABOVE = {"lab"}
LABELS = {
    "givens": "Code of the givens",
    "plot": "Code of the figure",
    "table": "Code of the table",
    "lab": "Code of the lab",
    "setup": "Code",
}


class folded(nodes.General, nodes.Element):
    """Code behind a labelled toggle; attribute `tag`."""


class Cells(SphinxTransform):
    """Gives each cell its id, and its tag's looks."""

    default_priority = 400  # before Sphinx collects images: figures are no longer files then

    def apply(self, **_: object) -> None:
        notebook = notebook_of(self.env, self.env.docname)
        if notebook is None:
            return
        is_sheet = self.env.docname.startswith(SHEETS)
        for cell in list(self.document.findall(lambda n: _is(n, "cell_code"))):
            tags = set(cell["cell_metadata"].get("tags", []))
            if tags & LEFT_OUT or (is_sheet and "setup" in tags):
                cell.parent.remove(cell)
                continue
            saved = notebook["cells"][cell["cell_index"]]
            cell["ids"].append(saved["id"])
            bundles = list(cell.findall(lambda n: _is(n, "mime_bundle")))
            for bundle, output in zip(bundles, [o for o in saved["outputs"] if "data" in o]):
                _add_twin(bundle)
                _add_plain_chain(bundle)
                _inline_figure(bundle, output["data"], saved["id"])
            for source in [c for c in cell.children if _is(c, "cell_code_source")]:
                _place_code(cell, source, tags)
        _imports_below_the_answer(self.document)


def _is(node: nodes.Node, element: str) -> bool:
    return isinstance(node, nodes.container) and node.get("nb_element") == element


def _place_code(cell: nodes.container, source: nodes.container, tags: set[str]) -> None:
    if tags & WITHOUT_CODE:
        cell.remove(source)
    for tag in tags & FOLDED_BELOW:
        cell.remove(source)
        cell.append(folded("", source, tag=tag))
    for tag in tags & FOLDED_ABOVE:
        cell.replace(source, folded("", source, tag=tag))


def _imports_below_the_answer(document: nodes.document) -> None:
    """A notebook has to begin with its imports; a page begins with the question."""
    for section in document.findall(nodes.section):
        if "givens" in section["ids"] and isinstance(section.parent, nodes.section):
            early = [n for n in section.parent.children if _is(n, "cell_code")]
            for cell in early:
                section.parent.remove(cell)
            section[1:1] = early
            return


def _add_twin(bundle: nodes.container) -> None:
    """The widget's own text beside it: for readers without scripts, for print, for the search.

    widgets.js hides it once the widget stands in its place.
    """
    kinds = {child["mime_type"]: child for child in bundle.children}
    if WIDGET not in kinds:
        return
    if "text/html" in kinds:
        html = f'<div class="twin">{kinds["text/html"].astext()}</div>'
    else:
        html = f'<pre class="twin">{escape(kinds["text/plain"].astext())}</pre>'
    bundle.parent.insert(bundle.parent.index(bundle) + 1, nodes.raw("", html, format="html"))


def _add_plain_chain(bundle: nodes.container) -> None:
    """A formula's plain text, which browsers without scripts show in place of its TeX."""
    kinds = {child["mime_type"]: child for child in bundle.children}
    if "text/latex" in kinds and "text/plain" in kinds:
        html = f'<pre class="plain-chain">{escape(kinds["text/plain"].astext())}</pre>'
        bundle.parent.insert(bundle.parent.index(bundle) + 1, nodes.raw("", html, format="html"))


def _inline_figure(bundle: nodes.container, data: dict, cell_id: str) -> None:
    """The drawing in the page itself: styles reach its ink, and its description is read out."""
    for child in bundle.children:
        if child["mime_type"] == SVG:
            svg = "".join(data[SVG])
            svg = svg[svg.index("<svg") :]
            # Each figure has its own figure_1, axes_1 and so on.
            svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\1{cell_id}-", svg)
            child.children = []
            child.append(nodes.raw("", f'<div class="drawing">{svg}</div>', format="html"))


def visit_folded(translator: HTML5Translator, node: folded) -> None:
    translator.body.append(
        f'<details class="code-fold of-{node["tag"]}"><summary>{LABELS[node["tag"]]}</summary>\n'
    )


def depart_folded(translator: HTML5Translator, _node: folded) -> None:
    translator.body.append("</details>\n")


def setup(app: Sphinx) -> None:
    """Register node and transform."""
    app.add_node(folded, html=(visit_folded, depart_folded))
    app.add_transform(Cells)
