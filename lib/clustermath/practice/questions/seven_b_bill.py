"""Questions of chapter 6: a fleet, a date and a bill for a small pre-training run."""
from __future__ import annotations

from math import ceil

from ... import (DAY, HOUR, bytes_per_param, chip_cost, chip_time_needed, chips, chips_for_memory, chips_needed,
                 model_bytes, plan_run, round_up_chips, training_flops, training_time)
from ..draws import Choice, LogUniform
from ..functions import Stumble, holds, refuses
from ..spec import Estimate, Givens, Implement, Rubric, Trap

H100, A100 = chips["H100 SXM"], chips["A100 80GB"]
NODE = 8
MEMORY = (NODE, 16, 80e9, 0.8)  # node, bytes of state, memory, usable share
MFUS = (0.3, 0.35, 0.4, 0.45, 0.5)
RENTS = tuple(rent / HOUR for rent in (1.75, 2.25, 2.75, 3.25))
SPARSE = {"sparse": lambda g: f"{H100.bf16_sparse / 1e12:,.0f} TFLOP/s"}


def _work(g: Givens, factor: float = 6) -> float:
    return training_flops(g.params, g.tokens, factor)


def _chip_time(g: Givens, factor: float = 6, peak: float = H100.bf16_flops,
               mfu: float | None = None) -> float:
    return chip_time_needed(_work(g, factor), peak, g.mfu if mfu is None else mfu)


def _bill(g: Givens, **change: float) -> float:
    return chip_cost(_chip_time(g, **change), g.price)


def _raw(g: Givens, factor: float = 6, peak: float = H100.bf16_flops,
         mfu: float | None = None) -> float:
    return chips_needed(_work(g, factor), g.days * DAY, peak, g.mfu if mfu is None else mfu)


def _nodes(g: Givens, **change: float) -> int:
    """GPUs in whole nodes."""
    return int(round_up_chips(_raw(g, **change), NODE))


def _power(g: Givens) -> int:
    return int(round_up_chips(_raw(g), power_of_two=1))


def _days_on(g: Givens, count: float, **change: float) -> float:
    return _chip_time(g, **change) / count


def _least_goodput(g: Givens) -> float:
    """Share of the clock that must train, on whole nodes."""
    return plan_run(g.params, g.tokens, g.days * DAY, H100.bf16_flops, g.mfu, 0, NODE,
                    power_of_two=0).min_goodput


def _waiting(g: Givens) -> float:
    """Share of the fleet's time that waits when whole sequences are dealt out."""
    return 1 - g.sequences / (g.chips * ceil(g.sequences / g.chips))


def _crossover(g: Givens, size: float = 16, usable: float | None = None,
               peak: float = H100.bf16_flops, mfu: float | None = None,
               factor: float = 6) -> float:
    """Tokens at which compute and memory ask for as many GPUs; the model's size cancels."""
    params = 7e9
    memory = chips_for_memory(model_bytes(params, size), H100.hbm,
                              g.usable if usable is None else usable)
    per_token = training_flops(params, 1, factor)
    share = g.mfu if mfu is None else mfu
    return memory * g.days * DAY * peak * share / per_token


def _dearer(g: Givens, h100: float = H100.bf16_flops) -> float:
    """The bill on A100s over the bill on H100s, at equal utilization."""
    return (chip_cost(chip_time_needed(1e22, A100.bf16_flops, 0.4), g.old)
            / chip_cost(chip_time_needed(1e22, h100, 0.4), g.new))


QUESTIONS = [
    Estimate(
        id="seven-b-bill.1",
        ask="What does it cost to train {params} parameters on {tokens} tokens with H100s at {mfu} "
            "MFU, at {price} for each?",
        givens={"params": LogUniform(3e9, 1e9, 30e9), "tokens": LogUniform(3e11, 1e11, 5e12),
                "mfu": Choice(0.4, MFUS, "%"), "price": Choice(2.75 / HOUR, RENTS, "$/s")},
        facts=SPARSE, answer=_bill, unit="$",
        traps=(
            Trap("forward only", lambda g: _bill(g, factor=2),
                 "That counts the forward pass alone, 2ND. Training costs 6ND."),
            Trap("recompute counted", lambda g: _bill(g, factor=8),
                 "That is 8ND. Recomputed FLOPs are not in the MFU, so they do not belong in the "
                 "work either."),
            Trap("no MFU", lambda g: _bill(g, mfu=1),
                 "That is the bill of a fleet that runs at its peak. Divide by the MFU."),
            Trap("hours as dollars", lambda g: _chip_time(g) / HOUR,
                 "That is the number of GPU-hours. Multiply by the rent."),
            Trap("sparse peak", lambda g: _bill(g, peak=H100.bf16_sparse),
                 "The peak is the figure with sparsity, {sparse}. Training uses the dense one, "
                 "half of it."),
            Trap("days times hourly rent", lambda g: _bill(g) * HOUR / DAY,
                 "GPU-days were multiplied by a rent per hour."),
            Trap("per node", lambda g: _bill(g) * NODE,
                 "The rent is per GPU; it was multiplied by the GPUs of a node once more."),
        ),
        hints=("You need neither a number of GPUs nor a date.",
               "FLOPs over what one GPU delivers in an hour are GPU-hours; times the rent."),
        next="Which of the inputs would you want in writing before you commit to this?"),
    Estimate(
        id="seven-b-bill.2",
        ask="{params} parameters, {tokens} tokens, {days} days, H100s at {mfu} MFU. How many GPUs "
            "do you rent, in whole nodes of eight?",
        givens={"params": LogUniform(13e9, 5e9, 40e9), "tokens": LogUniform(2e12, 1e12, 5e12),
                "days": Choice(30, (21, 30, 45, 60)), "mfu": Choice(0.4, MFUS, "%")},
        facts=SPARSE, answer=_nodes, unit="GPUs", whole=True,
        traps=(
            Trap("not rounded to nodes",
                 lambda g: None if ceil(_raw(g)) == _nodes(g) else ceil(_raw(g)),
                 "That many are needed, but they come in nodes of eight: round up to a multiple."),
            Trap("rounded down", lambda g: _nodes(g) - NODE or None,
                 "One node fewer, and the date is missed: round up."),
            Trap("power of two", lambda g: None if _power(g) == _nodes(g) else _power(g),
                 "That is the next power of two. Whole nodes are enough here."),
            Trap("sparse peak", lambda g: _nodes(g, peak=H100.bf16_sparse),
                 "The peak is the figure with sparsity, {sparse}. The dense one is half of it."),
            Trap("forward only", lambda g: _nodes(g, factor=2),
                 "That counts the forward pass alone, 2ND."),
            Trap("no MFU", lambda g: _nodes(g, mfu=1),
                 "That fleet would have to run at its peak."),
        ),
        hints=("Work over what one GPU does until the deadline.",
               "Then up to the next multiple of eight, never to the nearest."),
        next="Would you ask for exactly that many? What would make you ask for a power of two?"),
    Estimate(
        id="seven-b-bill.3",
        ask="For {params} parameters on {tokens} tokens in {days} days at {mfu} MFU you rent the "
            "fewest whole nodes of eight H100s that do it. How many days does the run take on "
            "them, if nothing goes wrong?",
        givens={"params": Choice(7e9, (3e9, 7e9, 8e9, 13e9)),
                "tokens": Choice(1e12, (5e11, 1e12, 2e12)), "days": Choice(21, (14, 21, 28, 30)),
                "mfu": Choice(0.45, MFUS, "%")},
        facts=SPARSE | {"fleet": _nodes},
        answer=lambda g: _days_on(g, _nodes(g)), unit="days", within=0.01,
        traps=(
            Trap("the deadline", lambda g: g.days * DAY,
                 "That is the deadline. Rounding up to whole nodes makes the run shorter."),
            Trap("power of two",
                 lambda g: None if _power(g) == _nodes(g) else _days_on(g, _power(g)),
                 "That is the time on the next power of two. Whole nodes were asked for."),
            Trap("one node fewer",
                 lambda g: _days_on(g, _nodes(g) - NODE) if _nodes(g) > NODE else None,
                 "That fleet was rounded down, and it misses the deadline."),
            Trap("no MFU", lambda g: _days_on(g, _nodes(g), mfu=1),
                 "That is the time at peak; the MFU is missing."),
            Trap("forward only", lambda g: _days_on(g, _nodes(g), factor=2),
                 "That counts the forward pass alone."),
            Trap("sparse peak", lambda g: _days_on(g, _nodes(g), peak=H100.bf16_sparse),
                 "The peak is the figure with sparsity, {sparse}."),
        ),
        hints=("First the fleet, in whole nodes.", "Then the work over what {fleet} GPUs deliver."),
        next="Which goodput does that leave room for?"),
    Estimate(
        id="seven-b-bill.4",
        ask="{fleet} H100s are to train {params} parameters on {tokens} tokens within {days} days, "
            "at {mfu} MFU while they step. Which share of the clock has to be spent training, at "
            "least?",
        givens={"params": Choice(7e9, (3e9, 7e9, 8e9, 13e9)),
                "tokens": Choice(1e12, (5e11, 1e12, 2e12)), "days": Choice(21, (14, 21, 28, 30)),
                "mfu": Choice(0.4, MFUS, "%")},
        facts=SPARSE | {"fleet": _nodes}, answer=_least_goodput, unit="%", within=0.01,
        traps=(
            Trap("upside down", lambda g: 1 / _least_goodput(g),
                 "That is the deadline over the run time, the other way round. A goodput is at "
                 "most one."),
            Trap("the margin", lambda g: 1 - _least_goodput(g),
                 "That is the share that may be lost, not the share that must train."),
            Trap("the slack", lambda g: 1 / _least_goodput(g) - 1,
                 "That is the slack over the run time. The share of the clock that trains is asked "
                 "for."),
            Trap("the MFU", lambda g: g.mfu * _least_goodput(g),
                 "That is the lowest MFU if no time is lost. Goodput is asked for."),
            Trap("sparse peak", lambda g: _least_goodput(g) / 2,
                 "The peak is the figure with sparsity, {sparse}."),
        ),
        hints=("How long does the run take if no time is lost?",
               "That time over the deadline."),
        next="What uses up the rest, and how would you find out in the first week?"),
    Estimate(
        id="seven-b-bill.5",
        ask="A batch of {sequences} sequences is dealt out whole to {chips} GPUs, and a step lasts "
            "as long as the longest queue. Which share of the fleet's time is spent waiting?",
        givens={"sequences": Choice(1024, (512, 1024, 2048)),
                "chips": Choice(59, (24, 40, 56, 59, 60, 72, 88, 96, 120))},
        facts={"longest": lambda g: ceil(g.sequences / g.chips),
               "mean": lambda g: f"{g.sequences / g.chips:.1f}"},
        answer=_waiting, unit="%",
        traps=(
            Trap("GPUs that wait", lambda g: (g.chips - g.sequences % g.chips) / g.chips,
                 "That is the share of the GPUs that wait at all. Each waits for one sequence "
                 "only."),
            Trap("a whole sequence each", lambda g: 1 / ceil(g.sequences / g.chips),
                 "That would be every GPU waiting for one sequence. Some are busy to the end."),
            Trap("the busy share", lambda g: 1 - _waiting(g),
                 "That is the share of the time in which GPUs compute."),
        ),
        hints=("How many sequences does the busiest GPU get, and how many the average one?",
               "The longest queue is {longest}, the mean {mean}."),
        next="Which batch would you choose for this fleet, or which fleet for this batch?"),
    Estimate(
        id="seven-b-bill.6",
        ask="A run of {days} days on H100s at {mfu} MFU; {usable} of their {hbm} may hold training "
            "state, {state} bytes per parameter. Below how many training tokens does memory ask for "
            "more GPUs than compute does?",
        givens={"days": Choice(21, (3, 7, 14, 21, 60, 90)), "mfu": Choice(0.4, MFUS, "%"),
                "usable": Choice(0.8, (0.6, 0.7, 0.8, 0.9), "%")},
        facts=SPARSE | {"hbm": lambda g: H100.hbm, "state": lambda g: bytes_per_param()},
        answer=_crossover, unit="tokens",
        traps=(
            Trap("all memory", lambda g: _crossover(g, usable=1),
                 "That fills the memory to the last byte; only a part is left for the state."),
            Trap("weights only", lambda g: _crossover(g, size=2),
                 "That counts bf16 weights. Training keeps {state} bytes per parameter."),
            Trap("forward only", lambda g: _crossover(g, factor=2),
                 "A training token costs 6N, not 2N."),
            Trap("no MFU", lambda g: _crossover(g, mfu=1),
                 "That lets every GPU run at its peak; the MFU is missing."),
            Trap("sparse peak", lambda g: _crossover(g, peak=H100.bf16_sparse),
                 "The peak is the figure with sparsity, {sparse}."),
        ),
        hints=("Write both fleets down: 6ND over what a GPU does until the deadline, and {state} bytes "
               "per parameter over its usable memory.",
               "Set them equal. The parameters cancel."),
        remark="No model size is given, and none is needed: both fleets grow with it alike.",
        next="Where does a fine-tune on a small data set stand, and what sizes it?"),
    Estimate(
        id="seven-b-bill.7",
        ask="An A100 rents for {old} and an H100 for {new}. The same run, at the same MFU on "
            "either: by which factor is it dearer on A100s?",
        givens={"old": Choice(1.5 / HOUR, tuple(x / HOUR for x in (1.1, 1.3, 1.5, 1.8)), "$/s"),
                "new": Choice(2.5 / HOUR, RENTS, "$/s")},
        facts=SPARSE, answer=_dearer, unit="",
        traps=(
            Trap("rents alone", lambda g: g.old / g.new,
                 "That compares rents per hour. The A100 also needs more hours."),
            Trap("peaks alone", lambda g: H100.bf16_flops / A100.bf16_flops,
                 "That compares the peaks. The rents differ too."),
            Trap("sparse peak", lambda g: _dearer(g, H100.bf16_sparse),
                 "That sets an H100 with sparsity, {sparse}, against a dense A100."),
            Trap("upside down", lambda g: 1 / _dearer(g),
                 "That is the H100 over the A100."),
            Trap("rents upside down", lambda g: _dearer(g) * (g.new / g.old) ** 2,
                 "The rents went in upside down."),
        ),
        hints=("What does a fully used hour of peak cost on each?",
               "Dollars per hour over FLOP/s, one divided by the other."),
        next="What would have to be true for the older GPU to be the better buy?"),
    Implement(
        id="seven-b-bill.8",
        ask="Write the planner. It returns GPUs, seconds and dollars; the GPUs cover the larger of "
            "what compute and memory ask for, rounded up to a power of two or, without that, to "
            "whole nodes. It raises `ValueError` for a deadline, an MFU or a goodput that cannot "
            "be, and for a negative price.",
        stub='''
def my_plan(params, tokens, deadline, peak, mfu, price, node, state, hbm, usable, goodput=1,
            power_of_two=True):
    """GPUs, seconds and dollars of a run; deadline in seconds, price in dollars per GPU-second."""
    return ...
''',
        cases=(
            holds("the run of the chapter gets the fleet of the chapter", lambda f: _plans(f)),
            holds("GPUs, seconds and dollars agree: the rent is GPUs times seconds times price",
                  lambda f: _rent_agrees(f)),
            holds("a large model with few tokens is sized by its memory",
                  lambda f: _plans(f, 70.6e9, 1e9, 365 * DAY, power_of_two=False)),
            holds("whole nodes when no power of two is asked for",
                  lambda f: _plans(f, 13e9, 2e12, 30 * DAY, power_of_two=False)),
            holds("nodes of another size", lambda f: _plans(f, 13e9, 2e12, 30 * DAY,
                                                            memory=(6, *MEMORY[1:]),
                                                            power_of_two=False)),
            holds("an exact multiple of a node is not rounded up further", lambda f: _exact(f)),
            holds("a lower goodput needs more GPUs and costs more",
                  lambda f: _plans(f, goodput=0.9)),
            holds("bytes per parameter and usable memory count",
                  lambda f: _plans(f, 70.6e9, 1e9, 365 * DAY, memory=(NODE, 18, 96e9, 0.7),
                                   power_of_two=False)),
            holds("a price of zero is a bill of zero", lambda f: _plans(f, price=0)),
            refuses("a deadline of zero is refused", 7e9, 1e12, 0, 1e15, 0.4, 7e-4, *MEMORY,
                    error=ValueError),
            refuses("an MFU of 40 (for 40%) is refused", 7e9, 1e12, DAY, 1e15, 40, 7e-4, *MEMORY,
                    error=ValueError),
            refuses("a goodput above one is refused", 7e9, 1e12, DAY, 1e15, 0.4, 7e-4, *MEMORY,
                    1.1, error=ValueError),
            refuses("a negative price is refused", 7e9, 1e12, DAY, 1e15, 0.4, -1, *MEMORY,
                    error=ValueError),
        ),
        hints=("Two fleets before rounding: work over what a GPU does until the deadline, state "
               "over usable memory. Take the larger.",
               "Round once, at the end; then the time follows from the rounded fleet."),
        solution='''
import math

def my_plan(params, tokens, deadline, peak, mfu, price, node, state, hbm, usable, goodput=1,
            power_of_two=True):
    """GPUs, seconds and dollars of a run; deadline in seconds, price in dollars per GPU-second."""
    if not deadline > 0:
        raise ValueError(f"deadline must be above 0, got {deadline!r}")
    if not price >= 0:
        raise ValueError(f"price must be at least 0, got {price!r}")
    for name, share in (("mfu", mfu), ("goodput", goodput)):
        if not 0 < share <= 1:
            raise ValueError(f"{name} must be in (0, 1], got {share!r}")
    chip_time = 6 * params * tokens / (peak * mfu * goodput)
    need = max(chip_time / deadline, state * params / (usable * hbm)) * (1 - 1e-9)
    if power_of_two:
        chips = 2 ** max(0, math.ceil(math.log2(need)))
    else:
        chips = node * math.ceil(need / node)
    return chips, chip_time / chips, chip_time * price
''',
        next="Where would you add the buffer: to the dollars, to the seconds or to the GPUs?"),
    Rubric(
        id="seven-b-bill.9",
        ask="Your plan: {params} parameters on {tokens} tokens, {fleet} H100s, {time}, {bill}. The "
            "CFO says: “Rent half as many GPUs and pay half.” Answer.",
        givens={"params": Choice(7e9, (3e9, 7e9, 13e9)), "tokens": Choice(1e12, (1e12, 2e12)),
                "days": Choice(21, (21, 30)), "mfu": Choice(0.4, (0.35, 0.4, 0.45), "%"),
                "price": Choice(2.5 / HOUR, (2.0 / HOUR, 2.5 / HOUR, 3.0 / HOUR), "$/s")},
        facts={"fleet": _power, "half": lambda g: _power(g) // 2,
               "time": lambda g: training_time.worked(_work(g), _power(g), H100.bf16_flops, g.mfu),
               "twice": lambda g: training_time.worked(_work(g), _power(g) // 2, H100.bf16_flops,
                                                       g.mfu),
               "hours": lambda g: chip_time_needed.worked(_work(g), H100.bf16_flops, g.mfu),
               "bill": lambda g: chip_cost.worked(_chip_time(g), g.price)},
        points=((2, "The bill stays {bill}: it pays for {hours}, whatever the number of GPUs."),
                (1, "Half the fleet takes {twice} and misses the date of {days} days."),
                (1, "It says when fewer GPUs are right: no date, or a better utilization at "
                    "smaller scale."),
                (1, "It names costs that run per day and grow: storage, people, more chances of a "
                    "failure, or a lease longer than planned.")),
        model="The rent buys GPU-hours, and the run needs {hours} of them on any fleet, so it "
              "costs {bill} either way. On {half} GPUs it takes {twice} instead of {time}, past "
              "the date of {days} days, and everything that is paid by the day doubles. If there "
              "were no date I would look at a smaller fleet, because utilization tends to be a "
              "little better with fewer GPUs; that would save a few percent, not half. What does "
              "lower the bill: a better rent, a better MFU, fewer tokens or a smaller model.",
        hints=("What exactly is paid for?", "What changes when the fleet is halved, and what does "
                                            "not?"),
        next="Finance offers a fixed lease instead of a rent by the hour. What changes?"),
]


def _plan(function, params: float, tokens: float, deadline: float, price: float,
          memory: tuple = MEMORY, **change) -> tuple[float, float, float]:
    result = function(params, tokens, deadline, H100.bf16_flops, 0.4, price, *memory, **change)
    if result is None:
        raise Stumble("your function returned nothing; is a return missing?")
    try:
        found, time, bill = result
        return float(found), float(time), float(bill)
    except (TypeError, ValueError):
        raise Stumble("your function should return three numbers: GPUs, seconds, "
                      "dollars") from None


def _plans(function, params: float = 7e9, tokens: float = 1e12, deadline: float = 21 * DAY,
           price: float = 2.5 / HOUR, memory: tuple = MEMORY, **change) -> bool:
    """Whether GPUs, time and rent are those of the library."""
    found = _plan(function, params, tokens, deadline, price, memory, **change)
    node, state, hbm, usable = memory
    change["power_of_two"] = int(change.get("power_of_two", True))
    wanted = plan_run(params, tokens, deadline, H100.bf16_flops, 0.4, price, node, state=state,
                      hbm=hbm, usable=usable, **change)
    return all(abs(a - b) <= 1e-9 * b
               for a, b in zip(found, (wanted.chips, wanted.time, wanted.bill)))


def _rent_agrees(function) -> bool:
    count, time, bill = _plan(function, 3e9, 3e11, 5 * DAY, 2 / HOUR)
    return abs(count * time * 2 / HOUR / bill - 1) < 1e-9


def _exact(function) -> bool:
    """Work for just 24 GPUs."""
    deadline = chip_time_needed(training_flops(7e9, 1e12), H100.bf16_flops, 0.4) / 24
    return _plan(function, 7e9, 1e12, deadline, 0, power_of_two=False)[0] == 24
