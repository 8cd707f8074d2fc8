"""chapters/*.md and exercises/*.md -> the notebooks beside them: ``python -m book.notebooks``.

A notebook is executed again when something that decides its outputs has changed: its text, the
library's files that it used, this package, or the pinned packages. What these were is kept in
`_build/notebooks.json`; without that file everything is executed, and gives the same bytes.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import nbformat

from . import chapter, execute, stable
from .chapter import ChapterError
from .drift import differences

__all__ = ["differences", "main", "make"]

AT_ONCE = 2
GENERATOR = [
    Path(__file__).with_name(f"{name}.py") for name in ("chapter", "execute", "probe", "stable")
]


@dataclass
class Ledger:
    """What each notebook was made from: file -> hash, of the inputs and of the notebook itself."""

    path: Path
    made: dict[str, dict[str, str]]

    @classmethod
    def of(cls, root: Path) -> Ledger:
        path = root / "_build" / "notebooks.json"
        try:
            return cls(path, json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return cls(path, {})

    def is_current(self, source: Path) -> bool:
        """Whether nothing has changed since the notebook of ``source`` was made."""
        made = self.made.get(str(source.resolve()), {})
        return bool(made) and all(_hash(Path(file)) == was for file, was in made.items())

    def note(self, source: Path, library: list[str]) -> None:
        """Remember the inputs of the notebook just made."""
        pins = chapter.root_of(source) / "constraints.txt"
        files = [source, source.with_suffix(".ipynb"), pins, *GENERATOR, *map(Path, library)]
        self.made[str(source.resolve())] = {str(f.resolve()): _hash(f) for f in files}
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text(json.dumps(self.made, indent=1, sort_keys=True), encoding="utf-8")


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


async def make(source: Path) -> list[str]:
    """Execute ``source``, write its notebook, return the library's files that it used."""
    notebook = chapter.read(source)
    target = source.with_suffix(".ipynb")
    stored = nbformat.read(target, as_version=4) if target.exists() else None
    library = await execute.run(source, notebook, stored)
    text = stable.dumps(notebook, f"{source.parent.name}/{source.stem}")
    target.write_text(text, encoding="utf-8")
    return library


async def _make_all(sources: list[Path], ledger: Ledger) -> list[str]:
    """Make what is not current, a few at once; return the errors."""
    stale = [source for source in sources if not ledger.is_current(source)]
    print(f"{len(stale)} of {len(sources)} notebooks to make")
    gate = asyncio.Semaphore(AT_ONCE)
    errors, done = [], 0

    async def one(source: Path) -> None:
        nonlocal done
        async with gate:
            began = time.monotonic()
            try:
                ledger.note(source, await make(source))
                word = f"{time.monotonic() - began:.1f} s"
            except ChapterError as error:
                errors.append(str(error))
                word = "failed"
            done += 1
            print(f"[{done}/{len(stale)}] {source}  {word}", flush=True)

    await asyncio.gather(*map(one, stale))
    return errors


def sources(root: Path) -> list[Path]:
    """Every page of the book that is written as `.md` and rendered from its notebook."""
    return [
        *root.glob("intro.md"),
        *sorted(root.glob("chapters/*.md")),
        *sorted(root.glob("exercises/*.md")),
    ]


def main(arguments: list[str]) -> int:
    """Make the notebooks of the given files, or of the whole book."""
    wanted = [Path(a) for a in arguments] or sources(Path())
    if not wanted:
        print("no chapters/*.md here: run from the book's folder")
        return 1
    try:
        ledger = Ledger.of(chapter.root_of(wanted[0]))
    except ChapterError as error:
        print(error, file=sys.stderr)
        return 1
    errors = asyncio.run(_make_all(wanted, ledger))
    for error in errors:
        print(error, file=sys.stderr)
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
