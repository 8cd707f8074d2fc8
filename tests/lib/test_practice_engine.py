"""ask, check, hint, solution: what they show, and that they never raise on what was typed."""
from __future__ import annotations

import subprocess
import sys

import pytest

from clustermath import ask, check, hint, solution
from clustermath.practice.draws import Choice, Integer, LogUniform
from clustermath.practice.drawn import draw
from clustermath.practice.engine import find
from clustermath.practice.notes import Note
from clustermath.practice.spec import Estimate, Trap


@pytest.mark.parametrize("call", [ask, lambda i: check(i, 1), hint, solution],
                         ids=["ask", "check", "hint", "solution"])
@pytest.mark.parametrize("id, near", [
    ("training-tme.1", "training-time.1"), ("training-time.99", "training-time."),
    ("zero-stage.3", "zero-stages.3"),
    ("", "."), ("nonsense", "."), (None, "."), (3, "."), (["training-time.1"], "training-time.1"),
])
def test_an_unknown_id_gets_near_ones(call, id, near):
    made = call(id)
    assert isinstance(made, Note) and not made.right
    assert "There is no question" in repr(made) and near in repr(made)


@pytest.mark.parametrize("seed", ["7", 1.5, True, [1]])
def test_a_seed_is_a_whole_number(seed):
    for made in (ask("training-time.1", seed), check("training-time.1", 3, seed),
                 solution("training-time.1", seed)):
        assert "seed has to be a whole number" in repr(made)


@pytest.mark.parametrize("number", [0, 4, -1, "2", 1.0, True, None])
def test_hints_are_numbered(number):
    assert repr(hint("training-time.1", number)) == "training-time.1 has hints 1 to 3."


def test_three_outcomes():
    answers = "67.7 days", "60 days", ...
    right, wrong, blank = (check("training-time.1", answer) for answer in answers)
    assert right.right and "An interviewer asks next" in repr(right)
    assert wrong.verdict == "wrong" and not wrong.right and "interviewer" not in repr(wrong)
    assert blank.verdict == "unread" and repr(blank) == "Not attempted yet."


def test_a_seed_changes_question_key_and_solution_together():
    assert draw(find("training-time.1"), 7).ask != draw(find("training-time.1"), None).ask
    shown = repr(solution("training-time.1", seed=7))
    answer = shown.split("Answer: ")[1].split("\n")[0]
    assert check("training-time.1", answer, seed=7).right
    assert not check("training-time.1", answer).right
    assert draw(find("training-time.1"), 7).ask in repr(ask("training-time.1", seed=7))


def test_an_argument_is_written_before_its_points_are_shown():
    assert check("training-time.9", "sparse").verdict == "unread"
    assert check("training-time.9", ...).verdict == "unread"
    made = repr(check("training-time.9",
                      "The peak is the one with sparsity, so the answer is only half of "
                       "what it should be."))
    assert made.startswith("Mark yourself, 5 points in all:") and made.count("- [") == 4


def test_notes_are_markdown_that_no_front_end_takes_for_a_formula():
    for note in (check("training-time.9", "x" * 100), hint("training-time.6", 2)):
        assert "$" not in note._repr_markdown_().replace("\\$", "")
    assert solution("training-time.1")._repr_markdown_().startswith("$$ \\begin{aligned}")
    assert Note("costs $5 and $6, `a_b`")._repr_markdown_() == "costs \\$5 and \\$6, `a_b`"


def test_the_worked_solution_names_formulas_and_numbers():
    shown = repr(solution("training-time.1"))
    assert "training_time(" in shown and "= 67.69 days" in shown and "Answer: 67.69 days" in shown


def test_code_is_shown_as_code():
    assert solution("zero-stages.7")._repr_markdown_().startswith("```python\ndef my_state_bytes(")


def test_draws_do_not_depend_on_the_hash_seed():
    program = "from clustermath.practice.drawn import draw\n" \
              "from clustermath.practice.engine import find\n" \
              "print(draw(find('zero-stages.1'), 5).ask)"
    runs = [subprocess.run([sys.executable, "-c", program],
                           env={"PYTHONHASHSEED": seed, "PATH": ""},
                           capture_output=True, text=True,
                           check=True).stdout for seed in ("0", "1")]
    assert runs[0] == runs[1] != ""


def test_importing_the_library_imports_no_question():
    program = "import sys, clustermath\n" \
              "print([m for m in sys.modules if 'practice' in m or m in ('anywidget', 'numpy')])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=True).stdout.strip() == "[]"


def test_checking_needs_no_widget():
    program = "import sys\nfrom clustermath import check\ncheck('zero-stages.1', 3)\n" \
              "print('anywidget' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=True).stdout.strip() == "False"


def test_log_uniform_draws_are_nice_numbers_in_range():
    import random

    rng = random.Random(0)
    drawn = [LogUniform(5e9, 1e9, 1e12).draw(rng) for _ in range(200)]
    assert all(1e9 <= x <= 1e12 and float(f"{x:.2g}") == x for x in drawn)
    assert sum(x < 31.6e9 for x in drawn) in range(70, 130)  # half of them below the geometric mean
    assert {Integer(8, 8, 24, step=8).draw(rng) for _ in range(50)} == {8, 16, 24}
    assert {Choice(1, (1, 2)).draw(rng) for _ in range(50)} == {1, 2}


def question(*traps: Trap) -> Estimate:
    return Estimate(id="x.1", ask="?", hints=("h",), next="n", givens={"a": Integer(3, 1, 4)},
                    answer=lambda g: g.a,
                    unit="", traps=traps)


def test_a_draw_whose_traps_collide_is_drawn_again():
    q = question(Trap("square", lambda g: g.a**2, "squared"))  # 1 squared is 1
    assert all(draw(q, seed).givens.a != 1 for seed in range(40))


def test_a_question_whose_traps_always_collide_says_so():
    with pytest.raises(ValueError, match="x.1: no draw keeps the traps apart"):
        draw(question(Trap("same", lambda g: g.a, "same")), 1)


def test_a_trap_that_cannot_be_made_is_left_out():
    assert draw(question(Trap("none", lambda g: None, "never")), None).key["traps"] == []
