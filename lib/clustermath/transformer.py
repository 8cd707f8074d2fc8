"""Transformers as shapes: parameter counts are computed, and tested against the published ones."""
from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

from .checking import check
from .registry import Entry, Registry
from .types import Count
from .value import Whole

if TYPE_CHECKING:
    from .experts import MoeTransformer

_COUNT = Count.__metadata__[0]


@dataclass(frozen=True)
class Transformer:
    """A dense decoder, given by its shapes.

    Args:
        layers, hidden, ffn, heads, kv_heads, head_dim, vocab: counts.
        tied: input and output embeddings are one matrix.
        gated: three matrices in the feed-forward block (SwiGLU), not two.
        biases: linear layers have biases and norms a shift, as in GPT-2 and GPT-3.
        positions: rows of a learned position table; 0 for rotary embeddings.
    Raises: TypeError or ValueError for a shape that is no count.
    """

    layers: int
    hidden: int
    ffn: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    tied: bool = False
    gated: bool = True
    biases: bool = False
    positions: int = 0

    def __post_init__(self):
        for name in ("layers", "hidden", "ffn", "heads", "kv_heads", "head_dim", "vocab"):
            value = int(check(f"Transformer: {name}", _COUNT, getattr(self, name)))
            object.__setattr__(self, name, value)  # a plain int: NumPy's would overflow
        if self.heads % self.kv_heads:
            raise ValueError("Transformer: kv_heads must divide heads, "
                             f"got {self.kv_heads} and {self.heads}")

    @property
    def attention(self) -> int:
        """Parameters of all attention blocks: queries and output, keys and values, their biases."""
        wide, narrow = self.heads * self.head_dim, self.kv_heads * self.head_dim
        weights = 2 * self.hidden * wide + 2 * self.hidden * narrow
        return self.layers * (weights + self.biases * (wide + 2 * narrow + self.hidden))

    @property
    def mlp(self) -> int:
        """Parameters of all feed-forward blocks."""
        matrices = 3 if self.gated else 2
        biases = self.biases * ((matrices - 1) * self.ffn + self.hidden)
        return self.layers * (matrices * self.hidden * self.ffn + biases)

    @property
    def norms(self) -> int:
        """Parameters of two norms a layer and one at the end."""
        return (2 * self.layers + 1) * self.hidden * (1 + self.biases)

    @property
    def embedding(self) -> int:
        """Parameters of token and position tables, and of the output matrix when it is its own."""
        return (self.vocab * (1 if self.tied else 2) + self.positions) * self.hidden

    @cached_property
    def params(self) -> int:
        """All parameters, exactly."""
        return self.attention + self.mlp + self.norms + self.embedding

    @cached_property
    def matmul_params(self) -> int:
        """Parameters that multiply activations: no look-ups, no norms, no biases."""
        wide, narrow = self.heads * self.head_dim, self.kv_heads * self.head_dim
        attention = 2 * self.hidden * (wide + narrow)
        mlp = (3 if self.gated else 2) * self.hidden * self.ffn
        return self.layers * (attention + mlp) + self.vocab * self.hidden

    @cached_property
    def layer_params(self) -> int:
        """Parameters of one layer with its two norms."""
        return (self.attention + self.mlp) // self.layers + 2 * self.hidden * (1 + self.biases)


_DERIVED = ("params", "matmul_params", "layer_params", "attention", "mlp", "norms", "embedding",
            "total_params", "active_params", "total_matmul_params", "active_matmul_params",
            "routed", "expert")


class Model(Entry):
    """A published model: its shape as fields, its counts computed from them."""

    @cached_property
    def shape(self) -> "Transformer | MoeTransformer":
        kind = Transformer
        if "experts" in self.fields:
            from .experts import MoeTransformer as kind
        shape = {f.name: self.fields[f.name] for f in fields(kind) if f.name in self.fields}
        missing = [f.name for f in fields(kind) if f.default is MISSING and f.name not in shape]
        if missing:
            raise ValueError(f"{self.registry} {self.name!r} has no {', '.join(missing)}: "
                             "a shape like this is not counted here")
        return kind(**shape)

    def __getattr__(self, key: str):
        if key not in _DERIVED:
            return super().__getattr__(key)
        if not hasattr(self.shape, key):
            counts = [name for name in _DERIVED if hasattr(self.shape, name)]
            raise AttributeError(f"{self.registry} {self.name!r} has no {key!r}; "
                                 f"it has {', '.join(counts)}")
        meaning = f"{key.replace('_', ' ')} of {self.name}, counted from its shape"
        return Whole(getattr(self.shape, key), "parameters", self.fields["source"], meaning)


class Models(Registry):
    entry = Model


models = Models("models")
moe = Models("moe")
