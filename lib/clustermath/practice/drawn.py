"""A question with its numbers: texts filled in, the key, the worked solution."""
from __future__ import annotations

import random
from functools import cache, cached_property
from types import SimpleNamespace
from typing import Any

from ..formulas import Worked, recording
from ..quantity import figures, show
from ..reading import read
from ..widgets.readout import readout
from .grading import Candidate, Key, fits
from .notes import Mathematics
from .spec import Estimate, Implement, Question, Rubric

_TRIES = 100  # draws before a question is called unable to keep its traps apart


class Drawn:
    """A question and one set of its givens."""

    def __init__(self, question: Question, givens: dict[str, Any]):
        self.question = question
        self.givens = SimpleNamespace(**givens)

    @cached_property
    def _words(self) -> dict[str, str]:
        """Givens and facts as a person would write them."""
        q = self.question
        said = {n: _said(getattr(self.givens, n), draw.unit) for n, draw in q.givens.items()}
        facts = {n: number(self.givens) for n, number in q.facts.items()}
        return said | {n: _said(x, getattr(x, "unit", "")) for n, x in facts.items()}

    def fill(self, template: str) -> str:
        """The template with its numbers."""
        return template.format(**self._words)

    @property
    def ask(self) -> str:
        return self.fill(self.question.ask)

    @property
    def hints(self) -> list[str]:
        return [self.fill(hint) for hint in self.question.hints]

    @property
    def next(self) -> str:
        return f"An interviewer asks next: {self.fill(self.question.next)}"

    @cached_property
    def _worked(self) -> tuple[float, Worked | None]:
        """The answer, and the chain of the formulas that were called on the way to it."""
        assert isinstance(self.question, Estimate)
        with recording() as steps:
            answer = self.question.answer(self.givens)
        return answer, Worked(steps[-1][0], steps[-1][2], steps) if steps else None

    @cached_property
    def key(self) -> Key:
        """What `grading` needs, as plain data."""
        q = self.question
        unit, kind, size = _asked(q.unit)
        traps = [(trap.value(self.givens), self.fill(trap.says)) for trap in q.traps]
        answer = self._worked[0]
        return {"answer": int(answer) if q.whole else float(answer), "unit": unit, "kind": kind,
                "size": size,
                "within": q.within, "whole": q.whole, "slack": q.slack,
                "traps": [[float(value), says] for value, says in traps if value is not None]}

    def apart(self) -> bool:
        """Whether no trap can be taken for the answer or for another trap."""
        key = self.key
        values = [key["answer"], *(value for value, _ in key["traps"])]
        within = 1e-9 if key["whole"] else key["within"]
        pairs = ((a, b) for i, a in enumerate(values) for b in values[:i])
        return not any(fits(Candidate(a, 0, 0), b, within) for a, b in pairs)

    @property
    def answer_line(self) -> str:
        """The answer as it is displayed; typed back, it is right."""
        q, (answer, _) = self.question, self._worked
        unit, _, size = _asked(q.unit)
        if q.whole:
            return f"{round(answer):,} {unit}".strip()
        if unit == "$":
            return show(answer, "$")
        return f"{figures(answer / size)}{'' if unit == '%' else ' '}{unit}".strip()

    @property
    def solution(self) -> list[str | Mathematics]:
        """The worked solution, paragraph by paragraph."""
        q = self.question
        if isinstance(q, Estimate):
            return [*self._chain(), f"Answer: {self.answer_line}",
                    *([self.fill(q.remark)] if q.remark else []), self.next]
        if isinstance(q, Implement):
            return [f"```python\n{q.solution.strip()}\n```", self.next]
        assert isinstance(q, Rubric)
        return [self.fill(q.model), self.next]

    def _chain(self) -> list[Mathematics]:
        worked = self._worked[1]
        return [Mathematics(worked._repr_latex_().strip("$ "), repr(worked))] if worked else []


def _said(x: Any, unit: str) -> str:
    return x if isinstance(x, str) else readout(x, unit)


@cache
def _asked(unit: str) -> tuple[str, str, float]:
    """(unit, kind, size in base units) of the unit that a question asks for."""
    one = read(f"$1 {unit[1:]}" if unit.startswith("$") else f"1 {unit}")
    return unit, one.kind, one.value


def draw(question: Question, seed: int | None) -> Drawn:
    """The book's numbers, or those of a seed; a draw whose traps would collide is drawn again."""
    if seed is None or not question.givens:
        return Drawn(question, {n: d.default for n, d in question.givens.items()})
    rng = random.Random(f"{question.id}/{seed}")
    for _ in range(_TRIES):
        drawn = Drawn(question, {n: d.draw(rng) for n, d in question.givens.items()})
        if not isinstance(question, Estimate) or drawn.apart():
            return drawn
    raise ValueError(f"{question.id}: no draw keeps the traps apart; change its givens or traps")
