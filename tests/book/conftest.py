"""A small book in a temporary folder, and the real one built once."""

from __future__ import annotations

from pathlib import Path

import pytest
from samples import build

HEADER = "---\nkernelspec: {display_name: Python 3, language: python, name: python3}\n---\n"


@pytest.fixture
def small_book(tmp_path: Path) -> Path:
    """A folder that is a book as far as the generator is concerned."""
    (tmp_path / "_config.yml").write_text(
        "repository: {url: https://example.org/a/b, branch: trunk}\n"
    )
    (tmp_path / "chapters").mkdir()
    return tmp_path


@pytest.fixture
def write(small_book: Path):
    """Write a chapter of the small book: ``write("text", tag=...)`` gives its path."""

    def chapter(text: str, slug: str = "sample") -> Path:
        path = small_book / "chapters" / f"{slug}.md"
        path.write_text(HEADER + text, encoding="utf-8")
        return path

    return chapter


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real book, built from the notebooks as they are."""
    return build(tmp_path_factory.mktemp("site"))
