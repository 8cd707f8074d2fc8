"""The built book in Chromium: served, from files, on a phone, without scripts."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

ROOT = Path(__file__).parents[2]
SITE = ROOT / "_build" / "html"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def _newest(*patterns: str) -> float:
    return max(f.stat().st_mtime for pattern in patterns for f in ROOT.glob(pattern))


@pytest.fixture(scope="session")
def site() -> Path:
    """The built book; built now when it is missing or older than what it is made from."""
    made_from = _newest(
        "*.ipynb",
        "chapters/*.ipynb",
        "exercises/*.ipynb",
        "_*.yml",
        "book/pages/*.py",
        "book/static/*",
    )
    if not (SITE / "intro.html").exists() or (SITE / "intro.html").stat().st_mtime < made_from:
        subprocess.run(
            [sys.executable, "-m", "book.build"], cwd=ROOT, check=True, capture_output=True
        )
    return SITE


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """pytest shows what matters."""


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The book on a plain file server of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, as the system has it."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail("no Chromium on the PATH: install your system's chromium package")
    with sync_playwright() as playwright:
        yield (browser := playwright.chromium.launch(executable_path=found, args=FLAGS))
        browser.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open an address: ``visit(url, **context options)``; fails the test on a script's error."""
    contexts: list[BrowserContext] = []
    errors: list[str] = []

    def open_page(url: str, **options: object) -> Page:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []
