"""Marks an answer against a key. `grading.js` is the twin: same verdict, same words, case by case.

A key is plain data: ``answer`` and ``traps`` in base units, ``unit`` and ``size`` of the unit asked
for, ``kind``, ``within``, ``whole``, ``slack``. So the page can carry it and Python can test it.
"""
from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from ..reading import Unreadable, read
from .mistakes import (BINARY, BINARY_KINDS, BINARY_WITHIN, DISTANCES, FACTORS, FARTHEST, FILLER,
                       KINDS, SAYS)

Key = dict[str, Any]
# Words around a number that say nothing about its unit.
_FILLER = re.compile(FILLER, re.IGNORECASE)


@dataclass(frozen=True)
class Mark:
    """``verdict`` is ``right``, ``wrong`` or ``unread``; ``says`` is what the learner is told."""

    verdict: str
    says: str


@dataclass(frozen=True)
class Candidate:
    """A value an answer may stand for, with the unit in its last written place (0: exact)."""

    value: float
    step: float
    digits: int


def fits(typed: Candidate, target: float, within: float) -> bool:
    """Within the tolerance, or the correct rounding of the target with two or more figures."""
    rounded = typed.digits >= 2 and abs(typed.value - target) <= typed.step / 2 * (1 + 1e-9)
    return rounded or near(typed.value, target, within)


def is_right(typed: Candidate, key: Key) -> bool:
    """A count that was rounded up is exact, up to its slack; anything else has to fit."""
    if key["whole"]:
        return abs(typed.value - key["answer"]) <= key["slack"] + 1e-9 * abs(key["answer"])
    return fits(typed, key["answer"], key["within"])


def near(value: float, target: float, within: float) -> bool:
    """Within a relative tolerance that is symmetric in the logarithm."""
    if value == 0 or target == 0 or (value > 0) != (target > 0):
        return value == target
    return abs(math.log(value / target)) <= math.log(1 + within) + 1e-9


def grade(text: str, key: Key) -> Mark:
    """The mark for what was typed."""
    if not text.strip():
        return Mark("unread", SAYS["blank"])
    try:
        reading = read(text)
    except Unreadable as error:
        return _unread(str(error))
    return _unfit(reading, key) or mark(_candidates(reading, key), key)


def grade_value(answer: Any, key: Key) -> Mark:
    """The mark for what was passed to `check`: text, a number of any kind, or something else."""
    if isinstance(answer, str):
        return grade(answer, key)
    if answer is None or answer is ...:
        return Mark("unread", SAYS["blank"])
    if getattr(answer, "size", 0) == 1 and hasattr(answer, "item"):
        answer = answer.item()  # an array of one number, or a NumPy scalar
    if isinstance(answer, (bool, complex, bytes)) or callable(answer):
        return _unread(f"one number is asked for, not {_called(answer)}")
    try:
        number = answer if isinstance(answer, int) else float(answer)
        value = float(number)
    except OverflowError:
        return Mark("unread", SAYS["infinite"])
    except Exception:  # whatever a learner's object raises: it is no number
        return _unread(f"one number is asked for, not {_called(answer)}")
    if not math.isfinite(value):
        return Mark("unread", SAYS["nan" if math.isnan(value) else "infinite"])
    if getattr(answer, "unit", ""):  # a number of the library knows that it is in base units
        return mark([Candidate(value, 0, 0)], key)
    return grade(repr(int(number)) if isinstance(number, int) else repr(number), key)


def _called(answer: Any) -> str:
    """What an object that is no number is called."""
    return "a function" if callable(answer) else f"a {type(answer).__name__}"


def _unread(why: str) -> Mark:
    return Mark("unread", SAYS["unread"].format(why=why.rstrip(".")))


def _unfit(reading: Any, key: Key) -> Mark | None:
    """The remark on an answer of another kind, or with a word that is no unit; None if it fits."""
    plain = ("", "share")
    if reading.kind == key["kind"] or (reading.kind in plain and key["kind"] in plain):
        return None
    if reading.kind == "":
        rest = _FILLER.sub("", reading.rest).strip(" .,;=")
        return Mark("unread", SAYS["word"].format(rest=rest, unit=key["unit"])) if rest else None
    asked, typed = (KINDS.get(k, (k, k))[0] for k in (key["kind"], reading.kind))
    return Mark("unread", SAYS["kind"].format(asked=asked, typed=typed))


def _candidates(reading: Any, key: Key) -> list[Candidate]:
    """A number without unit stands for the unit asked for, or for base units."""
    typed = Candidate(reading.value, reading.step, reading.digits)
    if reading.kind == "" and key["size"] != 1:
        return [Candidate(typed.value * key["size"], typed.step * key["size"], typed.digits), typed]
    return [typed]


def mark(candidates: list[Candidate], key: Key) -> Mark:
    """The mark for an answer that has been read: right, a trap, a generic mistake, or just off."""
    for place, typed in enumerate(candidates):
        if is_right(typed, key):
            base = SAYS["base"].format(base=KINDS.get(key["kind"], ("", ""))[1])
            return Mark("right", base if place else SAYS["right"])
    return Mark("wrong", _trapped(candidates, key) or _diagnosis(candidates[0], key))


def _trapped(candidates: list[Candidate], key: Key) -> str | None:
    """The diagnosis of the nearest trap that an answer fits."""
    within = 0 if key["whole"] else key["within"]
    for typed in candidates:
        hits = [trap for trap in key["traps"] if fits(typed, trap[0], within)]
        if hits:
            return min(hits, key=lambda trap: abs(typed.value - trap[0]))[1]
    return None


def _diagnosis(typed: Candidate, key: Key) -> str:
    """What is wrong with an answer that is no trap of its question."""
    value, answer = typed.value, key["answer"]
    if value == 0:
        return SAYS["zero"]
    if answer == 0 or (value > 0) != (answer > 0):
        return SAYS["sign"]
    ratio = value / answer
    size, side = max(ratio, 1 / ratio), "large" if ratio > 1 else "small"
    return (_binary(typed, ratio, side, key) or _factor(size, side, key)
            or _distance(size, side, key))


def _binary(typed: Candidate, ratio: float, side: str, key: Key) -> str | None:
    """The nearest power of 1,024 for 1,000 that an answer in bytes fits; few digits fit several."""
    if key["kind"] not in BINARY_KINDS:
        return None
    taken = [(key["answer"] * (factor if ratio > 1 else 1 / factor), cause)
             for factor, cause in BINARY]
    hits = [hit for hit in taken if fits(typed, hit[0], BINARY_WITHIN)]
    if not hits:
        return None
    return f"{SAYS[side]}: {min(hits, key=lambda hit: abs(typed.value - hit[0]))[1]}"


def _factor(size: float, side: str, key: Key) -> str | None:
    for factor, cause in FACTORS:
        if near(size, factor, key["within"]):
            times = f"{factor:,.0f}" if factor < 1e6 else f"10^{round(math.log10(factor))}"
            return SAYS["times"].format(factor=times, side=side, cause=cause)
    return None


def _distance(size: float, side: str, key: Key) -> str:
    if key["whole"] and size < 1.02:
        return SAYS["count"]
    return f"{SAYS[side]}, {next((words for limit, words in DISTANCES if size < limit), FARTHEST)}."
