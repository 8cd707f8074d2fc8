"""Units as people write them, and what one of each is in base units.

Base units are bytes, seconds, FLOP and dollars. Case matters in symbols (`GB` is bytes, `Gb` bits)
and not in words (`gigabytes`). A word that is no unit is the name of what is counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

BASES = ("B", "s", "FLOP", "$")
NOTHING = (0, 0, 0, 0)
BYTES, TIME, WORK, MONEY = (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)
BANDWIDTH, FLOP_RATE = (1, -1, 0, 0), (0, -1, 1, 0)
KINDS = {
    "B": "bytes",
    "s": "time",
    "FLOP": "work",
    "$": "money",
    "B/s": "bandwidth",
    "FLOP/s": "flop rate",
    "$/s": "price",
    "1/s": "rate",
}

DECIMAL = {
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
    "Z": 1e21,
    "Y": 1e24,
}
BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60}
SMALL = {"m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12}
LONG = {
    "kilo": 1e3,
    "mega": 1e6,
    "giga": 1e9,
    "tera": 1e12,
    "peta": 1e15,
    "exa": 1e18,
    "zetta": 1e21,
    "yotta": 1e24,
    "kibi": 2.0**10,
    "mebi": 2.0**20,
    "gibi": 2.0**30,
    "tebi": 2.0**40,
    "pebi": 2.0**50,
    "exbi": 2.0**60,
    "milli": 1e-3,
    "micro": 1e-6,
    "nano": 1e-9,
    "pico": 1e-12,
}
SCALES = {
    "hundred": 1e2,
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "trillion": 1e12,
    "quadrillion": 1e15,
    "quintillion": 1e18,
    "mn": 1e6,
    "bn": 1e9,
    "tn": 1e12,
}
# A letter alone counts: 6.2k, 1.7M tokens. `E` would look like an exponent; after a space, `B`
# is a byte.
LETTERS = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, **BINARY}

DAY = 86_400.0
YEAR = 365 * DAY  # and a month is a twelfth of it, 730 hours
TIMES = {
    "s": 1.0,
    "sec": 1.0,
    "secs": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "min": 60.0,
    "mins": 60.0,
    "minute": 60.0,
    "minutes": 60.0,
    "h": 3600.0,
    "hr": 3600.0,
    "hrs": 3600.0,
    "hour": 3600.0,
    "hours": 3600.0,
    "d": DAY,
    "day": DAY,
    "days": DAY,
    "wk": 7 * DAY,
    "wks": 7 * DAY,
    "week": 7 * DAY,
    "weeks": 7 * DAY,
    "month": YEAR / 12,
    "months": YEAR / 12,
    "yr": YEAR,
    "yrs": YEAR,
    "year": YEAR,
    "years": YEAR,
}
MACHINES = r"(?:[GTC]PU|chip|core|node|device|machine|accelerator|[A-Z]\d+)"
# What may be written against the number without a space between: 8192GPUs.
GLUED = re.compile(
    r"(?:[GTC]PU|chip|core|node|rank|token|tok|param|parameter|step|layer)s?", re.IGNORECASE
)

Unit = tuple[float, tuple[int, int, int, int]]


class Unreadable(ValueError):
    """A text that is no quantity; the message names what could not be read."""


def quoted(text: str, longest: int = 60) -> str:
    """A text as a message repeats it."""
    return f"'{text}'" if len(text) <= longest else f"'{text[:longest]}...'"


def _symbols() -> dict[str, Unit]:
    """Unit symbols, whose case matters."""
    table: dict[str, Unit] = {"$": (1.0, MONEY), "USD": (1.0, MONEY), "¢": (0.01, MONEY)}
    for name in ("s", "h", "d"):
        table[name] = (TIMES[name], TIME)
    for prefix, factor in SMALL.items():
        table[f"{prefix}s"] = (factor, TIME)
    for prefix, factor in {"": 1.0, **DECIMAL, **BINARY}.items():
        table[f"{prefix}B"] = (factor, BYTES)
        table[f"{prefix}b"] = table[f"{prefix}bit"] = table[f"{prefix}bits"] = (factor / 8, BYTES)
        table[f"{prefix}Bps"] = (factor, BANDWIDTH)
        table[f"{prefix}bps"] = table[f"{prefix.lower()}bps"] = (factor / 8, BANDWIDTH)
        table[f"{prefix}FLOP"] = table[f"{prefix}FLOPs"] = (factor, WORK)
        table[f"{prefix}FLOPS"] = (factor, FLOP_RATE)
    return table


def _words() -> dict[str, Unit]:
    """Unit names, whose case does not matter."""
    table: dict[str, Unit] = {n: (f, TIME) for n, f in TIMES.items() if len(n) > 1}
    for prefix, factor in {"": 1.0, **LONG}.items():
        stems = (
            ("byte", 1.0, BYTES),
            ("bit", 1 / 8, BYTES),
            ("flop", 1.0, WORK),
            ("second", 1.0, TIME),
            ("dollar", 1.0, MONEY),
            ("cent", 0.01, MONEY),
        )
        for stem, base, dims in stems:
            table[prefix + stem] = table[f"{prefix}{stem}s"] = (factor * base, dims)
    for prefix, factor in DECIMAL.items():
        table[f"{prefix.lower()}flop"] = table[f"{prefix.lower()}flops"] = (factor, WORK)
    return table


SYMBOLS, WORDS = _symbols(), _words()
MISSPELT = re.compile(r"[kmgtpe]i?b(?:its?|ytes?|ps)?", re.IGNORECASE)


def find_unit(word: str) -> Unit | None:
    """The unit `word` stands for; None for a counted noun. `tb` and the like are refused."""
    unit = SYMBOLS.get(word) or WORDS.get(word.lower())
    if unit is None and MISSPELT.fullmatch(word):
        prefix = word[0].replace("K", "k") if word[0] in "kK" else word[0].upper()
        raise Unreadable(
            f"{quoted(word)} is no unit: write {prefix}B for bytes, {prefix}b for bits"
        )
    return unit


@dataclass
class Units:
    """What stands after a number: factor to base units, dimensions, name, and unread text."""

    scale: float = 1.0
    dims: tuple[int, int, int, int] = NOTHING
    label: str = ""
    rest: str = ""

    @property
    def base(self) -> str:
        """The base unit: `B`, `FLOP/s`, `$/s`, `1/s`; empty for a plain number."""
        above = "·".join(name for name, power in zip(BASES, self.dims) if power > 0)
        below = "·".join(name for name, power in zip(BASES, self.dims) if power < 0)
        return f"{above or 1}/{below}" if below else above

    @property
    def kind(self) -> str:
        """What the quantity is: `time`, `bytes`, `money`...; empty for counted things."""
        return "share" if self.label == "%" else KINDS.get(self.base, self.base)

    def take(self, unit: Unit, power: int) -> None:
        """Multiply (1) or divide (-1) by a unit."""
        factor, dims = unit
        self.scale *= factor if power > 0 else 1 / factor
        self.dims = tuple(a + power * b for a, b in zip(self.dims, dims))  # type: ignore[assignment]


WORD = re.compile(r"\s*-?\s*([A-Za-z$¢][A-Za-z0-9]*)")
JOINED = re.compile(r"([A-Za-z][A-Za-z0-9]*)-([A-Za-z]+)")
HOURS = re.compile(rf"({MACHINES}s?)[\s-]([A-Za-z]+)")
PERCENT = re.compile(r"\s*(?:%|per\s?cent\b|percentage points?\b)", re.IGNORECASE)
TIMES_SIGN = re.compile(r"\s?[x×](?![A-Za-z0-9])")
PER = re.compile(
    r"(?P<between>(?:\s+[A-Za-z][\w-]*){0,3}?)"
    r"(?:\s*/\s*|\s+per\s+(?:an?\s+)?|\s+an?\s+(?=(?:second|minute|hour|day|week|month|year)\b))"
    r"(?:(?P<scale>thousand|million|billion|trillion)\s+)?(?P<what>[A-Za-z$][A-Za-z0-9]*)"
)


def parse_units(tail: str, money: bool) -> Units:
    """Read the units at the start of `tail`, the text after a number and its scale word."""
    units = Units(dims=MONEY, label="$") if money else Units()
    tail = tail.removeprefix("+")  # "90+ days"
    if percent := PERCENT.match(tail):
        return Units(0.01, units.dims, "%", tail[percent.end() :])
    if times := TIMES_SIGN.match(tail):
        return Units(1.0, units.dims, "×", tail[times.end() :])
    if not money:
        tail = _factor(units, tail, 1)
    while per := PER.match(tail):
        units.scale /= SCALES.get(per["scale"] or "", 1.0)
        units.label += "/"
        tail = per["between"] + _factor(units, tail[per.start("what") :], -1)
    units.label = ("1" if units.label.startswith("/") else "") + units.label.removesuffix("/")
    units.rest = tail
    return units


def _factor(units: Units, text: str, power: int) -> str:
    """Take a unit, or a product such as TB-month or GPU-hours, off the start of `text`."""
    word = WORD.match(text)
    if word is None:
        return text
    machine = HOURS.match(text, word.start(1))
    joined = machine or JOINED.match(text, word.start(1))
    first = find_unit(word[1])
    second = find_unit(joined[2]) if joined else None
    if machine and (second is None or second[1] != TIME):
        second = None
    if first is None and second is None:
        return _noun(units, text, word, power)
    for unit in (first, second):
        if unit is not None:
            units.take(unit, power)
    if second is None or joined is None:
        units.label += word[1]
        return text[word.end() :]
    units.label += f"{joined[1]}-{joined[2]}"
    return text[joined.end() :]


def _noun(units: Units, text: str, word: re.Match[str], power: int) -> str:
    """A word that is no unit names what is counted; against a number it is a slip."""
    noun = word[1]
    if len(noun) == 1:
        hint = ": write min, ms or M" if noun == "m" else ""
        raise Unreadable(f"{quoted(noun)} is no unit{hint}")
    if power > 0 and word.start(1) == 0 and not GLUED.fullmatch(noun):
        raise Unreadable(
            f"{quoted(noun)} is no unit: put a space before the name of what is counted"
        )
    if power > 0:
        return text
    units.label += noun
    return text[word.end() :]
