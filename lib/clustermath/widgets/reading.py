"""The tables that reading.js takes from the Python reader: one home for every unit and word."""
from __future__ import annotations

from typing import Any

from .. import reading_units as units
from .. import reading_words as words


def tables() -> dict[str, Any]:
    """Prefixes, scale words, times and number words, by the names that reading.js uses."""
    return {"decimal": units.DECIMAL, "binary": units.BINARY, "small": units.SMALL,
            "long": units.LONG,
            "scales": units.SCALES, "letters": units.LETTERS, "times": units.TIMES,
            "ones": words.SMALL, "parts": words.PARTS}
