"""Checkpoints that were torn at every point a writer can die, and every way a directory can rot."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Iterator

import pytest
from clustermath import checkpoint_is_usable, latest_usable

WORLD = 3


def shard(step: int, rank: int) -> bytes:
    return hashlib.sha256(f"{step}/{rank}".encode()).digest() * 64


def listing(step: int) -> dict:
    shards = [
        dict(
            file=f"shard-{rank}.bin",
            bytes=len(shard(step, rank)),
            sha256=hashlib.sha256(shard(step, rank)).hexdigest(),
        )
        for rank in range(WORLD)
    ]
    return dict(step=step, world=WORLD, shards=shards)


def put(path: Path, data: bytes) -> Iterator[None]:
    """Write under a temporary name in two halves, then rename; a crash can come at each yield."""
    part = path.with_name(path.name + ".tmp")
    part.write_bytes(data[: len(data) // 2])
    yield
    part.write_bytes(data)
    yield
    part.rename(path)
    yield


def save(root: Path, step: int, manifest_first: bool = False) -> Iterator[None]:
    directory = root / f"step-{step}"
    directory.mkdir()
    yield
    manifest = put(directory / "MANIFEST.json", json.dumps(listing(step)).encode())
    if manifest_first:
        yield from manifest
    for rank in range(WORLD):
        yield from put(directory / f"shard-{rank}.bin", shard(step, rank))
    if not manifest_first:
        yield from manifest


def saved(root: Path, *steps: int) -> Path:
    for step in steps:
        for _ in save(root, step):
            pass
    return root / f"step-{steps[-1]}"


CRASH_POINTS = 1 + 3 * (WORLD + 1)  # the directory, then three steps a file


@pytest.mark.parametrize("survived", range(CRASH_POINTS))
def test_a_writer_that_dies_anywhere_leaves_the_last_complete_checkpoint(tmp_path, survived):
    saved(tmp_path, 8, 9)
    writer = save(tmp_path, 10)
    for _ in range(survived + 1):
        next(writer)
    committed = survived == CRASH_POINTS - 1  # only the rename of the manifest commits
    assert latest_usable(tmp_path) == tmp_path / ("step-10" if committed else "step-9")
    assert checkpoint_is_usable(tmp_path / "step-10") is committed


def test_a_manifest_written_first_deceives_nobody(tmp_path):
    saved(tmp_path, 9)
    for survived, _ in enumerate(save(tmp_path, 10, manifest_first=True)):
        expected = "step-10" if survived == CRASH_POINTS - 1 else "step-9"
        assert latest_usable(tmp_path).name == expected


def test_steps_are_numbers_and_not_names(tmp_path):
    saved(tmp_path, 100, 9)  # "step-9" sorts after "step-100"
    assert latest_usable(tmp_path).name == "step-100"
    (tmp_path / "step-100").rename(tmp_path / "archive")
    assert latest_usable(tmp_path).name == "archive"


def change(directory: Path, **changes) -> None:
    file = directory / "MANIFEST.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def edit_shard(directory: Path, **changes) -> None:
    shards = listing(10)["shards"]
    shards[1].update(changes)
    change(directory, shards=shards)


SPOILT = {
    "no manifest": lambda d: (d / "MANIFEST.json").unlink(),
    "only a temporary manifest": lambda d: (d / "MANIFEST.json").rename(d / "MANIFEST.json.tmp"),
    "truncated manifest": lambda d: (d / "MANIFEST.json").write_text(
        (d / "MANIFEST.json").read_text()[:-9]
    ),
    "empty manifest": lambda d: (d / "MANIFEST.json").write_text(""),
    "binary manifest": lambda d: (d / "MANIFEST.json").write_bytes(b"\xff\xfe\x00"),
    "a list for a manifest": lambda d: (d / "MANIFEST.json").write_text("[1, 2]"),
    "missing shard": lambda d: (d / "shard-1.bin").unlink(),
    "a directory for a shard": lambda d: (
        (d / "shard-1.bin").unlink(),
        (d / "shard-1.bin").mkdir(),
    ),
    "shard short by a byte": lambda d: (d / "shard-1.bin").write_bytes(shard(10, 1)[:-1]),
    "shard long by a byte": lambda d: (d / "shard-1.bin").write_bytes(shard(10, 1) + b"x"),
    "one world too many": lambda d: change(d, world=WORLD + 1),
    "no shards": lambda d: change(d, world=0, shards=[]),
    "no step": lambda d: change(d, step=None),
    "a fraction of a step": lambda d: change(d, step=10.5),
    "a shard twice": lambda d: edit_shard(d, file="shard-0.bin", bytes=len(shard(10, 0))),
    "a shard elsewhere": lambda d: edit_shard(d, file="../step-9/shard-1.bin"),
    "a shard without a size": lambda d: edit_shard(d, bytes=None),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_a_spoilt_checkpoint_is_passed_over(tmp_path, spoil):
    newest = saved(tmp_path, 8, 9, 10)
    assert checkpoint_is_usable(newest) and checkpoint_is_usable(newest, verify=False)
    spoil(newest)
    for verify in (True, False):
        assert not checkpoint_is_usable(newest, verify)
        assert latest_usable(tmp_path, verify).name == "step-9"


def test_only_the_checksum_sees_a_flipped_bit_or_another_steps_shard(tmp_path):
    newest = saved(tmp_path, 9, 10)
    for data in (bytes([shard(10, 1)[0] ^ 1]) + shard(10, 1)[1:], shard(9, 1)):
        (newest / "shard-1.bin").write_bytes(data)
        assert not checkpoint_is_usable(newest) and checkpoint_is_usable(newest, verify=False)
        assert latest_usable(tmp_path).name == "step-9"


def test_a_manifest_without_checksums_is_not_verified(tmp_path):
    newest = saved(tmp_path, 10)
    edit_shard(newest, sha256=None)
    assert not checkpoint_is_usable(newest) and checkpoint_is_usable(newest, verify=False)


def test_one_empty_shard_at_step_0_is_a_checkpoint(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "only").touch()
    only = dict(file="only", bytes=0, sha256=hashlib.sha256().hexdigest())
    for step, usable in ((0, True), (-1, False)):
        (tmp_path / "a" / "MANIFEST.json").write_text(
            json.dumps(dict(step=step, world=1, shards=[only]))
        )
        assert checkpoint_is_usable(tmp_path / "a") is usable


def test_further_files_do_not_matter(tmp_path):
    newest = saved(tmp_path, 10)
    (newest / "notes.txt").write_text("x")
    (tmp_path / "latest").write_text("step-11")
    assert checkpoint_is_usable(str(newest)) and latest_usable(str(tmp_path)) == newest


def test_nothing_saved_is_none_and_a_wrong_path_is_an_error(tmp_path):
    assert latest_usable(tmp_path) is None
    assert not checkpoint_is_usable(tmp_path / "step-1")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        latest_usable(tmp_path / "nowhere")
