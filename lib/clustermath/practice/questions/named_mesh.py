"""Questions on the named mesh: which collectives a program gets, and what they cost on a torus."""
from __future__ import annotations

from ... import (HOUR, MINUTE, chips, hlo_collectives, links, log2, model_bytes, models,
                 restart_share, ring_bytes, token_threshold, torus_time)
from ...quantity import figures, show
from ..draws import Choice, LogUniform
from ..functions import holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

LLAMA = models["Llama 3 70B"]
V5P = links["ICI v5p"]


def _gradients(g: Givens, size: float = 2) -> float:
    return model_bytes(g.params, size) / g.model


def _axis(g: Givens) -> float:
    return links[f"ICI {g.chip.removeprefix('TPU ')}"].axis_planning


def _tokens(g: Givens, axes: float | None = None, share: float = 1) -> float:
    return _at_peak(g, axes, share) * g.mfu


def _at_peak(g: Givens, axes: float | None = None, share: float = 1) -> float:
    return token_threshold(chips[g.chip].bf16_flops, (axes or g.axes) * share * _axis(g))


def _torus(g: Givens, axes: float | None = None, legs: float = 2, share: float = 1) -> float:
    return torus_time(g.size, (axes or g.axes) * share * V5P.axis_planning, legs)


def _tax(g: Givens, share: float = 1) -> float:
    return restart_share(share * g.compile, g.mtbf)


def _programs(g: Givens) -> float:
    return log2(g.longest / g.shortest) + 1


_GATHER = model_bytes(LLAMA.hidden * LLAMA.ffn, 2)
_STRAY = torus_time(_GATHER, V5P.axis_planning, 1)

_TUPLE = """
  %all-reduce = (f32[], f32[64,32]{1,0}) all-reduce(%a, %b), channel_id=1, to_apply=%add
"""
_PAIR = """
  %all-reduce-start = bf16[128,8]{1,0} all-reduce-start(%p), channel_id=1, to_apply=%add
  %all-reduce-done = bf16[128,8]{1,0} all-reduce-done(%all-reduce-start)
"""
_TWO = """
  %ag = f32[32,16]{1,0} all-gather(%p), dimensions={0}
  ROOT %cp = s8[100]{0} collective-permute(%ag), source_target_pairs={{0,1}}
"""
_NAMED = """
  %add.1 = f32[8]{0} add(%a, %b), metadata={op_name="jit(step)/all-reduce/add"}
"""
_BF16 = "  %ar = bf16[64,32]{1,0} all-reduce(%a), to_apply=%add\n"
_FP32 = _BF16.replace("bf16", "f32")

QUESTIONS = [
    Estimate(
        id="named-mesh.1",
        ask="A mesh has {data} chips along `data` and {model} along `model`. Every weight of a "
            "model of {params} parameters is cut along `model` and copied along `data`. "
            "Gradients are bf16. How many bytes has the gradient all-reduce on one chip?",
        givens={"data": Choice(8, (4, 8)), "model": Choice(16, (16, 32)),
                "params": LogUniform(32e9, 8e9, 400e9)},
        answer=_gradients, unit="B",
        traps=(
            Trap("whole weights", lambda g: model_bytes(g.params, 2),
                 "That is the whole model. A chip has gradients of its part of the weights only."),
            Trap("all chips", lambda g: _gradients(g) / g.data,
                 "That is cut along both axes. Along `data` the weights are copies."),
            Trap("fp32", lambda g: _gradients(g, 4), "That is four bytes a gradient; bf16 has two."),
            Trap("on the wire", lambda g: ring_bytes(_gradients(g), g.data),
                 "That is what a ring sends for it. The question is the size of the buffer."),
        ),
        hints=("Which part of the weights does a chip hold?", "Bytes of that part, in bf16."),
        next="How long does it take on one closed torus axis?"),
    Estimate(
        id="named-mesh.2",
        ask="A {chip} does {peak} in bf16 and one torus axis carries {axis}, both ways round "
            "together. Data parallelism gets {axes} of its torus axes, and the job reaches {mfu} of the "
            "peak. From how many tokens per chip on is the traffic hidden?",
        givens={"chip": Choice("TPU v5e", ("TPU v5e", "TPU v5p")), "axes": Choice(1, (1, 2)),
                "mfu": Choice(0.4, (0.4, 0.6, 0.7), "%")},
        facts={"peak": lambda g: show(chips[g.chip].bf16_flops, "FLOP/s"),
               "axis": lambda g: show(_axis(g), "B/s")},
        answer=_tokens, unit="tokens",
        traps=(
            Trap("one direction", lambda g: _tokens(g, share=1 / 2),
                 "That is one direction of a ring. Both carry traffic at once."),
            Trap("all axes", lambda g: _tokens(g, chips[g.chip].axes)
                 if g.axes < chips[g.chip].axes else None,
                 "That uses every axis of the torus. Only those of the mesh axis count."),
            Trap("multiplied", lambda g: g.axes**2 * _tokens(g) if g.axes > 1 else None,
                 "More axes mean more bandwidth, so fewer tokens are needed."),
            Trap("whole peak", _at_peak,
                 "That is at the whole peak. A slower chip leaves more time to communicate."),
        ),
        hints=("Rate over bandwidth, in bf16.", "Add the bandwidth of the axes used."),
        next="What would tensor parallelism beside it change?"),
    Estimate(
        id="named-mesh.3",
        ask="How long does an all-reduce of {size} take on {axes} closed axes of a v5p torus, each "
            "with {axis}, both ways round together?",
        givens={"size": LogUniform(141.2e9, 10e9, 900e9), "axes": Choice(3, (1, 3))},
        facts={"axis": lambda g: show(V5P.axis_planning, "B/s")},
        answer=_torus, unit="s",
        traps=(
            Trap("one leg", lambda g: _torus(g, legs=1),
                 "That is a gather. An all-reduce is a reduce-scatter and a gather."),
            Trap("one direction", lambda g: _torus(g, share=1 / 2),
                 "That uses one direction of each ring."),
            Trap("one axis", lambda g: _torus(g, 1) if g.axes > 1 else None,
                 "That is one axis. The buffer is spread over all that are used."),
            Trap("bits", lambda g: 8 * _torus(g), "The bandwidth is in bytes, not bits."),
        ),
        hints=("Two passes over the buffer.", "Does the number of chips matter?"),
        next="And if the rings do not close?"),
    Estimate(
        id="named-mesh.4",
        ask="A program compiles in {compile}; the job fails every {mtbf} on average. With recovery "
            "in the running process, {skipped} of the restarts need no compilation. Which share of "
            "the time goes into compiling?",
        givens={"compile": Choice(12 * MINUTE, (8 * MINUTE, 12 * MINUTE, 15 * MINUTE), "s"),
                "mtbf": Choice(2.5 * HOUR, (2.5 * HOUR, 3 * HOUR, 5 * HOUR), "s"),
                "skipped": Choice(0.75, (0.5, 0.75), "%")},
        answer=lambda g: _tax(g, 1 - g.skipped), unit="%",
        traps=(
            Trap("every restart", _tax, "That compiles after each failure."),
            Trap("the skipped ones", lambda g: _tax(g, g.skipped) if g.skipped != 0.5 else None,
                 "Those are the restarts that skip it."),
            Trap("half", lambda g: _tax(g, (1 - g.skipped) / 2),
                 "Half an interval of work is lost on average, but a compilation is lost whole."),
        ),
        hints=("Compile time over time between failures.", "Of which restarts?"),
        next="What would a persistent cache have to survive?"),
    Estimate(
        id="named-mesh.5",
        ask="Sequences are padded to buckets that double from {shortest} to {longest} tokens, both "
            "included. Each program compiles in {compile}. How long does it take to "
            "compile them all, one after the other?",
        givens={"shortest": Choice(128, (64, 128, 256)), "longest": Choice(8192, (4096, 8192, 16384)),
                "compile": Choice(20 * MINUTE, (5 * MINUTE, 12 * MINUTE, 20 * MINUTE), "s")},
        answer=lambda g: _programs(g) * g.compile, unit="min",
        traps=(
            Trap("doublings", lambda g: (_programs(g) - 1) * g.compile,
                 "That counts the doublings. The first bucket needs a program as well."),
            Trap("one program", lambda g: g.compile,
                 "That is one program. Every bucket is a shape of its own."),
            Trap("multiples", lambda g: g.longest / g.shortest * g.compile,
                 "That is a bucket at every multiple of the shortest. These double."),
        ),
        hints=("How many doublings lie between them?", "And the first."),
        next="How much of a padded row is wasted at worst?"),
    Implement(
        id="named-mesh.6",
        ask="Write a function that lists the collectives in the text of a compiled program, with "
            "the bytes of their results on one device. Count all-reduce, all-gather, "
            "reduce-scatter, collective-permute and all-to-all; raise `TypeError` for what is no "
            "text.",
        stub='def my_collectives(text):\n'
             '    """(operation, bytes of its result) of each collective of a compiled program, in order."""\n    return ...',
        cases=(
            holds("a program without collectives gives an empty list", lambda f: f("") == []),
            holds("a result that is a tuple counts all its parts, the scalar too",
                  lambda f: _agree(f, _TUPLE)),
            holds("an asynchronous pair counts once", lambda f: _agree(f, _PAIR)),
            holds("bf16 takes half the bytes of f32",
                  lambda f: 2 * f(_BF16)[0][1] == f(_FP32)[0][1]),
            holds("several are listed in the order of the program", lambda f: _agree(f, _TWO)),
            holds("the name of a collective in metadata is ignored", lambda f: f(_NAMED) == []),
            refuses("bytes are refused", b"all-reduce", error=TypeError),
            refuses("None is refused", None, error=TypeError),
        ),
        hints=("One instruction a line: `%name = shape operation(`.",
               "Match the operation only where a bracket follows, with an optional `-start`.",
               "An empty pair of brackets is a scalar."),
        solution='''
import re

CALL = re.compile(r"=\\s+(.+?)\\s(all-reduce|all-gather|reduce-scatter|collective-permute|all-to-all)(?:-start)?\\(")

def my_collectives(text):
    """(operation, bytes of its result) of each collective of a compiled program, in order."""
    if not isinstance(text, str):
        raise TypeError("text must be a str")
    found = []
    for shape, operation in CALL.findall(text):
        total = 0
        for kind, dims in re.findall(r"\\b([a-z]+\\d*)\\[([\\d,]*)\\]", shape):
            elements = 1
            for dim in filter(None, dims.split(",")):
                elements *= int(dim)
            bits = 8 if kind == "pred" else int(re.search(r"\\d+", kind)[0])
            total += elements * bits // 8
        found.append((operation, total))
    return found
''',
        next="Which list would you pin in a test of your own program?"),
    Rubric(
        id="named-mesh.7",
        ask="After a colleague renamed a mesh axis, the compiled program has an all-gather of "
            "{size} in each of {layers} layers; the loss curve looks the same as before. What "
            "happened, what does it cost on one closed axis of {axis}, and what do you do?",
        facts={"size": lambda g: show(_GATHER, "B", 3), "layers": lambda g: figures(LLAMA.layers),
               "axis": lambda g: show(V5P.axis_planning, "B/s"),
               "each": lambda g: show(_STRAY, "s", 3),
               "all": lambda g: show(LLAMA.layers * _STRAY, "s", 2)},
        points=((1, "A partition spec no longer says what was meant, so an operand is cut along "
                    "another dimension or copied, and the compiler repairs it with a gather."),
                (1, "It explains why the loss agrees: shardings change where numbers are, and the "
                    "function stays the same."),
                (1, "It computes {each} per layer and {all} per step, if nothing hides it."),
                (1, "It finds the array: `jax.debug.inspect_array_sharding`, or explicit axes, "
                    "which raise an error where shardings are ambiguous."),
                (1, "It repairs the spec or adds `with_sharding_constraint` at that point."),
                (1, "It proves the repair by comparing the lists of collectives, and keeps that "
                    "comparison as a test.")),
        model="A spec that named the old axis now leaves the weight cut the wrong way, and the "
              "compiler gathers it in every layer: correct, and slow. At {axis} that is {each} a "
              "layer, {all} a step if none of it hides. I would inspect the sharding of the "
              "operand in front of the gather, repair its spec or pin it with a constraint, and "
              "compare the collectives of the compiled program before and after. The list goes "
              "into a test, since no number in the training log would have shown it.",
        hints=("Does a sharding change what is computed?", "Bytes over bandwidth, times layers."),
        next="When would the same gather be what you want?"),
]


def _agree(function, text: str) -> bool:
    return [tuple(pair) for pair in function(text)] == hlo_collectives(text)
