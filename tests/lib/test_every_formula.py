"""Every formula of the package, found by walking its modules: faces, refusals, array shapes."""
import functools
import inspect
import json
import math
import pkgutil
import random
import re
from importlib import import_module

import numpy as np
import pytest
import quickjs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clustermath
from clustermath import sources
from clustermath.checking import domains as annotated
from clustermath.formulas import Formula

MODULES = {
    m.name: import_module(f"clustermath.{m.name}")
    for m in pkgutil.iter_modules(clustermath.__path__)
    if not m.ispkg
}
OWN = [
    v
    for module in MODULES.values()
    for v in vars(module).values()
    if getattr(v, "__module__", "") == module.__name__
]
FORMULAS = sorted((f for f in OWN if isinstance(f, Formula)), key=lambda f: f.__name__)
CHECKED = sorted(
    (f for f in OWN if inspect.isfunction(f) and callable(getattr(f, "domains", None))),
    key=lambda f: f.__name__,
)
ANNOTATED = [f for f in FORMULAS + CHECKED if annotated(getattr(f, "fn", f))]
UNITS = set(
    """s sec secs second seconds ms us h hour hours day days min minute minutes b byte bytes bit
    bits kb mb gb tb kib mib gib tib gbps usd dollar dollars percent pct flop gflops tflops""".split()
)

every = pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f.__name__)


def domains_of(function):
    found = function.domains
    return found() if callable(found) else found


def draw(domain, rng):
    """A number of the domain: often in the middle of the scale, sometimes on its edge."""
    if domain.choices:
        return rng.choice(domain.choices)
    edge = rng.random() < 0.1
    if edge and not domain.low_open:
        return int(domain.low) if domain.whole else domain.low
    if domain.high < math.inf:
        if domain.whole:
            return rng.randint(math.ceil(domain.low), math.floor(domain.high))
        if edge and not domain.high_open:
            return domain.high
        return domain.low + (domain.high - domain.low) * rng.uniform(1e-3, 1 - 1e-3)
    if domain.whole:
        return int(domain.low) + int(10 ** rng.uniform(0, 4)) - 1
    return domain.low + 10 ** rng.uniform(-2, 6)


@functools.cache
def calls(formula, count=100):
    """Random in-domain arguments by name; those that break a relation between them are redrawn."""
    rng, found = random.Random(formula.__name__), []
    for _ in range(200 * count):
        at = {name: draw(domain, rng) for name, domain in formula.domains.items()}
        try:
            formula(**at)
        except (ValueError, OverflowError):
            continue
        found.append(at)
        if len(found) == count:
            return found
    raise AssertionError(
        f"only {len(found)} of the random calls of {formula.__name__} lie in its domain"
    )


def balanced(latex):
    opened = latex.replace(r"\{", "").replace(r"\}", "")
    return (
        opened.count("{") == opened.count("}")
        and latex.count(r"\left") == latex.count(r"\right")
        and latex.count(r"\begin") == latex.count(r"\end")
    )


def test_the_walk_finds_the_formulas():
    assert len(FORMULAS) > 80 and len(CHECKED) > 10
    assert {"training_flops", "state_bytes", "decode_time"} <= {f.__name__ for f in FORMULAS}


@every
def test_latex_and_worked_chain(formula):
    assert balanced(formula.latex) and formula.symbol in formula.latex
    assert set(formula.signature.parameters) <= set(formula.symbols), "an argument has no symbol"
    for at in calls(formula)[:5]:
        worked = formula.worked(**at)
        assert worked == formula(**at) or math.isnan(worked)
        assert balanced(worked._repr_latex_()) and r"\mathbf" in worked._repr_latex_()
        assert repr(worked).split("\n")[-1].startswith(formula.__name__ + "(")


@every
def test_javascript_equals_python(formula):
    context = quickjs.Context()
    context.eval(formula.js())
    names = list(formula.signature.parameters)
    rows = json.dumps([[at[n] for n in names] for at in calls(formula)])
    answers = context.eval(
        f"JSON.stringify({rows}.map((row) => String({formula.__name__}(...row))))"
    )
    for at, answer in zip(calls(formula), json.loads(answers), strict=True):
        here, there = formula(**at), float(answer.replace("Infinity", "inf"))
        assert here == there or math.isclose(here, there, rel_tol=1e-12), at


@every
def test_no_division_by_zero_on_the_edges(formula):
    for at in calls(formula)[:5]:
        for name, domain in formula.domains.items():
            if not domain.low_open and not domain.choices:
                try:
                    edge = formula(**{**at, name: int(domain.low) if domain.whole else domain.low})
                except ValueError as refusal:
                    assert name in str(refusal)
                except OverflowError:
                    pass
                else:
                    assert not math.isnan(edge)


def arrayable(formula):
    return [n for n, d in formula.domains.items() if not d.choices]


@every
def test_arrays_in_arrays_out(formula):
    for name in arrayable(formula):
        at, other = calls(formula)[0], calls(formula)[1]
        rows = [{**at, name: v} for v in (at[name], other[name], at[name])]
        try:
            expected = [formula(**row) for row in rows]
        except (ValueError, OverflowError):
            rows = [at, at, at]
            expected = [formula(**at)] * 3
        result = formula(**{**at, name: np.array([row[name] for row in rows], dtype=float)})
        assert isinstance(result, np.ndarray) and result.shape == (3,), name
        np.testing.assert_allclose(result, expected, rtol=1e-12)


@every
@pytest.mark.parametrize("kind", (np.uint16, np.int32))
def test_integer_arrays_do_not_wrap(formula, kind):
    for name in arrayable(formula):
        for at in calls(formula)[:2]:
            domain = formula.domains[name]
            value = 1 if domain.high <= 1 else min(max(1, round(at[name])), 60_000)
            if not domain.high >= value or (domain.high_open and value == domain.high):
                continue
            at = {**at, name: value}
            try:
                expected = formula(**at)
            except (ValueError, OverflowError):
                continue
            result = formula(**{**at, name: np.array([value, value], dtype=kind)})
            np.testing.assert_allclose(result, [expected] * 2, rtol=1e-12)
            assert formula(**{**at, name: kind(value)}) == pytest.approx(expected, rel=1e-12)


NO_NUMBERS = (True, False, np.True_, None, "", "0.4", "ten", b"1", [1.0], (), {}, 1j, object())
NO_NUMBER_ARRAYS = (np.array([True]), np.array(["1"]), np.array([None]), np.array([1j]))
NOT_FINITE = (math.nan, math.inf, -math.inf, np.float64("nan"))
BAD_ARRAYS = (np.array([math.nan, 1.0]), np.array([]))


def valid(function):
    """Arguments of a call in which only the one under test is wrong."""
    if isinstance(function, Formula):
        return calls(function)[0]
    rng = random.Random(0)
    at = {n: draw(d, rng) for n, d in domains_of(function).items()}
    parameters = inspect.signature(function).parameters.items()
    return {n: None for n, p in parameters if p.default is p.empty} | at


def assert_refused(function, name, bad, error):
    with pytest.raises(error) as refusal:
        function(**{**valid(function), name: bad})
    assert name in str(refusal.value) and function.__name__ in str(refusal.value), bad


@pytest.mark.parametrize("function", ANNOTATED, ids=lambda f: f.__name__)
def test_what_is_no_number_is_refused_by_name(function):
    for name in domains_of(function):
        for bad in NO_NUMBERS + NO_NUMBER_ARRAYS:
            assert_refused(function, name, bad, TypeError)
        for bad in NOT_FINITE + BAD_ARRAYS:
            assert_refused(function, name, bad, (ValueError, TypeError))


def outside(domain):
    """Finite numbers that the annotation forbids."""
    if domain.choices:
        return st.floats(-10, 10).filter(lambda x: x not in domain.choices)
    wrong = st.floats(-1e300, domain.low, exclude_max=not domain.low_open)
    if domain.whole:
        wrong |= st.floats(domain.low, 1e6).filter(lambda x: x % 1)
    if domain.high < math.inf:
        wrong |= st.floats(domain.high, 1e300, exclude_min=not domain.high_open)
    return wrong


@pytest.mark.parametrize("function", ANNOTATED, ids=lambda f: f.__name__)
@settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_numbers_outside_are_refused_by_name(function, data):
    for name, domain in domains_of(function).items():
        bad = data.draw(outside(domain))
        assert_refused(function, name, bad, ValueError)
        if isinstance(function, Formula) and not domain.choices:
            assert_refused(function, name, np.array([valid(function)[name], bad]), ValueError)


@pytest.mark.parametrize("function", FORMULAS + CHECKED, ids=lambda f: f.__name__)
def test_docstring_and_names(function):
    text = inspect.getdoc(function)
    first, _, rest = text.partition("\n")
    assert first.endswith((".", ":")) and len(first) > 20, "the first line says what it means"
    names = list(inspect.signature(getattr(function, "fn", function)).parameters)
    described = re.findall(r"([a-z_0-9]+(?:, [a-z_0-9]+)*):(?:\s|$)", rest.partition("Args:")[2])
    missing = set(names) - {n for group in described for n in group.split(", ")}
    assert not missing, f"the docstring does not say what {missing} are"
    assert not [
        n for n in names if UNITS & set(n.split("_"))
    ], "units stand in annotations, not in names"


@every
def test_sources_exist(formula):
    if formula.source:
        assert formula.source in sources


@every
def test_arguments_and_results_are_annotated(formula):
    assert set(annotated(formula.fn)) == {*formula.signature.parameters, "return"}


def test_public_names_lead_to_their_modules():
    homes = clustermath._HOME
    for function in FORMULAS + CHECKED:
        if not function.__name__.startswith("_"):
            assert (
                homes.get(function.__name__) == function.__module__.split(".")[1]
            ), function.__name__
    for name, home in homes.items():
        if home in MODULES:
            assert hasattr(MODULES[home], name), f"{home} has no {name}"
    # Importing a module of the package binds its name there and would hide a public name alike.
    assert not set(homes) & set(MODULES)
