"""Questions of the chapter on shared pools: reclaim time, broken limits, headroom, loans."""
from __future__ import annotations

from ... import (HOUR, MINUTE, headroom_needed, loan_efficiency, min_loan_window, reclaim_time, slo_break_ramp, slo_break_step,
                 transfer_time)
from ...quantity import figures
from ..draws import Choice, LogUniform
from ..functions import gives, holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

CHUNK = 64


def _reclaim(g: Givens, **change: float) -> float:
    parts = dict(detect=g.detect, boundary=0, save=g.save, teardown=g.teardown, health=g.health, load=transfer_time(g.weights, g.bandwidth),
                 warmup=g.warmup)
    return reclaim_time(**{**parts, **change})


def _ramp(g: Givens) -> float:
    return g.rise / MINUTE


def _lost(g: Givens, gpus: float | None = None, each: float | None = None) -> float:
    return g.reclaims * (g.gang if gpus is None else gpus) * (g.save + g.restart if each is None else each)


QUESTIONS = [
    Estimate(
        id="shared-pool.1",
        ask="A pool serves exactly its demand. The demand jumps by {overload} and stays. How long until requests wait {slo} in the queue?",
        givens={"overload": Choice(0.12, (0.08, 0.12, 0.15, 0.25, 0.4), "%"), "slo": Choice(1.5, (1, 1.5, 2, 3, 5), "s")},
        answer=lambda g: slo_break_step(g.slo, g.overload), unit="s",
        traps=(
            Trap("multiplied", lambda g: g.slo * g.overload, "That multiplies. A larger overload must break the limit sooner."),
            Trap("share of the new demand", lambda g: slo_break_step(g.slo, g.overload / (1 + g.overload)),
                 "The overload is a share of what the pool serves; you took it as a share of the new demand."),
            Trap("half", lambda g: slo_break_step(g.slo, g.overload) / 2, "There is a two too many: the backlog grows by the overload each second."),
        ),
        hints=("How much work is added to the queue in each second, beyond what is served?", "The wait is the backlog over the rate of service."),
        next="What if the demand ramps instead of jumping?"),
    Estimate(
        id="shared-pool.2",
        ask="A loan of GPUs costs training {overhead} for start and save. How long must it last so that {efficiency} of it trains?",
        givens={"overhead": Choice(200, (120, 200, 280, 360, 480), "s"), "efficiency": Choice(0.9, (0.8, 0.85, 0.9, 0.95), "%")},
        answer=lambda g: min_loan_window(g.efficiency, g.overhead), unit="minutes",
        traps=(
            Trap("divided by the efficiency", lambda g: g.overhead / g.efficiency, "The overhead is the other share, what does not train."),
            Trap("training alone", lambda g: g.efficiency * min_loan_window(g.efficiency, g.overhead),
                 "That is the time that trains. The loan includes its overhead."),
        ),
        hints=("Which share of the loan may the overhead be?",),
        remark="Below that length, lending mostly buys starts and saves.",
        next="How does an asynchronous save change it?"),
    Estimate(
        id="shared-pool.3",
        ask="A lent GPU is back after {reclaim}. Demand can rise, unforeseen, by {rise} of the peak each minute, and by {amplitude} in all. "
            "How much headroom keeps a queue from forming, as a share of the peak?",
        givens={"reclaim": Choice(120, (90, 120, 180, 280), "s"), "rise": Choice(0.06, (0.02, 0.06, 0.11), "%"),
                "amplitude": Choice(0.2, (0.2, 0.25, 0.3), "%")},
        answer=lambda g: headroom_needed(_ramp(g), g.reclaim, g.amplitude), unit="%",
        traps=(
            Trap("the whole rise", lambda g: g.amplitude if _ramp(g) * g.reclaim < g.amplitude else None,
                 "That holds the whole rise. GPUs come back while it goes on."),
            Trap("not capped", lambda g: _ramp(g) * g.reclaim if _ramp(g) * g.reclaim > g.amplitude else None,
                 "The rise ends before the GPUs are back; more than its height is never needed."),
            Trap("one minute", lambda g: g.rise, "That is the rise of one minute. It goes on until the GPUs are back."),
        ),
        hints=("How far does demand rise until the first GPU is back?", "And is the rise over by then?"),
        next="And if the rise can be foreseen?"),
    Estimate(
        id="shared-pool.4",
        ask="In a week {reclaims} reclaims stop a gang of {gang} GPUs, each time for a save of {save} and a restart of {restart}. "
            "Each takes a chunk of {chunk} GPUs. How many GPU-hours are lost?",
        givens={"reclaims": Choice(40, (20, 30, 40, 60), ""), "gang": Choice(256, (256, 512, 1024), ""), "save": Choice(65, (65, 90), "s"),
                "restart": Choice(300, (240, 300, 420), "s"), "chunk": Choice(CHUNK, (CHUNK,), "")},
        answer=_lost, unit="GPU-hours",
        traps=(
            Trap("chunk only", lambda g: _lost(g, gpus=g.chunk), "That counts the GPUs that leave. The whole gang stops."),
            Trap("save only", lambda g: _lost(g, each=g.save), "That is the save alone; the restart is missing."),
            Trap("restart only", lambda g: _lost(g, each=g.restart), "That is the restart alone; the save is missing."),
            Trap("one reclaim", lambda g: _lost(g) / g.reclaims, "That is the loss of a single reclaim."),
        ),
        hints=("Who stands still when one chunk leaves a gang?", "Reclaims times GPUs times the time of each."),
        next="How would elastic training change it?"),
    Estimate(
        id="shared-pool.5",
        ask="To take GPUs back from training: {detect} to detect and decide, {save} to save, {teardown} to tear down, {health} of checks, then "
            "{weights} of weights at {bandwidth} and {warmup} of warm-up. Training needs {restart} to restart elsewhere. When do the GPUs serve?",
        givens={"detect": Choice(30, (15, 30, 45), "s"), "save": Choice(65, (50, 65, 80), "s"), "teardown": Choice(30, (20, 30), "s"),
                "health": Choice(60, (40, 60, 90), "s"), "weights": LogUniform(141e9, 6e10, 3e11, "B"),
                "bandwidth": Choice(5e9, (4e9, 5e9, 8e9), "B/s"), "warmup": Choice(60, (50, 60, 90), "s"), "restart": Choice(300, (240, 300, 480), "s")},
        answer=_reclaim, unit="s",
        traps=(
            Trap("grace only", lambda g: g.teardown, "That is the grace period. The state has to be saved, and the engine to start."),
            Trap("no warm-up", lambda g: _reclaim(g, warmup=0), "The engine does not serve before it is warm."),
            Trap("no load", lambda g: _reclaim(g, load=0), "The weights have to be loaded first."),
            Trap("training's restart", lambda g: _reclaim(g) + g.restart, "Training's restart happens elsewhere; inference does not wait for it."),
        ),
        hints=("Which of these stages must end before the next begins?", "Which is not on the way to serving?"),
        next="Which stage would you shorten first?"),
    Implement(
        id="shared-pool.6",
        ask="Demand equals capacity less a headroom and begins to rise steadily. Write when the queue's delay reaches the limit. `ramp` is the rise per "
            "second and `headroom` the free capacity, both as shares of capacity. Raise `ValueError` for negative arguments.",
        stub='def my_break_time(slo, ramp, headroom=0):\n    """Seconds from the start of a ramp until the queue\'s delay reaches the limit."""\n    return ...',
        cases=(
            gives("without headroom it is the time of the ramp's own queue", slo_break_ramp, 2, 0.01),
            gives("headroom delays the start of the queue", slo_break_ramp, 2, 0.004, 0.1),
            holds("a limit of zero breaks when the headroom is used up", lambda f: abs(f(0, 0.01, 0.2) - 0.2 / 0.01) < 1e-9),
            holds("without a rise it never breaks", lambda f: f(2, 0) > 1e300),
            holds("a queue simulated second by second breaks then", lambda f: _simulated(f)),
            refuses("a negative limit is refused", -1, 0.01, error=ValueError),
            refuses("a negative headroom is refused", 1, 0.01, -0.1, error=ValueError),
        ),
        hints=("First the headroom is used up: headroom over ramp.", "Then the backlog is the area of a triangle, ramp times time squared over two."),
        solution='''
import math

def my_break_time(slo, ramp, headroom=0):
    """Seconds from the start of a ramp until the queue's delay reaches the limit."""
    if not (slo >= 0 and ramp >= 0 and headroom >= 0):
        raise ValueError(f"slo, ramp and headroom must not be negative, got {slo!r}, {ramp!r}, {headroom!r}")
    if ramp == 0:
        return math.inf
    return headroom / ramp + math.sqrt(2 * slo / ramp)
''',
        next="When does the ramp end, and what if the headroom covers all of it?"),
    Rubric(
        id="shared-pool.7",
        ask="A colleague says: when traffic comes back we preempt training. The grace period is {grace}, so we are fine. Requests may wait {slo}, and "
            "an unforeseen jump adds {overload} within a minute. What do you answer?",
        givens={"grace": Choice(30, (30,), "s"), "slo": Choice(2, (2,), "s"), "overload": Choice(0.25, (0.25,), "%")},
        facts={"reclaim": lambda g: f"{figures(_usual() / MINUTE, 2)} minutes", "broken": lambda g: f"{figures(slo_break_step(g.slo, g.overload), 2)} s",
               "headroom": lambda g: f"{figures(100 * headroom_needed(g.overload / MINUTE, _usual(), g.overload), 2)}%",
               "loan": lambda g: f"{figures(100 * loan_efficiency(HOUR, 365), 2)}%"},
        points=((2, "It lists what the grace period leaves out: detection, the step, the save, checks, weights, warm-up."),
                (1, "It compares the reclaim, {reclaim}, with the break of the limit, {broken}."),
                (1, "It separates the daily rise, which can be foreseen, from the jump, which cannot."),
                (2, "It proposes a floor and headroom with a number, {headroom} of the peak, and says what they cost.")),
        model="The grace period is one stage. Detecting, ending the step, saving, checking, loading weights and warming up make it about {reclaim}, and "
              "after a sudden overload the limit is broken in {broken}. The daily rise can be foreseen, so reclaim ahead of it. For the jump keep {headroom} "
              "of the peak warm, as a floor where demand is low and as headroom where it is high; those GPUs train nothing. Lend the rest, for an "
              "hour or more, of which {loan} trains.",
        hints=("When does the first request get an answer from a reclaimed GPU?", "Which part of the traffic do you know in advance?"),
        next="What is the last part of that headroom worth, per minute of violation?"),
]


def _usual() -> float:
    """The chapter's reclaim: save of a 405B model, load of a 70B one."""
    return reclaim_time(detect=30, boundary=6.2, save=64.8, teardown=30, health=60, load=transfer_time(2 * 70.6e9, 5e9), warmup=60)


def _simulated(function) -> bool:
    slo, ramp, headroom, step = 3, 0.002, 0.05, 0.01
    backlog, time = 0.0, 0.0
    while backlog < slo:
        backlog, time = max(0, backlog + (ramp * time - headroom) * step), time + step
    return abs(function(slo, ramp, headroom) / time - 1) < 0.005
