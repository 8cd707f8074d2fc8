"""Numbers as the book prints them: at most four significant figures and a unit one can say aloud."""
from __future__ import annotations

import math

_SI = (("E", 1e18), ("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))
_WORDS = (("trillion", 1e12), ("billion", 1e9), ("million", 1e6))
_SCALED = ("B", "B/s", "FLOP/s")
# A time is said in the largest unit of which it holds at least two, seconds excepted.
_TIMES = (("days", 86400, 2), ("h", 3600, 2), ("min", 60, 2), ("s", 1, 1), ("ms", 1e-3, 1), ("µs", 1e-6, 1), ("ns", 1e-9, 0))


def figures(x: float, digits: int = 4) -> str:
    """``x`` with ``digits`` significant figures: grouped, or with a power of ten when far from one."""
    if x != x or math.isinf(x):
        return str(float(x))
    if x == 0:
        return "0"
    if abs(x) >= 1e7 or abs(x) < 1e-3:
        mantissa, exponent = f"{x:.{digits - 1}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{mantissa}e{int(exponent)}"
    if isinstance(x, int) or float(x).is_integer():
        return f"{int(x):,}"  # a count is printed whole
    rounded = float(f"{x:.{digits}g}")
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    text = f"{rounded:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _money(x: float, digits: int) -> str:
    """Dollars and cents below a hundred, significant figures elsewhere."""
    return f"{x:.2f}" if 0.1 <= abs(x) < 100 and digits >= 4 and x != int(x) else figures(x, digits)


def split(x: float, unit: str = "", digits: int = 4) -> tuple[str, str, str]:
    """(prefix, figures, unit) of the readable form; `show` joins them, `tex` typesets them."""
    if unit == "%":
        return "", figures(100 * x, digits), "%"
    if unit == "$":
        large = abs(x) >= 1e7
        return "$", _money(x / 1e6 if large else x, digits), "million" if large else ""
    if unit == "$/s":
        return "$", _money(3600 * x, digits), "per hour"
    if unit == "chip-s":
        return split(x / 3600, "chip-hours", digits)
    if unit == "s" and x == 0:
        return "", "0", "s"
    if unit == "s":
        name, scale, _ = next((t for t in _TIMES if abs(x) >= t[1] * t[2] * (1 - 1e-12)), _TIMES[3])
        return "", figures(x / scale, digits), name
    if unit in _SCALED:
        for prefix, scale in _SI:
            if abs(x) >= scale * (1 - 1e-12):
                return "", figures(x / scale, digits), prefix + unit
    if unit == "1/s":
        return "", figures(x, digits), "per second"
    if unit and unit != "FLOP":  # a counted noun: tokens, parameters, requests
        for word, scale in _WORDS:
            if abs(x) >= scale * (1 - 1e-12):
                return "", figures(x / scale, digits), f"{word} {unit}"
    return "", figures(x, digits), unit


def show(x: float, unit: str = "", digits: int = 4) -> str:
    """``x``, in base units, as text: ``show(980327, "s")`` is ``11.35 days``.

    Args:
        x: value in base units (bytes, seconds, dollars, fractions).
        unit: unit of the annotation, as in `types`; ``"%"`` for shares.
        digits: significant figures.
    Returns: the readable text; the same for the same number on every machine.
    """
    prefix, number, name = split(x, unit, digits)
    gap = "" if name in ("", "%") else " "
    return f"-{prefix}{number[1:]}{gap}{name}" if prefix and number.startswith("-") else f"{prefix}{number}{gap}{name}"


def tex(x: float, unit: str = "", digits: int = 4) -> str:
    """`show`, typeset: ``6.354\\times 10^{24}\\ \\text{FLOP}``."""
    if math.isinf(x):
        return r"\infty" if x > 0 else r"-\infty"
    prefix, number, name = split(x, unit, digits)
    mantissa, _, exponent = number.partition("e")
    sign, mantissa = ("-", mantissa[1:]) if prefix and mantissa.startswith("-") else ("", mantissa)
    out = sign + (r"\$" if prefix else "") + mantissa.replace(",", "{,}")
    if exponent:
        out += rf"\times 10^{{{exponent}}}"
    if name == "%":
        return out + r"\%"
    return out + (rf"\ \text{{{name}}}" if name else "")
