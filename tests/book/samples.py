"""What the tests of the book write and build."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def pages_of_the_contents() -> list[str]:
    """The pages that `_toc.yml` lists, in order."""
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    pages = [contents["root"]]
    for part in contents["parts"]:
        for chapter in part["chapters"]:
            pages += [
                chapter["file"],
                *(section["file"] for section in chapter.get("sections", [])),
            ]
    return pages


def cell(source: str, *tags: str) -> str:
    """A code cell in MyST Markdown."""
    return f"\n```{{code-cell}} ipython3\n:tags: [{', '.join(tags)}]\n{source}\n```\n"


def build(folder: Path) -> Path:
    """Build the real book into ``folder``; the folder of the site."""
    jupyter_book = Path(sys.executable).with_name("jupyter-book")
    command = [
        jupyter_book,
        "build",
        ROOT,
        "--path-output",
        folder,
        "-W",
        "-n",
        "--keep-going",
        "-q",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return folder / "_build" / "html"
