"""Numbers as text, and numbers that know where they come from."""
import copy
import math
import pickle

import pytest

from clustermath import (Count, Share, Value, Whole, given, givens, model_bytes, ring_time, show,
                         tex, training_time)


@pytest.mark.parametrize(
    "x, unit, text",
    [
        (980_327, "s", "11.35 days"),
        (2 * 86400, "s", "2 days"),
        (86400, "s", "24 h"),
        (5400, "s", "90 min"),
        (600, "s", "10 min"),
        (64.8, "s", "64.8 s"),
        (1, "s", "1 s"),
        (0.2746, "s", "274.6 ms"),
        (0, "s", "0 s"),
        (56e-6, "s", "56 µs"),
        (3e-9, "s", "3 ns"),
        (1e-12, "s", "0.001 ns"),
        (1.1296e12, "B", "1.13 TB"),
        (141.2e9, "B", "141.2 GB"),
        (999.9, "B", "999.9 B"),
        (0, "B", "0 B"),
        (327_680, "B", "327.7 kB"),
        (450e9, "B/s", "450 GB/s"),
        (989e12, "FLOP/s", "989 TFLOP/s"),
        (6.354e24, "FLOP", "6.354e24 FLOP"),
        (0.4, "%", "40%"),
        (0.345229, "%", "34.52%"),
        (1, "%", "100%"),
        (73_727.7, "$", "$73,730"),
        (11.15e6, "$", "$11.15 million"),
        (7.436e-7, "$", "$7.436e-7"),
        (0, "$", "$0"),
        (2.5 / 3600, "$/s", "$2.50 per hour"),
        (-3, "$", "-$3"),
        (8192, "", "8,192"),
        (6196.58, "", "6,197"),
        (9999.96, "", "10,000"),
        (0.000999, "", "9.99e-4"),
        (0.001, "", "0.001"),
        (1e7, "", "1e7"),
        (-0.5, "", "-0.5"),
        (math.nan, "", "nan"),
        (math.inf, "", "inf"),
        (51.62, "experts", "51.62 experts"),
    ],
)
def test_show(x, unit, text):
    assert show(x, unit) == text


def test_show_never_needs_more_than_the_digits_asked_for():
    for digits in (1, 2, 3, 4):
        assert (
            show(1234.5678e9, "B", digits) == ("1 TB", "1.2 TB", "1.23 TB", "1.235 TB")[digits - 1]
        )


@pytest.mark.parametrize(
    "x, unit, text",
    [
        (6.354e24, "FLOP", r"6.354\times 10^{24}\ \text{FLOP}"),
        (8192, "", "8{,}192"),
        (0.4, "%", r"40\%"),
        (-73_728, "$", r"-\$73{,}728"),
        (11.15e6, "$", r"\$11.15\ \text{million}"),
        (math.inf, "s", r"\infty"),
    ],
)
def test_tex(x, unit, text):
    assert tex(x, unit) == text


# --- numbers that know where they come from ---


def test_arithmetic_leaves_plain_numbers():
    mfu = given(0.4, Share, "utilization", assumption="typical")
    nodes = given(2048, Count, "nodes", assumption="the fleet")
    assert type(mfu) is Value and type(nodes) is Whole and nodes.unit == "" and mfu.unit == "%"
    for result in (mfu * 2, 2 * mfu, mfu + mfu, -mfu, mfu / nodes, mfu**2, abs(mfu)):
        assert type(result) is float
    for result in (nodes * 2, nodes + nodes, nodes // 3, -nodes, nodes % 5):
        assert type(result) is int
    assert repr(mfu) == "0.4" and repr(nodes) == "2048" and {mfu: 1}[0.4] == 1
    assert (
        type(model_bytes(nodes, 2)) is int and type(training_time(1e24, nodes, 1e15, mfu)) is float
    )
    assert "0.4" not in repr(givens({"mfu": mfu})) and "40%" in repr(givens({"mfu": mfu}))


@pytest.mark.parametrize(
    "again", (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)))
)
def test_copies_keep_the_description(again):
    for number in (Value(0.4, "%", "kaplan-2020", "m", "n"), Whole(8, "chips", "", "m", "n")):
        twin = again(number)
        assert twin == number and type(twin) is type(number) and vars(twin) == vars(number)
    worked = again(ring_time.worked(141.2e9, 8, 450e9))
    assert worked == ring_time(141.2e9, 8, 450e9) and worked.unit == "s"
