"""Mixtures of experts: their parameter counts, and what routing touches."""
from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from math import comb

from .checking import check, checked
from .formulas import formula
from .transformer import Transformer
from .types import Bytes, Count, Natural, Number, Params, Size, Tokens

_NATURAL = Natural.__metadata__[0]


@dataclass(frozen=True)
class MoeTransformer:
    """A decoder whose feed-forward blocks are experts, given by its shapes; no latent attention.

    Total and active parameters are two different things: memory follows the first, FLOPs the
    second. So there is no plain ``params``.

    Args:
        layers, hidden, heads, kv_heads, head_dim, vocab, tied: as in `Transformer`.
        expert_ffn: width of one expert.
        experts: routed experts of a layer.
        top_k: those that a token is routed to.
        shared: experts that every token passes through besides.
        dense_layers: first layers with an ordinary feed-forward block of width dense_ffn.
        qk_norm: queries and keys are normalized per head.
    Raises: TypeError or ValueError for a shape that is no count, or that contradicts itself.
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    expert_ffn: int
    experts: int
    top_k: int
    vocab: int
    shared: int = 0
    dense_layers: int = 0
    dense_ffn: int = 0
    tied: bool = False
    qk_norm: bool = False

    def __post_init__(self):
        for field in fields(self):
            if field.name not in ("tied", "qk_norm"):
                value = check(f"MoeTransformer: {field.name}", _NATURAL, getattr(self, field.name))
                object.__setattr__(self, field.name, int(value))
        if not 1 <= self.top_k <= self.experts:
            raise ValueError(f"MoeTransformer: top_k must lie in 1 to experts={self.experts}, "
                             f"got {self.top_k}")
        paired = (self.dense_layers > 0) == (self.dense_ffn > 0)
        if not (paired and self.dense_layers < self.layers):
            raise ValueError("MoeTransformer: dense_layers must stay below layers, and goes with "
                             f"dense_ffn; got {self.dense_layers} of {self.layers} layers, "
                             f"width {self.dense_ffn}")
        self._trunk  # refuses shapes that a dense decoder could not have either

    @cached_property
    def _trunk(self) -> Transformer:
        """The same decoder with one expert a layer in place of all."""
        return Transformer(self.layers, self.hidden, self.expert_ffn, self.heads, self.kv_heads,
                           self.head_dim, self.vocab, self.tied)

    @property
    def attention(self) -> int:
        """Parameters of all attention blocks."""
        return self._trunk.attention

    @property
    def norms(self) -> int:
        """Parameters of all norms, those of queries and keys included."""
        return self._trunk.norms + self.layers * 2 * self.head_dim * bool(self.qk_norm)

    @property
    def embedding(self) -> int:
        """Parameters of the token table, and of the output matrix when it is its own."""
        return self._trunk.embedding

    @property
    def expert(self) -> int:
        """Parameters of one expert, three matrices."""
        return 3 * self.hidden * self.expert_ffn

    @property
    def routed(self) -> int:
        """Parameters of all routed experts of all layers."""
        return self._moe_layers * self.experts * self.expert

    @property
    def _moe_layers(self) -> int:
        return self.layers - self.dense_layers

    @property
    def _always(self) -> int:
        """Matrix parameters that every token passes, the output matrix included."""
        router = self.hidden * self.experts
        mixed = self._moe_layers * (router + self.shared * self.expert)
        dense = self.dense_layers * 3 * self.hidden * self.dense_ffn
        return self.attention + mixed + dense + self.vocab * self.hidden

    @cached_property
    def total_matmul_params(self) -> int:
        """All that multiply activations of some token: what decoding a large batch reads."""
        return self._always + self.routed

    @cached_property
    def active_matmul_params(self) -> int:
        """Parameters that multiply the activations of one token: what its FLOPs follow."""
        return self._always + self.routed // self.experts * self.top_k

    @cached_property
    def total_params(self) -> int:
        """All parameters, exactly: what memory must hold."""
        return self.total_matmul_params + self.norms + self._lookup

    @cached_property
    def active_params(self) -> int:
        """Parameters that one token meets, embeddings and norms included: the advertised count."""
        return self.active_matmul_params + self.norms + self._lookup

    @property
    def _lookup(self) -> int:
        return self.embedding - self.vocab * self.hidden


@formula("E_B", unit="experts", experts="E", top_k="k", tokens="B", requires="top_k <= experts")
def experts_touched(experts: Count, top_k: Count, tokens: Tokens) -> Number:
    """Experts of a layer that a batch uses at least once, on average under uniform routing.

    Args:
        experts: routed experts of a layer.
        top_k: those that each token is routed to.
        tokens: of the batch.
    Raises: ValueError when top_k exceeds experts.
    """
    return experts * (1 - (1 - top_k / experts) ** tokens)


@formula("S_B", dense="N_d", expert_total="N_e", experts="E", top_k="k", tokens="B", size="b")
def expert_weight_bytes(dense: Params, expert_total: Params, experts: Count, top_k: Count,
                        tokens: Tokens, size: Size = 2) -> Bytes:
    """Bytes of weights that a decoding step reads from a mixture of experts.

    Args:
        dense: parameters that every token multiplies.
        expert_total: parameters of all routed experts together.
        experts, top_k, tokens: as in `experts_touched`.
        size: bytes of one element.
    """
    return size * (dense + expert_total * experts_touched(experts, top_k, tokens) / experts)


@checked
def distinct_ranks(experts: Count, top_k: Count, ranks: Count) -> float:
    """Ranks that a token's experts lie on, on average under uniform routing.

    Args:
        experts: routed experts of a layer, spread evenly over the ranks.
        top_k: different experts that the token is routed to.
        ranks: expert-parallel ranks.
    Raises: ValueError when ranks does not divide experts, or top_k exceeds them.
    """
    experts, top_k, ranks = int(experts), int(top_k), int(ranks)
    if experts % ranks or top_k > experts:
        raise ValueError("distinct_ranks: ranks must divide experts and top_k not exceed them, got "
                         f"experts={experts}, top_k={top_k}, ranks={ranks}")
    missed = comb(experts - experts // ranks, top_k) / comb(experts, top_k)
    return ranks * (1 - missed)
