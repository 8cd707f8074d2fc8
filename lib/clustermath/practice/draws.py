"""How the numbers of a question are drawn: the book's own first, others from a seed."""
from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any, Protocol


class Draw(Protocol):
    """A number of a question: ``default`` is the book's, ``draw`` gives another."""

    default: Any
    unit: str

    def draw(self, rng: random.Random) -> Any: ...


@dataclass(frozen=True)
class LogUniform:
    """Between ``low`` and ``high``, equally likely in each factor of ten, rounded to ``digits``."""

    default: float
    low: float
    high: float
    unit: str = ""
    digits: int = 2

    def draw(self, rng: random.Random) -> float:
        x = math.exp(rng.uniform(math.log(self.low), math.log(self.high)))
        return float(f"{x:.{self.digits}g}")


@dataclass(frozen=True)
class Choice:
    """One of a few values, numbers or names of registry entries."""

    default: Any
    options: tuple[Any, ...]
    unit: str = ""

    def draw(self, rng: random.Random) -> Any:
        return rng.choice(self.options)


@dataclass(frozen=True)
class Integer:
    """A whole number from ``low`` to ``high``, in steps."""

    default: int
    low: int
    high: int
    step: int = 1
    unit: str = ""

    def draw(self, rng: random.Random) -> int:
        return rng.randrange(self.low, self.high + 1, self.step)
