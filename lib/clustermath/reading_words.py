"""Numbers written out: "sixteen thousand", "six and a half", "three quarters of a", "half a"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .reading_units import SCALES, Unreadable, quoted

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
SMALL = {
    **{word: n for n, word in enumerate(_ONES)},
    **{word: 10 * n for n, word in enumerate(_TENS, 2)},
    "twice": 2,
}
# A fraction in words is as precise as the decimals that people would write for it: half is 0.5.
PARTS = {
    "half": (2, 1),
    "halves": (2, 1),
    "third": (3, 2),
    "thirds": (3, 2),
    "quarter": (4, 2),
    "quarters": (4, 2),
    "fifth": (5, 1),
    "fifths": (5, 1),
    "eighth": (8, 3),
    "eighths": (8, 3),
    "tenth": (10, 1),
    "tenths": (10, 1),
}
_BIG = {word: factor for word, factor in SCALES.items() if len(word) > 2}
_WORD = "|".join(sorted({*SMALL, *PARTS, *_BIG}, key=len, reverse=True))
_AFTER = r"[\s-]+(?:(?:and|of)[\s-]+)?(?:an?[\s-]+)?"
WORDS = re.compile(rf"(?<![\w-])(?:an?\s+)?(?:{_WORD})(?:{_AFTER}(?:{_WORD}))*\b", re.IGNORECASE)
ARTICLE = re.compile(r"(?<![\w-])an?(?=\s+([A-Za-z]+))", re.IGNORECASE)
OF_A = re.compile(r"(?:\s+of)?\s+an?(?=\s)|\s+of(?=\s)", re.IGNORECASE)


@dataclass(frozen=True)
class Spelled:
    """A number in words: `mantissa` as decimals would be written, times `scale`."""

    mantissa: float
    places: int
    scale: float


def spell(text: str) -> Spelled:
    """Read the words of a match of WORDS."""
    words = _split(text)
    scale = 1.0
    while len(words) > 1 and words[-1] in _BIG:
        scale *= _BIG[words.pop()]
    if words[-1] in PARTS:
        whole, part = _whole_and_part(words, text)
        divisor, places = PARTS[words[-1]]
        return Spelled(whole + part / divisor, places, scale)
    if len(words) == 1 and words[0] in _BIG:
        return Spelled(1, 0, scale * _BIG[words[0]])
    if any(w in _BIG for w in words):  # "two thousand four hundred" is 2,400, not 24 hundreds
        return Spelled(_integer(_split(text), text), 0, 1.0)
    return Spelled(_integer(words, text), 0, scale)


def _split(text: str) -> list[str]:
    """The words of a number, without articles."""
    return [w for w in re.split(r"[\s-]+", text.lower()) if w not in ("a", "an", "of")]


def _whole_and_part(words: list[str], text: str) -> tuple[int, int]:
    """("six", "and", "half") is 6 and 1; ("three", "quarters") 0 and 3."""
    if "and" in words:
        cut = len(words) - 1 - words[::-1].index("and")
        return _integer(words[:cut], text), _integer(words[cut + 1 : -1] or ["one"], text)
    return 0, _integer(words[:-1] or ["one"], text)


def _integer(words: list[str], text: str) -> int:
    """Whole numbers: ("two", "thousand", "and", "twenty", "four") is 2024."""
    total, group, last = 0, 0, 1000
    for word in words:
        if word == "and":
            continue
        if word in SMALL:
            size = SMALL[word]
            if last < 20 or (last < 100 and size >= 10):
                raise Unreadable(f"{quoted(text)} is more than one number")
            group, last = group + size, max(size, 1) if size < 20 else 20
        elif word in _BIG:
            group = max(group, 1) * int(_BIG[word])
            last = 1000
            if _BIG[word] > 100:
                total, group = total + group, 0
        else:
            raise Unreadable(f"{quoted(text)} is no number")
    return total + group
