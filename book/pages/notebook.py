"""The notebook behind a page."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from sphinx.environment import BuildEnvironment


def notebook_of(env: BuildEnvironment, docname: str) -> dict | None:
    """The notebook that ``docname`` is rendered from, or None for another kind of page."""
    path = Path(env.doc2path(docname))
    return (
        _load(path, path.stat().st_mtime_ns) if path.suffix == ".ipynb" and path.exists() else None
    )


@lru_cache(maxsize=4)
def _load(path: Path, _changed: int) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))
