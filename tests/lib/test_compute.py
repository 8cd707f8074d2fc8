"""Work, the fleet equation, utilization and money, each by a second route."""
import math

import pytest

from clustermath import (DAY, HOUR, attention_context, attention_flops, chip_cost, chip_time_needed,
                         chips, chips_needed, fleet_rate, flop_price, flops_per_token, implied_mfu,
                         mfu_factors, models, plan_run, recompute_factor, round_up_chips,
                         state_bytes, token_cost, token_rate, training_flops, training_time)

PEAK, PRICE = 989e12, 2.5 / 3600
LLAMA70 = models["Llama 3 70B"]


class Counter:
    """Multiplies matrices of shapes and counts the multiplications and additions it would do."""

    def __init__(self):
        self.flops = 0

    def product(self, rows, inner, columns):
        for _ in range(rows * columns):  # one dot product each
            self.flops += inner + inner
        return rows, columns


@pytest.mark.parametrize("tokens, widths", [(3, (4, 5)), (7, (8, 2, 6)), (2, (16, 16, 16, 16))])
def test_six_per_parameter_and_token(tokens, widths):
    counter, params = Counter(), 0
    for d_in, d_out in zip(widths, widths[1:]):
        params += d_in * d_out
        counter.product(tokens, d_in, d_out)  # forward
        counter.product(tokens, d_out, d_in)  # gradient of the input
        counter.product(d_in, tokens, d_out)  # gradient of the weight
    assert counter.flops == training_flops(params, tokens)


@pytest.mark.parametrize("causal", (0, 1))
def test_attention_counted_pair_by_pair(causal):
    layers, heads, head_dim, seq = 2, 3, 4, 64
    flops = 0
    for _ in range(layers * heads):
        for query in range(seq):
            keys = query + 1 if causal else seq
            flops += 2 * keys * head_dim  # scores
            flops += 2 * keys * head_dim  # weighted sum of values
    per_token = 3 * flops / seq  # forward, and twice that backward
    ours = attention_flops(layers, heads * head_dim, seq, causal)
    # The diagonal is whole, so a causal kernel does (seq + 1) / seq of the half that is counted.
    assert per_token == pytest.approx(ours * ((seq + 1) / seq if causal else 1), rel=1e-12)
    if causal:  # the default
        assert ours == attention_flops(layers, heads * head_dim, seq)
        assert flops_per_token(100, layers, heads * head_dim, seq) == 600 + ours
        assert attention_context(100, layers, 12) == attention_context(100, layers, 12, 1)


def test_attention_equals_the_weights_at_its_context():
    for causal in (0, 1):
        context = attention_context(LLAMA70.params, 80, 8192, causal)
        below, above = math.floor(context), math.ceil(context)
        weights = training_flops(LLAMA70.params, 1)
        assert (
            attention_flops(80, 8192, below, causal)
            <= weights
            <= attention_flops(80, 8192, above, causal)
        )


@pytest.mark.parametrize(
    "params, tokens, factor, published, within",
    [
        (174.6e9, 300e9, 6, 3.14e23, 0.002),  # GPT-3, appendix D
        (540.35e9, 780e9, 6, 2.527e24, 0.001),  # PaLM, compute table
        (405e9, 15.6e12, 6, 3.8e25, 0.003),  # Llama 3.1 405B
    ],
)
def test_published_work(params, tokens, factor, published, within):
    assert training_flops(params, tokens, factor) == pytest.approx(published, rel=within)


@pytest.mark.parametrize(
    "matmul, layers, width, seq, causal, published, within",
    [
        (
            LLAMA70.matmul_params,
            80,
            8192,
            8192,
            1,
            1207.05e12 / 2686.98,
            2e-5,
        ),  # TPU recipes, 70B at 8k
        (LLAMA70.matmul_params, 80, 8192, 131_072, 1, 897.94e12 / 963.03, 2e-5),  # the same at 131k
        (21_567_635_456, 94, 8192, 4096, 1, 629.79e12 / 4245.89, 2e-5),  # Qwen3-235B at 4k
        (64.86e9, 80, 8192, 2048, 0, 408e12 / 1007, 5e-4),  # MPT-70B, full mask
    ],
)
def test_published_work_per_token(matmul, layers, width, seq, causal, published, within):
    assert flops_per_token(matmul, layers, width, seq, causal) == pytest.approx(
        published, rel=within
    )


def test_recomputing_the_forward():
    forward, backward = 2, 4
    assert recompute_factor(1) == (2 * forward + backward) / (forward + backward)
    assert recompute_factor() == recompute_factor(1) and recompute_factor(0) == 1 and recompute_factor(0.5) == (1.5 * forward + backward) / 6


def test_training_time_step_by_step():
    params, batch, fleet, mfu = 7e9, 2**22, 64, 0.4
    tokens, seconds = 0, 0.0
    while tokens < 1000 * batch:
        seconds += 6 * params * batch / fleet / (PEAK * mfu)
        tokens += batch
    assert training_time(training_flops(params, tokens), fleet, PEAK, mfu) == pytest.approx(
        seconds, rel=1e-9
    )
    assert token_rate(fleet, PEAK, mfu, 6 * params) == pytest.approx(tokens / seconds, rel=1e-9)
    assert fleet_rate(fleet, PEAK, mfu) == pytest.approx(6 * params * tokens / seconds, rel=1e-9)


def test_the_equation_reads_the_same_in_every_direction():
    flops = training_flops(70.6e9, 15e12)
    time = training_time(flops, 6197, PEAK, 0.37, 0.9)
    assert chips_needed(flops, time * 0.9, PEAK, 0.37) == pytest.approx(6197)
    assert implied_mfu(flops, 6197 * time * 0.9, PEAK) == pytest.approx(0.37)
    assert chip_time_needed(flops, PEAK, 0.37, 0.9) == pytest.approx(6197 * time)
    assert token_rate(6197, PEAK, 0.37, flops / 15e12) * time * 0.9 == pytest.approx(15e12)
    assert chips_needed(flops, time, PEAK, 0.37, 0.15) == pytest.approx(
        1.15 * chips_needed(flops, time, PEAK, 0.37)
    )


@pytest.mark.parametrize(
    "flops, fleet, rate, days, within",
    [
        (8 * 175e9 * 300e9, 1024, 140e12, 34, 0.004),  # GPT-3 with full recompute, Megatron-LM 2021
        (8 * 1e12 * 450e9, 3072, 163e12, 84, 0.01),  # the trillion-parameter model, same paper
        (6.3e24, 8960, 0.4 * 459e12, 44, 0.008),  # How to Scale Your Model, a v5p pod
    ],
)
def test_published_run_times(flops, fleet, rate, days, within):
    assert training_time(flops, fleet, rate, 1) / DAY == pytest.approx(days, rel=within)


@pytest.mark.parametrize(
    "params, tokens, hours, peak, mfu",
    [
        (65.2e9, 1.4e12, 1_022_362, 312e12, 0.477),  # LLaMA-65B
        (68.98e9, 2e12, 1_720_320, 312e12, 0.428),  # Llama 2 70B
        (405e9, 15.6e12, 30.84e6, PEAK, 0.345),  # Llama 3.1 405B
        (37e9, 14.8e12, 2.664e6, PEAK, 0.346),  # DeepSeek-V3, active parameters
    ],
)
def test_published_hours_imply_a_utilization(params, tokens, hours, peak, mfu):
    assert implied_mfu(training_flops(params, tokens), hours * HOUR, peak) == pytest.approx(
        mfu, abs=6e-4
    )


# --- utilization that cannot be ---


def mfu_at(flops, rate, fleet, peak):
    return implied_mfu(flops * rate, fleet, peak)


@pytest.mark.parametrize(
    "flops, rate, peak",
    [
        (6 * 46.7e9, 14_000, PEAK),  # Mixtral's total parameters at a rate measured per GPU
        (6 * 8.03e9, 8 * 8_000, PEAK),  # tokens counted on every rank of a tensor-parallel group
        (6 * 70.6e9, 1_000, 312e12),  # an A100's peak on an H100
        (6 * 405e9, 2.524e12 / 6 / 405e9 * 522, PEAK),  # 1.33: recompute counted as model FLOPs
    ],
)
def test_impossible_utilization_names_the_usual_causes(flops, rate, peak):
    with pytest.raises(
        ValueError, match=r"implied_mfu gives [\d.]+, above 1: check the peak \(sparse\?"
    ) as refusal:
        mfu_at(flops, rate, 1, peak)
    for cause in ("active parameters", "tokens counted twice", "chip-hours against hours"):
        assert cause in str(refusal.value)


def test_utilization_at_most_one_passes():
    assert implied_mfu(989e12, 1, 989e12) == 1
    assert mfu_at(6 * 12.9e9, 5_000, 1, PEAK) == pytest.approx(0.391, abs=1e-3)  # active parameters
    assert chips["H100 SXM"].bf16_sparse == pytest.approx(
        2 * chips["H100 SXM"].bf16_flops, rel=1e-3
    )


def test_a_goal_that_needs_more_than_the_peak_is_infeasible():
    with pytest.raises(ValueError, match="or the deadline cannot be met"):
        implied_mfu(training_flops(70.6e9, 15e12), 1024 * 14 * DAY, PEAK)


# --- utilization taken apart ---


def test_factors_multiply_to_the_implied_utilization():
    factors = mfu_factors(6 * 405e9 * 15.6e12, 2.524e12 * 15.6e12, 30.84e6 * HOUR, PEAK, 400e12)
    assert factors.implied == pytest.approx(
        factors.step * factors.goodput / factors.counted, rel=1e-12
    )
    # Llama 3 states more than 90% effective time; causal attention gives 89%, the full mask 92%.
    assert 0.88 < factors.goodput < 0.90
    full = mfu_factors(6 * 405e9 * 15.6e12, 2.6255e12 * 15.6e12, 30.84e6 * HOUR, PEAK, 400e12)
    assert full.goodput == pytest.approx(0.922, abs=1e-3)


def test_factors_that_contradict_each_other_are_refused():
    with pytest.raises(ValueError, match="step_rate 1.979e\\+15 is above the peak"):
        mfu_factors(1e20, 1e20, 1e6, PEAK, 1979e12)
    with pytest.raises(ValueError, match="take 2 times the chip_time"):
        mfu_factors(1e20, 1e20, 1e20 / 400e12 / 2, PEAK, 400e12)


# --- rounding up ---


def test_rounding_up_by_counting():
    for chips_wanted in (1, 7, 8, 8.2, 9, 58.51, 63.999, 64, 65, 6196.6):
        whole = next(n for n in range(8, 10_000, 8) if n >= chips_wanted)
        power = 1
        while power < chips_wanted:
            power *= 2
        assert round_up_chips(chips_wanted) == whole
        assert round_up_chips(chips_wanted, power_of_two=1) == power
    assert round_up_chips(0.3, power_of_two=1) == 1 and round_up_chips(0.3, 1) == 1
    assert round_up_chips(8192.000001, power_of_two=1) == round_up_chips(8192.000001) == 8192
    assert round_up_chips(6400.1, 256) == 6656
    with pytest.raises(ValueError, match="chips must be a number above 0"):
        round_up_chips(0)


# --- a plan ---


def test_plan_of_the_seven_billion_run():
    plan = plan_run(7e9, 1e12, 21 * DAY, PEAK, 0.4, PRICE)
    fleet = 1
    while 6 * 7e9 * 1e12 / (fleet * PEAK * 0.4) > 21 * DAY:
        fleet *= 2
    assert plan.chips == fleet == 64 and plan.sized_by == "compute"
    assert plan.raw_chips == pytest.approx(58.51, abs=0.005)
    assert plan.time / DAY == pytest.approx(19.20, abs=0.005)
    assert plan.bill == pytest.approx(73_728, abs=1) == chip_cost(plan.chip_time, PRICE)
    assert plan.bill_with_buffer == pytest.approx(84_787, abs=1)
    assert plan.slack == pytest.approx(1.094, abs=5e-4) and plan.min_goodput == pytest.approx(
        0.914, abs=5e-4
    )
    assert (
        plan_run(7e9, 1e12, 21 * DAY, PEAK, 0.4, PRICE, power_of_two=0).chips == 64
    )  # eight nodes


def test_goodput_and_memory_in_a_plan():
    late = plan_run(7e9, 1e12, 21 * DAY, PEAK, 0.4, PRICE, goodput=0.9)
    assert late.raw_chips == pytest.approx(58.51 / 0.9, abs=0.01) and late.chips == 128
    assert late.time * late.chips == pytest.approx(6 * 7e9 * 1e12 / (PEAK * 0.4 * 0.9))
    assert late.min_goodput == pytest.approx(6 * 7e9 * 1e12 / (128 * PEAK * 0.4) / (21 * DAY))
    small = plan_run(70.6e9, 1e9, 365 * DAY, PEAK, 0.4, PRICE)
    assert small.sized_by == "memory" and small.chips == 32
    assert small.memory_chips == 16 * 70.6e9 / (0.8 * 80e9)
    assert state_bytes(70.6e9, 32, 3) <= 0.8 * 80e9 < state_bytes(70.6e9, 16, 3)
    with pytest.raises(ValueError, match="plan_run: a run needs params and tokens above 0"):
        plan_run(7e9, 0, DAY, PEAK, 0.4, PRICE)


# --- money ---


def test_a_token_costs_its_share_of_a_second():
    tokens_per_second = token_rate(1, PEAK, 0.4, 6 * 70.6e9)
    assert token_cost(6 * 70.6e9, PRICE, PEAK, 0.4) == pytest.approx(PRICE / tokens_per_second)
    assert flop_price(PRICE, PEAK, 0.4) * PEAK * 0.4 == pytest.approx(PRICE)
    run = chip_cost(chip_time_needed(training_flops(70.6e9, 15e12), PEAK, 0.4), PRICE)
    assert (
        run
        == pytest.approx(15e12 * token_cost(6 * 70.6e9, PRICE, PEAK, 0.4))
        == pytest.approx(11.15e6, rel=1e-3)
    )
    assert token_cost(6 * 70.6e9, 0, PEAK, 0.4) == 0


@pytest.mark.parametrize(
    "params, price, published, error",
    [
        (64.86e9, 2.5, 2.5 / 3600 / 1007, -0.009),  # MPT-70B, measured tokens/s per GPU
        (37e9, 2.0, 2.664e6 * 2 / 14.8e12, -0.134),  # DeepSeek-V3 report
        (70.6e9, 2.5, 6.4e6 * 2.5 / 15e12, -0.303),  # Llama 3 70B, hours of the model card
    ],
)
def test_published_prices_against_forty_percent(params, price, published, error):
    ours = token_cost(6 * params, price / 3600, PEAK, 0.4)
    assert ours / published - 1 == pytest.approx(error, abs=0.001)
