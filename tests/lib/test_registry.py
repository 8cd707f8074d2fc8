"""Structure of the registries: every figure has a unit, a source, a date and says per what."""

from __future__ import annotations

import datetime
import math
import re

import pytest
from registry_data import DATA, KINDS, entries, fields, files, note, number

import clustermath
from clustermath import show, sources
from clustermath.registry import Registry

FIGURES = [kind for kind in KINDS if kind != "sources"]
# What `show` writes out, and counted nouns, which it prints as they are.
UNITS = {
    "",
    "B",
    "B/s",
    "FLOP",
    "FLOP/s",
    "s",
    "1/s",
    "%",
    "$",
    "$/s",
    "$/(B s)",
    "parameters",
    "tokens",
    "tokens/s",
    "op/s",
    "W",
}
# Shapes are of the model and runs name their chips and fleet; everything else says per what.
PER_NOTHING = {"models", "moe", "runs"}
MAY_BE_ZERO = {
    "master",
    "grad",
    "weight",
    "replicated",
    "stage",
    "workers",
    "shared",
    "dense_layers",
}


def cells(kind: str):
    for name, table in entries(kind).items():
        for key, cell in table.items():
            yield name, key, cell


def test_every_registry_is_public():
    assert {kind for kind in KINDS if isinstance(getattr(clustermath, kind), Registry)} == set(
        KINDS
    )


@pytest.mark.parametrize("kind", KINDS)
def test_files_are_short(kind):
    assert all(len(f.read_text("utf8").splitlines()) <= 400 for f in files(kind))


@pytest.mark.parametrize("kind", FIGURES)
def test_each_entry_has_source_date_and_per(kind):
    for name, table in entries(kind).items():
        assert table.get("source") in sources, f"{kind} {name}: source"
        assert isinstance(table.get("read"), datetime.date), f"{kind} {name}: read"
        assert kind in PER_NOTHING or table.get("per", "").strip(), f"{kind} {name}: per"


@pytest.mark.parametrize("kind", FIGURES)
def test_each_figure_has_a_unit_and_a_source(kind):
    for name, key, cell in cells(kind):
        if isinstance(cell, dict):
            assert set(cell) <= {"value", "source", "note"}, f"{kind} {name}: {key}"
            assert (
                cell.get("source", "") == "" or cell["source"] in sources
            ), f"{kind} {name}: {key}"
        if number(cell) is not None:
            assert key in fields(kind), f"{kind} {name}: {key}"


@pytest.mark.parametrize("kind", FIGURES)
def test_fields_are_explained_and_used(kind):
    used = {key for _, key, _ in cells(kind)}
    for key, about in fields(kind).items():
        assert set(about) == {"unit", "meaning"} and about["meaning"], f"{kind}: {key}"
        assert about["unit"] in UNITS, f"{kind}: {key}"
        assert key in used, f"{kind}: nothing has {key}"


@pytest.mark.parametrize("kind", FIGURES)
def test_figures_are_finite_and_can_be_shown(kind):
    for name, key, cell in cells(kind):
        value = number(cell)
        if value is None:
            continue
        positive = value > 0 or key in MAY_BE_ZERO and value == 0
        assert math.isfinite(value) and positive, f"{kind} {name}: {key}"
        assert show(value, fields(kind)[key]["unit"])
        if fields(kind)[key]["unit"] == "%":
            assert value <= 1, f"{kind} {name}: {key} is a fraction"


@pytest.mark.parametrize("kind", KINDS)
def test_names_and_aliases_lead_to_one_entry(kind):
    taken: dict[str, str] = {}
    for name, table in entries(kind).items():
        for word in {name.lower(), *(alias.lower() for alias in table.get("aliases", ()))}:
            assert (
                taken.setdefault(word, name) == name
            ), f"{kind}: {word} is {taken[word]} and {name}"
            assert getattr(clustermath, kind)[word].name == name


@pytest.mark.parametrize(
    "asked, found",
    [
        ("B200", "B200"),
        ("b200", "B200"),
        ("B200 SXM", "B200"),
        ("GB200", "GB200 NVL72"),
        ("H100", "H100 SXM"),
        ("H100-80GB", "H100 SXM"),
        ("h100 sxm5", "H100 SXM"),
        ("A100-80GB", "A100 80GB"),
        ("Trillium", "TPU v6e"),
        ("Ironwood", "TPU v7"),
        ("v5e", "TPU v5e"),
    ],
)
def test_chips_by_the_names_people_use(asked, found):
    assert clustermath.chips[asked].name == found


@pytest.mark.parametrize(
    "asked, near",
    [("B2000", "B200"), ("H100 NVL", "H100 SXM"), ("TPU v8", "TPU v7"), ("GB", "GB200 NVL72")],
)
def test_an_unknown_chip_gets_near_names(asked, near):
    with pytest.raises(KeyError, match=re.escape(near)):
        clustermath.chips[asked]


def test_a_name_unlike_any_gets_the_known_ones():
    with pytest.raises(KeyError, match="known: .*H100 SXM"):
        clustermath.chips["Cerebras"]


def test_an_entry_says_what_it_has():
    with pytest.raises(AttributeError, match="bf16_flops"):
        clustermath.chips["H100 SXM"].peak


# ---- notes ----

HOUR, DAY = 3600, 86400
SCALES = {
    "GPU-hours": HOUR,
    "H100-hours": HOUR,
    "CPU-h": HOUR,
    "h": HOUR,
    "days": DAY,
    "min": 60,
    "ms": 1e-3,
    "microseconds": 1e-6,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "MB/s": 1e6,
    "GB/s": 1e9,
    "MiB/s": 2**20,
    "GiB/s": 2**30,
    "TiB/s": 2**40,
    "Gb/s": 1e9 / 8,
    "Tb/s": 1e12 / 8,
    "MB/s per TiB": 1e6 / 2**40,
    "per 1,000 node-days": 1e-3 / DAY,
    "per hour": 1 / HOUR,
    "per GPU-hour": 1 / HOUR,
    "per chip-hour": 1 / HOUR,
    "per GB-month": 1e-9 / (730 * HOUR),
    "per 1,000": 1e-3,
    "per million": 1e-6,
    "per hour for 96 virtual cores": 1 / HOUR / 96,
}
FIGURE = re.compile(
    r"(?:about |approximately |roughly |more than |less than |at least )?"
    r"\$?([\d,]+(?:\.\d+)?)( million)? "
    rf"({'|'.join(sorted(map(re.escape, SCALES), key=len, reverse=True))})(?![\w/-])(.*)"
)


@pytest.mark.parametrize("kind", FIGURES)
def test_a_note_that_begins_with_the_figure_says_the_same(kind):
    for name, key, cell in cells(kind):
        said = FIGURE.match(note(cell))
        if said:
            text, million, unit, rest = said.groups()
            value = float(text.replace(",", "")) * (1e6 if million else 1) * SCALES[unit]
            value /= 2 if "summed" in rest else 1  # columns of links are one way
            assert number(cell) == pytest.approx(
                value, rel=6e-3
            ), f"{kind} {name}: {key}: {note(cell)}"


def test_notes_are_read():
    found = sum(bool(FIGURE.match(note(cell))) for kind in FIGURES for _, _, cell in cells(kind))
    assert found > 150


# ---- sources ----


@pytest.mark.parametrize("key", ["title", "identifier", "address", "short"])
def test_no_source_stands_twice(key):
    seen: dict[str, str] = {}
    for name, table in entries("sources").items():
        assert (
            seen.setdefault(table[key].lower(), name) == name
        ), f"{seen[table[key].lower()]} and {name}: {table[key]}"


def test_sources_are_complete():
    for name, table in entries("sources").items():
        assert set(table) - {"year"} == {"authors", "title", "identifier", "address", "short"}, name
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name), name
        assert table["address"].startswith("https://"), name
        assert 1950 < table.get("year", 2000) <= datetime.date.today().year, name


def test_arxiv_numbers_addresses_and_years_agree():
    for name, table in entries("sources").items():
        if table["identifier"].startswith("arXiv:"):
            number_ = table["identifier"].removeprefix("arXiv:")
            assert table["address"] == f"https://arxiv.org/abs/{number_}", name
            assert table["year"] == 2000 + int(number_[:2]), name


def test_sources_do_not_speak_of_where_we_read_them():
    text = "".join(f.read_text("utf8") for f in DATA.rglob("*.toml"))
    assert not re.search(r"/tmp|shared/|briefs?\b|index id", text)
