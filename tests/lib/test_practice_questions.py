"""Every question of the package: solutions right, traps refused by name, nothing given away."""
from __future__ import annotations

import base64
import json
import re
from functools import cache

import pytest

from clustermath import ask, hint, solution
from clustermath.practice import form
from clustermath.practice.drawn import Drawn, draw
from clustermath.practice.engine import chapter, find, slugs
from clustermath.practice.grading import grade, grade_value, near
from clustermath.practice.spec import Estimate, Implement, Question, Rubric
from tests.lib.pagejs import question_page

ALL = [q for slug in slugs() for q in chapter(slug).values()]
ESTIMATES = [q for q in ALL if isinstance(q, Estimate)]
SEEDS = [None, *range(24)]
PAGE = question_page()


@cache
def drawing(id: str, seed: int | None) -> Drawn:
    return draw(find(id), seed)


def by_id(questions: list[Question]):
    return pytest.mark.parametrize("q", questions, ids=[q.id for q in questions])


@pytest.mark.parametrize("slug", slugs())
def test_a_chapter_has_six_or_more_questions_of_every_kind(slug):
    found = list(chapter(slug).values())
    assert len(found) >= 6
    assert {type(q) for q in found} == {Estimate, Implement, Rubric}
    assert [q.id for q in found] == [f"{slug}.{i}" for i in range(1, len(found) + 1)]


@by_id(ALL)
def test_texts_are_complete(q):
    drawn = drawing(q.id, None)
    for text in (drawn.ask, drawn.next, *drawn.hints, *map(str, drawn.solution)):
        assert text.strip() and "  " not in text.split("\n")[0]
        assert "{" not in re.sub(r"f?\".*?\"", "", text)
    assert drawn.ask.endswith((".", "?")) and q.hints
    assert all(text.endswith((".", "?", ")")) for text in drawn.hints)


@by_id(ESTIMATES)
def test_the_displayed_answer_is_right_when_pasted_back(q):
    """Report 2: the exercise must not refuse its own answer, in Python or in the page."""
    rows = []
    for seed in SEEDS:
        drawn = drawing(q.id, seed)
        lines = [str(p) for p in drawn.solution]
        shown = next(p for p in lines if p.startswith("Answer: ")).removeprefix("Answer: ")
        pasted = {shown, shown.replace(" ", "\u00a0"), shown.replace("-", "−"), f"\u200b{shown}\n"}
        rows += [(text, drawn.key) for text in sorted(pasted)]
        assert grade_value(q.answer(drawn.givens), drawn.key).verdict == "right", seed
    assert [row for row in rows if grade(*row).verdict != "right"] == []
    assert {mark["verdict"] for mark in PAGE.calls("grade", rows)} == {"right"}


@by_id(ESTIMATES)
def test_each_trap_is_refused_with_its_own_words(q):
    keys = [drawing(q.id, seed).key for seed in SEEDS]
    cases = [(repr(value / key["size"]), key, says) for key in keys for value, says in key["traps"]]
    assert [case for case in cases if grade(*case[:2]).says != case[2]] == []
    page = PAGE.calls("grade", [case[:2] for case in cases])
    assert page == [{"verdict": "wrong", "says": says} for _, _, says in cases]


@by_id(ESTIMATES)
def test_traps_lie_apart_from_the_answer_and_from_each_other(q):
    for seed in SEEDS:
        key = drawing(q.id, seed).key
        within = 1e-9 if key["whole"] else key["within"]
        values = [key["answer"], *(value for value, _ in key["traps"])]
        pairs = ((a, b) for i, a in enumerate(values) for b in values[:i])
        assert not any(near(a, b, within) for a, b in pairs), (seed, values)


@by_id(ESTIMATES)
def test_every_trap_is_made_and_says_something_of_its_own(q):
    """A trap that some numbers do not allow is made with others."""
    says = [{says for _, says in drawing(q.id, seed).key["traps"]} for seed in SEEDS]
    assert len(says[0]) >= 2
    assert all(len(s) == len(drawing(q.id, seed).key["traps"]) for s, seed in zip(says, SEEDS))
    made = [any(trap.value(drawing(q.id, seed).givens) is not None for seed in SEEDS) for trap in q.traps]
    assert all(made)


@by_id(ESTIMATES)
def test_givens_can_be_redrawn(q):
    """Other numbers than the book's, the same for the same seed, and several in a few seeds."""
    asked = [drawing(q.id, seed).ask for seed in SEEDS]
    assert len(set(asked)) >= 6
    assert asked[:4] == [draw(q, seed).ask for seed in SEEDS[:4]]


UNITS = (1, 60, 3600, 86400, 1e3, 1e6, 1e9, 1e12, 1e15, 2**10, 2**20, 2**30, 2**40, 0.01, 8)
NUMERAL = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


def gives_away(message: str, key: dict) -> list[str]:
    """Numbers of a message that are the answer in some unit, to three figures, or marked right."""
    found = []
    for token in NUMERAL.findall(message):
        digits = token.replace(",", "").partition("e")[0].strip("0.").replace(".", "")
        value = float(token.replace(",", ""))
        sizes = [value * u for u in UNITS] + [value / u for u in UNITS]
        if len(digits) >= 3 and any(near(x, key["answer"], 0.005) for x in sizes):
            found.append(token)
    quantities = [m[0] for m in re.finditer(NUMERAL.pattern + r"\s?(?:%|[A-Za-z/]+)", message)]
    return found + [text for text in quantities if grade(text, key).verdict == "right"]


def wrong_messages(q: Estimate, seed: int | None) -> list[tuple[str, str]]:
    """What is said to a list of wrong answers: traps, factors, garbage; with what was typed."""
    key = drawing(q.id, seed).key
    sizes = [value for value, _ in key["traps"]]
    sizes += [key["answer"] * f for f in (10, 0.1, 1.5, 3, 1000, 1.0737, 1e5, -1, 0)]
    answers = [f"{v / key['size']:.6g}" for v in sizes]
    answers += ["garbage", "...", "1 fortnight", "5 GB", "5 days"]
    marks = [(answer, grade(answer, key)) for answer in answers]
    return [(answer, mark.says) for answer, mark in marks if mark.verdict != "right"]


@by_id(ESTIMATES)
def test_no_message_gives_the_answer_away(q):
    """Report 4: traps, factors, garbage and blanks are told without the answer's digits.

    With the book's numbers strictly; a drawn answer may happen to be 24, which messages name.
    """
    asked, key = drawing(q.id, None).ask, drawing(q.id, None).key
    told = [(a, says) for a,
            says in wrong_messages(q, None) if set(gives_away(says, key)) - set(asked.split())]
    assert told == []
    leaks = []
    for seed in range(6):
        key = drawing(q.id, seed).key
        leaks.append(any(gives_away(says, key) for _, says in wrong_messages(q, seed)))
    assert sum(leaks) <= 3


@by_id(ALL)
def test_nothing_is_in_the_saved_form_before_it_is_asked_for(q):
    """Report 4: neither the widget's data nor the folded twin holds answer, traps or solution."""
    widget = ask(q.id)
    saved = json.dumps([widget.spec, widget._repr_mimebundle_()[0]], ensure_ascii=False)
    drawn = drawing(q.id, None)
    if isinstance(q, Estimate):
        digits = NUMERAL.search(drawn.answer_line)[0]
        asked = drawn.ask
        alone = rf"(?<![\d.,]){re.escape(digits)}(?![\d.,])"
        # A single figure stands everywhere; two and more count.
        assert len(digits) < 2 or digits in asked or not re.search(alone, saved)
        assert not any(says in saved for _, says in drawn.key["traps"])
    if isinstance(q, Rubric):
        assert drawn.fill(q.model)[:40] not in json.dumps(widget.spec)
    opened = json.loads(base64.b64decode(widget.spec["sealed"]))
    assert opened[0]["ask"] == drawn.ask and len(opened) >= (4 if q.givens else 1)


@by_id(ALL)
def test_the_twin_without_scripts_folds_hints_and_solution(q):
    """Report 10: the question stands open, everything else in details."""
    html = form.static_html(drawing(q.id, None))
    assert html.count("<details>") == html.count("</details>") == len(q.hints) + 1
    assert "<script" not in html and form.markup(drawing(q.id, None).ask) in html
    folded = "".join(re.findall(r"<details>.*?</details>", html, re.DOTALL))
    assert not re.search(r"\d", re.sub(r"<summary>.*?</summary>|&#?\w+;", "", folded))


@by_id(ALL)
def test_the_plain_text_says_what_to_do(q):
    text = repr(ask(q.id))
    assert text.startswith(f"Question {q.id}: ") and f'check("{q.id}"' in text


@by_id(ALL)
def test_nothing_of_the_workshop_is_in_the_texts(q):
    drawn = drawing(q.id, None)
    texts = " ".join([drawn.ask, *drawn.hints, *map(str, drawn.solution)])
    assert not re.search(r"/tmp|shared/|localhost|TODO", texts)


@by_id(ALL)
def test_hints_and_solution_answer(q):
    of = len(q.hints)
    assert all(f"Hint {i} of {of}" in repr(hint(q.id, i)) for i in range(1, of + 1))
    assert repr(solution(q.id)).split("\n")[-1].startswith("An interviewer asks next: ")
    assert "$$" not in repr(solution(q.id))
