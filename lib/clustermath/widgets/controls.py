"""The controls of an explorer: sliders, choices, and the guess that comes first."""
from __future__ import annotations

import math
from bisect import insort
from dataclasses import dataclass, field
from typing import Mapping

_LINEAR_STEPS = 200  # positions of a linear slider that names no step
_LOG_STEPS = 20  # positions per factor of ten where a logarithmic slider names no step
_MOST = 1000     # positions of one slider: more than pixels on a phone helps nobody


@dataclass(frozen=True)
class Slider:
    """A range of numbers; its positions are computed once, for the page and for Python alike."""

    low: float
    high: float
    label: str
    unit: str | None
    step: float | None
    log: bool
    whole: bool

    def positions(self, start: float) -> list[float]:
        """Every value the slider can take, ``start`` among them."""
        values = self._logarithmic() if self.log else self._linear()
        if self.whole:
            values = sorted({round(v) for v in values})
        if not any(math.isclose(v, start, rel_tol=1e-12) for v in values):
            insort(values, start)
        return values

    def _linear(self) -> list[float]:
        step = self.step or (self.high - self.low) / _LINEAR_STEPS
        if self.whole:
            step = max(1, round(step))
        count = math.floor((self.high - self.low) / step + 1e-9)
        return [float(f"{self.low + i * step:.12g}") for i in range(count + 1)]

    def _logarithmic(self) -> list[float]:
        factor = self.step or 10 ** (1 / _LOG_STEPS)
        count = math.floor(math.log(self.high / self.low) / math.log(factor) + 1e-9)
        if self.step:
            return [float(f"{self.low * factor**i:.12g}") for i in range(count + 1)]
        inner = {float(f"{self.low * factor**i:.3g}") for i in range(1, count + 1)}
        inside = (v for v in inner if self.low < v < self.high)
        return sorted({float(self.low), *inside, float(self.high)})


@dataclass(frozen=True)
class Choice:
    """A list of named values."""

    options: Mapping[str, float]
    label: str


@dataclass(frozen=True)
class Guess:
    """A question that is asked before the explorer opens."""

    question: str
    at: Mapping[str, float] = field(default_factory=dict)
    output: str | None = None


def _number(where: str, x: object) -> float:
    if isinstance(x, bool) or not isinstance(x, (int, float)) or not math.isfinite(x):
        raise TypeError(f"{where} must be a finite number, got {x!r}")
    return x


def slider(low: float, high: float, label: str, *, unit: str | None = None,
           step: float | None = None, log: bool = False, whole: bool = False) -> Slider:
    """A slider from ``low`` to ``high``.

    Args:
        label: what the reader sees.
        unit: unit of the read-out, that of the argument unless given; ``"%"`` shows 0.4 as 40%.
        step: distance between positions; on a logarithmic slider the factor between them.
        log: equal factors instead of equal distances.
        whole: whole numbers only.
    Raises: TypeError for what is no number, ValueError for an empty range or a useless step.
    """
    for name, x in (("low", low), ("high", high)):
        _number(f"slider {label!r}: {name}", x)
    if not low < high:
        raise ValueError(f"slider {label!r}: low {low:g} is not below high {high:g}")
    if log and low <= 0:
        raise ValueError(f"slider {label!r}: a logarithmic slider starts above zero, got {low:g}")
    if step is not None and _number(f"slider {label!r}: step", step) <= (1 if log else 0):
        raise ValueError(f"slider {label!r}: step must be above {1 if log else 0}, got {step:g}")
    made = Slider(low, high, label, unit, step, log, whole)
    if len(made.positions(low)) > _MOST:
        raise ValueError(f"slider {label!r} has over {_MOST} positions; take a larger step")
    return made


def choice(options: Mapping[str, float], label: str) -> Choice:
    """A drop-down list: ``choice({"H100": 989e12, "A100": 312e12}, "Chip")``.

    Raises: ValueError when there are fewer than two options, TypeError for what is no number.
    """
    if len(options) < 2:
        raise ValueError(f"choice {label!r} needs at least two options")
    numbers = {str(n): _number(f"choice {label!r}: {n}", x) for n, x in options.items()}
    return Choice(numbers, label)


def guess(question: str, at: Mapping[str, float] | None = None, output: str | None = None) -> Guess:
    """The question asked first: ``guess("At 50% MFU, how many days?", at={"mfu": 0.5})``.

    Args:
        question: in words, with its numbers.
        at: slider values of the case; the others stand where the chapter puts them.
        output: label of the output that is guessed; the first unless given.
    """
    return Guess(question, dict(at or {}), output)
