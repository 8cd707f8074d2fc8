"""Sliders over formulas, computed in the page: no kernel, no server."""
from __future__ import annotations

import inspect
import math
from itertools import product
from typing import Any, Callable, Iterable, Mapping

import traitlets

from ..faces.javascript import script as formula_script
from ..formulas import Formula
from .controls import Choice, Guess, Slider, choice, guess, slider
from .page import PageWidget, module, style
from .reading import tables
from .readout import readout

__all__ = ["Explorer", "Grid", "choice", "guess", "slider"]

FILES = ("quantity.js", "reading_units.js", "reading.js", "page.js", "chart.js", "explorer.js")
_LARGEST_GRID = 20_000  # runs of a Grid's function, and numbers that a page carries
_COUNTED = ("parameters", "tokens")  # nouns that the label of a slider says already


class Grid:
    """A Python function made ready for the page: its values on all slider positions.

    For simulations and other code that is no formula. The page looks up the nearest position.

    Args:
        function: takes some of the explorer's arguments by name, returns one number.
        unit: unit of that number, as in `types`.
    """

    def __init__(self, function: Callable[..., float], unit: str = ""):
        self.function, self.unit = function, unit
        self.arguments = {n: p.default for n, p in inspect.signature(function).parameters.items()}

    def __call__(self, **at: Any) -> float:
        return self.function(**at)

    def table(self, axes: Mapping[str, list[float]], fixed: Mapping[str, Any],
              label: str) -> list[float | None]:
        """Values on the product of the axes, the last running fastest; None where there is none."""
        size = math.prod(map(len, axes.values()))
        if size > _LARGEST_GRID:
            raise ValueError(f"Explorer: {label!r} needs {size:,} runs, at most {_LARGEST_GRID:,}; "
                             f"give its sliders larger steps")
        points = (dict(zip(axes, point)) for point in product(*axes.values()))
        values = (float(self.function(**fixed, **point)) for point in points)
        return [float(f"{v:.6g}") if math.isfinite(v) else None for v in values]


def _arguments(output: Formula | Grid) -> dict[str, Any]:
    """Names of an output's arguments, with their defaults."""
    if isinstance(output, Grid):
        return output.arguments
    return {n: p.default for n, p in output.signature.parameters.items()}


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)


class _Plan:
    """What an explorer shows, checked: each method gives one part of the specification."""

    def __init__(self, outputs: Mapping[str, Formula | Grid],
                 sliders: Mapping[str, Slider | Choice],
                 line: float | str | None, at: Mapping[str, float]):
        self.outputs, self.sliders, self.line = outputs, sliders, line
        self._check_kinds()
        self.defaults = {n: d for o in outputs.values() for n, d in _arguments(o).items()}
        used = {*self.defaults, *([line] if isinstance(line, str) else [])}
        for name in (*sliders, *at):
            if name not in used:
                raise ValueError(f"Explorer: no output takes {name!r}; arguments are "
                                 f"{_list(self.defaults)}")
        known = {n: d for n, d in self.defaults.items() if d is not inspect.Parameter.empty}
        start = {n: x for n, x in {**known, **at}.items() if n in used}
        self.start = {n: x if isinstance(x, int) else float(x) for n, x in start.items()}
        for name in used:
            if name not in self.start:
                raise ValueError(f"Explorer: no value for {name!r}; pass {name}=...")
        self.positions = {n: self._positions(n, s) for n, s in sliders.items()}

    def _check_kinds(self) -> None:
        if not self.outputs:
            raise ValueError("Explorer: outputs is empty; give at least one formula")
        for label, output in self.outputs.items():
            if not isinstance(output, (Formula, Grid)):
                raise TypeError(f"Explorer: output {label!r} must be a formula or a Grid, got "
                                f"{type(output).__name__}")
        for name, control in self.sliders.items():
            if not isinstance(control, (Slider, Choice)):
                raise TypeError(f"Explorer: {name!r} must be slider(...) or choice(...), got "
                                f"{type(control).__name__}")

    def _positions(self, name: str, control: Slider | Choice) -> list[float]:
        start = self.start[name]
        if isinstance(control, Choice):
            if start not in control.options.values():
                raise ValueError(f"Explorer: {name}={start:g} is none of the choices "
                                 f"{_list(control.options)}")
            return list(control.options.values())
        if not control.low <= start <= control.high:
            raise ValueError(f"Explorer: {name}={start:g} lies outside its slider, {control.low:g} "
                             f"to {control.high:g}")
        return control.positions(start)

    def unit(self, name: str) -> str:
        """Unit of an argument: what its slider says, else that of its annotation."""
        control = self.sliders.get(name)
        if isinstance(control, Slider) and control.unit is not None:
            return control.unit
        domains = (o.domains for o in self.outputs.values() if isinstance(o, Formula))
        unit = next((d[name].unit for d in domains if name in d), "")
        return "" if unit in _COUNTED else unit

    def value(self, label: str, **change: float) -> float:
        """An output at the start values, some of them changed."""
        output, at = self.outputs[label], {**self.start, **change}
        return output(**{n: at[n] for n in _arguments(output)})

    def try_ends(self) -> None:
        """Every output at both ends of every slider: a formula refuses here, not in the page."""
        for name, values in self.positions.items():
            for label, output in self.outputs.items():
                if isinstance(output, Formula) and name in _arguments(output):
                    for end in (values[0], values[-1]):
                        self.value(label, **{name: end})

    def inputs(self) -> list[dict]:
        return [self._input(name, control) for name, control in self.sliders.items()]

    def _input(self, name: str, control: Slider | Choice) -> dict:
        made = {"name": name, "label": control.label, "unit": self.unit(name),
                "start": self.start[name], "positions": self.positions[name]}
        if isinstance(control, Choice):
            return made | {"options": list(control.options)}
        base = 2 if control.log and control.step == 2 else 10
        return made | {"log": control.log, "whole": control.whole, "base": base}

    def output_specs(self) -> list[dict]:
        return [self._output(label, output) for label, output in self.outputs.items()]

    def _output(self, label: str, output: Formula | Grid) -> dict:
        names = list(_arguments(output))
        made = {"label": label, "unit": output.unit, "arguments": names}
        if isinstance(output, Formula):
            return made | {"call": output.__name__}
        axes = {n: self.positions[n] for n in names if n in self.positions}
        fixed = {n: self.start[n] for n in names if n not in self.positions}
        return made | {"axes": list(axes), "table": output.table(axes, fixed, label)}

    def fixed(self) -> dict[str, float]:
        return {n: x for n, x in self.start.items() if n not in self.sliders}

    def text(self) -> str:
        """The default case in one line."""
        said = ((label, readout(self.value(label), o.unit)) for label, o in self.outputs.items())
        results = (f"{label} {value}" for label, value in said)
        return f"Explorer: {', '.join(results)}; at {', '.join(map(self._said, self.sliders))}"

    def _said(self, name: str) -> str:
        control, start = self.sliders[name], self.start[name]
        if isinstance(control, Choice):
            return f"{control.label} {next(n for n, x in control.options.items() if x == start)}"
        return f"{control.label} {readout(start, self.unit(name))}"


def _chart(plan: _Plan, x: str | None, curves: tuple[str, ...],
           family: tuple[str, tuple] | None) -> dict:
    """The charted outputs by position, checked."""
    if curves and not isinstance(plan.sliders.get(x), Slider):
        raise ValueError(f"Explorer: curves need x, the name of a slider; got {x!r}")
    labels = list(plan.outputs)
    for label in curves:
        if label not in labels:
            raise ValueError(f"Explorer: curve {label!r} is no output; outputs are "
                             f"{_list(labels)}")
    made = {"x": x, "curves": [labels.index(label) for label in curves], "family": None}
    if family:
        name, values = family
        if name not in plan.start or name == x:
            raise ValueError(f"Explorer: family {name!r} must be an argument other than x")
        made["family"] = {"name": name, "unit": plan.unit(name), "values": list(values)}
    return made


def _line(plan: _Plan) -> float | str | None:
    line = plan.line
    if line is None or isinstance(line, str):
        return line
    if isinstance(line, bool) or not isinstance(line, (int, float)) or not math.isfinite(line):
        raise TypeError(f"Explorer: line must be a number or the name of an argument, got {line!r}")
    return float(line)


def _guess(plan: _Plan, asked: Guess | None) -> dict | None:
    if asked is None:
        return None
    if not isinstance(asked, Guess):
        raise TypeError(f"Explorer: guess must be guess(...), got {type(asked).__name__}")
    labels = list(plan.outputs)
    output = labels[0] if asked.output is None else asked.output
    if output not in labels:
        raise ValueError(f"Explorer: the guess asks for {output!r}; outputs are "
                         f"{_list(labels)}")
    for name in asked.at:
        if name not in plan.sliders:
            raise ValueError(f"Explorer: the guess sets {name!r}; sliders are "
                             f"{_list(plan.sliders)}")
    return {"question": asked.question, "at": dict(asked.at), "output": labels.index(output)}


class Explorer(PageWidget):
    """Formulas under sliders: outputs, curves, and a guess that comes first.

    Args:
        outputs: label to formula (or `Grid`); units come from the formulas.
        sliders: argument to ``slider(...)`` or ``choice(...)``.
        x: the slider along the horizontal axis of the chart.
        curves: labels of the one or two outputs that are charted.
        family: (argument, values): one curve for each value, such as ``("stage", (0, 1, 2, 3))``.
        line: a horizontal line, a limit, as a number or as the name of an argument.
        guess: what is asked before the explorer opens.
        at: values of all arguments without default: where the sliders start, and what stays fixed.
    Raises: TypeError, ValueError: naming the argument, label or slider at fault.

    ``values`` holds the sliders' values and follows the page; set it to move the sliders.
    """

    _esm = module(*FILES, TABLES=tables())
    _css = style("page.css", "explorer.css")
    spec = traitlets.Dict().tag(sync=True)
    values = traitlets.Dict().tag(sync=True)

    def __init__(self, outputs: Mapping[str, Formula | Grid],
                 sliders: Mapping[str, Slider | Choice], *, x: str | None = None,
                 curves: tuple[str, ...] = (), family: tuple[str, tuple] | None = None,
                 line: float | str | None = None, guess: Guess | None = None, **at: float):
        plan = _Plan(outputs, sliders, line, at)
        plan.try_ends()
        formulas = [o for o in outputs.values() if isinstance(o, Formula)]
        self.text = plan.text()
        spec = {"script": formula_script(*formulas), "inputs": plan.inputs(),
                "outputs": plan.output_specs(), "fixed": plan.fixed(),
                "chart": _chart(plan, x, curves, family), "line": _line(plan),
                "guess": _guess(plan, guess)}
        super().__init__(spec=spec, values={n: plan.start[n] for n in sliders})

    @traitlets.validate("values")
    def _whole_case(self, proposal: Any) -> dict[str, float]:
        """The case that results when the named sliders move and the others stay."""
        known = self.values or proposal["value"]
        for name, x in proposal["value"].items():
            if name not in known:
                raise traitlets.TraitError(f"Explorer has no slider {name!r}; sliders are "
                                           f"{_list(known)}")
            if isinstance(x, bool) or not isinstance(x, (int, float)) or not math.isfinite(x):
                raise traitlets.TraitError(f"Explorer: {name} must be a finite number, got {x!r}")
        return {**known, **proposal["value"]}
