"""Figures that suit light and dark pages, come out the same on every run, and can be compared.

SVG with a fixed hash salt and no date, on a transparent ground, in mid-tone ink.
"""
from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator

from .formulas import Formula

INK = "#7a8290"  # legible on white and on near-black
COLOURS = ("#2f7fd1", "#e07b39", "#2a9d78", "#b65fcf", "#c9a227", "#d1495b")

_STYLE = {
    "svg.hashsalt": "clustermath", "svg.fonttype": "path", "figure.figsize": (7.0, 3.6), "figure.facecolor": "none",
    "axes.facecolor": "none", "savefig.facecolor": "none", "axes.edgecolor": INK, "axes.labelcolor": INK,
    "axes.titlecolor": INK, "xtick.color": INK, "ytick.color": INK, "text.color": INK, "grid.color": INK,
    "grid.alpha": 0.25, "axes.grid": True, "axes.axisbelow": True, "axes.spines.top": False,
    "axes.spines.right": False, "font.size": 10.5, "legend.frameon": False, "lines.linewidth": 2.0,
    "font.family": "DejaVu Sans", "figure.constrained_layout.use": True,
}


class Figure:
    """A drawn figure: SVG as rich output, its description as plain text."""

    def __init__(self, svg: str, alt: str):
        self._svg, self.alt = svg, alt

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"image/svg+xml": self._svg, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"Figure: {self.alt}"


@contextmanager
def figure(alt: str, rows: int = 1, columns: int = 1, **layout: Any) -> Iterator[Any]:
    """Draw in this: ``with figure("what it shows") as (fig, ax): ...``; it is displayed at the end.

    Args:
        alt: what the figure shows, in a sentence, for those who cannot see it. Numbers in it must
            be computed.
        rows, columns, layout: as in ``matplotlib.pyplot.subplots``.
    """
    import io

    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Canvas

    with matplotlib.rc_context({**_STYLE, "axes.prop_cycle": matplotlib.cycler(color=COLOURS)}):
        fig = Canvas(figsize=layout.pop("figsize", None))
        FigureCanvasSVG(fig)
        yield fig, fig.subplots(rows, columns, **layout)
        out = io.StringIO()
        fig.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    from IPython.display import display

    display(Figure(_labelled(out.getvalue(), alt), alt))


def _labelled(svg: str, alt: str) -> str:
    """The svg element alone, with its description where screen readers look."""
    import html

    body = svg[svg.index("<svg"):]
    label = html.escape(alt, quote=True)
    return body.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def tornado(ax: Any, formula: Formula, at: dict[str, float], spread: dict[str, tuple[float, float]],
            scale: float = 1.0, labels: dict[str, str] | None = None) -> None:
    """Bars of the result as each argument runs over its own range, widest on top.

    Args:
        ax: matplotlib axes.
        formula: the result.
        at: the base case, all arguments by name.
        spread: argument to (low, high).
        scale: base units of the result in one unit of the axis.
        labels: argument to its name on the axis.
    """
    base = formula(**at) / scale
    ends = {n: [formula(**{**at, n: v}) / scale for v in pair] for n, pair in spread.items()}
    order = sorted(ends, key=lambda n: abs(ends[n][1] - ends[n][0]))
    for y, name in enumerate(order):
        low, high = ends[name]
        ax.barh(y, low - base, left=base, color=COLOURS[0], height=0.6)
        ax.barh(y, high - base, left=base, color=COLOURS[1], height=0.6)
    ax.axvline(base, color=INK, linewidth=1)
    ax.set_yticks(range(len(order)), [(labels or {}).get(n, n) for n in order])
    ax.grid(False, axis="y")
