"""Collectives in the text of a compiled XLA program, and the bytes of their results."""
from __future__ import annotations

import re

_OPERATIONS = "all-reduce|all-gather|reduce-scatter|collective-permute|all-to-all"
_INSTRUCTION = re.compile(rf"=\s+(.+?)\s({_OPERATIONS})(-start)?\(")
_SHAPE = re.compile(r"\b([a-z]+\d*\w*)\[([\d,]*)\]")


def hlo_collectives(text: str) -> list[tuple[str, int]]:
    """(operation, bytes of its result) of each collective, in the order of the program.

    An asynchronous pair counts once, at its start. The bytes are those of one device.

    Args:
        text: what ``compiled.as_text()`` of JAX returns.
    Raises: TypeError for what is no text; ValueError for an element type without a known width.
    """
    if not isinstance(text, str):
        raise TypeError(f"hlo_collectives: text must be a str, got {type(text).__name__}")
    return [(operation, _bytes(_result(shape, operation, bool(start))))
            for shape, operation, start in _INSTRUCTION.findall(text)]


def _result(shape: str, operation: str, start: bool) -> str:
    """The result's part of a shape: all starts but the all-reduce's list their operands first."""
    if not start or operation == "all-reduce":
        return shape
    parts = _split(shape.strip()[1:-1])
    return parts[1]


def _split(inside: str) -> list[str]:
    """The elements of a tuple shape, commas in nested tuples, dimensions and layouts aside."""
    parts, depth = [""], 0
    for character in inside:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _bytes(shape: str) -> int:
    total = 0
    for kind, dims in _SHAPE.findall(shape):
        elements = 1
        for dim in filter(None, dims.split(",")):
            elements *= int(dim)
        total += -(-elements * _width(kind) // 8)
    return total


def _width(kind: str) -> int:
    """Bits of one element: the number in f32, s8, u4, bf16, c64, f8e4m3fn."""
    if kind == "pred":
        return 8
    digits = re.match(r"[a-z]+(\d+)", kind)
    if digits is None:
        raise ValueError(f"hlo_collectives: no known width of the element type {kind!r}")
    return int(digits[1])
