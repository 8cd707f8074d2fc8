"""The judge of a number link: the specification's cases, and what its messages must say."""

import csv
from pathlib import Path

import pytest
from verify.judge import judge

CASES = Path(__file__).parent.parent / "cases" / "number_links.csv"
with CASES.open(newline="", encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file))


def _id(row: dict[str, str]) -> str:
    title = f" ({row['title']})" if row["title"] else ""
    return f"{row['text'] or 'nothing'}{title} {row['verdict']} for {row['value']}"


@pytest.mark.parametrize("row", ROWS, ids=[_id(row) for row in ROWS])
def test_case(row):
    verdict = judge(row["text"], float(row["value"]), row["title"])
    assert verdict.ok is (row["verdict"] == "holds"), verdict.message
    assert bool(verdict.message) is not verdict.ok


def test_all_cases_are_here():
    assert len(ROWS) == 127


@pytest.mark.parametrize(
    ("text", "value", "title", "said"),
    [
        (
            "12 days",
            979_684.24,
            "",
            [
                "'12 days' reads",
                "993600 to 1.08e+06",
                "979684.24",
                "write '11 days' or '11.3 days'",
            ],
        ),
        ("5 fortnights", 6_048_000, "", ["'fortnights' is no unit"]),
        ("30.8 million GPU-hours", 30.84e6, "", ["check unit and magnitude"]),
        ("$75k", 73_727.67, "within 2%", ["no loose word", "about $75k"]),
        ("roughly $75k", 73_727.67, "within 1%", ["not within 1%", "roughly $74k"]),
        ("roughly $75k", 73_727.67, "more or less", ["'more or less' is no tolerance"]),
        ("8 to 16 GPUs", 8, "", ["more than one number", "'8' and '16'"]),
        ("1,00 GB", 1e11, "", ["'1,00' is malformed"]),
        ("2(n-1)/n", 1.75, "", ["not a quantity"]),
        ("", 1, "", ["no text"]),
        ("11 days", float("nan"), "", ["not a number"]),
    ],
    ids=lambda value: str(value)[:30],
)
def test_message(text, value, title, said):
    message = judge(text, value, title).message
    for part in said:
        assert part in message


def test_what_a_message_suggests_holds():
    for row in ROWS:
        message = judge(row["text"], float(row["value"])).message
        for suggestion in message.partition(": write ")[2].split("' or '"):
            if suggestion and "cannot be checked" not in message:
                assert judge(suggestion.strip("'"), float(row["value"])).ok, message


@pytest.mark.parametrize(
    ("figure", "value"), [("141", 141e9), ("183", 182.5e9), ("989", 989e9), ("38.5", 38.5e9)]
)
def test_three_figures_tell_gb_from_gib(figure, value):
    assert judge(f"{figure} GB", value).ok
    assert not judge(f"{figure} GiB", value).ok


def test_a_binary_unit_may_be_right_all_the_same():
    assert judge("1.0 TiB", 1.1e12).ok
    assert judge("74.5 GiB", 80e9).ok
