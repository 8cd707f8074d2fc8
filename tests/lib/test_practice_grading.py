"""Marks for what people type, in Python and in the page, against hand-made keys."""
from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from clustermath import Value, Whole
from clustermath.practice.grading import grade, grade_value
from clustermath.practice.mistakes import FACTORS
from tests.lib.pagejs import question_page

PAGE = question_page()


def key(answer: float, unit: str, kind: str, size: float, *traps: tuple, within: float = 0.02,
        whole: bool = False, slack: int = 0) -> dict:
    return {"answer": answer, "unit": unit, "kind": kind, "size": size, "within": within,
            "whole": whole, "slack": slack, "traps": [list(trap) for trap in traps]}


DAYS = key(980_327.0, "days", "time", 86_400, (490_000.0, "the sparse peak"),
           (1_960_000.0, "half the fleet"))
BYTES = key(80e9, "GB", "bytes", 1e9)
FLOPS = key(6.354e24, "FLOP", "work", 1)
SHARE = key(0.3242, "%", "share", 0.01)
COUNT = key(16_384, "GPUs", "", 1, whole=True)
MONEY = key(73_727.67, "$", "money", 1)
RATE = key(1.53e7, "tokens/s", "rate", 1)
RATIO = key(12.0, "", "", 1, (1.5, "one micro-batch"))
KEYS = [DAYS, BYTES, FLOPS, SHARE, COUNT, MONEY, RATE, RATIO]


@pytest.mark.parametrize("text, asked, verdict", [
    ("11.35 days", DAYS, "right"),
    ("11.35", DAYS, "right"),        # without unit: the one that is asked for
    ("980327", DAYS, "right"),       # or base units
    ("11", DAYS, "right"),           # the correct rounding, two figures
    ("10", DAYS, "wrong"),           # one figure is no rounding to rely on
    ("12 days", DAYS, "wrong"),
    ("272.3 h", DAYS, "right"),
    ("1.6 weeks", DAYS, "right"),
    ("about 11.3 days", DAYS, "right"),
    ("32.4%", SHARE, "right"), ("32.4", SHARE, "right"), ("0.324", SHARE, "right"),
    ("$74k", MONEY, "right"), ("74k", MONEY, "right"), ("$73,728", MONEY, "right"),
    ("15.3M tokens/s", RATE, "right"), ("1.53e7", RATE, "right"),
    ("12x", RATIO, "right"), ("12 times", RATIO, "right"), ("1200%", RATIO, "right"),
])
def test_what_is_right(text, asked, verdict):
    assert grade(text, asked).verdict == verdict


def test_the_tolerance_is_symmetric_in_the_logarithm():
    asked = key(1.0, "", "", 1)
    assert grade("1.0199", asked).verdict == "right"
    assert grade(f"{1 / 1.0199:.6f}", asked).verdict == "right"
    assert grade("1.0201", asked).verdict == "wrong"
    assert grade(f"{1 / 1.0203:.6f}", asked).verdict == "wrong"
    for factor in (10, 1 / 10):
        assert grade(repr(factor), asked).verdict == "wrong"


# Report 1: a space before the exponent.
@pytest.mark.parametrize("text",
                         ["6.35 e24", "6.35e 24", " 6.35e24 ", "6.35 E 24 FLOPs", "6.35e24FLOPs"])
def test_blanks_in_an_exponent_are_read(text):
    assert grade(text, FLOPS).verdict == "right"


@pytest.mark.parametrize("text", ["eleven-ish days or so?!#", "11 12 days", "days", "1.000.000"])
def test_what_cannot_be_read_is_named_and_not_counted(text):
    mark = grade(text, DAYS)
    assert mark.verdict == "unread" and "does not count as a try" in mark.says


# Report 3: not a number passes.
@pytest.mark.parametrize("answer", ["NaN", "nan", "inf", "-inf", "1e999", "0/0", math.nan, math.inf,
                                    -math.inf, np.float64("nan"), np.array(np.nan), 10**400])
def test_not_a_number_is_refused_by_name(answer):
    for asked in KEYS:
        mark = grade_value(answer, asked)
        assert mark.verdict == "unread"
        assert any(word in mark.says.lower() for word in ("not a number", "infinite",
                                                          "too large to be", "too large or"))


# Report 5: one tolerance for all.
def test_counts_are_exact():
    asked = key(8192, "GPUs", "", 1, whole=True)
    assert grade("8,192", asked).verdict == "right"
    for text in ("8,200", "8,000", "8191", "8193", "8192.5"):
        assert grade(text, asked).verdict == "wrong"
    assert "exact" in grade("8193", asked).says
    assert grade("8,200", key(8192, "GPUs", "", 1)).verdict == "right"


def test_slack_is_as_stated():
    asked = key(104, "GPUs", "", 1, whole=True, slack=8)
    assert [grade(text, asked).verdict for text in ("96", "112")] == ["right", "right"]
    assert [grade(text, asked).verdict for text in ("95", "113")] == ["wrong", "wrong"]


# Report 6: thousands separators.
@pytest.mark.parametrize("text, verdict", [
    ("16,384", "right"), ("16_384", "right"), ("16384 GPUs", "right"),
    ("16.384", "wrong"), ("16.384 GPUs", "wrong"),
    ("16 384", "unread"), ("16'384", "unread"), ("1.000.000", "unread"), ("12,34", "unread"),
])
def test_separators(text, verdict):
    assert grade(text, COUNT).verdict == verdict


def test_a_decimal_point_taken_for_a_separator_is_told():
    assert "1,000 times too small" in grade("16.384", COUNT).says


# Report 8: GiB printed as GB.
def test_a_quantity_is_right_in_either_unit():
    assert grade("74.5 GiB", BYTES).verdict == "right"
    assert grade("80 GB", BYTES).verdict == "right"
    assert grade_value(83, BYTES).verdict == "wrong"
    for text in ("80 GiB", "85.9 GB", "74.5 GB"):
        mark = grade(text, BYTES)
        assert mark.verdict == "wrong" and "GiB" in mark.says


@pytest.mark.parametrize("factor, cause",
                         [(8, "bits"), (1000, "prefix"), (60, "minutes"), (3600, "hours"),
                                           (86_400, "days"), (100, "percentage"),
                                           (10, "power of ten"),
                                           (1e9, "prefix")])
def test_generic_mistakes_are_recognised_in_both_directions(factor, cause):
    asked = key(3.7e9, "FLOP", "work", 1)
    for value, side in ((3.7e9 * factor, "large"), (3.7e9 / factor, "small")):
        mark = grade(f"{value:.6e}", asked)
        assert mark.verdict == "wrong" and cause in mark.says and side in mark.says, mark


@pytest.mark.parametrize("factor, cause", [(1.024**2, "MiB"), (1.024**3, "GiB"), (1.024**4, "TiB")])
@pytest.mark.parametrize("unit, kind", [("GB", "bytes"), ("GB/s", "bandwidth")])
def test_binary_prefixes_are_recognised_in_bytes(unit, kind, factor, cause):
    asked = key(3.7e9, unit, kind, 1e9)
    for value, side in ((3.7 * factor, "large"), (3.7 / factor, "small")):
        mark = grade(f"{value:.6f}", asked)
        assert mark.verdict == "wrong" and cause in mark.says and side in mark.says, mark


def test_two_figures_name_the_nearest_binary_prefix():
    asked = key(14e9, "GB", "bytes", 1e9)
    assert grade("14 GiB", asked).says == "Too large: GiB taken for GB? They differ by 7.4%."
    assert PAGE.calls("grade", [("14 GiB", asked)])[0]["says"] == grade("14 GiB", asked).says


@pytest.mark.parametrize("factor", [1.024, 1.024**2, 1.024**3, 1.024**4])
def test_binary_prefixes_are_not_suspected_where_there_are_no_bytes(factor):
    for asked in (DAYS, FLOPS):
        text = repr(asked["answer"] / asked["size"] * factor)
        says = grade(text, asked).says
        assert "iB" not in says
        assert PAGE.calls("grade", [(text, asked)])[0]["says"] == says


def test_factors_are_far_enough_apart_to_be_told_from_each_other():
    factors = sorted({factor for factor, _ in FACTORS})
    assert all(b / a > 1.04 for a, b in zip(factors, factors[1:]))


def test_a_trap_comes_before_the_generic_mistakes():
    asked = key(1000.0, "", "", 1, (8000.0, "its own words"))
    assert grade("8000", asked).says == "its own words"


def test_the_nearest_trap_speaks():
    asked = key(100.0, "", "", 1, (200.0, "two"), (203.0, "two and a bit"))
    assert grade("201", asked).says == "two"
    assert grade("202.5", asked).says == "two and a bit"


@pytest.mark.parametrize("text, words", [
    ("13 days", "Too large, by less than a factor of two."),
    ("12.1 days", "Too large, by less than 10%."),
    ("3 days", "Too small, by a factor between two and ten."),
    ("0.4 days", "Too small, more than ten times."),
    ("0.001 days", "Too small, more than a thousand times."),
    ("-11.35 days", "The sign is wrong."),
    ("0 days", "Zero is not the answer."),
])
def test_the_rest_is_told_coarsely(text, words):
    assert grade(text, DAYS).says == words


@pytest.mark.parametrize("text, asked, words", [
    ("11 GB", DAYS, "a number of bytes was typed"),
    ("5 fortnights", DAYS, "“fortnights”"),
    ("11 days", BYTES, "This asks for a number of bytes"),
    ("400 Gb/s", BYTES, "bytes per second"),
])
def test_another_kind_of_quantity_is_not_counted_as_wrong(text, asked, words):
    mark = grade(text, asked)
    assert mark.verdict == "unread" and words in mark.says


@pytest.mark.parametrize("answer", [
    980_327, 980_327.0, 11.35, 11, "11.35 days", np.float64(980_327), np.array([980_327.0]),
    Fraction(1_960_654, 2), Value(980_327.0, "s"), Whole(980_327, "s"),
])
def test_numbers_of_any_kind_are_accepted(answer):
    assert grade_value(answer, DAYS).verdict == "right"


def test_a_number_of_the_library_knows_its_unit():
    assert grade_value(Value(11.35, "s"), DAYS).verdict == "wrong"


class Hostile:
    def __float__(self):
        raise RuntimeError("no")

    def __repr__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize("answer", [None, ..., "", "  \n"])
def test_blank_is_not_attempted(answer):
    assert grade_value(answer, DAYS).says == "Not attempted yet."


@pytest.mark.parametrize("answer",
                         [True, 1j, [1], (1, 2), {}, len, object(), Hostile(), np.array([1.0, 2.0]),
                          b"11"])
def test_other_objects_are_unread(answer):
    mark = grade_value(answer, DAYS)
    assert mark.verdict == "unread" and "one number is asked for" in mark.says


def test_nothing_is_evaluated():
    for text in ("__import__('os')", "2*3", "11 if True else 0", "max(11, 12)"):
        assert grade(text, DAYS).verdict != "right"


def typed_answers(asked: dict) -> list[str]:
    """A grid of answers: sizes around the right one, in base units and as asked, spelt variously."""
    values = [a * f for a in (asked["answer"], asked["answer"] / asked["size"])
              for f in (1, 0.985, 1.021, 0.5, 2, 8, 1 / 8, 1000, 1e-3, 1.0737, 60, 3600, 10, -1)]
    spellings = ["{:.3g}", "{:.4e}", "{:,.1f}", "{:.3g} days", "{:.4g} GB", "{:.3g} GiB", "{:.3g}%",
                 "${:.4g}",
                 "{:.2g} TB", "about {:.3g}", "{:.3g} GPUs", "{:.3g} h", "{:.3g}k",
                 "{:.3g} tokens/s", "{:.3g}x"]
    odd = ["", " ", "nan", "inf", "1e999", "0", "0 GB", "half a day", "eleven days", "1,05",
           "16 384", "5 fortnights",
           "11 days each", "=11", "11.", "six hours", "$", "11 GB per GPU"]
    return [spelling.format(value) for value in values for spelling in spellings] + odd


@pytest.mark.parametrize("asked", KEYS, ids=lambda k: k["unit"] or "ratio")
def test_the_page_marks_as_python_does(asked):
    texts = typed_answers(asked)
    page = PAGE.calls("grade", [[text, asked] for text in texts])
    mine = [{"verdict": m.verdict, "says": m.says} for m in (grade(text, asked) for text in texts)]
    assert [(t, p, m) for t, p, m in zip(texts, page, mine) if p != m] == []
