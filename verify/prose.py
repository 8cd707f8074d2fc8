"""What a chapter's text says: its number links, its bare numerals, and links that a reader loses.

The text is parsed as the book parses it. Everything a reader sees counts: paragraphs, headings,
tables, quotes, captions, alt text, raw HTML, and the text of links that lead elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from nbformat import NotebookNode

from .numerals import bare_in_math, bare_numerals

TARGET = re.compile(r"#([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")
HELD = "…"  # stands in the running text for what is checked elsewhere
SEEN_ATTRIBUTES = {"alt", "title", "aria-label", "placeholder", "label", "value"}
UNSEEN_ELEMENTS = {"script", "style", "code", "pre"}


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table").use(footnote_plugin).use(dollarmath_plugin)
    # Joined, `\$` and `$` could no longer be told apart.
    return parser.disable(["footnote_inline", "footnote_tail", "text_join"])


MARKDOWN = _parser()


@dataclass(frozen=True)
class Link:
    """A number in prose: `[11 days](#run_time)`."""

    text: str
    target: str
    title: str = ""

    @property
    def name(self) -> str:
        """The chapter's name that the target starts with."""
        return self.target.partition(".")[0]

    def __str__(self) -> str:
        return f"[{self.text}](#{self.target})"


@dataclass
class Prose:
    """What the text of a cell or a chapter holds."""

    links: list[Link] = field(default_factory=list)
    bare: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def text(self, words: str) -> None:
        """Check a run of text: bare numerals, and links that are none."""
        if "](" in words:
            self.faults.append(f"a link that no reader sees as one: '{_around(words, '](')}'")
        self.bare += bare_numerals(words)

    def math(self, latex: str) -> None:
        """Check a formula."""
        self.bare += bare_in_math(latex)


def of_notebook(notebook: NotebookNode) -> Prose:
    """The prose of all Markdown cells, in order."""
    prose = Prose()
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            _blocks(prose, cell.source)
    return prose


def of_markdown(source: str) -> Prose:
    """The prose of one piece of Markdown."""
    prose = Prose()
    _blocks(prose, source)
    return prose


def _blocks(prose: Prose, source: str) -> None:
    for token in MARKDOWN.parse(source):
        if token.type == "inline":
            _Run(prose).walk(token.children or [])
        elif token.type.startswith("math_block"):
            prose.math(token.content)
        elif token.type == "html_block":
            _html(prose, token.content)
        elif token.type == "code_block":
            prose.text(token.content)
        elif token.type == "fence":
            _fence(prose, token)


def _fence(prose: Prose, token: Token) -> None:
    """A directive holds text; a block in a language is code; anything else is text."""
    language = token.info.strip()
    if language.startswith("{"):
        name, _, argument = language[1:].partition("}")
        if not name.startswith(("code", "math")):
            prose.text(argument)
            _blocks(prose, token.content)
        elif name == "math":
            prose.math(token.content)
    elif language in ("", "text"):
        prose.text(token.content)


class _Run:
    """One inline run: a paragraph, a heading or a cell of a table."""

    def __init__(self, prose: Prose):
        self.prose = prose
        self.words = ""
        self.link: dict[str, str] | None = None

    def walk(self, tokens: list[Token]) -> None:
        """Read the tokens of the run."""
        for token, after in zip(tokens, [*tokens[1:], None]):  # a table's empty cell has no tokens
            if token.type == "link_open":
                self._open(token)
            elif token.type == "link_close":
                self._close()
            elif token.type.startswith("math_inline"):
                self._math(token, after)
            elif token.type == "text":
                if "$" in token.content:
                    self._dollar(f"'{_around(token.content, '$')}'")
                self._add(token.content)
            elif token.type in ("softbreak", "hardbreak"):
                self._add(" ")
            elif token.type == "code_inline":
                self._add(token.content if self.link else HELD)
            elif token.type == "image":
                self._add(token.content)
                self.prose.text(str(token.attrs.get("title", "")))
            elif token.type == "html_inline":
                _html(self.prose, token.content)
            elif token.type == "text_special":
                self._add(token.content)
        self.prose.text(self.words)

    def _add(self, words: str) -> None:
        if self.link is None:
            self.words += words
        else:
            self.link["text"] += words

    def _open(self, token: Token) -> None:
        href, title = unquote(str(token.attrs.get("href", ""))), str(token.attrs.get("title", ""))
        target = TARGET.fullmatch(href)
        if target:
            self.link = {"text": "", "target": target[1], "title": title}
        else:
            self.prose.text(title)

    def _close(self) -> None:
        if self.link is not None:
            text = " ".join(self.link["text"].split())
            self.prose.links.append(Link(text, self.link["target"], self.link["title"]))
            self.link = None
            self.words += HELD

    def _math(self, token: Token, after: Token | None) -> None:
        latex = token.content
        follows = after.content[:1] if after is not None and after.type == "text" else ""
        # Two prices in a paragraph: `$74k](#bill), with [$`, `$5 and $6`, `$5-$6`.
        if "](" in latex or latex != latex.strip() or follows.isdigit() or _reads_as_text(latex):
            self._dollar(f"'${latex}$' became a formula")
        elif self.link is not None:
            self.link["text"] += f"${latex}$"
            return
        else:
            self.prose.math(latex)
        self._add(HELD)

    def _dollar(self, what: str) -> None:
        self.prose.faults.append(f"a bare dollar sign, {what}: write \\$")


def _reads_as_text(latex: str) -> bool:
    """Whether two or more plain words stand side by side, which no formula has."""
    without = re.sub(r"\\[A-Za-z]+\s*\{[^{}]*\}|\\[A-Za-z]+", " ", latex)
    return bool(re.search(r"[A-Za-z]{3,}\s+[A-Za-z]{2,}", without))


class _Page(HTMLParser):
    """What raw HTML shows: text, and attributes that are read out or shown."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = [""]
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in UNSEEN_ELEMENTS
        self.seen += [value for name, value in attrs if name in SEEN_ATTRIBUTES and value]
        self.seen.append("")

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in UNSEEN_ELEMENTS
        self.seen.append("")

    def handle_data(self, data: str) -> None:
        if self.hidden <= 0:
            self.seen[-1] += data


def _html(prose: Prose, source: str) -> None:
    page = _Page()
    page.feed(source)
    page.close()
    for words in page.seen:
        if "](#" in words:
            prose.faults.append(
                f"Markdown inside raw HTML is not rendered: '{_around(words, '](#')}'; "
                "leave an empty line before it"
            )
        prose.bare += bare_numerals(words)


def _around(text: str, what: str) -> str:
    at = text.find(what)
    return " ".join(text[max(0, at - 20) : at + 20].split())
