"""Numerals that stand in the text with no code behind them, and the short list of those that may.

Everything a reader would take for a number is one: digits, fractions ("a third of"), number words
from thirteen up. What may stand bare is named in EXEMPT; the words "one" to "twelve" may, too.
"""

from __future__ import annotations

import re

_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_YEAR = r"(?:19[5-9][0-9]|20[0-3][0-9])"
_SIZE = r"[0-9]+(?:\.[0-9]+)?[BM]"
_LIST = r"[0-9]{1,2}(?:\.[0-9]+)?(?:(?:, | and | or | to |[–-])[0-9]{1,2})*"

EXEMPT = {
    "addresses and identifiers": r"\b(?:https?://|www\.|doi:|arXiv:)\S+|\barXiv \d{4}\.\d{4,5}",
    "dates": rf"\b\d{{4}}-\d\d-\d\d\b|\b(?:\d{{1,2}} )?{_MONTH} {_YEAR}\b",
    "years of citations: in brackets, or before a mark or the end": (
        rf"(?<=[(,;] ){_YEAR}\b|(?<=\(){_YEAR}\b|(?<=[a-z.,] ){_YEAR}(?=[).,;:!?]|\s*$)"
    ),
    "names of models": (
        r"\b(?:Llama|LLaMA|GPT|Mixtral|Mistral|Qwen|PaLM|OPT|MPT|BLOOM|Gopher|Chinchilla|"
        r"DeepSeek|Gemma|Gemini|Falcon)"
        rf"(?:[ -]?V?[0-9]+(?:\.[0-9]+)*(?!\w))?(?:[ -](?:[0-9]+x)?{_SIZE})?\b"
    ),
    "a size as a model's name: a 70B, 7B models": (
        rf"\b(?:[Aa]n?|[Tt]he|[Tt]his|[Tt]hat|[Oo]ur) {_SIZE}\b"
        r"(?! (?:param|token|byte|dollar|FLOP))"
        rf"|\b{_SIZE}(?=[ -](?:model|MoE|run\b))"
    ),
    "names of chips, formats and programs: H100, ZeRO-3, bf16, v5p, PCIe 5": (
        r"\b(?!(?:TP|PP|DP|CP|EP|SP)[0-9])[A-Z][A-Za-z]*(?:[0-9]+|-[0-9]{1,3})"
        r"(?:\.[0-9]+)*[A-Za-z]*(?:-\w+)*\b"
        r"|\b(?:bf|fp|tf|u?int|float)[0-9]+\b|\be[0-9]m[0-9]\b|\bv[0-9]+[a-z]?\b|\bp[0-9]{2}\b"
        r"|\b(?:Python|PyTorch|NumPy|JAX|CUDA|PCIe|NVLink|HBM|ZeRO|TPU|Gen) [0-9]+(?:\.[0-9]+)*\b"
    ),
    "rules by name: 6N, 6ND, 3D parallelism": r"\b[1-9]ND?\b|\b[1-4]D\b",
    "parts of a text, stages and ranks": (
        r"(?:\b(?:[Cc]hapter|[Ss]ection|[Tt]able|[Ff]igure|[Ee]quation|[Ss]tage|[Ss]tep|[Pp]art|[Qq]uestion|"
        rf"[Ee]xercise|[Rr]ank|[Pp]age|[Vv]ersion)s?|\b[Aa]ppendix|\b(?:Fig|Eq)\.|§) {_LIST}\b"
    ),
    "the length of an interview's answer": r"\bin thirty seconds\b",
    "scales as units: per million tokens": r"\bper (?:hundred|thousand|million|billion|trillion)\b",
}
_EXEMPT = re.compile("|".join(f"(?:{pattern})" for pattern in EXEMPT.values()))
_WORDS = (
    r"thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|"
    r"sixty|seventy|eighty|ninety|hundred|thousand|million|billion|trillion|quadrillion"
)
_FRACTIONS = (
    r"(?:an?|one|two|three|four|five|seven|nine)[ -]"
    r"(?:third|quarter|fifth|sixth|eighth|tenth|hundredth)s? of"
)
_NUMERAL = re.compile(
    rf"[^\W_]*\d[\w.,]*|[²³¹⁰-⁹½¼¾⅓⅔⅛]|\b(?:{_WORDS}|{_FRACTIONS})\b", re.IGNORECASE
)

CONTEXT = 18  # characters each side of a numeral that a message shows


def bare_numerals(text: str) -> list[str]:
    """The bare numerals of a text, each with what stands around it."""
    blanked = _EXEMPT.sub(lambda m: "_" * len(m[0]), text)
    found, end = [], 0
    for match in _NUMERAL.finditer(blanked):
        if match.start() >= end:  # neighbours share one message
            end = match.end() + CONTEXT
            start = max(0, match.start() - CONTEXT)
            found.append(" ".join(text[start:end].split()))
    return found


_TEXT = re.compile(r"\\(?:text|mathrm|mbox)\s*\{([^{}]*)\}")
_RELATION = re.compile(
    r"=|<|>|\\(?:approx|sim|simeq|equiv|leq?|geq?|ll|gg|to|lt|gt|mapsto|Rightarrow|qquad|quad)"
    r"(?![A-Za-z])"
    r"|\\\\|;|(?<!\\),(?!\})"
)
_OPERATORS = re.compile(
    r"\\(?:[dt]?frac|times|cdot|left|right|big[gl]?r?|Big[gl]?r?|[lr](?:ceil|floor|vert|angle)|"
    r"sqrt|log|ln|exp|min|max|begin|end|label|tag|displaystyle)(?![A-Za-z])|\{(?:aligned|cases|array|matrix|split)\}"
)
_FIGURE = re.compile(r"[0-9]+(?:(?:\{,\}|[.,])[0-9]+)*")


def bare_in_math(latex: str) -> list[str]:
    """Numerals of a formula that are values, not coefficients or exponents.

    A small integer beside a symbol ($6ND$, $2(n-1)/n$, $O(n^2)$) belongs to the formula; $T = 11$,
    $0.4$ and $10^{24}$ state values, which a link must carry. 0 and 1 may stand alone as limits.
    """
    found = [numeral for words in _TEXT.findall(latex) for numeral in bare_numerals(words)]
    latex = _TEXT.sub(" ", latex)
    for side in _RELATION.split(latex):
        symbols = re.search(r"[A-Za-z]", _OPERATORS.sub(" ", side))
        for figure in _FIGURE.findall(side):
            coefficient = figure.isdigit() and (
                figure in ("0", "1") or (symbols and len(figure) <= 2)
            )
            if not coefficient:
                found.append(f"${side.strip()}$")
                break
    return found
