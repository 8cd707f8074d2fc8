"""The page reads and prints quantities as Python does."""
from __future__ import annotations

import csv
import random
from pathlib import Path

import pytest

from clustermath.quantity import show
from clustermath.reading import Unreadable, read
from clustermath.widgets.readout import readout
from tests.lib.pagejs import Refused, question_page

CASES = Path(__file__).parents[1] / "cases"
PAGE = question_page()
ROWS = list(csv.DictReader((CASES / "readings.csv").open(encoding="utf8")))
LINKS = [row["text"] for row in csv.DictReader((CASES / "number_links.csv").open(encoding="utf8"))]

# What people, keyboards and clipboards do beside the shared cases.
TYPED = [
    "6.35 e24", "6.35e 24", " 6.35e24 ", "6.35 E 24 FLOPs", "6.35e24FLOPs", "6.35e24\n",
    "6.35\u200be24", "6.354e+24", "6.35 × 10²⁴", "6.35*10**24", "2^-3", "0^0", "0e5", "10^400",
    "1e999", "1e-400", "1e99999999999", "9" * 400, "NaN", "inf", "-inf", "0/0", "8 192", "8_192",
    "8.192", "8'192", "12,34", "1.000.000", "−3", "–3", "--5", "+5", "( 5 )", "[5]", "1e5e5",
    "1..2", ".5.", "3–5", "minus three", "two thousand four hundred", "one", "one day", "a h",
    "half a day", "three quarters", "12 and a half", "-½", "½ day", "70B", "$70 B", "15T tokens",
    "$7.4 per million tokens", "US$5", "5 USD per GPU-hour", "23 dollars per TB-month", "-$3",
    "12 core-hours", "5/s", "5 per second", "100 tb", "5 m", "5 constructor", "constructor",
    "toString", "é 5 é", "5é", "五", "\\frac{1}{2}", "$\\frac{7}{8}$", "5 \\text{GB}", "\\$5", "%",
    "",
]


def in_python(text: str) -> dict | str:
    """What Python makes of a text: the fields, or the refusal's message."""
    try:
        r = read(text)
    except Unreadable as error:
        return str(error)
    return {"value": r.value, "step": r.step, "digits": r.digits, "unit": r.unit, "kind": r.kind,
            "rest": r.rest}


def disagreements(texts: list[str]) -> list[tuple]:
    """Texts that the page reads, or refuses, otherwise."""
    read_there = PAGE.calls("read", [[t] for t in texts])
    page = [str(p) if isinstance(p, Refused) else p for p in read_there]
    return [(t, p, in_python(t)) for t, p in zip(texts, page) if p != in_python(t)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["text"][:40] or "empty")
def test_the_page_reads_the_shared_cases(row):
    if row["value"] == "unreadable":
        with pytest.raises(Refused):
            PAGE.call("read", row["text"])
    else:
        page = PAGE.call("read", row["text"])
        assert page["value"] == pytest.approx(float(row["value"]), rel=1e-12)


def test_the_page_agrees_with_python_in_every_field():
    assert disagreements([*LINKS, *TYPED, *(row["text"] for row in ROWS)]) == []


def test_the_page_agrees_on_mangled_texts():
    """Characters swapped, dropped and doubled: refused alike, in the same words."""
    rng = random.Random(0)
    whole = [row["text"] for row in ROWS if row["text"]]
    mangled = []
    for _ in range(2000):
        text = list(rng.choice(whole))
        for _ in range(rng.randint(1, 3)):
            k = rng.randrange(len(text) + 1)
            text[k:k + rng.randint(0, 1)] = rng.choice(["", "e", ".", ",", " ", "-", "5", "k", "/",
                                                        "$"])
        mangled.append("".join(text))
    assert disagreements(mangled) == []


UNITS = ["", "B", "B/s", "FLOP", "FLOP/s", "s", "$", "$/s", "1/s", "%", "tokens", "requests"]


def numbers() -> list[float]:
    """Edges of the formats, exact ties, and many sizes."""
    rng = random.Random(1)
    edges = [0, 1, 2, 0.5, 1234.5, 1233.5, 9999.5, 0.125, 2.125, 99.995, 1e7, 9999999, 9.9995e-4,
             1e-3, 0.1, 100, 1000 - 1e-10, 172800, 172799.999, 1e15, 999.95e9, -12.345, -5e8]
    sizes = [10 ** rng.uniform(-12, 28) for _ in range(400)]
    ties = [rng.randint(1, 10**6) / 2 ** rng.randint(1, 6) for _ in range(400)]
    return edges + sizes + ties


@pytest.mark.parametrize("unit", UNITS)
def test_the_page_prints_as_python_does(unit):
    for name, function in (("show", show), ("readout", readout)):
        rows = [(x, unit, digits) for x in numbers() for digits in (2, 3, 4)]
        page = PAGE.calls(name, rows)
        assert [(r, p, function(*r)) for r, p in zip(rows, page) if p != function(*r)] == []


@pytest.mark.parametrize("unit", ["", "B", "B/s", "FLOP", "FLOP/s", "s", "$", "%", "tokens"])
def test_what_is_printed_is_read_back(unit):
    """A read-out pasted into a field means the number that it shows."""
    xs = [x for x in numbers() if 0 < abs(x) < 1e20]
    cents = 0.0051 if unit == "$" else 0
    for x, page in zip(xs, PAGE.calls("read", [[readout(x, unit)] for x in xs])):
        assert page["value"] == pytest.approx(x, rel=1e-3, abs=cents), readout(x, unit)
