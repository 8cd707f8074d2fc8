"""Explorers: what the page computes against Python, the declared controls, and bad declarations."""
from __future__ import annotations

import json
import math
import random

import pytest
import traitlets

from clustermath import (Explorer, Grid, Params, Seconds, Share, choice, formula, guess,
                         request_throughput, slider, state_bytes, training_time, wire_bytes)
from clustermath.quantity import show
from clustermath.widgets.page import script
from tests.lib.pagejs import explorer_page

PAGE = explorer_page()


@formula("T", work="F", mfu=r"\eta")
def run_time(work: Params, mfu: Share, goodput: Share = 1) -> Seconds:
    """Composed here, as a chapter does it."""
    return training_time(6 * work, 1024, 989e12, mfu, goodput)


def simulate(latency: float, connections: int, size: float = 8e6) -> float:
    """Stands for a simulation: no formula of ours."""
    return connections * size / (latency + size / 90e6) + math.sin(connections)


def fleet(**change) -> Explorer:
    declared = dict(
        outputs={"Run time": run_time}, x="mfu", curves=("Run time",), work=1e24, mfu=0.4,
        sliders={"mfu": slider(0.1, 0.6, "MFU", step=0.01),
                 "work": slider(1e22, 1e26, "Work", log=True)},
        guess=guess("At 50%?", at={"mfu": 0.5}, output="Run time"))
    return Explorer(**{**declared, **change})


def zero() -> Explorer:
    return Explorer(
        outputs={"Held": state_bytes, "Sent": wire_bytes}, x="ranks", curves=("Held", "Sent"),
        sliders={"ranks": slider(1, 1024, "Ranks", log=True, whole=True, step=2),
                 "stage": choice({"DDP": 0, "ZeRO-1": 1, "ZeRO-2": 2, "ZeRO-3": 3}, "Stage"),
                 "microbatches": slider(1, 64, "Micro-batches", whole=True),
                 "params": slider(1e9, 1e12, "Parameters", log=True)},
        family=("stage", (0, 1, 2, 3)), line=80e9, params=70.6e9, ranks=64, stage=3)


def store() -> Explorer:
    return Explorer(
        outputs={"Model": request_throughput, "Simulated": Grid(simulate, "B/s")}, x="connections",
        curves=("Simulated",),
        sliders={"connections": slider(1, 256, "In flight", log=True, whole=True, step=2),
                 "latency": slider(0.01, 0.1, "First byte", step=0.01)},
        line="nic", connections=8, latency=0.05, size=8e6, bandwidth=90e6, nic=12.5e9)


EXPLORERS = {"fleet": fleet, "zero": zero, "store": store}
every_explorer = pytest.mark.parametrize("make", EXPLORERS.values(), ids=EXPLORERS)


def page_values(explorer: Explorer, cases: list[dict]) -> list[list[float]]:
    """Every output for every case, computed by the page's own functions."""
    body = """(spec, cases) => {
      const functions = compile(spec);
      return cases.map((at) => functions.map((f) => f({ ...spec.fixed, ...at })));
    }"""
    return PAGE.call(body, explorer.spec, cases)


@every_explorer
def test_the_page_computes_what_python_computes(make):
    explorer, rng = make(), random.Random(0)
    inputs = explorer.spec["inputs"]
    cases = [{i["name"]: i["start"] for i in inputs}]
    cases += [{i["name"]: rng.choice(i["positions"]) for i in inputs} for _ in range(200)]
    outputs = {"fleet": {"Run time": run_time}, "zero": {"Held": state_bytes, "Sent": wire_bytes},
               "store": {"Model": request_throughput, "Simulated": simulate}}[make.__name__]
    for case, page in zip(cases, page_values(explorer, cases)):
        at = {**explorer.spec["fixed"], **case}
        for spec, function, value in zip(explorer.spec["outputs"], outputs.values(), page):
            mine = function(**{n: at[n] for n in spec["arguments"]})
            within = 1e-5 if function is simulate else 1e-12
            assert value == pytest.approx(mine, rel=within), (case, spec["label"])


@every_explorer
def test_the_saved_data_is_plain_json(make):
    explorer = make()
    assert json.loads(json.dumps(explorer.spec, allow_nan=False)) == explorer.spec


@every_explorer
def test_the_start_is_a_position_of_every_slider(make):
    for given in make().spec["inputs"]:
        assert given["start"] in given["positions"]
        assert given["positions"] == sorted(given["positions"]) or "options" in given
        assert len(given["positions"]) == len(set(given["positions"])) <= 1000


def test_the_text_gives_the_default_case():
    assert repr(zero()) == ("Explorer: Held 17.65 GB, Sent 417 GB; at Ranks 64, Stage ZeRO-3, "
                            "Micro-batches 1, Parameters 70.6B")
    assert show(run_time(1e24, 0.4), "s") in repr(fleet())


def test_the_text_is_shown_whole_by_either_ipywidgets():
    """ipywidgets cuts it at 110 characters; and version 7 displays by a method of its own."""
    data, _ = zero()._repr_mimebundle_()
    assert data["text/plain"] == repr(zero())
    assert "…" not in data["text/plain"]
    assert not callable(getattr(Explorer, "_ipython_display_", None))


def test_values_follow_and_move_the_sliders():
    explorer, seen = fleet(), []
    explorer.observe(lambda change: seen.append(change["new"]), "values")
    assert explorer.values == {"mfu": 0.4, "work": 1e24}
    explorer.values = {"mfu": 0.5}
    assert explorer.values == {"mfu": 0.5, "work": 1e24} == seen[-1]


@pytest.mark.parametrize("values, words", [
    ({"mfv": 0.5}, "no slider 'mfv'"), ({"mfu": math.nan}, "mfu must be a finite number"),
    ({"mfu": "half"}, "mfu must be a finite number"),
    ({"mfu": True}, "mfu must be a finite number"),
])
def test_bad_values_are_refused_by_name(values, words):
    explorer = fleet()
    with pytest.raises(traitlets.TraitError, match=words):
        explorer.values = values
    assert explorer.values["mfu"] == 0.4


def test_positions_of_sliders():
    assert slider(0.1, 0.6, "MFU", step=0.1).positions(0.3) == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    doubling = slider(1, 64, "n", log=True, whole=True, step=2)
    assert doubling.positions(8) == [1, 2, 4, 8, 16, 32, 64]
    assert doubling.positions(12) == [1, 2, 4, 8, 12, 16, 32, 64]
    assert slider(1, 5, "n", whole=True).positions(2) == [1, 2, 3, 4, 5]
    steps = slider(1e9, 1e12, "N", log=True).positions(70.6e9)
    assert steps[0] == 1e9 and steps[-1] == 1e12 and 70.6e9 in steps and len(steps) == 62
    assert all(isinstance(n, int) for n in slider(1, 1000, "n", log=True, whole=True).positions(7))


@pytest.mark.parametrize("make, error, words", [
    (lambda: fleet(outputs={}), ValueError, "outputs is empty"),
    (lambda: fleet(outputs={"T": len}), TypeError, "output 'T' must be a formula or a Grid"),
    (lambda: fleet(sliders={"mfu": (0, 1)}), TypeError, "'mfu' must be slider"),
    (lambda: fleet(sliders={"mfv": slider(0.1, 0.6, "MFU")}), ValueError, "no output takes 'mfv'"),
    (lambda: fleet(peak=989e12), ValueError, "no output takes 'peak'"),
    (lambda: Explorer(outputs={"T": run_time}, sliders={}, mfu=0.4), ValueError,
     "no value for 'work'"),
    (lambda: fleet(mfu=0.7), ValueError, "mfu=0.7 lies outside its slider"),
    (lambda: fleet(sliders={"mfu": slider(0.1, 40, "MFU")}), ValueError, "mfu must be a number in"),
    (lambda: fleet(sliders={"mfu": choice({"a": 0.1, "b": 0.2}, "MFU")}, x=None, curves=()),
     ValueError, "none of the choices"),
    (lambda: fleet(x="goodput"), ValueError, "curves need x"),
    (lambda: fleet(curves=("Days",)), ValueError, "curve 'Days' is no output"),
    (lambda: fleet(family=("stage", (1, 2))), ValueError, "family 'stage'"),
    (lambda: fleet(line=math.inf), TypeError, "line must be a number"),
    (lambda: fleet(line="hbm"), ValueError, "no value for 'hbm'"),
    (lambda: fleet(guess="how long?"), TypeError, "guess must be guess"),
    (lambda: fleet(guess=guess("?", output="Days")), ValueError, "the guess asks for 'Days'"),
    (lambda: fleet(guess=guess("?", at={"chips": 8})), ValueError, "the guess sets 'chips'"),
    (lambda: slider(1, 1, "n"), ValueError, "slider 'n': low 1 is not below high 1"),
    (lambda: slider(0, 10, "n", log=True), ValueError, "starts above zero"),
    (lambda: slider(1, 10, "n", step=0), ValueError, "step must be above 0"),
    (lambda: slider(1, 10, "n", log=True, step=1), ValueError, "step must be above 1"),
    (lambda: slider(1, math.inf, "n"), TypeError, "high must be a finite number"),
    (lambda: slider("1", 2, "n"), TypeError, "low must be a finite number"),
    (lambda: slider(1, 10_000, "n", step=1), ValueError, "over 1000 positions"),
    (lambda: choice({"a": 1}, "Chip"), ValueError, "at least two options"),
    (lambda: choice({"a": 1, "b": None}, "Chip"), TypeError, "choice 'Chip': b"),
])
def test_a_bad_declaration_names_what_is_wrong(make, error, words):
    with pytest.raises(error, match=words) as raised:
        make()
    assert len(str(raised.value)) < 200


def test_a_grid_that_would_run_for_ever_is_refused():
    big = Grid(lambda a, b, c: a, "s")
    sliders = {n: slider(1, 100, n, step=1) for n in "abc"}
    with pytest.raises(ValueError, match="1,000,000 runs"):
        Explorer(outputs={"T": big}, sliders=sliders, a=1, b=1, c=1)


def test_a_grid_looks_up_the_nearest_position():
    explorer = store()
    near, = page_values(explorer, [{"connections": 30.0, "latency": 0.0504}])
    assert near[1] == pytest.approx(simulate(0.05, 32), rel=1e-5)


def test_a_value_that_is_no_number_becomes_a_gap():
    holes = Grid(lambda n: math.nan if n == 2 else n, "")
    explorer = Explorer(outputs={"T": holes}, sliders={"n": slider(1, 3, "n", step=1)}, n=1)
    assert explorer.spec["outputs"][0]["table"] == [1.0, None, 3.0]
    assert PAGE.call("readout", None, "") == "–"


def ticks(name: str, *args) -> list[float]:
    return PAGE.call(name, *args)


@pytest.mark.parametrize("low, high",
                         [(0, 45.3), (0, 1), (0, 7), (0.1, 0.6), (0, 1.2e12), (-3, 8), (0, 0.0004)])
def test_linear_ticks_are_round_and_few(low, high):
    found = ticks("linearTicks", low, high, 6)
    assert 2 <= len(found) <= 7 and low <= found[0] and found[-1] <= high * (1 + 1e-9)
    step = found[1] - found[0]
    leading = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(leading - m) for m in (1, 2, 5, 10)) < 1e-6


@pytest.mark.parametrize("low, high, base",
                         [(1, 1024, 2), (8, 131_072, 2), (1e9, 1e12, 10), (1, 300, 10),
                          (3e-3, 40, 10),
                                             (20e6, 400e6, 10), (9, 11, 10), (1e-3, 1e15, 10)])
def test_logarithmic_ticks_lie_inside(low, high, base):
    found = ticks("logTicks", low, high, 6, base)
    assert 2 <= len(found) <= 7
    assert all(low * (1 - 1e-9) <= t <= high * (1 + 1e-9) for t in found)
    labels = [PAGE.call("readout", t, "", 3) for t in found]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("text, unit, truth, value", [
    ("12 days", "s", 784_000, 12 * 86_400), ("12", "s", 784_000, 12 * 86_400),
    ("1.7 weeks", "s", 784_000, 1.7 * 604_800),
    ("40", "%", 0.3, 0.4), ("40%", "%", 0.3, 0.4), ("80", "B", 70e9, 80e9),
    ("75k", "$", 73_000, 75_000),
])
def test_a_guess_without_unit_is_in_the_unit_shown(text, unit, truth, value):
    assert PAGE.call("guessed", text, unit, truth)["value"] == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "twelvish", "0", "nan", "1 2"])
def test_a_guess_that_is_no_number_is_refused_in_words(text):
    assert PAGE.call("guessed", text, "s", 784_000)["error"]


def test_the_guess_is_compared_in_words():
    assert PAGE.call("comparison", 86_400 * 12, 784_000, "s") == (
        "You guessed 12 days; the formulas give 9.074 days. Your guess is 1.3 times that.")
    assert PAGE.call("comparison", 86_400 * 9, 784_000, "s").endswith("Within 5%.")
    assert PAGE.call("comparison", 86_400 * 3, 784_000, "s").endswith("That is 3 times your guess.")


def test_the_script_is_one_module_without_imports():
    text = fleet().get_state()["_esm"]
    assert text.count("export default") == 1 and "import " not in text
    assert "//" not in script("chart.js").replace("://", "")
