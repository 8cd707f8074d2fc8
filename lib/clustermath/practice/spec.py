"""What a question is. One specification; the page, Python and the tests read it.

Texts are templates: ``{chips}`` stands for a given or a fact as a person would write it. Answers,
traps and facts are functions of the givens that call the library, so a redrawn question is right.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Callable, Mapping

from .draws import Draw
from .functions import Case

Givens = SimpleNamespace
Number = Callable[[Givens], Any]


@dataclass(frozen=True)
class Trap:
    """A named mistake: the number it leads to (None where it cannot be made), and the diagnosis."""

    name: str
    value: Number
    says: str


@dataclass(frozen=True, kw_only=True)
class Question:
    """What all kinds share.

    Args:
        id: ``slug.number``.
        ask: the question.
        hints: from gentle to plain.
        next: what an interviewer asks next.
        givens: name to how it is drawn.
        facts: name to a number that the texts mention and that is computed.
    """

    id: str
    ask: str
    hints: tuple[str, ...]
    next: str
    givens: Mapping[str, Draw] = field(default_factory=dict)
    facts: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Estimate(Question):
    """A number is asked for.

    Args:
        answer: the right number, in base units.
        unit: the unit asked for, as people write it: ``days``, ``GB``, ``%``, ``GPUs``.
        traps: known mistakes.
        within: relative tolerance, symmetric in the logarithm.
        whole: a count that was rounded up and has to be exact, up to ``slack``.
        remark: closes the worked solution.
    """

    answer: Number
    unit: str
    traps: tuple[Trap, ...] = ()
    within: float = 0.02
    whole: bool = False
    slack: int = 0
    remark: str = ""


@dataclass(frozen=True, kw_only=True)
class Implement(Question):
    """A function is to be written.

    Args:
        stub: signature and docstring the learner starts from.
        cases: hidden cases, in the order in which failures are worth hearing about.
        solution: source text of a function that passes.
    """

    stub: str
    cases: tuple[Case, ...]
    solution: str


@dataclass(frozen=True, kw_only=True)
class Rubric(Question):
    """Words are asked for; the learner marks them against points.

    Args:
        points: (weight, what a good answer says).
        model: a good answer.
        least: characters to write before the points are shown.
    """

    points: tuple[tuple[int, str], ...]
    model: str
    least: int = 80
