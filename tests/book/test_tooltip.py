"""What the tooltip of a number says."""

from __future__ import annotations

import pytest

from book.pages.numbers import tooltip


def about(value: float, expr: str = "", **more: str) -> dict:
    return {"value": value, "expr": expr, "source": "", **more}


@pytest.mark.parametrize(
    "value, unit, says",
    [
        (980327.0546322041, "s", "= 980,327.054632204 s = 11.35 days"),
        (0.4, "%", "= 0.4 = 40%"),
        (6.354e24, "FLOP", "= 6.354e24 FLOP"),
        (16384.0, "", "= 16,384"),
        (989e12, "FLOP/s", "= 989,000,000,000,000 FLOP/s = 989 TFLOP/s"),
        (7.4e-7, "", "= 7.4e-07"),
        (0.0, "", "= 0"),
    ],
)
def test_value_in_full_and_as_one_says_it(value, unit, says):
    assert tooltip("x", about(value, unit=unit)).splitlines()[1] == says


def test_expression_meaning_and_source():
    said = tooltip(
        "work",
        about(
            6.0, "training_flops.worked(params, tokens)", meaning="Work.", source="Kaplan et al."
        ),
    )
    assert said.splitlines() == [
        "work = training_flops(params, tokens)",
        "= 6",
        "Work.",
        "Source: Kaplan et al.",
    ]


def test_an_assumption_is_called_one():
    said = tooltip(
        "gpus",
        about(8.0, 'given(8, Count, "GPUs", assumption="a node")', meaning="GPUs", note="a node"),
    )
    assert said.splitlines() == ["gpus", "= 8", "GPUs", "Assumption: a node"]
