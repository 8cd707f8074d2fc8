"""Questions of chapter 10: what each ZeRO stage stores per rank, and what it sends."""
from __future__ import annotations

from ... import bytes_per_param, chips, chips_for_memory, round_up_chips, state_bytes, wire_bytes
from ...quantity import show
from ..draws import Choice, Integer, LogUniform
from ..functions import gives, holds, refuses
from ..grading import near
from ..spec import Estimate, Givens, Implement, Rubric, Trap

RANKS = (8, 16, 32, 64)
NODE = 8
HBM = chips["H100 SXM"].hbm


def _state(g: Givens, stage: int, **change: float) -> float:
    return state_bytes(g.params, g.ranks, stage, **change)


def _chips(g: Givens, usable: float | None = None, multiple: int = NODE, **per_param: float) -> int:
    """Whole nodes whose usable memory holds the state of stage 3."""
    size = state_bytes(g.params, **per_param)
    return int(round_up_chips(chips_for_memory(size, HBM, g.usable if usable is None else usable),
                              multiple))


def _wire(g: Givens, stage: int, **change: float) -> float:
    return wire_bytes(g.params, g.ranks, stage, **change)


def _times_ddp(stage: int, microbatches: int, **change: float) -> float:
    """Bytes on the wire over those of plain data parallelism; model and ranks cancel."""
    return wire_bytes(70e9, 64, stage, microbatches=microbatches, **change) / wire_bytes(70e9, 64,
                                                                                         0)


def _momenta_only(g: Givens) -> float | None:
    """Gradients and master weights left out; None where it can hardly be told from the latter alone."""
    left = _state(g, g.stage, grad=0, optimizer=8)
    return None if near(left, _state(g, g.stage, optimizer=8), 0.025) else left


BYTES = {"all": lambda g: bytes_per_param(), "fp32_grads": lambda g: bytes_per_param(grad=4)}
TIMES = {"ratio": lambda g: _times_ddp(3, 1), "slower": lambda g: show(_times_ddp(3, 1) - 1, "%")}

QUESTIONS = [
    Estimate(
        id="zero-stages.1",
        ask="A model of {params} parameters is trained with Adam in mixed precision, gradients in bf16, under "
            "ZeRO stage 3 on {ranks} GPUs. How much static training state does each rank hold?",
        givens={"params": LogUniform(7e9, 1e9, 100e9), "ranks": Choice(8, RANKS)},
        facts=BYTES, answer=lambda g: _state(g, 3), unit="GB",
        traps=(
            Trap("twelve bytes", lambda g: _state(g, 3, weight=0, grad=0),
                 "That is twelve bytes per parameter: the optimizer alone, or everything without "
                 "its fp32 master copy. Stage 3 shards weights and gradients too, and their shards "
                 "need room."),
            Trap("fp32 gradients", lambda g: _state(g, 3, grad=4),
                 "That counts {fp32_grads} bytes per parameter, with gradients in fp32. Here they are bf16."),
            Trap("stage 2", lambda g: _state(g, 2),
                 "That is stage 2: the weights are still whole on every rank."),
            Trap("stage 1", lambda g: _state(g, 1),
                 "That is stage 1: only the optimizer state is sharded."),
            Trap("not sharded", lambda g: _state(g, 0),
                 "Nothing is divided: that is plain data parallelism."),
        ),
        hints=("How many bytes does Adam in mixed precision keep for each parameter?",
               "Two for the weight, two for the gradient, twelve for the optimizer; stage 3 "
               "divides all of them."),
        next="What else lives in the GPU's memory that no stage divides?"),
    Estimate(
        id="zero-stages.2",
        ask="ZeRO stage {stage}, bf16 weights and gradients, Adam in fp32: what does each of "
            "{ranks} ranks hold of a model of {params} parameters?",
        givens={"stage": Choice(2, (1, 2)), "params": LogUniform(13e9, 3e9, 100e9),
                "ranks": Choice(8, RANKS)},
        facts={"hbm": lambda g: HBM}, answer=lambda g: _state(g, g.stage), unit="GB",
        traps=(
            Trap("other stage", lambda g: _state(g, 3 - g.stage),
                 "That is the other of stages 1 and 2. Stage 1 shards the optimizer state, stage 2 "
                 "the gradients as well."),
            Trap("stage 3", lambda g: _state(g, 3),
                 "That divides all three parts. Only stage 3 does."),
            Trap("not sharded", lambda g: _state(g, 0),
                 "Nothing is divided: that is plain data parallelism."),
            Trap("master forgotten", lambda g: _state(g, g.stage, optimizer=8),
                 "The fp32 master copy is missing: the optimizer holds twelve bytes per "
                 "parameter."),
            Trap("gradients and master forgotten", _momenta_only,
                 "Gradients and the fp32 master copy are missing: that counts the weights and Adam's "
                 "two averages."),
            Trap("fp32 gradients", lambda g: _state(g, g.stage, grad=4),
                 "That has gradients in fp32; here they are bf16."),
        ),
        hints=("Write down the three parts, two, two and twelve bytes, and mark which the stage divides.",
               "What is not divided stays whole however many ranks there are."),
        remark="The part that is not divided is a floor: more ranks never get below it.",
        next="From which model size on does this stage never fit a card of {hbm}?"),
    Estimate(
        id="zero-stages.3",
        ask="A model of {params} parameters under ZeRO stage 3, {all} bytes per parameter, on GPUs of "
            "{hbm} of which {usable} may hold static state. How many GPUs at least, in whole nodes "
            "of {node}?",
        givens={"params": LogUniform(405e9, 30e9, 700e9),
                "usable": Choice(0.8, (0.7, 0.8, 0.9), "%")},
        facts=BYTES | {"hbm": lambda g: HBM, "node": lambda g: NODE},
        answer=_chips, unit="GPUs", whole=True,
        traps=(
            Trap("not whole nodes", lambda g: _chips(g, multiple=1),
                 "GPUs come in nodes of {node}: round up to a multiple."),
            Trap("rounded down", lambda g: _chips(g) - NODE or None,
                 "One node fewer, and it does not fit: round up."),
            Trap("all memory", lambda g: _chips(g, usable=1),
                 "That fills the cards to the last byte. Activations, gathered layers and the "
                 "allocator need the rest."),
            Trap("weights only", lambda g: _chips(g, grad=0, optimizer=0),
                 "That holds the weights alone, two of the {all} bytes."),
            Trap("optimizer only", lambda g: _chips(g, weight=0, grad=0),
                 "That holds the optimizer state alone."),
            Trap("fp32 gradients", lambda g: _chips(g, grad=4),
                 "That counts {fp32_grads} bytes per parameter."),
        ),
        hints=("Total state over usable bytes per GPU.",
               "Round up to the next multiple of {node}, not to the nearest."),
        next="Would you run on exactly that many, and what would you check first?"),
    Estimate(
        id="zero-stages.4",
        ask="ZeRO stage 3, {params} parameters, {ranks} ranks, bf16 weights and gradients on the "
            "wire, no gradient accumulation. How many bytes does each rank send in one optimizer "
            "step?",
        givens={"params": LogUniform(70.6e9, 7e9, 500e9), "ranks": Choice(8, (4, 8, 16, 32))},
        answer=lambda g: _wire(g, 3), unit="GB",
        traps=(
            Trap("like DDP", lambda g: _wire(g, 0),
                 "That is two legs, as in plain data parallelism. Stage 3 gathers the weights "
                 "twice, forward and backward."),
            Trap("one leg", lambda g: _wire(g, 0) / 2,
                 "That is one leg: a single reduce-scatter or all-gather."),
            Trap("four legs", lambda g: _wire(g, 0) * 2,
                 "That is four legs of bf16: the gradients reduced in full, or sent in fp32. Each "
                 "rank needs only its shard of them, in bf16: one reduce-scatter."),
            Trap("whole buffers", lambda g: _wire(g, 3) * g.ranks / (g.ranks - 1),
                 "In a ring each rank keeps its own shard: a leg moves `(n - 1)/n` of the buffer."),
        ),
        hints=("How many legs around the ring does a stage 3 step make?",
               "Gather for the forward, gather for the backward, reduce-scatter of the gradients; "
               "each moves `(n - 1)/n` of 2N bytes."),
        next="At which bandwidth does that hide behind the compute?"),
    Estimate(
        id="zero-stages.5",
        ask="ZeRO stage 3 with bf16 weights and Adam, but gradients kept in fp32. What does each "
            "of {ranks} ranks hold of a model of {params} parameters, and does it fit {hbm}?",
        givens={"params": Choice(70.6e9, (65e9, 70.6e9, 80e9, 123e9, 180e9)),
                "ranks": Choice(16, (16, 24, 32, 48))},
        facts=BYTES | {"hbm": lambda g: HBM, "too_many": lambda g: bytes_per_param(grad=6)},
        answer=lambda g: _state(g, 3, grad=4), unit="GB",
        traps=(
            Trap("bf16 gradients", lambda g: _state(g, 3),
                 "That is the state with bf16 gradients. In fp32 they take two bytes more."),
            Trap("twenty bytes", lambda g: _state(g, 3, grad=6),
                 "That is {too_many} bytes per parameter. Only the gradients change, from two bytes to "
                 "four."),
            Trap("gradients whole",
                 lambda g: _state(g, 3, grad=0) + _state(g, 0, weight=0, grad=4, optimizer=0),
                 "Stage 3 shards the gradients too."),
        ),
        hints=("Which of the three parts, two, two and twelve bytes, changes?",),
        remark="Compare with the {hbm} of the card, and remember what is not in this sum: "
               "activations and gathered layers.",
        next="Megatron and DeepSpeed's estimator count {fp32_grads} bytes. Who needs fp32 gradients, and "
             "why?"),
    Estimate(
        id="zero-stages.6",
        ask="Gradient accumulation over {micro} micro-batches, ZeRO stage 3. By which factor does "
            "a rank send more per optimizer step than plain data parallelism, which reduces once?",
        givens={"micro": Integer(8, 4, 16)},
        facts=TIMES,
        answer=lambda g: _times_ddp(3, g.micro), unit="",
        traps=(
            Trap("one micro-batch", lambda g: _times_ddp(3, 1),
                 "That is the rule for one micro-batch. Stage 3 gathers and reduces again for "
                 "each."),
            Trap("stage 2", lambda g: _times_ddp(2, g.micro),
                 "That is stage 2, which reduces for every micro-batch but gathers once."),
            Trap("two legs each", lambda g: float(g.micro),
                 "That is two legs for each micro-batch. Stage 3 makes three."),
            Trap("gradients once", lambda g: _times_ddp(3, g.micro, grad=0) + 1 / 2,
                 "Under stage 3 no rank keeps whole gradients, so they are reduced for every "
                 "micro-batch as well."),
        ),
        hints=("Count legs: how many per micro-batch, and how many does plain data parallelism "
               "make in all?",),
        remark="The familiar {ratio} is the rule for a single micro-batch.",
        next="How would you get gradient accumulation without this traffic?"),
    Implement(
        id="zero-stages.7",
        ask="Write the bytes that each rank holds under ZeRO stages 0 to 3. Refuse any other "
            "stage, and fewer than one rank.",
        stub='''
def my_state_bytes(params, ranks, stage, weight=2, grad=2, optimizer=12):
    """Bytes of static training state per rank."""
    return ...
''',
        cases=(
            *(gives(f"one rank holds all sixteen bytes at stage {stage}", state_bytes, 7e9, 1,
                    stage) for stage in range(4)),
            holds("stage 3 divides everything: the ranks together hold the whole state once",
                  lambda f: abs(f(70.6e9, 64, 3) * 64 / f(70.6e9, 1, 3) - 1) < 1e-12),
            holds("a higher stage never holds more",
                  lambda f: f(7e9, 8, 0) >= f(7e9, 8, 1) >= f(7e9, 8, 2) >= f(7e9, 8, 3)),
            holds("more ranks never hold more each",
                  lambda f: all(f(7e9, 16, s) <= f(7e9, 8, s) for s in range(4))),
            gives("stage 1 shards the optimizer state and nothing else", state_bytes, 70.6e9, 16,
                  1),
            gives("stage 2 shards the gradients as well", state_bytes, 70.6e9, 16, 2),
            gives("a smaller optimizer (SGD with a master copy) is counted", state_bytes, 7e9, 8, 1,
                  2, 2, 4),
            refuses("stage 4 does not exist", 7e9, 8, 4),
            refuses("a stage between two stages is refused", 7e9, 8, 2.5),
            refuses('the text "3" is no stage', 7e9, 8, "3"),
            refuses("no ranks at all are refused", 7e9, 0, 3),
            refuses("half a rank is refused", 7e9, 8.5, 3),
        ),
        hints=("Three parts; each is divided by the ranks from some stage on.",
               "Check the stage before anything else: `stage not in (0, 1, 2, 3)`."),
        solution='''
def my_state_bytes(params, ranks, stage, weight=2, grad=2, optimizer=12):
    """Bytes of static training state per rank."""
    if stage not in (0, 1, 2, 3):
        raise ValueError(f"stage must be 0, 1, 2 or 3, got {stage!r}")
    if ranks < 1 or ranks != int(ranks):
        raise ValueError(f"ranks must be a whole number of at least 1, got {ranks!r}")
    weights = weight / ranks if stage >= 3 else weight
    gradients = grad / ranks if stage >= 2 else grad
    states = optimizer / ranks if stage >= 1 else optimizer
    return params * (weights + gradients + states)
''',
        next="What has to be padded when the parameters do not divide by the ranks?"),
    Rubric(
        id="zero-stages.8",
        ask="“ZeRO-3 moves {ratio} times the bytes of plain data parallelism, so it is {slower} slower.” "
            "Defend or refute it.",
        facts=TIMES,
        points=((2, "Bytes are not time: what overlaps with compute costs nothing until it exceeds "
                    "it."),
                (1, "The gathers also happen in the forward pass, so there is more compute to hide "
                    "behind."),
                (1, "It gives a threshold: hidden when each GPU has enough tokens per step for its "
                    "bandwidth."),
                (1, "It says when it is worse than {ratio}: with M micro-batches, {ratio} times M."),
                (1, "It names a repair across slow links: shard inside the node and replicate "
                    "across (HSDP, hpZ).")),
        model="The bytes are right for one micro-batch: three legs around the ring instead of two. "
              "The time is not. Plain data parallelism has only the backward pass to hide its two "
              "legs behind; stage 3 gathers one leg's worth in the forward and moves two in the "
              "backward, so the whole step is the window. Above some number of tokens per GPU both "
              "hide completely and run equally fast. Below it, or with gradient accumulation, "
              "where stage 3 pays again for every micro-batch, it is slower, and by more than half "
              "if the links between nodes are slow. Then one shards inside the node and replicates "
              "across nodes.",
        hints=("What does a rank do while bytes move?",
               "When does each leg happen, and what is computed meanwhile?"),
        next="How many tokens per GPU does it take on your cluster?"),
]
