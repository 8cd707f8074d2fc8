"""`ask`, `check`, `hint`, `solution`: found by id, never raising on what a learner typed."""
from __future__ import annotations

import difflib
import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

from . import questions
from .drawn import Drawn, draw
from .functions import mark_function
from .grading import Mark, grade_value
from .mistakes import SAYS
from .notes import Note
from .spec import Implement, Question, Rubric


class UnknownQuestion(LookupError):
    """No question has this id; the message lists near ones."""


@cache
def slugs() -> list[str]:
    """The chapters that have questions."""
    return sorted(m.name.replace("_", "-") for m in pkgutil.iter_modules(questions.__path__))


@cache
def chapter(slug: str) -> dict[str, Question]:
    """The questions of a chapter by id, in their order."""
    module = import_module(f"{questions.__name__}.{slug.replace('-', '_')}")
    return {q.id: q for q in module.QUESTIONS}


def find(id: Any) -> Question:
    """The question with an id.

    Raises: UnknownQuestion, with near ids.
    """
    slug = str(id).rpartition(".")[0]
    found = chapter(slug).get(str(id)) if slug in slugs() else None
    if found:
        return found
    known = list(chapter(slug)) if slug in slugs() else [k for s in slugs() for k in chapter(s)]
    near = difflib.get_close_matches(str(id), known, n=3, cutoff=0.5) or known[:3]
    raise UnknownQuestion(f"There is no question {id!r}. Near: {', '.join(near)}.")


def _drawn(id: Any, seed: Any) -> Drawn | Note:
    """The question with its numbers, or what to say when there is none."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        return Note(f"The seed has to be a whole number, not {seed!r}.")
    try:
        return draw(find(id), seed)
    except UnknownQuestion as unknown:
        return Note(str(unknown))


def ask(id: str, seed: int | None = None) -> Any:
    """Show a question as a form.

    Args:
        id: such as ``"training-time.1"``.
        seed: other numbers than the book's; the same seed gives the same numbers.
    Returns: the form; a note that lists near ids when there is no such question.
    """
    drawn = _drawn(id, seed)
    if isinstance(drawn, Note):
        return drawn
    from ..widgets.question import QuestionForm

    return QuestionForm(drawn, seed)


def check(id: str, answer: Any, seed: int | None = None) -> Note:
    """Mark an answer: right, wrong with a diagnosis, or not attempted (``...``).

    Args:
        id: of the question.
        answer: text as one would say it, a number in the unit asked for or in base units; the
            function itself where a function is asked for; your words where an argument is.
        seed: that of the numbers asked for.
    Returns: a note; ``.right`` tells whether the answer is right.
    """
    drawn = _drawn(id, seed)
    if isinstance(drawn, Note):
        return drawn
    question = drawn.question
    if isinstance(question, Rubric):
        return _points(drawn, answer)
    if isinstance(question, Implement):
        made = _function_mark(question, answer)
    else:
        made = grade_value(answer, drawn.key)
    after = [drawn.next] if made.verdict == "right" else []
    return Note(made.says, *after, verdict=made.verdict)


def _function_mark(question: Implement, answer: Any) -> Mark:
    if answer is ... or answer is None:
        return Mark("unread", SAYS["blank"])
    if not callable(answer):
        call = f'check("{question.id}", your_function)'
        return Mark("unread", f"Pass the function itself, without calling it: {call}.")
    return mark_function(answer, question.cases)


def _points(drawn: Drawn, answer: Any) -> Note:
    """The points to mark oneself by, once something has been written."""
    question = drawn.question
    assert isinstance(question, Rubric)
    if not isinstance(answer, str) or len(answer.strip()) < question.least:
        return Note("Not attempted yet. Write your answer first, a few sentences; then the points "
                    "are shown.", verdict="unread")
    total = sum(weight for weight, _ in question.points)
    lines = [f"- [{weight}] {drawn.fill(says)}" for weight, says in question.points]
    return Note(f"Mark yourself, {total} points in all:", "\n".join(lines),
                f'A good answer: solution("{question.id}").')


def hint(id: str, number: int = 1, seed: int | None = None) -> Note:
    """A hint; the first is gentle, later ones say more.

    Args:
        id: of the question.
        number: which hint, from 1.
        seed: that of the numbers asked for.
    """
    drawn = _drawn(id, seed)
    if isinstance(drawn, Note):
        return drawn
    hints = drawn.hints
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(hints):
        return Note(f"{id} has hints 1 to {len(hints)}.")
    more = [f'More: hint("{id}", {number + 1}).'] if number < len(hints) else []
    return Note(f"Hint {number} of {len(hints)}: {hints[number - 1]}", *more)


def solution(id: str, seed: int | None = None) -> Note:
    """The worked solution: the chain, the answer, and what an interviewer asks next."""
    drawn = _drawn(id, seed)
    return drawn if isinstance(drawn, Note) else Note(*drawn.solution)
