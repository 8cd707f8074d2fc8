"""The promise holds for questions too: no numeral in their texts but those that are computed."""

from __future__ import annotations

import re

import pytest
from clustermath.practice import engine
from clustermath.practice.spec import Estimate, Question, Rubric
from verify.numerals import bare_numerals

QUESTIONS = [question for slug in engine.slugs() for question in engine.chapter(slug).values()]
# Code is not prose, and {name} is a number from the givens or facts.
NOT_PROSE = re.compile(r"`[^`]*`|\{[^{}]*\}")


def texts(question: Question) -> list[str]:
    """Everything of a question that a learner reads as prose."""
    found = [question.ask, question.next, *question.hints]
    if isinstance(question, Estimate):
        found += [question.remark, *(trap.says for trap in question.traps)]
    if isinstance(question, Rubric):
        found += [question.model, *(says for _, says in question.points)]
    return found


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
def test_no_number_is_typed_into_a_question(question):
    bare = [
        numeral for text in texts(question) for numeral in bare_numerals(NOT_PROSE.sub(" _ ", text))
    ]
    assert not bare, "give them as givens or facts: " + "; ".join(bare)


def test_a_typed_number_would_be_found():
    assert bare_numerals(NOT_PROSE.sub(" _ ", "The rent is {rent}, about 75 dollars."))
