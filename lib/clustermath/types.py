"""Argument types: a float (or an array of floats) that carries a unit and a domain.

An annotation says everything a caller must know: ``bandwidth: Bandwidth`` is bytes per second,
one way, above zero. `Formula` reads the domains and refuses what lies outside them.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True)
class Domain:
    """Unit and permitted interval of an argument or a result.

    ``choices`` replaces the interval by a short list; ``advice`` ends the error message.
    """

    unit: str = ""
    low: float = 0.0
    low_open: bool = False
    high: float = math.inf
    high_open: bool = False
    whole: bool = False
    choices: tuple[float, ...] = ()
    advice: str = ""

    def __str__(self) -> str:
        if self.choices:
            return "one of " + ", ".join(f"{c:g}" for c in self.choices)
        kind = "a whole number" if self.whole else "a number"
        if self.high == math.inf:
            return f"{kind} {'above' if self.low_open else 'of at least'} {self.low:g}"
        left, right = "[("[self.low_open], "])"[self.high_open]
        return f"{kind} in {left}{self.low:g}, {self.high:g}{right}"

    def condition(self, name: str) -> str:
        """The domain as a Python expression over ``name``; false for NaN and infinity."""
        if self.choices:
            return f"{name} in {self.choices}"
        low = "<" if self.low_open else "<="
        high = "<" if self.high_open else "<="
        # INF is the largest float: an unbounded domain still refuses infinity.
        interval = f"{self.low!r} {low} {name} {high} {'INF' if self.high == math.inf else repr(self.high)}"
        return f"{interval} and {name} % 1 == 0" if self.whole else interval


PERCENT = "write 40% as 0.4"

Number = Annotated[float, Domain()]
Positive = Annotated[float, Domain(low_open=True)]
Bytes = Annotated[float, Domain("B")]
Size = Annotated[float, Domain("B", low_open=True)]
Seconds = Annotated[float, Domain("s")]
Duration = Annotated[float, Domain("s", low_open=True)]
ChipTime = Annotated[float, Domain("chip-s")]
ChipDuration = Annotated[float, Domain("chip-s", low_open=True)]
Flops = Annotated[float, Domain("FLOP")]
Work = Annotated[float, Domain("FLOP", low_open=True)]
FlopRate = Annotated[float, Domain("FLOP/s", low_open=True)]
Bandwidth = Annotated[float, Domain("B/s", low_open=True)]
Dollars = Annotated[float, Domain("$")]
Price = Annotated[float, Domain("$/s")]
PerSecond = Annotated[float, Domain("1/s", low_open=True)]
Rate = Annotated[float, Domain("1/s")]
Count = Annotated[float, Domain(low=1, whole=True)]
Natural = Annotated[float, Domain(whole=True)]
Params = Annotated[float, Domain("parameters")]
Tokens = Annotated[float, Domain("tokens")]
Share = Annotated[float, Domain("%", low_open=True, high=1, advice=PERCENT)]
Loss = Annotated[float, Domain("%", high=1, advice=PERCENT)]
Extra = Annotated[float, Domain("%", high=5, advice=PERCENT)]  # added on top
PartShare = Annotated[float, Domain("%", high=1, high_open=True, advice=PERCENT)]
Flag = Annotated[float, Domain(choices=(0, 1))]
Stage = Annotated[float, Domain(choices=(0, 1, 2, 3))]
