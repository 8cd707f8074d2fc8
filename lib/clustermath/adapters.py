"""Low-rank adapters: the matrices they sit on, and the parameters they add."""
from __future__ import annotations

from typing import Sequence

from .checking import check, checked
from .types import Count

_TARGETS = {"all": ("q", "k", "v", "o", "gate", "up", "down"), "attention": ("q", "k", "v", "o"),
            "qv": ("q", "v")}


@checked
def linear_shapes(hidden: Count, ffn: Count, heads: Count, kv_heads: Count, head_dim: Count,
                  targets: str = "all") -> list[tuple[int, int]]:
    """(rows in, columns out) of the linear layers of one Llama layer that adapters sit on.

    Args:
        hidden, ffn: width of the residual stream and of the feed-forward block.
        heads, kv_heads, head_dim: of the attention block; kv_heads divides heads.
        targets: "all" for the seven matrices, "attention" for its four, "qv" for two of them.
    Raises: ValueError for other targets, or when kv_heads does not divide heads.
    """
    if targets not in _TARGETS:
        raise ValueError(f"linear_shapes: targets must be one of {', '.join(_TARGETS)}, "
                         f"got {targets!r}")
    if heads % kv_heads:
        raise ValueError("linear_shapes: kv_heads must divide heads, "
                         f"got {kv_heads:g} and {heads:g}")
    hidden, ffn, wide, narrow = map(int, (hidden, ffn, heads * head_dim, kv_heads * head_dim))
    shapes = {"q": (hidden, wide), "k": (hidden, narrow), "v": (hidden, narrow),
              "o": (wide, hidden), "gate": (hidden, ffn), "up": (hidden, ffn),
              "down": (ffn, hidden)}
    return [shapes[name] for name in _TARGETS[targets]]


@checked
def lora_params(shapes: Sequence[tuple[int, int]], rank: Count, layers: Count) -> int:
    """Parameters that adapters of one rank add to a model.

    Args:
        shapes: (rows, columns) of the adapted matrices of a layer, as `linear_shapes` lists them.
        rank: of the two factors of each adapter.
        layers: of the model.
    Raises: ValueError when no matrix is given, or the rank exceeds a side of one.
    """
    domain = Count.__metadata__[0]
    sides = [int(check("lora_params: shapes", domain, side)) for shape in shapes for side in shape]
    if not sides or rank > min(sides):
        smallest = min(sides) if sides else "no shapes"
        raise ValueError("lora_params: rank must be at most the smallest side of the shapes, "
                         f"got rank={rank:g} and {smallest}")
    return int(layers) * int(rank) * sum(sides)
