"""Builds the site: ``python -m book.build``; any warning is an error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from . import notebooks
from .chapter import ChapterError


def main() -> int:
    """Check that each page has its notebook, then let Jupyter Book render them."""
    root = Path()
    missing = [
        source for source in notebooks.sources(root) if not source.with_suffix(".ipynb").exists()
    ]
    if missing:
        names = ", ".join(str(source.with_suffix(".ipynb")) for source in missing)
        print(f"missing: {names}; run make notebooks", file=sys.stderr)
        return 1
    try:
        stale = [
            line for source in notebooks.sources(root) for line in notebooks.differences(source)
        ]
    except ChapterError as error:
        stale = [str(error)]
    if stale:
        print("\n".join(stale), file=sys.stderr)
        return 1
    return subprocess.run(_command()).returncode


def _command() -> list[str]:
    jupyter_book = str(Path(sys.executable).with_name("jupyter-book"))
    return [jupyter_book, "build", ".", "-W", "-n", "--keep-going", "--quiet"]


if __name__ == "__main__":
    sys.exit(main())
