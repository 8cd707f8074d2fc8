"""Whether a text states a value: `judge("11 days", 979684.24)` holds, "12 days" does not.

The text must be the correct rounding of the value at the precision it is written with. A looser
statement says so twice: a loose word in the text and a tolerance, `within 2%`, in the link's title.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from clustermath.reading import Reading, Unreadable, read

TITLE = re.compile(r"within\s+([0-9]+(?:\.[0-9]+)?)\s?%")


@dataclass(frozen=True)
class Verdict:
    """Whether the text holds, and in words why not."""

    ok: bool
    message: str = ""


def judge(text: str, value: float, title: str = "") -> Verdict:
    """Compare a link's text with the value of its name.

    Args:
        text: the link's text: "about 6,200 H100s", "half a minute", "$6.35\\times10^{24}$".
        value: in base units (bytes, seconds, FLOP, dollars, fractions).
        title: the link's title; empty, or "within 2%".
    Returns: a verdict whose message says how the text was read and what it could say.
    """
    try:
        reading = read(text)
        allowed = tolerance(title)
    except Unreadable as error:
        return Verdict(False, f"the text cannot be checked: {error}")
    if math.isnan(value) or math.isinf(value):
        return Verdict(False, f"'{text}': the code gives {value}, which is not a number")
    if reading.accepts(value):
        return Verdict(True)
    if allowed is None:
        return Verdict(False, _explain(reading, value))
    if not reading.loose:
        return Verdict(
            False,
            f"'{text}' has a tolerance, '{title}', but no loose word: "
            f"write 'about {text}', or make the figure exact. {_explain(reading, value)}",
        )
    if abs(value - reading.value) <= allowed * abs(value):
        return Verdict(True)
    return Verdict(False, f"{_explain(reading, value)}; that is not {title}")


def tolerance(title: str) -> float | None:
    """The share that a link's title allows; None without title."""
    if not title.strip():
        return None
    match = TITLE.fullmatch(title.strip())
    if match is None:
        raise Unreadable(f"the title '{title}' is no tolerance: write 'within 2%' or nothing")
    return float(match[1]) / 100


def _explain(reading: Reading, value: float) -> str:
    """How the text was read, what the code gives, and what the text could say."""
    unit = f" {reading.base}" if reading.base else ""
    read_as = f"{reading.value:.6g}{unit}"
    if reading.low != reading.high:
        read_as += f" ({reading.low:.6g} to {reading.high:.6g})"
    said = f"'{reading.text}' reads {read_as}, the code gives {value:.8g}"
    better = suggestions(reading, value)
    if better:
        return f"{said}: write {' or '.join(better)}"
    if not reading.unit and reading.rest:
        return f"{said}: '{reading.rest}' is no unit and was read as what is counted"
    return f"{said}: check unit and magnitude"


def suggestions(reading: Reading, value: float) -> list[str]:
    """The text with the right number, as written and with a figure more; none if far off."""
    if not value or not reading.value or not 1e-3 < abs(value / reading.value) < 1e3:
        return []
    found: list[str] = []
    for digits in range(reading.digits, reading.digits + 3):
        text = reading.rewrite(value, digits)
        try:
            better = read(text)
        except Unreadable:
            continue
        if better.accepts(value) and f"'{text}'" not in found and len(found) < 2:
            found.append(f"'{text}'")
            if math.isclose(better.value, value, rel_tol=1e-9):
                break  # more figures would only be zeros
    return found
