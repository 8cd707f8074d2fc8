"""Questions of chapter 27: recovery point, recovery time, and what they are worth."""
from __future__ import annotations

from ... import (DAY, HOUR, MINUTE, TB, chip_cost, expected_loss, mean_rate, model_bytes, recovery_time, rescale_probability, rpo,
                 transfer_time, young_interval)
from ...quantity import figures
from ..draws import Choice, LogUniform
from ..functions import gives, holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

YEAR = 365 * DAY
_FLEETS = (2_000, 4_000, 8_000, 16_000)
_PRICE = Choice(3 / 3600, (2 / 3600, 2.5 / 3600, 3 / 3600, 4 / 3600), "$/s")


def _transfer(g: Givens, width: float = 1) -> float:
    return transfer_time(g.size, width * g.line)


def _stages(g: Givens, **other: float) -> float:
    times = dict(detect=g.detect, capacity=g.capacity, health=g.health, image=0, load=g.load, init=0, warmup=g.warmup, validate=g.validate)
    return recovery_time(**(times | other))


def _value(g: Givens) -> float:
    return g.gpus * g.price


def _chance(g: Givens, times: float = 1) -> float:
    return rescale_probability(g.yearly, YEAR, times * g.run)


def _copy(g: Givens, cost: float = 1, rate: float = 1) -> float:
    """The best interval of remote copies, with the cost or the rate scaled."""
    return young_interval(cost * g.copy * HOUR / g.hour, YEAR / (rate * g.yearly))


def _money(dollars: float, digits: int = 3) -> str:
    return f"${figures(dollars / 1e6, digits)} million" if dollars >= 1e6 else f"${figures(round(dollars, -2), digits)}"


QUESTIONS = [
    Estimate(
        id="disaster-recovery.1",
        ask="What does an hour without {gpus} GPUs cost at a rent of {price} each?",
        givens={"gpus": Choice(8_000, _FLEETS), "price": _PRICE},
        answer=lambda g: chip_cost(g.gpus * HOUR, g.price), unit="$",
        traps=(
            Trap("nodes", lambda g: chip_cost(g.gpus / 8 * HOUR, g.price), "That rents nodes of eight at the price of one GPU."),
            Trap("a day", lambda g: chip_cost(g.gpus * DAY, g.price), "That is a day."),
            Trap("a minute", lambda g: chip_cost(g.gpus * MINUTE, g.price), "That is a minute."),
        ),
        hints=("All GPUs wait together.",),
        next="When is an hour worth more than the rent?"),
    Estimate(
        id="disaster-recovery.2",
        ask="A checkpoint of {params} parameters, {state} each, is made every {interval}. Which line to another site, in Gb/s, just keeps up?",
        givens={"params": LogUniform(70.6e9, 30e9, 1e12), "state": Choice(16, (12, 14, 16), "B"),
                "interval": Choice(15 * MINUTE, (15 * MINUTE, 30 * MINUTE, 60 * MINUTE), "s")},
        answer=lambda g: mean_rate(model_bytes(g.params, g.state), g.interval), unit="Gb/s",
        traps=(
            Trap("bytes for bits", lambda g: mean_rate(model_bytes(g.params, g.state), g.interval) / 8, "Those are gigabytes a second. Lines are sold in bits."),
            Trap("bits twice", lambda g: mean_rate(model_bytes(g.params, g.state), g.interval) * 8, "The eight has been taken twice."),
            Trap("weights only", lambda g: mean_rate(model_bytes(g.params, 2), g.interval) if g.state != 16 else None,
                 "That sends the weights alone. A run cannot go on without its optimizer state."),
        ),
        hints=("The whole interval may be used.", "Bytes over the interval, then bits."),
        next="What happens on a line half as wide?"),
    Estimate(
        id="disaster-recovery.3",
        ask="Checkpoints of {size} start every {interval}, take {write} to write, and then cross a line of {line}. How old is the newest remote copy at worst, in minutes?",
        givens={"size": Choice(14e12, (8e12, 10e12, 14e12), "B"), "interval": Choice(60 * MINUTE, (30 * MINUTE, 45 * MINUTE, 60 * MINUTE), "s"),
                "write": Choice(140, (90, 140, 200), "s"), "line": Choice(25e9, (12.5e9, 25e9), "B/s")},
        answer=lambda g: rpo(g.interval, g.write, _transfer(g)), unit="minutes",
        traps=(
            Trap("interval alone", lambda g: g.interval, "That is the interval alone. A copy counts when its last byte has arrived."),
            Trap("mean", lambda g: rpo(g.interval, g.write, _transfer(g), 0.5), "That is the mean. At worst a whole interval has passed."),
            Trap("no transfer", lambda g: g.interval + g.write, "The transfer is missing."),
            Trap("transfer alone", lambda g: _transfer(g), "That is the transfer alone. The state was already old when it began to move."),
            Trap("two intervals", lambda g: rpo(2 * g.interval, g.write, _transfer(g)), "That counts two intervals."),
        ),
        hints=("Follow one state from the moment it is saved until it has arrived.", "Interval, write and transfer."),
        next="Which of the three would you spend money on?"),
    Estimate(
        id="disaster-recovery.4",
        ask="One checkpoint of {size} every {interval} is sent to another region over {line}; its write takes {write}. How much work is lost on average, in minutes, when the building burns?",
        givens={"size": Choice(14e12, (8e12, 10e12, 14e12), "B"), "interval": Choice(60 * MINUTE, (30 * MINUTE, 45 * MINUTE, 60 * MINUTE), "s"),
                "write": Choice(140, (90, 140, 200), "s"), "line": Choice(25e9, (12.5e9, 25e9), "B/s")},
        answer=lambda g: rpo(g.interval, g.write, _transfer(g), 0.5), unit="minutes",
        traps=(
            Trap("worst", lambda g: rpo(g.interval, g.write, _transfer(g)), "That is the worst case. On average half the interval has passed."),
            Trap("half of all", lambda g: rpo(g.interval, g.write, _transfer(g)) / 2, "Only the interval is halved. Every copy is written and sent in full."),
            Trap("half the interval", lambda g: g.interval / 2, "That forgets the write and the transfer."),
        ),
        hints=("Which part depends on the moment of the fire?",),
        next="Which of the two figures would you promise?"),
    Estimate(
        id="disaster-recovery.5",
        ask="A remote copy costs {copy} dollars, an hour of the fleet {hour} dollars, and the building is lost with a rate of {yearly} a year. How many hours apart should copies be?",
        givens={"copy": Choice(280, (100, 280, 500)), "hour": Choice(50_000, (10_000, 20_000, 50_000)), "yearly": Choice(0.05, (0.01, 0.02, 0.05), "%")},
        answer=_copy, unit="hours", within=0.03,
        traps=(
            Trap("no two", lambda g: _copy(g, cost=0.5), "The two under the root is missing: half an interval is lost, not a whole one."),
            Trap("twice", lambda g: _copy(g, cost=2), "That has one two too many under the root."),
            Trap("monthly rate", lambda g: _copy(g, rate=12), "The rate is for a year. It looks as if it was taken for a month."),
        ),
        hints=("Young's formula, with money: what plays the save, what the time between failures?",
               "The save is the price of a copy over the value of an hour."),
        next="Why would anybody copy more often than that?"),
    Estimate(
        id="disaster-recovery.6",
        ask="A site is lost. Declaring it takes {detect}, GPUs at the other site are free after {capacity}, tests take {health}, loading {load}, warming up {warmup}, "
            "and comparing losses {validate}. What is the recovery time in minutes?",
        givens={"detect": Choice(30 * MINUTE, (20 * MINUTE, 30 * MINUTE), "s"), "capacity": Choice(15 * MINUTE, (10 * MINUTE, 15 * MINUTE), "s"),
                "health": Choice(10 * MINUTE, (10 * MINUTE, 12 * MINUTE), "s"), "load": Choice(3 * MINUTE, (3 * MINUTE, 4 * MINUTE), "s"),
                "warmup": Choice(6 * MINUTE, (6 * MINUTE, 8 * MINUTE), "s"), "validate": Choice(25 * MINUTE, (25 * MINUTE, 40 * MINUTE), "s")},
        answer=_stages, unit="minutes", within=0.01,
        traps=(
            Trap("loading alone", lambda g: g.load, "That is the loading alone, the part that a machine does fast."),
            Trap("not declared", lambda g: _stages(g, detect=0), "Nobody has declared the loss. Until then nothing starts."),
            Trap("not validated", lambda g: _stages(g, validate=0), "Without comparing losses nobody knows that the right state came back."),
            Trap("no capacity", lambda g: _stages(g, capacity=0), "The GPUs at the other site are taken as free."),
        ),
        hints=("The stages wait for each other.",),
        next="Which stage did you measure, and which did you guess?"),
    Estimate(
        id="disaster-recovery.7",
        ask="A run of {run} on {gpus} GPUs at {price} keeps no copy outside its building. The building is lost with a probability of {yearly} a year. "
            "What is the expected cost of the work that would be undone?",
        givens={"run": Choice(90 * DAY, (60 * DAY, 90 * DAY, 120 * DAY), "s"), "gpus": Choice(16_000, _FLEETS), "price": _PRICE,
                "yearly": Choice(0.03, (0.01, 0.02, 0.03, 0.05), "%")},
        answer=lambda g: expected_loss(_chance(g), g.run / 2, _value(g)), unit="$",
        traps=(
            Trap("whole run", lambda g: expected_loss(_chance(g), g.run, _value(g)), "That loses the whole run. The event comes halfway through, on average."),
            Trap("year", lambda g: expected_loss(g.yearly, g.run / 2, _value(g)), "That takes the probability of a whole year for a shorter run."),
            Trap("certain", lambda g: g.run / 2 * _value(g), "That is the loss if it happens. How probable is it?"),
        ),
        hints=("Restate the probability for the length of the run.", "When does the event come, on average?"),
        next="Why is this number alone no decision?"),
    Implement(
        id="disaster-recovery.8",
        ask="Write the recovery point: `phase` of an interval, write and transfer. When a transfer takes longer than the interval only the newest checkpoint is sent, "
            "back to back: return the bound of two transfers, an interval and a write. Refuse negative times and phases outside zero to one.",
        stub='def my_rpo(interval, write, transfer, phase=1):\n    """Age of the newest remote copy when the site is lost; phase 1 is the worst case, 1/2 the mean."""\n    return ...',
        cases=(
            gives("at worst a whole interval, a write and a transfer", rpo, 1800, 64.8, 518.4),
            gives("on average half an interval", rpo, 1800, 64.8, 518.4, 0.5),
            gives("just after an arrival the copy is as old as write and transfer", rpo, 1800, 64.8, 518.4, 0),
            gives("a transfer as long as the interval still keeps up", rpo, 1800, 60, 1800),
            gives("beyond it the bound holds", rpo, 1800, 64.8, 5184),
            gives("nothing to write and nothing to send leaves the interval", rpo, 1800, 0, 0),
            holds("the bound is no less than the sawtooth would be", lambda f: f(600, 30, 601) >= f(600, 30, 600)),
            refuses("a negative write is refused", 1800, -1, 500, error=ValueError),
            refuses("a negative interval is refused", -1800, 60, 500, error=ValueError),
            refuses("a phase above one is refused", 1800, 60, 500, 1.5, error=ValueError),
            refuses("NaN is refused", 1800, float("nan"), 500, error=ValueError),
        ),
        hints=("Compare the transfer with the interval first.", "Comparisons with NaN are false: write the check so that false means refused."),
        solution='''
def my_rpo(interval, write, transfer, phase=1):
    """Age of the newest remote copy when the site is lost; phase 1 is the worst case, 1/2 the mean."""
    if not (interval > 0 and write >= 0 and transfer >= 0 and 0 <= phase <= 1):
        raise ValueError(f"times must not be negative and phase lies in 0 to 1, got {interval!r}, {write!r}, {transfer!r}, {phase!r}")
    if transfer > interval:
        return 2 * transfer + interval + write
    return phase * interval + write + transfer
''',
        next="How old does the copy get on a slow line that sends every checkpoint in order?"),
    Rubric(
        id="disaster-recovery.9",
        ask="The finance director asks: {gpus} GPUs for {run} in one building, and no second cluster? Answer with numbers.",
        givens={"gpus": Choice(8_000, (8_000, 16_000)), "run": Choice(90 * DAY, (90 * DAY, 120 * DAY), "s"), "yearly": Choice(0.02, (0.02,), "%"),
                "price": Choice(2.5 / 3600, (2.5 / 3600,), "$/s"), "size": Choice(6.48e12, (6.48e12,), "B")},
        facts={"bet": lambda g: _money(g.run * _value(g)), "half": lambda g: _money(g.run / 2 * _value(g)),
               "expected": lambda g: _money(expected_loss(_chance(g), g.run / 2, _value(g))),
               "chance": lambda g: f"{figures(100 * _chance(g), 2)}%",
               "daily": lambda g: _money(20 * g.size / TB * g.run / DAY), "hour": lambda g: _money(HOUR * _value(g))},
        points=((2, "It gives the expected loss, about {expected}, and how it comes about."),
                (2, "It names the tail apart: up to {bet} with a probability near {chance}."),
                (2, "It offers steps with prices: a daily copy for about {daily}, tested restores, capacity by contract, an idle twin for {bet}."),
                (1, "It says what would change the decision: what an hour is worth, a deadline, a regulator."),
                (1, "It asks for a budget for drills.")),
        model="If the building is lost, which has a probability near {chance}, half the run is gone on average: {half}, so about {expected} in expectation. A second cluster costs {bet} again "
              "and would stand idle. A daily copy elsewhere costs about {daily} and takes most of that loss away; a restore test each month makes sure that it does; a contract for "
              "capacity shortens the rest. What remains is a rare delay at {hour} an hour. If a deadline makes an hour worth much more, a right to preempt another fleet comes next.",
        hints=("What is lost, how probable is it, and what takes the loss away?", "Expectation and tail are two answers."),
        next="And how do you know that the copy can be restored?"),
]
