"""Reads a quantity as people write it: `6.35 x 10^24 FLOPs`, `half a minute`, `$2.50 per GPU-hour`.

`read` gives the value in base units together with the precision it was written with, so that a
computed value can be compared at that precision. Nothing is evaluated and nothing is guessed: a
text with two numbers, a malformed group of digits or an unknown symbol is `Unreadable`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from .reading_latex import plain
from .reading_units import LETTERS, SCALES, Unreadable, find_unit, parse_units, quoted
from .reading_words import ARTICLE, OF_A, WORDS, spell

__all__ = ["Reading", "Unreadable", "read"]

SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
SLACK = 1e-9  # what floating point may add to a computed value
WIDEST = 0.10  # dropped zeros never loosen a comparison beyond this

NAME = r"[A-Za-z]+[-.]?[0-9][\w.-]*"
_POWER = r"(?:\s?(?:\^|\*\*)\s?[({]?([+-]?[0-9]+)[)}]?|([⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+))"
NUMBER = re.compile(
    r"(?P<sign>(?<![\w)])[+-]\s?)?(?P<money>(?:\bUS)?\$\s?)?(?P<sign2>(?<!\w)[+-]\s?)?"
    r"(?P<digits>\.?[0-9](?:[0-9.,_'’]*[0-9])?)"
    rf"(?:\s?/\s?(?P<over>[0-9][0-9,_]*)|(?P<power>{_POWER})"
    r"|\s?[eE]\s?(?P<exponent>[+-]?\s?[0-9]+)(?![0-9.]|\s?\^)"
    rf"|\s?[x×*·⋅]\s?(?P<base>[0-9]+)(?P<raised>{_POWER}))?"
)
CANDIDATE = re.compile(rf"(?P<name>{NAME})|{NUMBER.pattern}")
PLAIN_DIGITS = re.compile(
    r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]{1,3}(?:_[0-9]{3})+(?:\.[0-9]+)?"
    r"|[0-9]+(?:\.[0-9]+)?|\.[0-9]+"
)
NOT_A_NUMBER = re.compile(r"(?<![\w.])(?:nan|[+-]?inf(?:inity)?)\b", re.IGNORECASE)
LOOSE = re.compile(
    r"[~≈≲≳]|\b(?:about|around|roughly|approximately|approx|nearly|almost|over|under|some|circa|"
    r"close to|more than|less than|or so)\b",
    re.IGNORECASE,
)
SCALE_WORD = re.compile(rf"\s*-?\s*({'|'.join(SCALES)})\b", re.IGNORECASE)
SCALE_LETTER = re.compile(
    rf"\s?({'|'.join(sorted(LETTERS, key=len, reverse=True))})(?![A-Za-z0-9/])"
)
BILLION = re.compile(r"B(?![A-Za-z0-9/])")
BEFORE = re.compile(r"[\w\s.,:;'’\"“”()=~≈≲≳≤≥<>-]*")
AFTER = re.compile(r"[\w\s.,:;!?'’\"“”()%-]*")


@dataclass(frozen=True)
class Reading:
    """A quantity: value in base units and the interval that its precision covers."""

    text: str
    value: float
    step: float  # the last place written, in base units; 0 when exact
    digits: int  # significant figures written
    unit: str
    kind: str
    rest: str
    base: str  # the base unit of `value`: B, s, FLOP/s, $/s...
    scale: float  # base units in one of the written units
    low: float
    high: float
    loose: bool  # says "about", "roughly"...
    span: tuple[str, str]  # what stands before and after the number proper

    def accepts(self, value: float) -> bool:
        """Whether `value` rounds to what is written."""
        slack = SLACK * abs(self.value)
        return self.low - slack <= value <= self.high + slack

    def rewrite(self, value: float, digits: int | None = None) -> str:
        """The same text with the number of `value`, to as many significant figures."""
        written = value / self.scale
        digits = max(digits or self.digits, 1)
        places = digits - 1 - (math.floor(math.log10(abs(written))) if written else 0)
        rounded = round(written, places)
        number = f"{rounded:,.{places}f}" if places > 0 else f"{rounded:,.0f}"
        return f"{self.span[0]}{number}{self.span[1]}"


@dataclass(frozen=True)
class _Number:
    """A number before its unit: mantissa times scale, with its last place."""

    value: float
    step: float
    digits: int
    scale: float
    low: float
    high: float
    money: bool
    start: int
    end: int  # of the digits
    stop: int  # of the exponent too


def read(text: str) -> Reading:
    """Read the one quantity in `text`; raise Unreadable, saying what is wrong, if there is none."""
    clean = plain(text)
    number = _find(clean, text)
    before, tail = clean[: number.start], clean[number.stop :]
    if not BEFORE.fullmatch(before):
        raise Unreadable(
            f"{quoted(text)} is not a quantity: {quoted(before.strip())} stands before the number"
        )
    scale, tail = _scale(tail, number.money)
    units = parse_units(tail, number.money)
    if not AFTER.fullmatch(units.rest):
        raise Unreadable(
            f"{quoted(text)} is not a quantity: {quoted(units.rest.strip())} follows the number"
        )
    factor = scale * units.scale
    value = number.value * factor
    if not math.isfinite(value):
        raise Unreadable(f"{quoted(text)} is too large to be a number")
    return Reading(
        text=text,
        value=value,
        step=number.step * factor,
        digits=number.digits,
        unit=units.label,
        kind=units.kind,
        rest=" ".join(f"{before} {units.rest}".split()),
        base=units.base,
        scale=number.scale * factor,
        low=number.low * factor,
        high=number.high * factor,
        loose=bool(LOOSE.search(before + units.rest)),
        span=(clean[: number.start] + ("$" if number.money else ""), clean[number.end :]),
    )


def _scale(tail: str, money: bool) -> tuple[float, str]:
    """Scale words and letters: million, k, M, and B where it cannot mean bytes."""
    if word := SCALE_WORD.match(tail):
        return SCALES[word[1].lower()], tail[word.end() :]
    if letter := SCALE_LETTER.match(tail):
        return LETTERS[letter[1]], tail[letter.end() :]
    if billion := BILLION.match(tail.lstrip() if money else tail):
        return 1e9, tail.lstrip()[billion.end() :]
    return 1.0, tail


def _find(clean: str, text: str) -> _Number:
    """The only number of the text, in digits, in words, or an article before a unit."""
    if not clean:
        raise Unreadable("there is no text to read")
    if wrong := NOT_A_NUMBER.search(clean):
        raise Unreadable(f"{quoted(wrong[0])} is not a number")
    digits = [m for m in CANDIDATE.finditer(clean) if m["name"] is None]
    words = [m for m in WORDS.finditer(clean) if not _is_scale(clean, m)]
    if digits:
        words = [m for m in words if m[0].lower() != "one"]
    if len(digits) + len(words) > 1:
        found = " and ".join(quoted(m[0].strip()) for m in (*digits, *words)[:2])
        hint = "; only a comma groups digits" if re.search(r"[0-9] [0-9]{3}\b", clean) else ""
        raise Unreadable(f"{quoted(text)} has more than one number: {found}{hint}")
    if digits:
        return _from_digits(digits[0], text)
    if words:
        return _from_words(clean, words[0])
    for article in ARTICLE.finditer(clean):
        if len(article[1]) > 1 and find_unit(article[1]):
            start, end = article.span()
            return _rounded(1.0, 0, 1.0, True, False, start, end, end)
    raise Unreadable(f"{quoted(text)} has no number")


def _is_scale(clean: str, match: re.Match[str]) -> bool:
    """Whether a number word only scales what stands before it: 30.8 million, per million."""
    if match[0].lower() not in SCALES:
        return False
    return bool(re.search(r"(?:[0-9⁰¹²³⁴⁵⁶⁷⁸⁹]\s*-?\s*|\bper\s+|/\s*)$", clean[: match.start()]))


def _from_digits(match: re.Match[str], text: str) -> _Number:
    """A numeral with its sign, exponent, power or denominator."""
    digits = match["digits"]
    if not PLAIN_DIGITS.fullmatch(digits):
        raise Unreadable(f"{quoted(digits)} is malformed: write 1,000,000 or 0.25")
    negative = "-" in (match["sign"] or "") + (match["sign2"] or "")
    where = (bool(match["money"]), match.start(), match.end("digits"), match.end())
    digits = digits.replace(",", "").replace("_", "")
    if match["over"] or match["power"]:
        return _exact(match, float(digits), negative, text)
    base, raised = match["base"] or "10", match["raised"] or match["exponent"] or "0"
    mantissa, scale = float(digits), _to_power(float(base), raised, text)
    if mantissa and not 0 < mantissa * scale < math.inf:
        raise Unreadable(f"{quoted(text)} is too large or too small to be a number")
    places = len(digits.partition(".")[2])
    number = _rounded(mantissa, places, scale, places == 0 or scale != 1.0, *where)
    return _negated(number) if negative else number


def _exact(match: re.Match[str], first: float, negative: bool, text: str) -> _Number:
    """7/8 and 2^16 have no last place: they mean just that."""
    if match["over"]:
        second = float(re.sub("[,_]", "", match["over"]))
        if second == 0:
            raise Unreadable(f"{quoted(text)} divides by zero: not a number")
        value = first / second
    else:
        value = _to_power(first, match["power"], text)
    value = -value if negative else value
    return _Number(
        value,
        0.0,
        4,
        1.0,
        value,
        value,
        bool(match["money"]),
        match.start(),
        match.end(),
        match.end(),
    )


def _to_power(base: float, exponent: str, text: str) -> float:
    """base to the exponent of e24, ^24, **24 or a superscript; beyond floating point no number."""
    digits = re.sub(r"[^0-9+-]", "", exponent.translate(SUPERSCRIPTS))
    try:
        result = base ** int(digits) if len(digits) < 9 else math.inf
    except (OverflowError, ZeroDivisionError):
        result = math.inf
    if math.isinf(result) or (base and not result):
        raise Unreadable(f"{quoted(text)} is too large or too small to be a number")
    return result


def _from_words(clean: str, match: re.Match[str]) -> _Number:
    """Words are read as the digits that they stand for; thousand and million as k and M."""
    spelled = spell(match[0])
    end = match.end()
    if of_a := OF_A.match(clean, end):  # "half a minute", "three quarters of a microdollar"
        end = of_a.end()
    sign = re.search(r"\b(?:minus|negative)\s+$", clean[: match.start()], re.IGNORECASE)
    start = sign.start() if sign else match.start()
    number = _rounded(spelled.mantissa, spelled.places, spelled.scale, True, False, start, end, end)
    return _negated(number) if sign else number


def _rounded(
    mantissa: float,
    places: int,
    scale: float,
    by_figures: bool,
    money: bool,
    start: int,
    end: int,
    stop: int,
) -> _Number:
    """The interval of values that round to the mantissa, written with so many decimals.

    Trailing zeros of an integer are not significant, but widen the interval to 10% at most.
    `by_figures`: below a power of ten, figures are ten times finer (0.96 is not 1).
    """
    digits = f"{mantissa:.{places}f}".replace(".", "").lstrip("0")
    zeros = len(digits) - len(digits.rstrip("0")) if places == 0 else 0
    step = 10.0 ** (zeros - places)
    above = below = step / 2
    if by_figures and digits.strip("0") == "1":
        below /= 10
    if zeros:
        above, below = min(above, WIDEST * mantissa), min(below, WIDEST * mantissa)
    if mantissa == 0 and places == 0:
        step = above = below = 0.0  # "0 bytes" is none at all
    figures = max(len(digits) - zeros, 1)
    return _Number(
        mantissa * scale,
        step * scale,
        figures,
        scale,
        (mantissa - below) * scale,
        (mantissa + above) * scale,
        money,
        start,
        end,
        stop,
    )


def _negated(n: _Number) -> _Number:
    return _Number(
        -n.value, n.step, n.digits, n.scale, -n.high, -n.low, n.money, n.start, n.end, n.stop
    )
