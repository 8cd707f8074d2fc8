"""The static rules: each is broken once, and a chapter that keeps them all passes."""

import pytest
from nbformat.v4 import new_output
from small_notebooks import broken_rules, code, givens, result, stream

TEXT = "It takes [11 days](#run_time)."


def test_a_chapter_that_keeps_the_rules():
    assert (
        broken_rules(
            TEXT + " [16,384](#chips) [1.5](#h100.rate)",
            code("from math import ceil, log2", tags=("setup",)),
            givens("chips = 16_384\nflops, peak = 6.35e24, 989e12\nclass h100:\n    rate = 1.5"),
            code(
                '"""Words."""\ntotal = 2 * flops / (chips * peak) - 1 + 0\nrun_time = total\n'
                'label = f"{total:.3f} s on {chips:,}"\n'
                'name = {"H100 SXM": 1}["H100 SXM"]\nrun_time',
                result("1.2"),
            ),
            code(
                'def wrong(value, spec="{:.3g}"):\n    """Off by 1000."""\n'
                '    return spec.format(value), format(value, ".3g")'
            ),
            code("for n in (8, 16):\n    area = n * 3.14", tags=("plot",)),
        )
        == ""
    )


@pytest.mark.parametrize(
    "source",
    [
        "x = 3",
        "x = 2.5",
        "x = -7",
        "x = 10**24",
        "x = y**3",
        "x = y[5]",
        "x = round(y, 4)",
        "x = 1j * 3",
        'x = float("3e5")',
        'x = int("5")',
        'x = eval("3e5")',
        "exec('x = 3')",
        'x = float(f"{y}3")',
        'x = "3e5"',
        "x = len('.....')",
        "x = ord('a')",
        "x = float('H100'[1:])",
        "print('about 11 days')",
        'x = f"{y} of 11 days"',
        "x = Decimal('2.5')",
        "def f(a=3):\n    return a",
        "%timeit -n 1000 y",
    ],
)
def test_numbers_typed_into_the_chain(source):
    assert "numbers typed in" in broken_rules(code(source))
    for tag in ("givens", "plot", "lab", "explorer", "setup", "install", "ask"):
        assert "numbers typed in" not in broken_rules(code(source, tags=(tag,)))


@pytest.mark.parametrize(
    "again",
    [
        "run_time = 2",
        "run_time += 1",
        "for run_time in (1, 2):\n    pass",
        "import math as run_time",
        "def run_time():\n    pass",
        "class run_time:\n    pass",
        "with open('x') as run_time:\n    pass",
        "a, (run_time, b) = 1, (2, 0)",
        "print(run_time := 2)",
        "if a:\n    run_time = 2",
        "def f():\n    global run_time\n    run_time = 2",
        "del run_time",
        'globals()["run_time"] = 2',
        "x = [run_time := i for i in (1, 2)]",
        "try:\n    pass\nexcept ValueError as run_time:\n    pass",
        "from math import pi as run_time",
        "run_time: float = 2",
        "*run_time, b = 1, 2",
    ],
    ids=lambda source: source[:30],
)
def test_a_second_binding(again):
    assert "run_time is bound 2 times" in broken_rules(TEXT, givens("run_time = 1"), givens(again))


@pytest.mark.parametrize(
    "source",
    [
        "for i in (1, 2):\n    run_time = i",
        "for run_time in (1, 2):\n    pass",
        "while a:\n    run_time = 2",
    ],
)
def test_a_binding_in_a_loop(source):
    assert "changes as the cell runs" in broken_rules(TEXT, givens(source))


def test_names_that_no_link_uses_may_be_bound_again():
    assert (
        broken_rules(
            TEXT,
            givens("run_time = 1"),
            givens("x = 1"),
            givens("x = 2"),
            givens("def f():\n    run_time = 3"),
        )
        == ""
    )


def test_a_rebound_attribute():
    assert "bound 2 times" in broken_rules(
        "[1](#h.rate)", givens("h = thing()"), givens("h.rate = 2")
    )


def test_a_name_that_no_cell_binds():
    assert "no cell binds run_time" in broken_rules(TEXT, givens("x = 1"))
    assert broken_rules(TEXT, code("from somewhere import *", tags=("setup",))) == ""


@pytest.mark.parametrize("value", ["979684.24", "11.3 * 86_400", 'float("979684")', "-5e5"])
@pytest.mark.parametrize("tag", ["setup", "plot", "lab"])
def test_a_result_typed_into_a_free_cell(value, tag):
    cell = code(f"run_time = {value}", tags=(tag,))
    assert "inputs belong into the cell tagged givens" in broken_rules(TEXT, cell)
    assert "inputs belong into the cell tagged givens" in broken_rules(cell, code("x = run_time"))
    assert broken_rules(cell) == ""
    assert broken_rules(TEXT, code("run_time = measured(steps=100)", tags=(tag,))) == ""


def test_a_caption_with_a_number_typed_in():
    assert "caption" in broken_rules(
        code('with figure("reaches 11 days") as ax:\n    ax.plot(3)', tags=("plot",))
    )
    assert (
        broken_rules(
            code('with figure(f"reaches {days:.3g} days") as ax:\n    ax.plot(3)', tags=("plot",))
        )
        == ""
    )


def test_never_run_and_never_stored():
    assert "cell 0 (x = 1) was never run" in broken_rules(code("x = 1", run=False))
    assert "no output is stored" in broken_rules(code("x = 1\nx"))
    assert "no output is stored" in broken_rules(code("print(x)"))
    assert broken_rules(code("x = 1"), code("draw()"), code("  ", run=False)) == ""


@pytest.mark.parametrize(
    "tag",
    [
        "nbval-skip",
        "nbval-ignore-output",
        "raises-exception",
        "nbval-raises-exception",
        "skip-execution",
    ],
)
def test_a_tag_that_switches_comparison_off(tag):
    assert f"tagged {tag}" in broken_rules(code("x = 1", tags=(tag,)))


@pytest.mark.parametrize(
    "comment",
    [
        "# NBVAL_SKIP",
        "#NBVAL_IGNORE_OUTPUT",
        "  # NBVAL_RAISES_EXCEPTION",
        "# PYTEST_VALIDATE_IGNORE_OUTPUT",
    ],
)
def test_a_comment_that_switches_comparison_off(comment):
    assert "switches its comparison off" in broken_rules(code(f"x = 1\n{comment}"))


def test_what_is_stored_must_be_compared():
    png = new_output("display_data", {"image/png": "iVBO", "text/plain": "<Figure>"})
    assert "image/png, which nobody compares" in broken_rules(code("draw()", png))
    assert "a message on stderr" in broken_rules(code("x()", stream("careful\n", "stderr")))
    error = new_output("error", ename="ValueError", evalue="no", traceback=[])
    assert "stores an error: ValueError" in broken_rules(code("x()", error))
    widget = {"application__vnd.jupyter.widget-view+json": "{}"}
    assert "define __repr__" in broken_rules(code("w()", result("", **widget)))
    assert broken_rules(code("w()", result("Explorer(days=11)", **widget))) == ""


def test_labs_that_need_a_package():
    assert broken_rules(code("import torch\nloss = 3.5 * f()", tags=("lab", "needs-torch"))) == ""
    assert "torch only" in broken_rules(code("x = 1", tags=("lab", "needs-numpy")))
    assert "is no lab" in broken_rules(code("x = 1", tags=("needs-torch",)))
    lab = code("loss = train()", tags=("lab", "needs-torch"))
    assert "cell 1 (y = loss) uses loss of a cell tagged needs-torch" in broken_rules(
        lab, code("y = loss")
    )


def test_a_cell_that_is_no_python():
    assert "is no Python" in broken_rules(code("x = = 1"))


def test_magics_are_python():
    assert broken_rules(code("%matplotlib inline\n!ls", tags=("setup",))) == ""
