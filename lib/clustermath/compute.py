"""Work, the fleet equation read in every direction, and what the hours cost."""
from __future__ import annotations

from typing import NamedTuple

from .checking import checked
from .formulas import formula
from .memory import chips_for_memory, model_bytes
from .ops import ceil, log2, maximum
from .types import (ChipDuration, ChipTime, Count, Dollars, Duration, Extra, Flag, FlopRate, Flops,
                    Loss, Number, Params, PerSecond, Positive, Price, Seconds, Share, Size, Tokens,
                    Work)


@formula("F", params="N", tokens="D", factor="k", source="kaplan-2020")
def training_flops(params: Params, tokens: Tokens, factor: Positive = 6) -> Flops:
    """FLOPs of a run by the rule of six: weights alone, attention not counted.

    Args:
        params: parameters that take part in matrix products.
        tokens: tokens seen.
        factor: 6 for training, 4 when the base is frozen, 2 for inference.
    Source: Kaplan et al. 2020, section 2.1.
    """
    return factor * params * tokens


@formula("F_a", layers="L", width="h", seq="s", causal="c", factor="k", source="palm-2022")
def attention_flops(layers: Count, width: Count, seq: Count, causal: Flag = 1,
                    factor: Positive = 6) -> Flops:
    """FLOPs of attention scores and their weighted sum, per token: the products without parameters.

    Args:
        layers: attention layers.
        width: heads times head_dim.
        seq: context.
        causal: 1 counts the half of the score matrix below the diagonal, 0 all of it.
        factor: 6 for training (a frozen base saves nothing here), 2 for inference.
    Source: PaLM (Chowdhery et al. 2022), appendix B.
    """
    return factor * layers * width * seq * (1 if causal == 1 else 2)


@formula("f", matmul="N_m", layers="L", width="h", seq="s", causal="c", factor="k")
def flops_per_token(matmul: Params, layers: Count, width: Count, seq: Count, causal: Flag = 1,
                    factor: Positive = 6) -> Flops:
    """FLOPs per token with attention counted.

    Args:
        matmul: parameters that multiply activations, without the look-up table.
        layers, width, seq, causal: as in `attention_flops`.
        factor: 6 for training, 2 for inference.
    """
    return factor * matmul + attention_flops(layers, width, seq, causal, factor)


@formula("s^*", params="N", layers="L", width="h", causal="c")
def attention_context(params: Params, layers: Count, width: Count, causal: Flag = 1) -> Tokens:
    """The context at which attention costs as much as the weights.

    Args:
        params: parameters that take part in matrix products.
        layers, width, causal: as in `attention_flops`.
    """
    return params / (layers * width * (1 if causal == 1 else 2))


@formula(r"\rho", recomputed="r")
def recompute_factor(recomputed: Loss = 1) -> Positive:
    """Hardware FLOPs over model FLOPs when part of the forward runs twice.

    Args:
        recomputed: share of the forward that is repeated; 1 under full checkpointing.
    """
    return 1 + recomputed / 3


@formula("R", chips="G", peak="P", mfu=r"\eta")
def fleet_rate(chips: Count, peak: FlopRate, mfu: Share) -> FlopRate:
    """FLOP/s that a fleet delivers to the model.

    Args:
        chips: how many.
        peak: dense peak of one chip at the precision in use.
        mfu: model FLOPs utilization, of that peak.
    """
    return chips * peak * mfu


@formula("T", flops="F", chips="G", peak="P", mfu=r"\eta", goodput="g")
def training_time(flops: Flops, chips: Count, peak: FlopRate, mfu: Share,
                  goodput: Share = 1) -> Seconds:
    """The fleet equation: how long a fleet takes for a run.

    Args:
        flops: work of the whole run.
        chips, peak, mfu: as in `fleet_rate`.
        goodput: share of the wall clock that trains; 1 gives compute time alone.
    """
    return flops / (chips * peak * mfu) / goodput


@formula("r", unit="tokens/s", chips="G", peak="P", mfu=r"\eta", flops="f")
def token_rate(chips: Count, peak: FlopRate, mfu: Share, flops: Work) -> PerSecond:
    """Tokens per second of a fleet.

    Args:
        chips, peak, mfu: as in `fleet_rate`.
        flops: FLOPs per token, 6N or with attention counted.
    """
    return chips * peak * mfu / flops


@formula("G", unit="chips", flops="F", time="T", peak="P", mfu=r"\eta", overhead="o")
def chips_needed(flops: Flops, time: Duration, peak: FlopRate, mfu: Share,
                 overhead: Extra = 0) -> Number:
    """Chips that finish a run in a given time, before rounding.

    Args:
        flops: work of the whole run.
        time: wall clock allowed.
        peak, mfu: as in `fleet_rate`.
        overhead: share added for what does not train (0.15 adds 15%).
    """
    return flops / (time * peak * mfu) * (1 + overhead)


@formula(r"G'", unit="chips", chips="G", multiple="m", power_of_two="p")
def round_up_chips(chips: Positive, multiple: Count = 8, power_of_two: Flag = 0) -> Count:
    """Chips one can order: whole nodes, or the next power of two.

    Args:
        chips: count before rounding; a relative excess of 1e-9 does not round up.
        multiple: chips per node.
        power_of_two: 1 for the least power of two of at least ``chips``; ``multiple`` is then idle.
    """
    return (2 ** ceil(log2(maximum(1, chips))) if power_of_two == 1
            else ceil(chips / multiple) * multiple)


@formula("t", flops="F", peak="P", mfu=r"\eta", goodput="g")
def chip_time_needed(flops: Flops, peak: FlopRate, mfu: Share, goodput: Share = 1) -> ChipTime:
    """Chip-seconds of a run; how many chips share them does not matter.

    Args:
        flops, peak, mfu, goodput: as in `training_time`.
    """
    return flops / (peak * mfu * goodput)


@formula(r"\eta", flops="F", chip_time="t", peak="P",
         impossible="check the peak (sparse? another chip?), total against active parameters, "
                    "tokens counted twice, chip-hours against hours, or the deadline cannot be met")
def implied_mfu(flops: Flops, chip_time: ChipDuration, peak: FlopRate) -> Share:
    """The utilization that a published or required run time implies.

    Args:
        flops: model FLOPs of the run.
        chip_time: chip-seconds spent: chips times time (times goodput, if known).
        peak: dense peak of one chip.
    Raises: ValueError above 1, with the usual causes.
    """
    return flops / (chip_time * peak)


@formula("C", chip_time="t", price="p")
def chip_cost(chip_time: ChipTime, price: Price) -> Dollars:
    """Rent for a number of chip-seconds.

    Args:
        chip_time: chip-seconds.
        price: dollars per chip-second; $2.50 an hour is 2.5/3600.
    """
    return chip_time * price


class MfuFactors(NamedTuple):
    """A run's utilization as a product: implied = step * goodput / counted."""

    implied: float  # 6ND over the peak of all chip-time spent
    step: float  # rate of a running step over the peak
    goodput: float  # share of the chip-time in which steps ran at that rate
    counted: float  # FLOPs that the step rate counts, over 6ND


@checked
def mfu_factors(flops: Work, counted: Work, chip_time: ChipDuration, peak: FlopRate,
                step_rate: FlopRate) -> MfuFactors:
    """Why the utilization that a run's hours imply is below the one its steps report.

    Args:
        flops: model FLOPs of the run, 6ND.
        counted: the same by the convention of the step rate, attention included if it is.
        chip_time: chip-seconds spent.
        peak: dense peak of one chip.
        step_rate: reported FLOP/s of one chip while it steps.
    Raises: ValueError when the step rate exceeds the peak, or explains more than all the hours.
    """
    if step_rate > peak:
        raise ValueError(f"mfu_factors: step_rate {step_rate:.4g} is above the peak {peak:.4g} "
                         "of one chip")
    goodput = counted / (chip_time * step_rate)
    if goodput > 1:
        raise ValueError(f"mfu_factors: counted FLOPs at this step_rate take {goodput:.4g} times "
                         "the chip_time; check what the rate counts, and chip-hours against hours")
    implied = implied_mfu(flops, chip_time, peak)
    return MfuFactors(implied, step_rate / peak, goodput, counted / flops)


@formula("p_F", price="p", peak="P", mfu=r"\eta")
def flop_price(price: Price, peak: FlopRate, mfu: Share) -> Dollars:
    """What one useful FLOP costs.

    Args:
        price: dollars per chip-second.
        peak, mfu: as in `fleet_rate`.
    """
    return price / (peak * mfu)


@formula("C_t", flops="f", price="p", peak="P", mfu=r"\eta")
def token_cost(flops: Flops, price: Price, peak: FlopRate, mfu: Share) -> Dollars:
    """What one token costs to train on, or to read at the same utilization.

    Args:
        flops: FLOPs per token: 6N to train, 2N to read a prompt.
        price, peak, mfu: as in `flop_price`.
    """
    return flops * flop_price(price, peak, mfu)


class Plan(NamedTuple):
    """A run planned for a deadline: time in seconds, money in dollars."""

    flops: float
    raw_chips: float  # what the deadline alone asks for
    memory_chips: float  # what the training state alone asks for
    chips: int
    sized_by: str  # "compute" or "memory"
    time: float
    chip_time: float
    bill: float
    bill_with_buffer: float
    slack: float  # deadline over time
    min_goodput: float  # below it these chips miss the deadline


@checked
def plan_run(params: Params, tokens: Tokens, deadline: Duration, peak: FlopRate, mfu: Share,
             price: Price, node: Count = 8, power_of_two: Flag = 1, goodput: Share = 1,
             buffer: Extra = 0.15, state: Size = 16, hbm: Size = 80e9, usable: Share = 0.8) -> Plan:
    """Chips, time and bill of a run that must meet a deadline.

    Args:
        params, tokens: of the run; the rule of six gives its work.
        deadline: wall clock allowed.
        peak, mfu, goodput: as in `training_time`.
        price: dollars per chip-second.
        node: chips per node; power_of_two: 1 rounds up to a power of two, 0 to whole nodes.
        buffer: share of the bill added for what goes wrong.
        state: bytes of training state per parameter.
        hbm, usable: memory of a chip, and the share of it for that state.
    Returns: the plan; its chips cover the larger of what compute and memory ask for.
    """
    flops = training_flops(params, tokens)
    if not flops:
        raise ValueError("plan_run: a run needs params and tokens above 0, "
                         f"got {params:g} and {tokens:g}")
    raw = chips_needed(flops, deadline, peak, mfu) / goodput
    memory = chips_for_memory(model_bytes(params, state), hbm, usable)
    chips = round_up_chips(max(raw, memory), node, power_of_two)
    time = training_time(flops, chips, peak, mfu, goodput)
    bill = chip_cost(chips * time, price)
    sized_by = "compute" if raw >= memory else "memory"
    return Plan(flops, raw, memory, chips, sized_by, time, chips * time, bill, bill * (1 + buffer),
                deadline / time, time * goodput / deadline)
