"""Numbers as sliders, outputs and questions show them; page.js has the twin."""
from __future__ import annotations

import math
import re

from ..quantity import figures, show

_SHORT = (("T", 1e12), ("B", 1e9), ("M", 1e6))
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def readout(x: float, unit: str = "", digits: int = 4) -> str:
    """``x`` as `show` prints it, but 70.6B for a bare count and 6.354 × 10²⁴ for 6.354e24."""
    if not math.isfinite(x):
        return "–"
    if unit == "" and abs(x) < 1e15:
        for letter, scale in _SHORT:
            if abs(x) >= scale * (1 - 1e-12):
                return figures(x / scale, digits) + letter
    text = show(x, unit, digits)
    return re.sub(r"e(-?\d+)", lambda m: f" × 10{m[1].translate(_SUPERSCRIPT)}", text, count=1)
