"""Questions of chapter 14: what FSDP2 and DeepSpeed hold and send, and what decides."""
from __future__ import annotations

from ... import (bytes_per_param, collective_counts, dim0_shard, gains, links, model_bytes,
                 offload_time, quantised_volume, ring_time, runs, state_bytes, tiers, wire_bytes)
from ...quantity import show
from ..draws import Choice, Integer, LogUniform
from ..functions import gives, holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

DRIVES = tiers["DeepNVMe, 8 drives"]
READ, WRITE = DRIVES.read_bandwidth, DRIVES.write_bandwidth
CARD = links["NIC 100G"].bandwidth
EAGER = runs["torchtitan 8B on 8 H100"].chip_token_rate
COMPILED = runs["torchtitan 8B on 8 H100, compiled"].chip_token_rate
SLOW = gains["ZeRO++ at 100 Gb/s"].gain


def _state(g: Givens, **change: float) -> float:
    """FSDP2 with bf16 compute and fp32 reduction: an fp32 shard that is the master copy."""
    return state_bytes(g.params, g.ranks, 3, **({"weight": 4, "grad": 4, "optimizer": 8} | change))


def _wire(g: Givens, stage: int = 3, grad: float = 4, weight: float = 2) -> float:
    return wire_bytes(g.params, g.ranks, stage, grad, weight)


def _gathers(g: Givens) -> int:
    return collective_counts(g.blocks)[0]


def _pass(g: Givens, size: float = 12, read: float = READ, write: float = WRITE) -> float:
    """Optimizer state read from NVMe and written back, spread over the nodes."""
    each = model_bytes(g.params, size) / g.nodes
    return offload_time(each, each, read, write)


def _between(g: Givens, volume: float) -> float:
    return ring_time(model_bytes(g.params), g.ranks, CARD, volume)



DRIVE_FACTS = {"read": lambda g: READ, "write": lambda g: WRITE}
CARD_FACTS = {"card": lambda g: CARD}

QUESTIONS = [
    Estimate(
        id="fsdp-vs-deepspeed.1",
        ask="A model of {params} parameters trains under FSDP2 on {ranks} GPUs, with fp32 shards, "
            "bf16 "
            "compute, fp32 reduction and Adam. How much state does each rank hold?",
        givens={"params": LogUniform(70.6e9, 7e9, 400e9), "ranks": Choice(64, (16, 32, 64, 128))},
        answer=_state, unit="GB",
        traps=(
            Trap("a bf16 copy", lambda g: _state(g, weight=6),
                 "That keeps a bf16 shard beside the fp32 one. FSDP2 makes the bf16 copy for each "
                 "gather "
                 "and frees it."),
            Trap("a second master", lambda g: _state(g, optimizer=12),
                 "That counts a master copy twice: the fp32 shard is the master."),
            Trap("bf16 gradients", lambda g: _state(g, grad=2),
                 "With fp32 reduction a gradient's shard takes four bytes."),
            Trap("no gradients", lambda g: _state(g, grad=0),
                 "The gradients' shards need room, too."),
            Trap("optimizer only", lambda g: _state(g, weight=0, grad=0),
                 "Those are Adam's two averages alone."),
            Trap("not sharded", lambda g: state_bytes(g.params),
                 "Nothing is divided: that is what all ranks hold together."),
        ),
        hints=("What does each parameter need: weight, gradient, two averages?",
               "All of them are fp32, and all of them are divided."),
        remark="DeepSpeed arrives at the same sum with a bf16 weight, a bf16 gradient and a "
            "separate master.",
        next="Which tensors on the GPU are not in this sum?"),
    Estimate(
        id="fsdp-vs-deepspeed.2",
        ask="A model of {blocks} layers is sharded with `fully_shard` on each layer and on the "
            "root, which "
            "stays gathered between the two passes. How many all-gathers does one forward and "
            "backward "
            "pass make?",
        givens={"blocks": Integer(126, 24, 126)},
        answer=_gathers, unit="", whole=True,
        traps=(
            Trap("reduce-scatters", lambda g: collective_counts(g.blocks)[1],
                 "That is the number of reduce-scatters: one for each layer and one for the root."),
            Trap("layers once", lambda g: g.blocks,
                 "Each layer is gathered in both passes, and the root once."),
            Trap("root again", lambda g: collective_counts(g.blocks, 1)[0],
                 "The root is last in the forward and first in the backward pass, so it stays "
                 "gathered."),
            Trap("no root", lambda g: 2 * g.blocks,
                 "The root holds embedding and output layer: a gather of its own."),
            Trap("all collectives", lambda g: sum(collective_counts(g.blocks)),
                 "That counts the reduce-scatters as well."),
        ),
        hints=("Count forward and backward gathers separately.",),
        next="How many bytes does the root save by staying gathered?"),
    Estimate(
        id="fsdp-vs-deepspeed.3",
        ask="FSDP2, {params} parameters, {ranks} ranks, bf16 weights on the wire, gradients "
            "reduced in "
            "fp32, one micro-batch. How many bytes does each rank send per step? Neglect what the "
            "root "
            "saves.",
        givens={"params": LogUniform(8.03e9, 3e9, 400e9), "ranks": Choice(8, (4, 8, 16))},
        answer=_wire, unit="GB",
        traps=(
            Trap("bf16 reduction", lambda g: _wire(g, grad=2),
                 "That is three legs of bf16, or a gather forgotten. Two gathers of bf16 and one "
                 "reduction in "
                 "fp32 make eight bytes a parameter."),
            Trap("fp32 gathers or an all-reduce", lambda g: _wire(g, weight=4),
                 "That is fp32 gathers, or gradients all-reduced. The shard is cast to bf16 "
                 "before it is gathered, and "
                 "a rank needs the sum of its own shard only."),
            Trap("whole buffers", lambda g: _wire(g) * g.ranks / (g.ranks - 1),
                 "In a ring each rank keeps its own shard: a leg moves `(n - 1)/n` of the buffer."),
        ),
        hints=("Three legs: two gathers and a reduction.", "Not all of them carry two bytes a "
            "parameter."),
        next="Does DeepSpeed send less in the same precision?"),
    Estimate(
        id="fsdp-vs-deepspeed.4",
        ask="The optimizer state of {params} parameters, twelve bytes each, lives on the NVMe "
            "drives of "
            "{nodes} nodes. A node reads {read} and writes {write}. How long does it take to read "
            "it and "
            "write it back, one after the other?",
        givens={"params": LogUniform(405e9, 100e9, 900e9), "nodes": Choice(13, (2, 4, 8, 13))},
        facts=DRIVE_FACTS, answer=_pass, unit="s",
        traps=(
            Trap("read only", lambda g: _pass(g, write=1e30),
                 "That reads it and never writes it back."),
            Trap("write at read speed", lambda g: _pass(g, write=READ),
                 "Drives write more slowly than they read."),
            Trap("all state", lambda g: _pass(g, size=16),
                 "That moves weights and gradients, too. The optimizer state is twelve bytes."),
            Trap("without master", lambda g: _pass(g, size=8),
                 "The fp32 master copy belongs to it: twelve bytes, not eight."),
            Trap("one node", lambda g: _pass(g) * g.nodes,
                 "The nodes work at the same time, each on its own part."),
        ),
        hints=("How many bytes does each node hold?", "Two times: one for each direction."),
        next="How large must the batch be for this to hide behind the step?"),
    Estimate(
        id="fsdp-vs-deepspeed.5",
        ask="ZeRO-3 across nodes with one card of {card} each: {params} parameters, {ranks} GPUs, "
            "bf16, one "
            "micro-batch. ZeRO++ with all three parts (qwZ, hpZ, qgZ) is switched on. How long do "
            "the "
            "transfers between nodes take?",
        givens={"params": LogUniform(70.6e9, 7e9, 200e9), "ranks": Choice(32, (16, 32, 64))},
        facts=CARD_FACTS, answer=lambda g: _between(g, quantised_volume(1, 1, 1)), unit="s",
        traps=(
            Trap("not quantised", lambda g: _between(g, quantised_volume()),
                 "Those are the three full legs. Eight-bit weights, no gather in the backward "
                 "pass and "
                 "four-bit gradients leave a quarter."),
            Trap("hpZ alone", lambda g: _between(g, quantised_volume(0, 1, 0)),
                 "That only keeps the backward gather in the node."),
            Trap("no hpZ or no qwZ", lambda g: _between(g, quantised_volume(1, 0, 1)),
                 "That leaves out hpZ, which keeps the backward gather in the node, or qwZ, which "
                 "halves the "
                 "forward one."),
            Trap("no qgZ", lambda g: _between(g, quantised_volume(1, 1, 0)),
                 "The gradients travel in four bits where the others take bf16."),
        ),
        hints=("Count legs: half, none, a quarter.", "A full leg is two bytes a parameter, less "
            "one rank's part."),
        next="With how many tokens per GPU does that hide behind the compute?"),
    Estimate(
        id="fsdp-vs-deepspeed.6",
        ask="`fully_shard` divides a weight of {rows} rows among {ranks} ranks along its first "
            "dimension, in "
            "chunks of the rounded-up quotient. How many rows does the last rank hold that holds "
            "any?",
        givens={"rows": Choice(128256, (128256, 151936, 152064)),
                "ranks": Choice(320, (160, 320, 448))},
        answer=lambda g: min(n for r in range(g.ranks) if (n := dim0_shard(g.rows, g.ranks, r))),
        unit="rows", whole=True,
        traps=(
            Trap("full chunk", lambda g: dim0_shard(g.rows, g.ranks, 0),
                 "That is a full chunk. The last one takes what is left."),
            Trap("rounded down", lambda g: g.rows // g.ranks,
                 "Chunks are rounded up, not down, so that the last rank holds fewer rows than "
                 "the others."),
            Trap("remainder", lambda g: g.rows % g.ranks,
                 "That is the remainder of rows by ranks. What counts is the remainder by the "
                 "chunk."),
        ),
        hints=("The chunk first.", "Then how many full chunks fit, and what is left."),
        remark="Ranks after that one hold nothing at all.",
        next="How much memory does the uneven division waste on the fullest rank?"),
    Implement(
        id="fsdp-vs-deepspeed.7",
        ask="Write how many rows of a tensor a rank holds when FSDP2 divides it along its first "
            "dimension: "
            "chunks of the rounded-up quotient, the last ones short or empty. Refuse a rank that "
            "does not exist.",
        stub='''
def my_dim0_shard(rows, shards, rank):
    """Rows of a tensor on one rank, divided along the first dimension."""
    return ...
''',
        cases=(
            gives("rows that divide evenly are shared evenly", dim0_shard, 96, 8, 3),
            gives("an odd row goes to the first rank", dim0_shard, 97, 2, 0),
            gives("the last rank holds what is left", dim0_shard, 97, 2, 1),
            gives("a short chunk comes last", dim0_shard, 10, 4, 3),
            gives("a late rank may hold nothing although there are more rows than ranks",
                  dim0_shard, 5, 4, 3),
            gives("fewer rows than ranks leave the later ranks empty", dim0_shard, 3, 8, 5),
            holds("the shards add up to all rows",
                  lambda f: all(sum(f(n, s, r) for r in range(s)) == n
                                for n, s in ((97, 4), (5, 4), (3, 8)))),
            holds("no rank holds more than an earlier one",
                  lambda f: all(f(29, 6, r) >= f(29, 6, r + 1) for r in range(5))),
            refuses("the rank after the last is refused", 97, 2, 2),
            refuses("a negative rank is refused", 97, 2, -1),
            refuses("no ranks at all are refused", 97, 0, 0),
        ),
        hints=("The chunk is the quotient, rounded up: `-(-rows // shards)`.",
               "What is left for this rank may be less than a chunk, or less than nothing."),
        solution='''
def my_dim0_shard(rows, shards, rank):
    """Rows of a tensor on one rank, divided along the first dimension."""
    if shards < 1 or not 0 <= rank < shards:
        raise ValueError(f"there is no rank {rank} of {shards}")
    chunk = -(-rows // shards)
    return max(0, min(chunk, rows - rank * chunk))
''',
        next="What does the gather do with ranks of unequal size?"),
    Rubric(
        id="fsdp-vs-deepspeed.8",
        ask="“Everyone has moved to FSDP2. Migrate our DeepSpeed ZeRO-3 training of Llama 3 70B.” "
            "Say yes or no, and "
            "how.",
        facts={"all": lambda g: bytes_per_param(),
               "compiled": lambda g: show(COMPILED / EAGER - 1, "%", 2),
               "slow": lambda g: show(SLOW, "", 2)},
        points=((2, "It first asks what is in use that FSDP2 lacks: NVMe or partial offload, "
            "quantised collectives."),
                (2, "It says that memory and traffic do not change, at equal precision, so they "
                    "are no reason."),
                (1, "It names a real gain: compile, tensor or context parallelism on one mesh, "
                    "checkpoints."),
                (1, "It checks numerics: fp32 master, dtype of gradients, the dtype in which the "
                    "model is loaded."),
                (1, "It plans checkpoint conversion and a way back."),
                (1, "It compares losses and speed side by side before the switch.")),
        model="Not in the middle of a run, and not for memory: both hold {all} bytes per "
            "parameter and send the "
              "same. If you offload to NVMe, or ZeRO++ carries you over a slow network, where its "
              "authors measured "
              "up to {slow} times the speed, stay. Otherwise move at the next run, for what "
              "PyTorch composes: "
              "compiled layers, which gained {compiled} in torchtitan's own measurement, tensor "
              "parallelism on "
              "the same mesh, checkpoints that load on another. Before that, convert a "
              "checkpoint, load in fp32, match the "
              "gradients' dtype, run both for a while and compare losses, and keep "
              "the old "
              "branch until a restart has worked.",
        hints=("What would you lose?", "What would you gain, and is it memory?"),
        next="Which single measurement would change your mind?"),
]
