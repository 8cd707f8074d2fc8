"""Mistakes that every question knows: factors by which answers go wrong, and the words for them.

Plain data, since the page and Python grade alike and both take it from here.
"""
from __future__ import annotations

_PREFIX = "check the prefix (kilo, mega, giga, tera)."

# (factor, cause): an answer that is the factor too large or too small.
FACTORS: list[tuple[float, str]] = [
    (1e3, _PREFIX),
    (8, "bits and bytes mixed up, or GPUs and nodes?"),
    (60, "minutes and seconds mixed up?"),
    (3600, "hours and seconds mixed up?"),
    (86400, "days and seconds mixed up?"),
    (24, "days and hours mixed up?"),
    (100, "a percentage taken for a fraction?"),
    *((factor, _PREFIX) for factor in (1e6, 1e9, 1e12)),
    *((10.0**k, "a power of ten went astray.") for k in (1, 4, 5, 7, 8, 10, 11, 13, 14, 15)),
]

# Powers of 1,024 for powers of 1,000, in answers that are bytes or bytes per second. So near to
# one, they are matched narrowly.
BINARY: list[tuple[float, str]] = [
    (1.024, "KiB taken for kB? They differ by 2.4%."),
    (1.024**2, "MiB taken for MB? They differ by 4.9%."),
    (1.024**3, "GiB taken for GB? They differ by 7.4%."),
    (1.024**4, "TiB taken for TB? They differ by 10%."),
]
BINARY_WITHIN = 0.004
BINARY_KINDS = ("bytes", "bandwidth")

# (ratio below which the words fit, words): coarse, so that they give nothing away.
DISTANCES: list[tuple[float, str]] = [
    (1.1, "by less than 10%"),
    (2, "by less than a factor of two"),
    (10, "by a factor between two and ten"),
    (1000, "more than ten times"),
]
FARTHEST = "more than a thousand times"

SAYS = {
    "right": "Right.",
    "large": "Too large",
    "small": "Too small",
    "times": "{factor} times too {side}: {cause}",
    "base": "Right, taken in {base}. Say the unit.",
    "count": "Close, but this is a count that was rounded up: it has to be exact.",
    "sign": "The sign is wrong.",
    "zero": "Zero is not the answer.",
    "blank": "Not attempted yet.",
    "nan": "Not a number. Give a finite one.",
    "infinite": "Infinite is not an answer. Give a finite number.",
    "kind": "This asks for {asked}; {typed} was typed.",
    "word": "I read the number but not “{rest}”. Answer in {unit}.",
    "unread": "I cannot read that: {why}. It does not count as a try.",
}

# What each kind of quantity is called, and its base unit.
KINDS = {
    "time": ("a time", "seconds"),
    "bytes": ("a number of bytes", "bytes"),
    "bandwidth": ("bytes per second", "bytes per second"),
    "work": ("a number of FLOPs", "FLOP"),
    "flop rate": ("a rate in FLOP/s", "FLOP/s"),
    "money": ("an amount of money", "dollars"),
    "price": ("a price per time", "dollars per second"),
    "rate": ("a rate", "units per second"),
    "share": ("a share", "fractions"),
    "": ("a plain number", "units"),
}

# Words around a number that say nothing about its unit (a pattern, ignoring case).
FILLER = (r"[~≈]|\b(?:about|around|roughly|approximately|nearly|almost|circa|or so|each|in total|"
          r"it is|it's|per \w+)\b")
