"""Questions of chapter 21: the burst a node at a time, and the rule that makes a checkpoint usable."""
from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path

from ... import HOUR, MINUTE, failure_probability, mean_rate, model_bytes, transfer_time
from ...manifest import checkpoint_is_usable
from ..draws import Choice, LogUniform
from ..functions import holds
from ..spec import Estimate, Givens, Implement, Rubric, Trap

NODE = 8


def _size(g: Givens, size: float | None = None) -> float:
    return model_bytes(g.params, g.state if size is None else size)


def _node(g: Givens, size: float | None = None) -> float:
    return _size(g, size) / (g.gpus / NODE)


_MODEL = {"params": LogUniform(70.6e9, 20e9, 1e12), "state": Choice(14, (12, 14, 16), "B"), "gpus": Choice(1024, (512, 1024, 4096, 16384))}
_WEIGHTS = "That is the weights alone, two bytes each."

QUESTIONS = [
    Estimate(
        id="checkpoint-burst.1",
        ask="{params} parameters at {state} each are sharded over {gpus} GPUs, eight to a node. How many GB does each node write?",
        givens=_MODEL, answer=_node, unit="GB",
        traps=(
            Trap("one GPU", lambda g: _node(g) / NODE, "That is the part of one GPU. Eight of them share a node."),
            Trap("weights only", lambda g: _node(g, 2), _WEIGHTS),
            Trap("nodes taken for GPUs", lambda g: _node(g) / NODE**2, "The nodes have been divided by eight twice."),
        ),
        hints=("How many nodes are there?",),
        next="How long does its drive need?"),
    Estimate(
        id="checkpoint-burst.2",
        ask="Each of {gpus} GPUs, eight to a node, holds its shard of {params} parameters at {state} each. A node's drives write {width}. "
            "How many seconds does the local save take?",
        givens=_MODEL | {"params": LogUniform(1e12, 200e9, 2e12), "width": Choice(6e9, (3e9, 6e9, 12e9), "B/s")},
        answer=lambda g: transfer_time(_node(g), g.width), unit="s",
        traps=(
            Trap("one GPU", lambda g: transfer_time(_node(g) / NODE, g.width), "That is the part of one GPU, or eight times the drives. Eight GPUs share a node's drives."),
            Trap("bits", lambda g: transfer_time(_node(g), g.width / 8), "A factor of eight: bits and bytes."),
            Trap("weights only", lambda g: transfer_time(_node(g, 2), g.width) if g.state != 16 else None, _WEIGHTS),
        ),
        hints=("Bytes of a node over the bandwidth of its drives.",),
        next="And the slowest of all nodes?"),
    Estimate(
        id="checkpoint-burst.3",
        ask="A checkpoint of {size} should be drained to the shared filesystem within {window}. Which bandwidth does the drain take?",
        givens={"size": LogUniform(6.48e12, 1e12, 20e12, "B"), "window": Choice(10 * MINUTE, (5 * MINUTE, 10 * MINUTE, 30 * MINUTE), "s")},
        answer=lambda g: mean_rate(g.size, g.window), unit="GB/s",
        traps=(
            Trap("one second", lambda g: g.size, "That is the whole of it in a second."),
            Trap("in a minute", lambda g: mean_rate(g.size, MINUTE), "That drains within a minute."),
            Trap("bits", lambda g: 8 * mean_rate(g.size, g.window), "A factor of eight: bits and bytes."),
        ),
        hints=("Bytes over the window.",),
        next="How much of that is one node's share?"),
    Estimate(
        id="checkpoint-burst.4",
        ask="A drain takes {window}, and the job fails every {mtbf} on average, at random times. With which probability does it fail before the drain is done?",
        givens={"window": Choice(30 * MINUTE, (10 * MINUTE, 20 * MINUTE, 30 * MINUTE), "s"), "mtbf": Choice(3 * HOUR, (2 * HOUR, 3 * HOUR, 6 * HOUR), "s")},
        answer=lambda g: failure_probability(g.window, g.mtbf), unit="%",
        traps=(
            Trap("first order", lambda g: g.window / g.mtbf if g.window / g.mtbf > 1.05 * failure_probability(g.window, g.mtbf) else None,
                 "That is the first order, window over MTBF. Part of it counts a second failure."),
            Trap("survival", lambda g: 1 - failure_probability(g.window, g.mtbf), "That is the probability that it does not fail."),
            Trap("half", lambda g: failure_probability(g.window / 2, g.mtbf), "That takes half the window. A failure anywhere in it loses the copy."),
        ),
        hints=("Failures at random times: an exponential.",),
        next="What makes the copy safe before the drain ends?"),
    Estimate(
        id="checkpoint-burst.5",
        ask="Data-parallel replicas do not shard the optimizer: {ranks} ranks on {gpus} GPUs, eight to a node, hold all distinct state of {params} parameters at {state} each. "
            "How many GB does each node write that holds such ranks, eight of them to a node?",
        givens={"ranks": Choice(128, (64, 128, 256)), "gpus": Choice(16384, (8192, 16384)), "params": LogUniform(405e9, 100e9, 1e12), "state": Choice(16, (12, 14, 16), "B")},
        answer=lambda g: _size(g) / (g.ranks / NODE), unit="GB",
        traps=(
            Trap("sharded over all", _node, "That divides over all GPUs. Here only few ranks hold distinct state."),
            Trap("one rank", lambda g: _size(g) / g.ranks, "That is one rank. Eight of them sit in a node."),
        ),
        hints=("Who writes?",),
        next="How would you let all the nodes write?"),
    Implement(
        id="checkpoint-burst.6",
        ask="Write the verifier: true when the manifest of a directory parses, lists as many shards as `world` says, and every shard is there in the listed size. "
            "It must not raise on a torn directory.",
        stub='def my_is_usable(directory):\n    """Whether a checkpoint in `directory` (a pathlib.Path) can be restored."""\n    return ...',
        cases=(
            holds("a complete checkpoint is usable", lambda f: _after(f, lambda d: None) is True),
            holds("no manifest, no checkpoint", lambda f: _after(f, lambda d: (d / "MANIFEST.json").unlink()) is False),
            holds("half a manifest is none", lambda f: _after(f, _tear) is False),
            holds("a missing shard is noticed", lambda f: _after(f, lambda d: (d / "shard-1.bin").unlink()) is False),
            holds("a short shard is noticed", lambda f: _after(f, lambda d: (d / "shard-1.bin").write_bytes(b"x")) is False),
            holds("fewer shards than the world says are noticed", lambda f: _after(f, _shrink) is False),
            holds("a temporary file beside the shards does no harm", lambda f: _after(f, lambda d: (d / "shard-2.bin.part").write_bytes(b"x")) is True),
            holds("it agrees with the library", lambda f: all(_after(f, d) == _after(checkpoint_is_usable, d) for d in (_tear, _shrink, lambda d: None))),
        ),
        hints=("`json.loads` raises ValueError on half a manifest, reading a missing file OSError.", "Compare `path.stat().st_size` with the listed bytes."),
        solution='''
import json

def my_is_usable(directory):
    """Whether a checkpoint in `directory` (a pathlib.Path) can be restored."""
    try:
        manifest = json.loads((directory / "MANIFEST.json").read_text())
        shards = manifest["shards"]
        sizes = [(directory / shard["file"]).stat().st_size == shard["bytes"] for shard in shards]
        return len(shards) == manifest["world"] and all(sizes)
    except (OSError, ValueError, KeyError, TypeError):
        return False
''',
        next="Why does the restart check hashes as well?"),
    Rubric(
        id="checkpoint-burst.7",
        ask="A run resumed from a checkpoint that loaded without an error, and the loss jumped. The save took {save}, and nobody waited for it. What do you suspect, and how would you check?",
        givens={"save": Choice(50, (40, 50, 60), "s")},
        points=((2, "It suspects shards of different steps: no barrier, or a copy that training changed."),
                (1, "It suspects a manifest that was written before its shards were durable."),
                (1, "It suspects missing state: optimizer, random numbers, or the position of the loader."),
                (1, "It prescribes a step and a checksum in every shard, checked at the restore.")),
        model="Either the shards do not belong to one step, because ranks copied without a barrier or the copy was still being written while training changed it, or a part of "
              "the state is missing, such as the optimizer's averages. Put step and checksum into every shard and list them in a manifest that is written last; then the restore "
              "says which of the two it was.",
        hints=("Do all shards come from one step?",),
        next="How do you test that before it happens?"),
]


def _after(function, damage) -> bool:
    """The verdict on a checkpoint of three shards after some damage."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        data = [bytes([r]) * 64 for r in range(3)]
        for r, shard in enumerate(data):
            (directory / f"shard-{r}.bin").write_bytes(shard)
        listed = [{"file": f"shard-{r}.bin", "bytes": len(d), "sha256": hashlib.sha256(d).hexdigest()} for r, d in enumerate(data)]
        (directory / "MANIFEST.json").write_text(json.dumps({"step": 1, "world": 3, "shards": listed}))
        damage(directory)
        return function(directory)


def _tear(directory: Path) -> None:
    manifest = directory / "MANIFEST.json"
    manifest.write_text(manifest.read_text()[:40])


def _shrink(directory: Path) -> None:
    manifest = directory / "MANIFEST.json"
    content = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(content | {"shards": content["shards"][:2]}))
