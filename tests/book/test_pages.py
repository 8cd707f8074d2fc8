"""The built book: complete, linked, from one place, the same twice."""

from __future__ import annotations

import filecmp
import gzip
import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml
from samples import ROOT, build, pages_of_the_contents

from book.notebooks import sources

URL = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]["url"]
REPOSITORY = URL.removeprefix("https://github.com/")
PAGES = pages_of_the_contents()
CHAPTERS = [p for p in PAGES if p.startswith("chapters/")]
SHEETS = [p for p in PAGES if p.startswith("exercises/")]
VOID = {
    "area",
    "base",
    "br",
    "col",
    "embed",
    "hr",
    "img",
    "input",
    "link",
    "meta",
    "source",
    "track",
    "wbr",
}


class Page(HTMLParser):
    """Tags with attributes, ids, and the text of the number links."""

    def __init__(self, file: Path):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.html = file.read_text(encoding="utf-8")
        self.feed(self.html)
        self.ids = Counter(a["id"] for _, a in self.tags if a.get("id"))

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def all(self, tag: str, **wanted: str) -> list[dict]:
        return [
            a
            for t, a in self.tags
            if t == tag and all(v in (a.get(k) or "") for k, v in wanted.items())
        ]


@pytest.fixture(scope="session")
def pages(site):
    return {name: Page(site / f"{name}.html") for name in PAGES}


def notebook(name: str) -> dict:
    return json.loads((ROOT / f"{name}.ipynb").read_text(encoding="utf-8"))


def test_nothing_is_loaded_from_elsewhere(site):
    loads = re.compile(r"""((src|srcset|data|poster)\s*=|url\()\s*["']?(https?:)?//|@import""")
    foreign = []
    for file in [*site.rglob("*.html"), *site.glob("_static/*.css"), *site.glob("_static/*.js")]:
        text = file.read_text(encoding="utf-8")
        foreign += [f"{file.name}: {text[m.start() : m.end() + 60]}" for m in loads.finditer(text)]
        if file.suffix == ".html":
            page = Page(file)
            linked = [
                a["href"]
                for a in page.all("link")
                if re.match(r"(https?:)?//", a.get("href") or "")
            ]
            foreign += [f"{file.name}: {href}" for href in linked]
    assert foreign == []


@pytest.mark.parametrize("name", PAGES)
def test_each_number_leads_to_one_cell_and_has_its_tooltip(pages, name):
    numbers = notebook(name)["metadata"]["numbers"]
    links = pages[name].all("a", **{"class": "num"})
    assert {a["href"].lstrip("#") for a in links} == {n["cell"] for n in numbers.values()}
    for link in links:
        assert pages[name].ids[link["href"].lstrip("#")] == 1
        target, value = link["title"].split("\n")[:2]
        assert target.partition(" = ")[0] in numbers and value.startswith("= ")


@pytest.mark.parametrize("name", PAGES)
def test_ids_are_unique(pages, name):
    assert [i for i, count in pages[name].ids.items() if count > 1] == []


@pytest.mark.parametrize("name", CHAPTERS + SHEETS)
def test_colab_binder_download_and_the_other_page(site, pages, name):
    page = pages[name]
    assert page.all(
        "a", href=f"https://colab.research.google.com/github/{REPOSITORY}/blob/main/{name}.ipynb"
    )
    assert page.all(
        "a",
        href=f"https://mybinder.org/v2/gh/{REPOSITORY}/main?labpath={quote(name, safe='')}.ipynb",
    )
    (download,) = [a for a in page.all("a") if "download" in a]
    file = (site / f"{name}.html").parent / download["href"]
    assert json.loads(file.read_text(encoding="utf-8"))["cells"] == notebook(name)["cells"]
    folder, slug = name.split("/")
    other = f"../{'exercises' if folder == 'chapters' else 'chapters'}/{slug}.html"
    assert len(page.all("a", href=other)) >= 2  # under the title and at the end


def test_the_contents_list_every_page_that_is_written():
    written = {str(p.relative_to(ROOT).with_suffix("")) for p in sources(ROOT)}
    assert written - set(PAGES) == set(), "add these to _toc.yml"
    assert set(PAGES) - written == set(), "these have no .md"


def test_every_chapter_has_its_sheet():
    assert [c.partition("/")[2] for c in CHAPTERS] == [s.partition("/")[2] for s in SHEETS]


def test_local_links_lead_somewhere(site, pages):
    broken = []
    ids = {(site / f"{name}.html"): page.ids for name, page in pages.items()}
    for name, page in pages.items():
        here = site / f"{name}.html"
        for link in page.all("a"):
            path, _, anchor = (link.get("href") or "").partition("#")
            if re.match(r"[a-z]+:", path) or not (path or anchor):
                continue
            file = (here.parent / path).resolve() if path else here
            if not file.exists() or (anchor and anchor not in ids[file]):
                broken.append(f"{name}: {link['href']}")
    assert broken == []


def test_landing_page_lists_each_chapter_with_its_question(pages):
    contents = pages["intro"].html.partition('<nav class="questions"')[2].partition("</nav>")[0]
    listed = re.findall(r'<li><a href="([^"]+)\.html">[^<]+</a><span>([^<]+)</span></li>', contents)
    assert sorted(name for name, _ in listed) == sorted(CHAPTERS)
    assert all(len(question) > 30 for _, question in listed)


@pytest.mark.parametrize("name", PAGES)
def test_headings_have_anchors_and_figures_have_descriptions(pages, name):
    page = pages[name]
    headings = re.findall(r"<h[1-3]>.*?</h[1-3]>", page.html, re.S)
    article = [h for h in headings if "headerlink" in h]
    assert article and all('href="#' in h for h in article)
    assert [a for a in page.all("svg", role="img") if not a.get("aria-label")] == []
    # The logo's name stands beside it.
    pictures = [a for a in page.all("img") if "logo" not in a["src"]]
    assert [a["src"] for a in pictures if not a.get("alt")] == []


@pytest.mark.parametrize("name", PAGES)
def test_each_widget_has_its_text_beside_it(pages, name):
    views = pages[name].all("script", type="widget-view")
    twins = [a for t, a in pages[name].tags if (a.get("class") or "") == "twin"]
    assert len(views) == len(twins)


@pytest.mark.parametrize("name", PAGES)
def test_page_weighs_less_than_half_a_megabyte(site, name):
    assert len(gzip.compress((site / f"{name}.html").read_bytes())) < 500_000


def test_two_builds_are_identical(site, tmp_path):
    again = build(tmp_path)
    names = {str(f.relative_to(site)) for f in site.rglob("*") if f.is_file()}
    assert names == {str(f.relative_to(again)) for f in again.rglob("*") if f.is_file()}
    same, different, errors = filecmp.cmpfiles(site, again, names, shallow=False)
    assert (different, errors) == ([], [])
