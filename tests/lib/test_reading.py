"""Reading quantities: one table for Python and for the page, and what no table can list."""

import csv
import math
from pathlib import Path

import pytest
from clustermath.quantity import show
from clustermath.reading import Reading, Unreadable, read
from hypothesis import given, settings
from hypothesis import strategies as st

CASES = Path(__file__).parent.parent / "cases" / "readings.csv"
with CASES.open(newline="", encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file))


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['why']}: {row['text']!r}" for row in ROWS])
def test_reads_as_the_table_says(row):
    if row["value"] == "unreadable":
        with pytest.raises(Unreadable) as error:
            read(row["text"])
        assert len(str(error.value)) > 10
    else:
        assert math.isclose(read(row["text"]).value, float(row["value"]), rel_tol=1e-12)


def test_the_table_is_large_and_has_no_doubles():
    texts = [row["text"] for row in ROWS]
    assert len(texts) == len(set(texts)) >= 120


# (text, digits, step in base units, kind): precision and kind, which the table leaves out.
PRECISION = [
    ("6,200 H100s", 2, 100, ""),
    ("10,000", 1, 10_000, ""),
    ("11 days", 2, 86_400, "time"),
    ("1.10 TB", 3, 1e10, "bytes"),
    ("40%", 1, 0.1, "share"),
    ("34.5%", 3, 0.001, "share"),
    ("6.35e24 FLOPs", 3, 1e22, "work"),
    ("six and a half terabytes", 2, 1e11, "bytes"),
    ("half a minute", 1, 6, "time"),
    ("three quarters of a microdollar", 2, 1e-8, "money"),
    ("sixteen thousand GPUs", 2, 1000, ""),
    ("$2.50 per GPU-hour", 3, 0.01 / 3600, "price"),
    ("3.35 TB/s", 3, 1e10, "bandwidth"),
    ("989 TFLOP/s", 3, 1e12, "flop rate"),
    ("1.7M tok/s", 2, 1e5, "rate"),
    ("1/64", 4, 0, ""),
    ("0 bytes", 1, 0, "bytes"),
]


@pytest.mark.parametrize(
    ("text", "digits", "step", "kind"), PRECISION, ids=[row[0] for row in PRECISION]
)
def test_precision_and_kind(text, digits, step, kind):
    reading = read(text)
    assert (reading.digits, reading.kind) == (digits, kind)
    assert math.isclose(reading.step, step, rel_tol=1e-9, abs_tol=0)


@pytest.mark.parametrize(
    ("text", "value", "accepted"),
    [
        ("1 TB", 0.96e12, True),
        ("1 TB", 0.93e12, False),  # at one figure 0.93 is 0.9
        ("10 days", 9.2 * 86_400, False),
        ("10 days", 9.6 * 86_400, True),
        ("0.0%", 0.0003, True),
        ("0%", 0.0003, False),
        ("-3.2%", -0.0317, True),
        ("2^16", 65_537, False),
        ("two thirds", 0.6666, True),
    ],
)
def test_accepts_what_rounds_to_it(text, value, accepted):
    assert read(text).accepts(value) is accepted


@pytest.mark.parametrize(
    "text", ["11 days", "about 6,200 H100s", "half a minute", "$75k", "-3.2%", "6.35e24 FLOPs"]
)
def test_rewriting_keeps_the_rest_of_the_text(text):
    reading = read(text)
    again = read(reading.rewrite(reading.value * 1.03, 4))
    assert math.isclose(again.value, reading.value * 1.03, rel_tol=1e-3)
    assert (again.kind, again.rest) == (reading.kind, reading.rest)


@settings(max_examples=300, deadline=None)
@given(
    st.floats(1e-9, 1e27),
    st.sampled_from(["", "B", "s", "FLOP", "FLOP/s", "B/s", "$", "$/s", "1/s", "%", "tokens"]),
    st.sampled_from([1, -1]),
)
def test_what_the_library_shows_is_read_back(size, unit, sign):
    value = sign * size
    text = show(value, unit)
    assert read(text).accepts(value), text


def test_an_instant_unit_survives_invisible_characters():
    assert read("\u200b1.1\u00a0TB\n").value == read("1.1 TB").value == 1.1e12


PIECES = st.sampled_from(
    [
        "1",
        "8",
        "192",
        ",",
        ".",
        " ",
        "e",
        "E",
        "^",
        "x",
        "×",
        "10",
        "$",
        "%",
        "-",
        "−",
        "/",
        "TB",
        "Gb",
        "s",
        "per",
        "GPU-hours",
        "half",
        "a",
        "and",
        "million",
        "{",
        "}",
        "\\times",
        "(",
        ")",
        "'",
        "nan",
        "²⁴",
        "of",
        "\u00a0",
    ]
)


@settings(max_examples=500, deadline=None)
@given(
    st.one_of(
        st.lists(PIECES, max_size=8).map("".join),
        st.lists(PIECES, max_size=8).map(" ".join),
        st.text(max_size=30),
    )
)
def test_anything_typed_is_a_reading_or_unreadable(text):
    try:
        reading = read(text)
    except Unreadable:
        return
    assert isinstance(reading, Reading)
    assert math.isfinite(reading.value)
    assert reading.low <= reading.value <= reading.high


@pytest.mark.parametrize(
    "text", ["9" * 5000, "1e" + "9" * 5000, "2^" + "9" * 5000, "1," * 5000, "ten " * 3000]
)
def test_a_long_text_is_refused_shortly(text):
    with pytest.raises(Unreadable) as error:
        read(text)
    assert len(str(error.value)) < 200
