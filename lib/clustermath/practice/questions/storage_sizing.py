"""Questions of chapter 22: bytes, bandwidth, and which of them a medium makes you buy."""
from __future__ import annotations

from ... import (MINUTE, TB, TIB, cheapest_class, checkpoint_share, fs_size, mean_rate, model_bytes, storage_bytes)
from ...ops import ceil
from ...quantity import figures
from ..draws import Choice, LogUniform
from ..functions import holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

MINUTES = (1 * MINUTE, 1.5 * MINUTE, 2 * MINUTE)
INTERVALS = (10 * MINUTE, 20 * MINUTE, 30 * MINUTE)


def _size(g: Givens, size: float | None = None) -> float:
    return model_bytes(g.params, g.state if size is None else size)


def _gbps(rate: float) -> str:
    return f"{figures(rate / 1e9, 3)} GB/s"


_WEIGHTS = "That is the weights alone, two bytes each. The optimizer state is most of a checkpoint."
_MEAN = "That is the mean over the interval. The save has to be done within the window."
_BITS = "A factor of eight: bits and bytes."

QUESTIONS = [
    Estimate(
        id="storage-sizing.1",
        ask="A checkpoint of {params} parameters, {state} each, should be written within {window}. Which bandwidth does that take?",
        givens={"params": LogUniform(70.6e9, 20e9, 1e12), "state": Choice(16, (12, 14, 16), "B"), "window": Choice(MINUTE, MINUTES, "s")},
        answer=lambda g: mean_rate(_size(g), g.window), unit="GB/s",
        traps=(
            Trap("weights only", lambda g: mean_rate(_size(g, 2), g.window), _WEIGHTS),
            Trap("half hour", lambda g: mean_rate(_size(g), 30 * MINUTE), _MEAN),
            Trap("bits", lambda g: 8 * mean_rate(_size(g), g.window), _BITS),
        ),
        hints=("Bytes of the checkpoint over the window.",),
        next="Which tier gives you that, and who pays for it?"),
    Estimate(
        id="storage-sizing.2",
        ask="A job keeps {capacity} and bursts at {burst}. Disks hold {disk} and give {speed} each. How many must you buy?",
        givens={"capacity": LogUniform(100e12, 50e12, 400e12, "B"), "burst": LogUniform(18.8e9, 15e9, 100e9, "B/s"),
                "disk": Choice(20e12, (16e12, 20e12, 24e12), "B"), "speed": Choice(250e6, (200e6, 250e6), "B/s")},
        answer=lambda g: ceil(max(g.capacity / g.disk, g.burst / g.speed)), unit="disks", whole=True,
        traps=(
            Trap("capacity alone", lambda g: ceil(g.capacity / g.disk), "That holds the bytes. It does not carry the burst."),
            Trap("both added", lambda g: ceil(g.capacity / g.disk + g.burst / g.speed), "The same disks hold and carry: take the larger count, not the sum."),
            Trap("not rounded up", lambda g: g.burst / g.speed if g.burst % g.speed else None, "Nobody sells part of a disk: round up."),
        ),
        hints=("Two counts: one for the bytes, one for the bandwidth.", "The larger one is bought."),
        next="What would flash change?"),
    Estimate(
        id="storage-sizing.3",
        ask="A filesystem class gives {rate} for each TiB bought. A job keeps {capacity} and bursts at {burst}. How many TB must you buy?",
        givens={"rate": Choice(250e6, (125e6, 250e6), "B/s"), "capacity": LogUniform(288e12, 50e12, 300e12, "B"),
                "burst": LogUniform(155.6e9, 100e9, 300e9, "B/s")},
        answer=lambda g: fs_size(g.capacity, g.burst, g.rate / TIB), unit="TB",
        traps=(
            Trap("TiB for TB", lambda g: g.burst / g.rate * TB, "That many TiB, printed as TB. A TiB is about a tenth larger."),
            Trap("capacity alone", lambda g: g.capacity, "That holds the bytes. The class sells bandwidth by the byte, and you need more of it."),
            Trap("sum", lambda g: g.capacity + fs_size(0, g.burst, g.rate / TIB), "The same bytes hold and carry: the larger figure, not the sum."),
        ),
        hints=("How many TiB give the burst?", "Is that more than the bytes to keep?"),
        next="At which class does capacity bind?"),
    Estimate(
        id="storage-sizing.4",
        ask="Checkpoints of {size} arrive at the nodes' drives every {interval}. At which rate must they drain to the shared filesystem?",
        givens={"size": LogUniform(14e12, 1e12, 20e12, "B"), "interval": Choice(20 * MINUTE, INTERVALS, "s")},
        answer=lambda g: mean_rate(g.size, g.interval), unit="GB/s",
        traps=(
            Trap("in a minute", lambda g: mean_rate(g.size, MINUTE), "That empties the drives within a minute. They have until the next checkpoint."),
            Trap("bits", lambda g: 8 * mean_rate(g.size, g.interval), _BITS),
        ),
        hints=("A checkpoint must be gone when the next one arrives.",),
        next="What happens at a slightly lower rate?"),
    Estimate(
        id="storage-sizing.5",
        ask="A run keeps {tokens} tokens at {ids} each and {kept} checkpoints of {size}. How many TB is that?",
        givens={"tokens": LogUniform(15.6e12, 5e12, 20e12), "ids": Choice(4, (2, 4), "B"), "kept": Choice(100, (20, 50, 100)),
                "size": LogUniform(6.48e12, 1e12, 10e12, "B")},
        answer=lambda g: storage_bytes(g.tokens * g.ids, g.size, g.kept), unit="TB",
        traps=(
            Trap("no tokens", lambda g: g.kept * g.size if g.kept * g.size < 0.94 * storage_bytes(g.tokens * g.ids, g.size, g.kept) else None,
                 "The tokens are missing."),
            Trap("one checkpoint", lambda g: storage_bytes(g.tokens * g.ids, g.size, 1), "That keeps one checkpoint."),
        ),
        hints=("Tokens times bytes, checkpoints times bytes.",),
        next="Which of these bytes will ever be read again?"),
    Implement(
        id="storage-sizing.6",
        ask="Write the choice of a class: given bytes, bandwidth and a dictionary of classes, from a name to price and density, return `(cost, name)` of the cheapest. "
            "Cost is price times the bytes to buy. Raise `ValueError` for negative needs and for no classes.",
        stub='def my_cheapest_class(capacity, bandwidth, classes):\n    """(cost, name) of the cheapest class."""\n    return ...',
        cases=(
            holds("bytes alone: the cheapest byte wins", lambda f: _choice(f, 1e15, 0) == "slow"),
            holds("bandwidth alone: the cheapest bandwidth wins", lambda f: _choice(f, 0, 1e11) == "fast"),
            holds("the cost is price times the larger need", lambda f: _costs(f)),
            holds("one class is no choice", lambda f: f(1e12, 1e9, {"only": (1e-17, 1e-4)})[1] == "only"),
            holds("nothing needed costs nothing", lambda f: f(0, 0, _CLASSES)[0] == 0),
            refuses("negative bytes are refused", -1, 1e9, {"only": (1e-17, 1e-4)}, error=ValueError),
            refuses("no classes are refused", 1e12, 1e9, {}, error=ValueError),
        ),
        hints=("Bytes to buy: the larger of the capacity and bandwidth over density.", "`min` over the classes, by cost."),
        solution='''
def my_cheapest_class(capacity, bandwidth, classes):
    """(cost, name) of the cheapest class."""
    if capacity < 0 or bandwidth < 0 or not classes:
        raise ValueError("capacity and bandwidth must be at least 0, and classes must not be empty")
    return min((price * max(capacity, bandwidth / density), name) for name, (price, density) in classes.items())
''',
        next="When is the fastest class the cheapest one?"),
    Rubric(
        id="storage-sizing.7",
        ask="A vendor offers a petabyte at {speed} for a run that saves {size} every {interval}: plenty of space. What do you answer?",
        givens={"speed": Choice(20e9, (10e9, 20e9), "B/s"), "size": Choice(6.48e12, (6.48e12,), "B"), "interval": Choice(30 * MINUTE, (30 * MINUTE,), "s")},
        facts={"save": lambda g: f"{figures(g.size / g.speed, 3)} s",
               "share": lambda g: f"{figures(100 * checkpoint_share(g.size / g.speed, g.interval), 2)}%",
               "drain": lambda g: _gbps(g.size / g.interval)},
        points=((1, "It computes the time of a save, {save}."),
                (1, "It computes what that costs if the save blocks, {share} of the run."),
                (1, "It sets this against the rent of the GPUs, not against the price of the filesystem."),
                (2, "It asks whether the nodes can absorb the burst; then only the drain counts, {drain}.")),
        model="Space was never the question. A save takes {save}, {share} of the run if the GPUs wait for it, and that costs more than the filesystem. "
              "If the nodes' own drives take the save, the filesystem needs the drain alone, {drain}, and the offer is good.",
        hints=("What must the filesystem do besides hold bytes?",),
        next="And how long would a restore take from it?"),
]

_CLASSES = {"slow": (145, 125e6 / TIB), "fast": (600, 1000e6 / TIB)}


def _choice(function, capacity: float, bandwidth: float) -> str:
    return function(capacity, bandwidth, _CLASSES)[1]


def _costs(function) -> bool:
    pairs = ((7e14, 1e11), (2e13, 1e11), (7e14, 4e9))
    return all(abs(function(c, w, _CLASSES)[0] / cheapest_class(c, w, _CLASSES).cost - 1) < 1e-9 for c, w in pairs)
