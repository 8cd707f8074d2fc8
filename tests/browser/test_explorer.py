"""Explorers in Chromium: mouse, keyboard, guess, charts, phone, and the same numbers as Python."""
from __future__ import annotations

import pytest
from conftest import PHONE
from harness import save

from clustermath import (Explorer, Params, Seconds, Share, choice, formula, guess, slider,
                         state_bytes, training_time)
from clustermath.widgets.readout import readout


@formula("T", work="F", mfu=r"\eta")
def run_time(work: Params, peak: Params, mfu: Share) -> Seconds:
    """Composed here, as a chapter does it."""
    return training_time(work, 16384, peak, mfu)


PEAKS = {"A100": 312e12, "H100": 989e12, "B200": 2250e12}


def fleet(**change) -> Explorer:
    return Explorer(
        outputs={"Run time": run_time}, x="mfu", curves=("Run time",), work=6.354e24, peak=989e12,
        mfu=0.4,
        sliders={"mfu": slider(0.1, 0.6, "MFU", step=0.01), "peak": choice(PEAKS, "Chip"),
                 "work": slider(1e22, 1e26, "Work", log=True, unit="FLOP")}, **change)


def guessing() -> Explorer:
    return fleet(guess=guess("At 50% MFU, how many days?", at={"mfu": 0.5}, output="Run time"))


def zero() -> Explorer:
    return Explorer(
        outputs={"Bytes per rank": state_bytes}, x="ranks", curves=("Bytes per rank",),
        sliders={"ranks": slider(1, 1024, "Ranks", log=True, whole=True, step=2),
                 "stage": choice({"0": 0, "1": 1, "2": 2, "3": 3}, "Stage"),
                 "hbm": slider(16e9, 192e9, "Memory", step=8e9, unit="B")},
        family=("stage", (0, 1, 2, 3)), line="hbm", params=70.6e9, ranks=64, stage=3, hbm=80e9)


@pytest.fixture
def show(visit, tmp_path):
    """Open a page with widgets; gives it once the last one stands."""
    def opened(*widgets, dark=False, **options):
        page = visit(save(tmp_path, *widgets, dark=dark), **options)
        page.wait_for_function(f"document.querySelectorAll('.cm').length === {len(widgets)}")
        return page
    return opened


def result(page, at: int = 0) -> str:
    """An output without its ratio."""
    return page.locator(".cm-out dd").nth(at).evaluate("node => node.firstChild.textContent")


def test_a_slider_is_dragged_by_mouse(show):
    page = show(fleet())
    box = page.get_by_label("MFU", exact=True).bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] / 2, steps=8)
    page.mouse.up()
    mfu = float(page.locator(".cm-read").first.inner_text().removesuffix("%")) / 100
    assert 0.2 < mfu < 0.3
    assert result(page) == readout(run_time(6.354e24, 989e12, mfu), "s")
    assert "×" in page.locator(".cm-out small").first.inner_text()


@pytest.mark.parametrize("key, mfu",
                         [("ArrowRight", 0.41), ("ArrowLeft", 0.39), ("Home", 0.1), ("End", 0.6)])
def test_a_slider_moves_by_keyboard(show, key, mfu):
    page = show(fleet())
    page.get_by_label("MFU", exact=True).press(key)
    assert page.locator(".cm-read").first.inner_text() == readout(mfu, "%")
    assert page.get_by_label("MFU", exact=True).get_attribute("aria-valuetext") == readout(mfu, "%")
    assert result(page) == readout(run_time(6.354e24, 989e12, mfu), "s")


# Puts every control at a position and reads the output, for many rows of positions.
WALK = """rows => rows.map((row) => {
  document.querySelectorAll(".cm-row :is(input, select)").forEach((field, k) => {
    field.value = String(row[k]);
    field.dispatchEvent(new Event("input"));
  });
  return document.querySelector(".cm-out dd").firstChild.textContent;
})"""


def test_the_page_gives_pythons_numbers_on_a_grid(show):
    page, explorer = show(fleet()), fleet()
    mfus, peaks, works = (i["positions"] for i in explorer.spec["inputs"])
    rows = [(m, p, w) for m in range(0, len(mfus), 6) for p in range(len(peaks))
            for w in range(0, len(works), 5)]
    mine = [readout(run_time(works[w], peaks[p], mfus[m]), "s") for m, p, w in rows]
    assert page.evaluate(WALK, rows) == mine


def test_a_choice_is_made_and_reset(show):
    page = show(fleet())
    reset = page.get_by_role("button", name="Back to the chapter's numbers")
    assert reset.is_disabled()
    page.get_by_label("Chip", exact=True).select_option("B200")
    assert result(page) == readout(run_time(6.354e24, 2250e12, 0.4), "s")
    reset.click()
    assert page.get_by_label("Chip",
                             exact=True).evaluate("f => f.selectedOptions[0].text") == "H100"
    assert result(page) == readout(run_time(6.354e24, 989e12, 0.4), "s")
    assert page.locator(".cm-out small").count() == 0


def test_the_guess_comes_first_and_is_compared(show):
    page = show(guessing())
    assert page.get_by_label("MFU", exact=True).is_hidden() and page.locator(".cm-out").is_hidden()
    field = page.get_by_role("textbox")
    field.fill("twelvish")
    field.press("Enter")
    assert "cannot read" in page.locator(".cm-say").inner_text()
    field.fill("12 days")
    field.press("Enter")
    assert page.locator(".cm-verdict").inner_text() == (
        "You guessed 12 days; the formulas give 9.077 days. Your guess is 1.3 times that. "
        "It is the ring in the chart.")
    assert page.get_by_label("MFU",
                             exact=True).is_visible() and page.locator(".cm-mark").count() == 1
    assert page.locator(".cm-read").first.inner_text() == "50%"
    page.get_by_role("button", name="Back to the chapter's numbers").click()
    assert page.locator(".cm-mark").count() == 0 and page.locator(".cm-verdict").is_hidden()


def test_the_guess_can_be_skipped(show):
    page = show(guessing())
    page.get_by_role("button", name="Skip").click()
    assert result(page) == readout(run_time(6.354e24, 989e12, 0.4), "s")
    assert page.locator(".cm-ask").count() == 0


def test_the_chart_shows_family_baseline_line_and_point(show):
    page = show(zero())
    assert page.locator(".cm-curve").count() == 5
    assert page.locator(".cm-curve.cm-ghost").count() == 1
    names = page.locator(".cm-name").all_text_contents()
    assert sorted(names) == ["80 GB", "stage 0", "stage 1", "stage 2", "stage 3"]
    assert page.locator("svg").get_attribute("role") == "img"
    assert "Bytes per rank against Ranks" in page.locator("svg").get_attribute("aria-label")
    at = page.locator(".cm-dot").bounding_box()
    page.get_by_label("Ranks", exact=True).press("ArrowRight")
    moved = page.locator(".cm-dot").bounding_box()
    assert moved["x"] > at["x"] and moved["y"] > at["y"]
    page.get_by_label("Memory", exact=True).press("ArrowRight")
    assert "88 GB" in page.locator(".cm-name").all_text_contents()


def test_ticks_do_not_touch(show):
    for width in (1000, 390):
        page = show(zero(), fleet(), viewport={"width": width, "height": 900})
        for svg in page.locator("svg").all():
            boxes = [t.bounding_box() for t in svg.locator("text").all()]
            row = sorted((b for b in boxes if b["y"] > svg.bounding_box()["y"] + 205),
                         key=lambda b: b["x"])
            bottom = [b for b in row if abs(b["y"] - row[0]["y"]) < 3]
            assert all(a["x"] + a["width"] + 3 <= b["x"] for a, b in zip(bottom, bottom[1:]))
            left = svg.bounding_box()["x"]
            assert all(b["x"] >= left - 2 for b in boxes)


# A model that remembers what the view told it, as the kernel would.
SECOND = """async () => {
  const saved = document.querySelector('script[type*="widget-state"]').textContent;
  const own = Object.values(JSON.parse(saved).state)[0].state, on = {};
  window.told = [];
  window.model = {
    get: (key) => own[key], save_changes() {}, off() {}, on(name, f) { on[name] = f; },
    set(key, value) { own[key] = value; told.push(value); on["change:" + key]?.(); },
  };
  const el = document.body.appendChild(document.createElement("div"));
  el.id = "second";
  const file = new Blob([own._esm], { type: "text/javascript" });
  (await import(URL.createObjectURL(file))).default.render({ model, el });
}"""


def test_python_hears_of_it_and_moves_it(show):
    page = show(fleet())
    page.evaluate(SECOND)
    for _ in range(3):
        page.locator("#second").get_by_label("MFU", exact=True).press("ArrowRight")
    page.wait_for_function("told.length > 0 && told.at(-1).mfu === 0.43")
    assert page.evaluate("told.length") <= 3
    page.evaluate("model.set('values', { mfu: 0.25, peak: 989e12, work: 6.354e24 })")
    assert page.locator("#second .cm-read").first.inner_text() == "25%"
    assert page.evaluate("told.at(-1).mfu") == 0.25


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_phone_shows_it_whole(show, dark):
    page = show(guessing(), zero(), dark=dark, **PHONE)
    page.get_by_role("textbox").fill("12")
    page.get_by_role("textbox").press("Enter")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for field in page.locator(".cm-row input").all():
        assert field.bounding_box()["height"] >= 24


def test_a_german_browser_changes_nothing(show):
    page = show(guessing(), locale="de-DE")
    page.get_by_role("textbox").fill("1,200 h")
    page.get_by_role("textbox").press("Enter")
    assert "You guessed 50 days" in page.locator(".cm-verdict").inner_text()
    assert page.locator(".cm-read").last.inner_text() == "6.354 × 10²⁴ FLOP"


def test_contrast_of_every_text(show):
    """At least 4.5 to one for text, light and dark."""
    for dark in (False, True):
        page = show(fleet(), zero(), dark=dark)
        ratios = page.evaluate(CONTRAST)
        assert min(ratios.values()) >= 4.5, {k: v for k, v in ratios.items() if v < 4.5}


CONTRAST = """() => {
  const linear = (c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const light = (rgb) => {
    const [r, g, b] = rgb.match(/[\\d.]+/g).map((c) => linear(Number(c) / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = light(getComputedStyle(document.body).backgroundColor), out = {};
  for (const node of document.querySelectorAll(".cm *")) {
    const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim());
    if (!own || node.matches(":disabled, option, .cm-name")) continue;
    const style = getComputedStyle(node), drawn = node.namespaceURI.endsWith("svg");
    const ink = light(drawn ? style.fill : style.color);
    const ratio = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
    out[node.className.baseVal ?? (node.className || node.tagName)] = ratio;
  }
  return out;
}"""
