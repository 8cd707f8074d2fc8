"""Text as it is typed, pasted or written in LaTeX, made plain for the reader of quantities."""

from __future__ import annotations

import re

_SPACES = re.compile(r"[\s\u00a0\u2000-\u200a\u202f\u205f\u3000]+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_CHARACTERS = str.maketrans(
    {
        "−": "-",
        "‐": "-",
        "‑": "-",
        "µ": "u",
        "μ": "u",
        "½": ".5",
        "¼": ".25",
        "¾": ".75",
        "⅛": ".125",
        "⅜": ".375",
        "⅝": ".625",
        "⅞": ".875",
    }
)
_MATH = re.compile(r"(?<!\\)\$(?!\s)((?:[^$\\]|\\.)+?)(?<!\s)\$(?![0-9])")
_LATEX = (
    (r"\\(?:text|mathrm|mathbf|mathit|operatorname)\s*\{([^{}]*)\}", r"\1"),
    (r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}", r"\1/\2"),
    (r"\\[dt]?frac\s*([0-9])\s*([0-9])", r"\1/\2"),
    (r"\{,\}", ","),
    (r"\\!", ""),
    (r"\\(?:[,;:> ]|quad\b)|~", " "),
    (r"\\(?:times|cdot)(?![A-Za-z])", "×"),
    (r"\\(?:approx|sim)(?![A-Za-z])", "≈"),
    (r"\\([$%#&_])", r"\1"),
    (r"\\([A-Za-z]+)", r"\1"),
    (r"[{}]", ""),
)


def plain(text: str) -> str:
    """The text without LaTeX, invisible characters, unusual spaces and signs."""
    text = _INVISIBLE.sub("", text)
    if _MATH.search(text):
        text = _MATH.sub(lambda m: _unmath(m[1]), text)
    elif "\\" in text:
        text = _unmath(text)
    text = re.sub(r"(?<![\w)])–(?=[0-9.$])", "-", text.translate(_CHARACTERS))
    return _SPACES.sub(" ", text).strip()


def _unmath(latex: str) -> str:
    for pattern, replacement in _LATEX:
        latex = re.sub(pattern, replacement, latex)
    return latex
