"""Question forms in Chromium: right, wrong, a trap, phones, folds, and nothing told too early."""
from __future__ import annotations

import re

import pytest
from conftest import PHONE
from harness import save

from clustermath import ask, solution
from clustermath.practice.drawn import draw
from clustermath.practice.engine import chapter, find, slugs
from clustermath.practice.spec import Estimate

# One estimate a chapter: tests/lib marks all of them with the same script, without a browser.
ESTIMATES = [next(q for q in chapter(slug).values() if isinstance(q, Estimate)) for slug in slugs()]


@pytest.fixture
def show(visit, tmp_path):
    """Open a page with the forms of some questions."""
    def opened(*ids, dark=False, **options):
        page = visit(save(tmp_path, *(ask(i) for i in ids), dark=dark), **options)
        page.wait_for_function(f"document.querySelectorAll('.cm-form').length === {len(ids)}")
        return page
    return opened


def answer(page, text: str) -> str:
    """Type an answer, press the key that submits, read what is said."""
    field = page.get_by_role("textbox").first
    field.fill(text)
    field.press("Enter")
    return page.locator(".cm-say").first.inner_text()


def opened_solution(page) -> str:
    """The text of the worked solution, once it is in the document."""
    page.locator("summary", has_text="Worked solution").click()
    page.locator(".cm-fold[open] p", has_text="An interviewer asks next").wait_for()
    return page.locator(".cm-fold").last.inner_text()


def verdict(page) -> str:
    return page.locator(".cm-form").first.get_attribute("data-verdict")


def test_a_right_answer(show):
    page = show("training-time.1")
    assert answer(page, "67.7 days").startswith("Right. An interviewer asks next:")
    assert verdict(page) == "right" and page.locator(".cm-say").get_attribute("role") == "status"
    assert page.locator(".cm-tries").inner_text() == "1 try"


def test_a_wrong_answer_a_trap_and_a_generic_mistake(show):
    page = show("training-time.1")
    assert answer(page, "60 days") == "Too small, by less than a factor of two."
    assert "sparsity" in answer(page, "33.8 days")
    assert answer(page,
                  "0.0677 days").startswith("1,000 times too small: check the prefix")
    assert verdict(page) == "wrong" and page.locator(".cm-tries").inner_text() == "3 tries"


def test_what_cannot_be_read_is_no_try(show):
    page = show("training-time.1")
    for text in ("sixtyish", "", "67 GB", "NaN", "1e999"):
        answer(page, text)
        assert verdict(page) == "unread"
    assert page.locator(".cm-tries").inner_text() == ""


@pytest.mark.parametrize("q", ESTIMATES, ids=[q.id for q in ESTIMATES])
def test_the_folded_answer_pasted_back_is_right(show, q):
    """Report 2, in the page, for the book's numbers and every redraw."""
    page = show(q.id)
    for _ in range(4):
        shown = re.search("Answer: (.*)", opened_solution(page))[1]
        assert answer(page, shown).startswith("Right."), shown
        page.get_by_role("button", name="New numbers").click()


def test_new_numbers_ask_something_else(show):
    page = show("training-time.1")
    asked = {page.locator(".cm-asked").inner_text()}
    answer(page, "33.8 days")
    for _ in range(3):
        page.get_by_role("button", name="New numbers").click()
        asked.add(page.locator(".cm-asked").inner_text())
        assert verdict(page) is None and page.get_by_role("textbox").input_value() == ""
    assert len(asked) == 4
    page.get_by_role("button", name="New numbers").click()
    assert page.locator(".cm-asked").inner_text() == draw(find("training-time.1"), None).ask


def test_hints_unfold_one_by_one(show):
    page = show("training-time.1")
    assert page.locator("summary").all_inner_texts() == ["Hint 1 of 3", "Worked solution"]
    page.locator("summary").first.press("Enter")
    page.wait_for_function("document.querySelectorAll('summary').length === 3")
    assert page.locator("summary").all_inner_texts() == ["Hint 1 of 3", "Hint 2 of 3",
                                                         "Worked solution"]
    assert draw(find("training-time.1"),
                None).hints[0] in page.locator(".cm-fold").first.inner_text()


@pytest.mark.parametrize("q", ESTIMATES, ids=[q.id for q in ESTIMATES])
def test_nothing_of_the_answer_is_in_the_document_before_it_is_opened(show, q):
    """Report 4: text, attributes and what is read aloud, also after wrong answers."""
    page = show(q.id)
    drawn = draw(q, None)
    for value, _ in drawn.key["traps"]:
        answer(page, f"{value / drawn.key['size']:.6g}")
    answer(page, "garbage")
    found = page.locator(".cm-form").evaluate("form => form.outerHTML")
    said = re.sub(r'<input[^>]*>', "", found).replace(drawn.ask, "")
    digits = re.search(r"\d[\d,.]*", drawn.answer_line)[0]
    assert len(digits) < 2 or not re.search(rf"(?<![\d.,]){re.escape(digits)}(?![\d.,])", said)
    assert "Answer:" not in found
    assert drawn.answer_line in opened_solution(page)


# Report 7: phones and the number keyboard.
@pytest.mark.parametrize("id, text, expected", [
    ("training-time.1", "67.7 days", "right"), ("training-time.1", "−3", "wrong"),
    ("training-time.1", "6.35e24", "wrong"), ("training-time.5", "32.4%", "right"),
    ("zero-stages.1", "0.014 TB", "right"), ("zero-stages.1", "$75k", "unread"),
    ("zero-stages.1", "14\u200b GB\n", "right"), ("training-time.1", "67.7\u00a0days\r\n", "right"),
])
def test_a_phone(show, id, text, expected):
    page = show(id, **PHONE)
    field = page.get_by_role("textbox")
    assert {name: field.get_attribute(name) for name in ("type", "inputmode", "enterkeyhint",
                                                         "autocapitalize",
                                                         "autocorrect", "spellcheck")} == {
        "type": "text", "inputmode": "text", "enterkeyhint": "go", "autocapitalize": "off",
        "autocorrect": "off", "spellcheck": "false"}
    field.tap()
    field.evaluate("(f, text) => f.setRangeText(text.replace(/[\\r\\n]/g, ''))", text)
    field.press("Enter")
    assert verdict(page) == expected
    assert float(field.evaluate("f => parseFloat(getComputedStyle(f).fontSize)")) >= 16
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("[visualViewport.scale, scrollX]") == [1, 0]


def test_a_pasted_newline_and_a_zero_width_space(show):
    page = show("training-time.1")
    field = page.get_by_role("textbox")
    field.focus()
    page.evaluate("text => document.execCommand('insertText', false, text)", "67.7\u200b days\n")
    field.press("Enter")
    assert verdict(page) == "right"


# Report 6: the browser's language changes nothing.
@pytest.mark.parametrize("text, expected",
                         [("104", "right"), ("0.104", "wrong"), ("1,04", "unread"),
                          ("1'04", "unread")])
def test_a_german_browser(show, text, expected):
    page = show("zero-stages.3", locale="de-DE")
    answer(page, text)
    assert verdict(page) == expected


def test_words_first_then_points_with_a_sum(show):
    page = show("training-time.9")
    points = page.get_by_role("button", name="Show the points")
    assert points.is_disabled() and page.locator(".cm-points").count() == 0
    page.get_by_role("textbox").fill("The peak is the one with sparsity, twice the dense one, so "
                                     "the answer is half of what it is.")
    points.click()
    boxes = page.get_by_role("checkbox")
    assert boxes.count() == 4 and "0 of 5 points" in page.locator(".cm-points").inner_text()
    boxes.first.check()
    boxes.last.press("Space")
    assert "3 of 5 points" in page.locator(".cm-points").inner_text()


def test_a_function_is_checked_in_the_notebook(show):
    page = show("zero-stages.7")
    text = page.locator(".cm-form").inner_text()
    assert "def my_state_bytes(params, ranks, stage" in text
    assert 'check("zero-stages.7", your_function)' in text
    assert "raise ValueError" in opened_solution(page)


@pytest.mark.parametrize("promise, shown", [
    (None, "pre"), ("Promise.resolve()", ".cm-math"), ("Promise.reject()", "pre"),
])
def test_a_solution_is_typeset_where_the_page_can(show, promise, shown):
    """MathJax where it is, lines of text where it is not, and those again when it fails."""
    page = show("training-time.1")
    if promise:
        page.evaluate(f"window.MathJax = {{ typesetPromise: () => {promise} }}")
    page.locator("summary", has_text="Worked solution").click()
    page.locator(f".cm-fold[open] {shown}").wait_for()


def test_everything_by_keyboard(show):
    page = show("training-time.1")
    reached = []
    for _ in range(5):
        page.keyboard.press("Tab")
        at = page.locator(":focus")
        reached.append(at.text_content() or at.evaluate("node => node.tagName"))
    assert reached == ["INPUT", "Check", "New numbers", "Hint 1 of 3", "Worked solution"]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_contrast(show, dark):
    from test_explorer import CONTRAST

    page = show("training-time.1", "zero-stages.7", "training-time.9", dark=dark)
    answer(page, "33.8 days")
    ratios = page.evaluate(CONTRAST)
    assert min(ratios.values()) >= 4.5, {k: v for k, v in ratios.items() if v < 4.5}


def test_solution_of_page_and_python_agree(show):
    page = show("object-storage.3")
    shown = opened_solution(page)
    for line in repr(solution("object-storage.3")).split("\n"):
        assert line in shown
