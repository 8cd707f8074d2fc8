"""The chapter and the question that CONTRIBUTING.md shows work as they stand."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap

import pytest
import yaml
from samples import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language, without the list's indentation."""
    found = re.findall(rf"^ +(`{{3,4}}){language}\n(.*?)^ +\1$", TEXT, re.S | re.M)
    return [textwrap.dedent(body) for _, body in found]


@pytest.fixture
def book(tmp_path):
    """A copy of what a contributor has, without the other chapters."""
    for name in ("_config.yml", "constraints.txt", "pytest.ini", "conftest.py"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("book", "verify"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "lib" / "clustermath", tmp_path / "lib" / "clustermath")
    chapter, sheet = blocks("markdown")
    (question,) = blocks("python")
    for file, text in {
        "chapters/copy-time.md": chapter,
        "exercises/copy-time.md": sheet,
        "lib/clustermath/practice/questions/copy_time.py": question,
    }.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    return tmp_path


def test_the_chapter_and_its_sheet_pass_their_checks(book):
    def run(*command: str) -> str:
        environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{book / 'lib'}:{book}"}
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=book,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        return done.stdout

    run("book.notebooks")
    run("pytest", "-n", "0", "-q", "chapters/copy-time.ipynb", "exercises/copy-time.ipynb")
    run("verify.mutants", "copy-time")


def test_the_line_of_the_contents_is_of_the_kind_used():
    (line,) = yaml.safe_load(blocks("yaml")[0])
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    used = [chapter for part in toc["parts"] for chapter in part["chapters"]]
    assert all(chapter.keys() == line.keys() for chapter in used)
    assert line["sections"] == [{"file": "exercises/copy-time", "title": "Exercises"}]


def test_the_commands_exist():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    for file in ("CONTRIBUTING.md", "README.md", "ERRATA.md"):
        for target in re.findall(r"`?make ([a-z-]+)`", (ROOT / file).read_text()):
            assert target in targets, f"{file}: make {target}"
