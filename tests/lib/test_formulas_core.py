"""The machinery under the formulas: checks and their messages, faces, chains, speed."""
import math
import subprocess
import sys

import numpy as np
import pytest
import quickjs

from clustermath import (Count, Whole, checked, chip_cost, chip_time_needed, chips_needed,
                         decode_cost, experts_touched, fleet_rate, flops_per_token, formula,
                         implied_mfu, matmul_batch, min_ranks, ring_bytes, ring_factor,
                         round_up_chips, speedup, state_bytes, token_cost, training_flops,
                         training_time)
from clustermath.checking import check_all, is_relaxed
from clustermath.faces.grammar import Unsupported
from clustermath.ops import INF, ceil, floor, log2, maximum, minimum, sqrt
from clustermath.types import Flag, Number, Positive

HALF = 0.5
WORDS = "no number"


# --- refusals ---


@pytest.mark.parametrize(
    "call, text",
    [
        (
            lambda: training_time(1, 8, 1e12, 40),
            "training_time: mfu must be a number in (0, 1], got 40; write 40% as 0.4",
        ),
        (
            lambda: training_time(1, 8, 0, 0.4),
            "training_time: peak must be a number above 0, got 0",
        ),
        (
            lambda: training_time(1, 2.5, 1e12, 0.4),
            "training_time: chips must be a whole number of at least 1, got 2.5",
        ),
        (lambda: state_bytes(1e9, 8, 4), "state_bytes: stage must be one of 0, 1, 2, 3, got 4"),
        (
            lambda: min_ranks(-1, 80e9, 3),
            "min_ranks: params must be a number of at least 0, got -1",
        ),
        (
            lambda: chips_needed(1, 1, 1e12, 0.4, overhead=15),
            "chips_needed: overhead must be a number in [0, 5], " "got 15; write 40% as 0.4",
        ),
        (lambda: speedup(2, 2), "speedup needs saved < step, got step=2, saved=2"),
        (
            lambda: experts_touched(8, 9, 1),
            "experts_touched needs top_k <= experts, got experts=8, top_k=9",
        ),
    ],
)
def test_values_outside_are_refused_with_the_way_out(call, text):
    with pytest.raises(ValueError) as refusal:
        call()
    assert str(refusal.value) == text


@pytest.mark.parametrize("bad", (True, None, "8", [8], np.True_))
def test_what_is_no_number_is_a_type_error(bad):
    with pytest.raises(
        TypeError, match="ring_factor: ranks must be a whole number of at least 1, got"
    ):
        ring_factor(bad)


def test_arrays_are_checked_whole():
    with pytest.raises(ValueError, match="ranks must be a whole number of at least 1, got 0.0"):
        ring_factor(np.array([8, 4, 0]))
    with pytest.raises(ValueError, match="ranks is an empty array"):
        ring_factor(np.array([]))
    with pytest.raises(TypeError, match="stage must be one number .*, not an array"):
        state_bytes(1e9, 8, np.array([0, 1]))
    with pytest.raises(ValueError, match="speedup needs saved < step"):
        speedup(np.array([2.0, 3.0]), np.array([1.0, 3.0]))


@checked
def repeated(times: Count, word: str = "x", limit: Count = None) -> str:
    """A plain function."""
    return word * int(times)


def test_checked_functions_check_what_is_annotated_and_given():
    assert repeated(2) == repeated(times=np.int64(2), word="x") == repeated(Whole(2)) == "xx"
    with pytest.raises(TypeError, match="repeated: times must be one number .*, not an array"):
        repeated(np.array([1, 2]))
    with pytest.raises(TypeError, match="repeated: limit must be a whole number"):
        repeated(2, limit=None)


@pytest.mark.parametrize(
    "bad, error",
    [
        ([], ValueError),
        ([1, 0], ValueError),
        ([1, True], TypeError),
        ("12", TypeError),
        (3, TypeError),
        ([[1], [2]], TypeError),
        (np.ones((2, 2)), TypeError),
        ([1, math.nan], ValueError),
    ],
)
def test_sequences(bad, error):
    with pytest.raises(error, match="f: xs"):
        check_all("f: xs", Count, bad)
    source = np.array([1.0, 2.0])
    kept = check_all("f: xs", Count, source)
    kept[0] = 5
    assert source[0] == 1 and check_all("f: xs", Count, (3, 4)).tolist() == [3.0, 4.0]


# --- elasticity: against derivatives by hand ---


@pytest.mark.parametrize(
    "f, name, at, slope",
    [
        (training_time, "flops", dict(flops=6e24, chips=1024, peak=989e12, mfu=0.4), 1),
        (training_time, "chips", dict(flops=6e24, chips=1024, peak=989e12, mfu=0.4), -1),
        (training_time, "goodput", dict(flops=6e24, chips=1024, peak=989e12, mfu=1, goodput=1), -1),
        (
            training_time,
            "mfu",
            dict(flops=6e24, chips=1024, peak=989e12, mfu=1),
            -1,
        ),  # at the edge of the domain
        (ring_bytes, "ranks", dict(size=1e9, ranks=8), 1 / 7),
        (ring_bytes, "ranks", dict(size=1e9, ranks=2), 1),
        (
            chips_needed,
            "overhead",
            dict(flops=6e24, time=1e6, peak=989e12, mfu=0.4, overhead=0.15),
            0.15 / 1.15,
        ),
        (speedup, "saved", dict(step=4, saved=1), 1 / 3),
        (state_bytes, "ranks", dict(params=1e9, ranks=8, stage=1), -1.5 / 5.5),
    ],
)
def test_elasticity(f, name, at, slope):
    assert f.elasticity(name, **at) == pytest.approx(slope, abs=1e-7)
    assert not is_relaxed()


def test_elasticity_refuses_what_has_none():
    with pytest.raises(ValueError, match="no elasticity where ranks or the result is zero or less"):
        ring_bytes.elasticity("ranks", 1e9, 1)
    with pytest.raises(ValueError, match="has no argument 'rank'; it has size, ranks, legs"):
        ring_bytes.elasticity("rank", 1e9, 8)
    with pytest.raises(TypeError):
        ring_bytes.elasticity("ranks", "many", 8)
    assert not is_relaxed()


# --- chains ---


def test_a_worked_chain_is_the_number_and_shows_the_way():
    cost = chip_cost.worked(chip_time_needed(4.2e22, 989e12, 0.4), 2.5 / 3600)
    assert cost == pytest.approx(73_727, abs=1) and cost.unit == "$"
    assert cost._repr_latex_() == (
        r"$$ \begin{aligned}C &= t\,p = 29{,}490\ \text{chip-hours} \times \$2.50\ \text{per hour} "
        r"= \mathbf{\$73{,}730}\end{aligned} $$"
    )
    assert type(cost * 1) is float


def test_nested_formulas_stand_innermost_first_and_once():
    chain = decode_cost.worked(70.6e9, 64, 2048, 327680, 2.5 / 3600, 3.35e12, 989e12)
    assert [line.partition("(")[0] for line in repr(chain).splitlines()] == [
        "decode_time",
        "decode_cost",
    ]
    twice = _sum_of_two.worked(8)
    assert repr(twice) == "ring_factor(ranks=8, legs=2) = 1.75\n_sum_of_two(ranks=8) = 3.5"


@formula("z", ranks="n")
def _sum_of_two(ranks: Count) -> Number:
    """The same formula called twice."""
    return ring_factor(ranks) + ring_factor(ranks, 2)


def test_neutral_defaults_and_branches_not_taken_stay_unsaid():
    plain = chips_needed.worked(6.354e24, 2.592e6, 989e12, 0.4)._repr_latex_()
    padded = chips_needed.worked(6.354e24, 2.592e6, 989e12, 0.4, 0.15)._repr_latex_()
    assert "1 + " not in plain and r"\left(1 + o\right)" in padded and "0.15" in padded
    nodes = round_up_chips.worked(6197)._repr_latex_()
    power = round_up_chips.worked(6197, power_of_two=1)._repr_latex_()
    assert r"\frac{G}{m}" in nodes and "log" not in nodes and r"\frac{G}{m}" not in power
    alone = matmul_batch.worked(512, 512, 989e12, 3.35e12)
    assert alone == math.inf and r"B^* &= \mathbf{\infty}" in alone._repr_latex_()


def test_a_chain_takes_single_numbers():
    with pytest.raises(TypeError, match="a worked chain takes single numbers"):
        training_time.worked(np.array([1e24, 2e24]), 8, 1e15, 0.4)
    assert training_time(1e24, 8, 1e15, 0.4) > 0  # and records nothing afterwards


def test_long_rows_are_broken():
    latex = implied_mfu.worked(6 * 405e9 * 15.6e12, 30.84e6 * 3600, 989e12)._repr_latex_()
    assert all(len(row) < 200 for row in latex.split(r"\\"))


# --- the grammar ---


@formula("y", x="x")
def _loops(x: Number) -> Number:
    """A statement that is neither an assignment nor the return."""
    for _ in range(2):
        x = x + 1
    return x


@formula("y", x="x")
def _borrows(x: Number) -> Number:
    """A function outside the grammar."""
    return math.sin(x)


@formula("y", x="x")
def _reads(x: Number) -> Number:
    """A global that is no number."""
    return x * WORDS


@formula("y", x="x")
def _remainder(x: Number) -> Number:
    """An operator outside the grammar."""
    return x % 2


@formula("y", x="x")
def _truth(x: Number) -> Number:
    """A literal that is no number."""
    return x if True else 0


@pytest.mark.parametrize(
    "f", (_loops, _borrows, _reads, _remainder, _truth), ids=lambda f: f.__name__
)
def test_what_is_not_in_the_grammar_has_no_face(f):
    for face in (lambda: f.js(), lambda: f.latex) if f is not _truth else (lambda: f.js(),):
        with pytest.raises(Unsupported, match=f.__name__):
            face()


@formula("y", x="x", q="q")
def _mixed(x: Positive, q: Flag = 0) -> Number:
    """Every construct at once."""
    part = -x // 3 + x**2
    low = minimum(part, maximum(x, HALF)) if x <= 4 != 5 else floor(x)
    return low + ceil(x) * log2(x) + sqrt(x) if q == 1 else low - INF / (1 + x)


def test_every_construct_agrees_in_javascript():
    context = quickjs.Context()
    context.eval(_mixed.js())
    for x in (0.3, 1, 2.5, 4, 7.25, 1e6):
        for q in (0, 1):
            there = float(context.eval(f"String(_mixed({x}, {q}))").replace("Infinity", "inf"))
            assert there == pytest.approx(_mixed(x, q), rel=1e-12)
    assert r"\infty" in _mixed.latex and r"\lfloor" in _mixed.latex


def test_a_branch_on_an_array_is_taken_element_by_element():
    x = np.array([0.3, 4, 7.25])
    assert _mixed(x, 1).tolist() == [_mixed(v, 1) for v in x.tolist()]
    assert state_bytes(1e9, np.array([1, 8]), stage=0).tolist() == [16e9, 16e9]
    grid = state_bytes(np.array([[1e9], [2e9]]), np.array([1, 8]), stage=3)
    assert grid.tolist() == [[16e9, 2e9], [32e9, 4e9]]


@pytest.mark.parametrize(
    "x, expected",
    [
        (12.000000001, 12),
        (12.0001, 13),
        (12, 12),
        (0, 0),
        (-0.5, 0),
        (0.2, 1),
        (2e9, 2_000_000_000),
        (10**12 + 1, 10**12 + 1),
        (3e15 + 1, 3 * 10**15 + 1),
        (59.0000000001, 59),
    ],
)
def test_ceil_forgives_rounding_errors_and_keeps_whole_numbers(x, expected):
    context = quickjs.Context()
    context.eval(round_up_chips.js())
    assert ceil(x) == ceil(np.array([x, 0.5]))[0] == context.eval(f"ceil({x})") == expected


def test_formulas_introduce_themselves():
    assert training_flops.unit == "FLOP" and fleet_rate.unit == "FLOP/s" and token_cost.unit == "$"
    assert repr(ring_factor) == "ring_factor(ranks, legs)"
    assert ring_factor._repr_latex_() == rf"$$ {ring_factor.latex} $$"
    assert flops_per_token.bind(1, 2, 3, 4) == dict(
        matmul=1, layers=2, width=3, seq=4, causal=1, factor=6
    )
    assert flops_per_token.domains["causal"].choices == (0, 1)
    assert set(flops_per_token.js().split()) & {"attention_flops(layers,"}


def test_importing_costs_the_standard_library_alone():
    code = (
        "import sys; import clustermath; clustermath.training_flops(1e9, 1e9); "
        "print([m for m in ('numpy', 'matplotlib', 'IPython', 'anywidget') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_no_argument_name_hides_the_checks():
    from clustermath import Number, Whole, formula

    @formula("z")
    def total(y: Number, spread: Number, check: Number, core: Number, plain: Number, INF: Number) -> Number:
        """A sum of arguments with awkward names."""
        return y + spread + check + core + plain + INF

    assert total(Whole(1), 2, 3.0, 4, 5, 6) == 21
    with pytest.raises(ValueError, match="spread must be"):
        total(1, -2, 3, 4, 5, 6)


def test_a_name_that_javascript_keeps_is_refused():
    from clustermath import Number, formula
    from clustermath.faces.grammar import Unsupported

    @formula("y")
    def doubled(switch: Number) -> Number:
        """Twice the argument."""
        return 2 * switch

    assert doubled(2) == 4
    with pytest.raises(Unsupported, match="switch is a word of JavaScript"):
        doubled.js()
