"""Which checkpoint a restart may take: the newest whose manifest, written last, verifies.

A checkpoint is a directory of shards and one manifest, ``MANIFEST.json``::

    {"step": 1200, "world": 2,
     "shards": [{"file": "shard-0.bin", "bytes": 4096, "sha256": "..."}, ...]}

The writer puts shards and manifest down under temporary names, syncs and renames them, the manifest
after all shards: so a manifest says that its shards were complete.
"""
from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

MANIFEST = "MANIFEST.json"


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _manifest(directory: Path) -> dict[str, Any] | None:
    """The manifest of a directory, or None when it is absent, torn or not consistent in itself."""
    try:
        found = json.loads((directory / MANIFEST).read_text("utf8"))
        names = [shard["file"] for shard in found["shards"]]
        sizes = [shard["bytes"] for shard in found["shards"]]
        whole = _is_count(found["step"]) and all(map(_is_count, sizes))
        # A shard is a file of this directory: no paths, and none counted twice.
        own = all(name == Path(name).name for name in names) and len(set(names)) == len(names)
        return found if whole and own and found["world"] == len(names) > 0 else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _shard_is_whole(file: Path, shard: dict[str, Any], verify: bool) -> bool:
    try:
        if not file.is_file() or file.stat().st_size != shard["bytes"]:
            return False
        if not verify:
            return True
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == shard.get("sha256")
    except OSError:
        return False


def checkpoint_is_usable(directory: str | os.PathLike, verify: bool = True) -> bool:
    """Whether a restart may read a checkpoint.

    Args:
        directory: of the checkpoint.
        verify: read every shard and compare its SHA-256; without it sizes alone are compared.
    Returns: True when the manifest parses, lists as many shards as its ``world`` says, and each
        is there as listed. Further files do not matter.
    """
    directory = Path(directory)
    found = _manifest(directory)
    return found is not None and all(
        _shard_is_whole(directory / shard["file"], shard, verify) for shard in found["shards"])


def latest_usable(root: str | os.PathLike, verify: bool = True) -> Path | None:
    """The usable checkpoint of the greatest step, or None when there is none.

    Args:
        root: directory of the checkpoints; their names do not matter, the manifests say the step.
        verify: as in `checkpoint_is_usable`.
    Raises: FileNotFoundError when ``root`` is no directory: a mistyped path must not look like a
        run that has not saved yet.
    """
    root = Path(root)
    if not root.is_dir():
        raise FileNotFoundError(f"no directory {root}; checkpoints are looked for there")
    steps = [(found["step"], path) for path in root.iterdir() if (found := _manifest(path))]
    newest_first = (path for _, path in sorted(steps, reverse=True))
    return next((path for path in newest_first if checkpoint_is_usable(path, verify)), None)
