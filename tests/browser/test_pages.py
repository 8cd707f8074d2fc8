"""What a reader meets in the built book: without network, without scripts, on a phone, on paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import PHONE, ROOT
from pypdf import PdfReader

CONTENTS = (ROOT / "_toc.yml").read_text(encoding="utf-8")
PAGES = ["intro", *re.findall(r"file: ([\w/-]+)", CONTENTS)]
CHAPTER = "chapters/training-time.html"
SHEET = "exercises/training-time.html"


FROM_FILES = ["intro", CHAPTER.removesuffix(".html"), SHEET.removesuffix(".html")]


@pytest.mark.parametrize(
    "scheme, name", [*(("http", p) for p in PAGES), *(("file", p) for p in FROM_FILES)]
)
def test_no_request_leaves_the_site(visit, site, address, name, scheme):
    page = visit("about:blank")
    foreign = []

    def local_only(route):
        if re.match(r"(file|data|blob|about):|" + re.escape(address), route.request.url):
            route.continue_()
        else:
            foreign.append(route.request.url)
            route.abort()

    page.route("**/*", local_only)
    page.goto(f"{address if scheme == 'http' else site.as_uri()}/{name}.html")
    page.wait_for_load_state("networkidle")
    assert foreign == []
    for formula in page.locator("div.math, span.math").all():
        assert formula.locator("mjx-container").count() >= 1
    views = page.locator('script[type*="widget-view"]').count()
    page.wait_for_function(f"document.querySelectorAll('.widget').length == {views}")
    assert page.locator(".twin:visible").count() == 0


@pytest.mark.parametrize("name", PAGES)
def test_readable_without_scripts(visit, address, name):
    page = visit(f"{address}/{name}.html", java_script_enabled=False)
    assert page.locator(".twin").count() == page.locator(".twin:visible").count()
    for formula in page.locator("div.math:visible, span.math").all():
        assert "\\" in formula.inner_text()
    assert page.locator(".plain-chain").count() == page.locator(".plain-chain:visible").count()
    number = page.locator("a.num").first
    if number.count():
        assert "= " in number.get_attribute("title")
        number.click()
        assert page.url.partition("#")[2] == number.get_attribute("href").lstrip("#")


def number_and_tip(page):
    return page.locator("#the-answer-in-thirty-seconds a.num").first, page.locator("#num-tip")


def in_view(page, tip):
    box, width = tip.bounding_box(), page.viewport_size["width"]
    return box["x"] >= 0 and box["x"] + box["width"] <= width and box["y"] >= 0


def test_tooltip_by_mouse(visit, address):
    page = visit(f"{address}/{CHAPTER}")
    number, tip = number_and_tip(page)
    assert tip.is_hidden() and not number.get_attribute("title")
    number.hover()
    assert "= " in tip.inner_text() and in_view(page, tip)
    tip.hover()  # it may be entered, to select its text
    page.wait_for_timeout(400)
    assert tip.is_visible()
    page.mouse.move(0, 0)
    tip.wait_for(state="hidden")


def test_tooltip_by_keyboard(visit, address):
    page = visit(f"{address}/{CHAPTER}")
    number, tip = number_and_tip(page)
    number.focus()
    assert tip.is_visible() and number.get_attribute("aria-describedby") == "num-tip"
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    number.focus()
    page.keyboard.press("Enter")
    assert page.url.partition("#")[2] == number.get_attribute("href").lstrip("#")


def test_first_tap_shows_second_follows(visit, address):
    page = visit(f"{address}/{CHAPTER}", **PHONE)
    number, tip = number_and_tip(page)
    number.tap()
    assert tip.is_visible() and in_view(page, tip) and "#" not in page.url
    number.tap()
    assert page.url.partition("#")[2] == number.get_attribute("href").lstrip("#")
    assert tip.is_hidden()


def test_no_tooltip_leaves_a_phone_screen(visit, address):
    page = visit(f"{address}/{CHAPTER}", **PHONE)
    tip = page.locator("#num-tip")
    for number in page.locator("a.num").all()[:25]:
        number.tap()
        assert in_view(page, tip), number.inner_text()
        page.keyboard.press("Escape")


def test_a_number_opens_the_code_behind_it(visit, address):
    page = visit(f"{address}/{CHAPTER}")
    target = page.locator("a.num", has_text="16,384").first.get_attribute("href")
    fold = page.locator(f"{target} details.code-fold").first
    assert not fold.evaluate("fold => fold.open")
    page.locator(f"a.num[href='{target}']").first.click()
    page.wait_for_function(
        "selector => document.querySelector(selector).open", arg=f"{target} details.code-fold"
    )


@pytest.mark.parametrize("name", PAGES)
def test_nothing_overflows_a_phone(visit, address, name):
    page = visit(f"{address}/{name}.html", **PHONE)
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_switch_to_dark_and_back(visit, address):
    page = visit(f"{address}/{CHAPTER}", color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    switch = page.locator(".theme-switch-button:visible").first
    for _ in range(3):
        switch.click()
        if page.evaluate("document.documentElement.dataset.theme") == "dark":
            break
    dark = page.evaluate(ground)
    assert (
        max(map(int, re.findall(r"\d+", light)[:3]))
        > 200
        > 60
        > max(map(int, re.findall(r"\d+", dark)[:3]))
    )
    assert page.evaluate("getComputedStyle(document.querySelector('.bd-article p')).color") != dark


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_search_finds_a_chapter(visit, site, address, scheme):
    page = visit(f"{address if scheme == 'http' else site.as_uri()}/search.html?q=fleet+equation")
    page.locator("#search-results a").first.wait_for()
    assert any(
        "training-time" in a.get_attribute("href") for a in page.locator("#search-results a").all()
    )


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_paper_is_light_and_complete(visit, address, tmp_path, paper):
    page = visit(f"{address}/{CHAPTER}", color_scheme="dark")
    page.wait_for_load_state("networkidle")
    text = printed(page, tmp_path, paper)
    assert "THE QUESTION" in text.upper() and "Colab" not in text
    for twin in page.locator(".twin").all():
        assert squeezed(twin.text_content())[:40] in squeezed(text)
    last_cells = page.locator("#givens table tr td:last-child")
    assert squeezed(last_cells.last.text_content()) in squeezed(text)
    sources = page.locator("#sources a[href^='http']")
    if sources.count():
        assert squeezed(sources.first.get_attribute("href")) in squeezed(text)


def test_paper_shows_solutions(visit, address, tmp_path):
    page = visit(f"{address}/{SHEET}")
    page.wait_for_load_state("networkidle")
    text = squeezed(printed(page, tmp_path, "A4"))
    folds = page.locator(".twin details")
    assert folds.count() >= 6
    for fold in folds.all():
        words = squeezed(fold.locator("xpath=*[not(self::summary)]").first.text_content())
        assert words[:30] in text


def squeezed(text: str) -> str:
    """Without the blanks and breaks that a page's layout decides."""
    return re.sub(r"[\s\u00ad-]+", "", text)


def printed(page, folder: Path, paper: str) -> str:
    file = folder / "page.pdf"
    page.pdf(path=file, format=paper)
    return "\n".join(page.extract_text() for page in PdfReader(file).pages)


def test_print_turns_a_dark_page_light(visit, address):
    page = visit(f"{address}/{CHAPTER}", color_scheme="dark")
    page.emulate_media(media="print")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
    assert page.locator("button:visible, nav.actions:visible, .widget:visible").count() == 0
