"""Functions to write: hidden cases, and what a learner is told when one fails."""
from __future__ import annotations

import math

import numpy as np
import pytest

from clustermath import check
from clustermath.practice.engine import chapter, slugs
from clustermath.practice.functions import gives, holds, mark_function, refuses
from clustermath.practice.spec import Implement

FUNCTIONS = [q for slug in slugs() for q in chapter(slug).values() if isinstance(q, Implement)]
every_function = pytest.mark.parametrize("q", FUNCTIONS, ids=[q.id for q in FUNCTIONS])


def written(source: str):
    """The function that a stub or a solution defines."""
    scope: dict = {}
    exec(source, scope)
    return next(f for name, f in scope.items() if name.startswith("my_"))


def raising(*args, **kwargs):
    raise KeyError("oops")


@every_function
def test_the_solution_passes(q):
    assert check(q.id, written(q.solution)).right


@every_function
def test_the_stub_is_not_attempted(q):
    assert check(q.id, written(q.stub)).verdict == "unread"
    assert check(q.id, ...).verdict == "unread"


@every_function
def test_stub_and_solution_have_the_same_signature(q):
    assert q.stub.strip().split("\n")[0] in q.solution


@every_function
@pytest.mark.parametrize("wrong", [
    lambda *a, **k: 0, lambda *a, **k: None, lambda *a, **k: "x", lambda *a, **k: math.nan,
    lambda *a, **k: np.array([1.0, math.nan]), lambda *a, **k: [], raising, lambda: 1, print,
], ids=["zero", "nothing", "text", "nan", "nan-array", "list", "raises", "signature", "print"])
def test_a_wrong_function_is_told_a_property_in_words(q, wrong):
    """Report 4: the property, never the value that was expected."""
    made = check(q.id, wrong)
    assert made.verdict == "wrong"
    words = repr(made)
    assert words.startswith("Not yet. This should hold: ")
    named = " ".join(case.words for case in q.cases)
    numbers = [w.strip(":.,()") for w in words.split() if any(c.isdigit() for c in w)]
    assert not [number for number in numbers if number not in named]


@every_function
def test_not_a_number_is_named(q):
    """Report 3: a function that returns NaN, or one NaN in an array."""
    for wrong in (lambda *a, **k: math.nan, lambda *a, **k: np.array([1.0, math.nan])):
        assert "not-a-number" in repr(check(q.id, wrong))


@every_function
def test_what_is_no_function_is_sent_back(q):
    for answer in (3, "my_function", [len], {}):
        made = check(q.id, answer)
        assert made.verdict == "unread" and "Pass the function itself" in repr(made)


@every_function
def test_every_refusal_is_checked(q):
    """A solution that refuses something fails when it never raises."""
    solution, refused = written(q.solution), []

    def careless(*args, **kwargs):
        try:
            return solution(*args, **kwargs)
        except Exception as error:
            refused.append(error)
            return 1.0

    assert check(q.id, careless).verdict == ("wrong" if refused else "right")


def double(x):
    return 2 * x


def test_the_first_failing_property_is_named():
    cases = (gives("it doubles", double, 3), holds("it is odd", lambda f: f(-3) == -f(3)),
             refuses("text is refused", "a"))
    assert "it doubles" in mark_function(lambda x: x, cases).says
    assert "it is odd" in mark_function(lambda x: 2 * abs(x), cases).says
    assert "text is refused" in mark_function(double, cases).says


def test_exceptions_are_named():
    case = (gives("it doubles", double, 3),)
    assert "your function raised KeyError" in mark_function(raising, case).says
    assert "your function raised SystemExit" in mark_function(lambda x: exit(), case).says
    assert "your function raised RecursionError" in mark_function(lambda x: forever(x), case).says


def forever(x):
    return forever(x)


def test_the_wrong_exception_is_told():
    case = (refuses("a negative number is refused", -1, error=ValueError),)
    says = mark_function(raising, case).says
    assert "refused with ValueError" in says and "raised KeyError" in says
    assert "returned a value" in mark_function(double, case).says


@pytest.mark.parametrize("returned, words", [
    (None, "."), ("6", "a str"), ([6.0, 6.0], "a list"), (np.array([6.0, 6.0]), "shape (2,)"),
])
def test_the_wrong_type_is_told(returned, words):
    assert words in mark_function(lambda x: returned, (gives("it doubles", double, 3),)).says


def test_arrays_are_compared_by_shape_and_value():
    case = (gives("arrays work", double, np.array([1.0, 2.0])),)
    assert mark_function(double, case).verdict == "right"
    assert "array" in mark_function(lambda x: 2.0, case).says
    assert mark_function(lambda x: x, case).verdict == "wrong"


def test_none_is_a_value_where_it_is_expected():
    case = (gives("there may be none", lambda x: None, 1),)
    assert mark_function(lambda x: None, case).verdict == "right"
    assert mark_function(lambda x: 0, case).verdict == "wrong"


def test_a_function_not_implemented_is_not_attempted():
    def stub(x):
        raise NotImplementedError

    assert mark_function(stub, (gives("it doubles", double, 3),)).verdict == "unread"
