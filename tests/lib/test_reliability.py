"""Reliability against seeded simulations, closed forms of small cases, and published figures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from clustermath import (
    barrier_tax,
    detection_steps,
    ettr,
    expected_loss,
    expected_max,
    failure_probability,
    goodput_product,
    interruption_budget,
    job_mtbf,
    lost_work_share,
    observed_mtbf,
    recovery_time,
    renewal_goodput,
    rescale_probability,
    restart_share,
    rpo,
    straggler_loss,
    straggler_scores,
)
from clustermath.units import DAY, HOUR, MINUTE

LLAMA_NODE_RATE = 419 / (54 * 2048) / DAY
MTBF = 54 * DAY / 419


def test_mtbf_of_a_simulated_fleet_where_any_node_stops_the_job():
    rng, nodes, rate = np.random.default_rng(2), 64, 1e-4
    first = rng.exponential(1 / rate, (20_000, nodes)).min(axis=1)
    assert job_mtbf(nodes, rate) == pytest.approx(first.mean(), rel=0.02)
    elapsed, count = first.sum(), len(first)
    assert observed_mtbf(elapsed, count) == pytest.approx(job_mtbf(nodes, rate), rel=0.02)


def test_published_mtbfs():
    assert observed_mtbf(54 * DAY, 419) / HOUR == pytest.approx(3.093, abs=5e-4)
    # Meta's RSC-1, 6.5 failures per 1,000 node-days: 1.8 h at 16,384 GPUs, 0.23 h at 131,072
    assert job_mtbf(2048, 6.5e-3 / DAY) / HOUR == pytest.approx(1.8, rel=0.005)
    assert job_mtbf(16_384, 6.5e-3 / DAY) / HOUR == pytest.approx(0.23, rel=0.025)
    assert job_mtbf(1000, LLAMA_NODE_RATE) / HOUR == pytest.approx(6.335, abs=5e-4)


def test_failures_within_a_window_of_a_simulated_process():
    rng = np.random.default_rng(4)
    times = rng.exponential(MTBF, 200_000)
    for window in (64.8, 600, 1800, 2 * MTBF):
        assert failure_probability(window, MTBF) == pytest.approx(
            (times < window).mean(), abs=0.004
        )
    assert failure_probability(0, MTBF) == 0 and failure_probability(1e9, MTBF) == 1


def test_restarts_take_their_share_of_elapsed_time():
    # Failures every MTBF of elapsed time, a restart after each: the clock holds both.
    clock = restarting = 0.0
    for _ in range(419):
        clock += MTBF
        restarting += 600
    assert restart_share(600, MTBF) == pytest.approx(restarting / clock)
    assert restart_share(20 * MINUTE, MTBF) == pytest.approx(0.108, abs=5e-4)


def test_interruption_budgets():
    for elapsed, count, goodput in ((54 * DAY, 466, 0.9), (100 * DAY, 455, 0.97)):
        budget = interruption_budget(elapsed, count, goodput)
        assert (elapsed - count * budget) / elapsed == pytest.approx(goodput)
    assert interruption_budget(54 * DAY, 466, 0.9) / MINUTE == pytest.approx(16.69, abs=0.005)
    assert interruption_budget(100 * DAY, 455, 0.97) / MINUTE == pytest.approx(9.49, abs=0.005)


def test_goodput_product_of_shares_taken_one_after_the_other():
    left = 1.0
    for share in (0.99488, 0.99485, 0.94612, 0.99396, 0.97087):
        left -= left * (1 - share)
    assert goodput_product(0.99488, 0.99485, 0.94612, 0.99396, 0.97087) == pytest.approx(left)
    assert goodput_product() == 1
    assert goodput_product(restart=0.5) == goodput_product(work=0.5) == 0.5


def test_ettr_of_published_clusters():
    # Meta report about 0.9 above 1,024 GPUs; ByteRobust 97% on 9,600
    assert ettr(128, 6.5e-3 / DAY, 600, HOUR, 300) == pytest.approx(0.9, abs=0.005)
    assert ettr(1200, LLAMA_NODE_RATE, 300, 600, 0.59) == pytest.approx(0.967, abs=5e-4)
    assert ettr(2048, 6.5e-3 / DAY, 600, HOUR, 300) == pytest.approx(0.582, abs=5e-4)
    assert ettr(512, 6.5e-3 / DAY, 720, HOUR, 120) == pytest.approx(0.8738, abs=5e-5)


def test_ettr_is_first_order_to_the_exact_goodput_and_never_negative():
    rate = 1 / (2048 * 1e7)
    assert ettr(2048, rate, 600, 1800, 64.8) == pytest.approx(
        renewal_goodput(1800, 64.8, 1e7, 600), abs=64.8 / 1e7
    )
    assert ettr(16_384, 6.5e-3 / DAY, 20 * MINUTE, HOUR, 300) == 0
    assert ettr(1, 0, 600, 1800, 0) == 1
    undone = lost_work_share(1800, MTBF) + restart_share(600, MTBF)
    assert ettr(2048, LLAMA_NODE_RATE, 600, 1800, 0) == pytest.approx(1 - undone)


def test_a_straggler_holds_up_a_simulated_fleet():
    times = np.ones(1000)
    times[613] *= 1.1
    step = times.max()
    wasted = 1 - 1 / step  # of the fleet's time, against a fleet without it
    assert straggler_loss(0.1) == pytest.approx(wasted)
    assert straggler_loss(0) == 0 and straggler_loss(1) == 0.5


def test_expected_max_of_few_normals_in_closed_form():
    assert expected_max(1) == 0
    assert expected_max(2) == pytest.approx(1 / math.sqrt(math.pi), rel=1e-12)
    assert expected_max(3) == pytest.approx(3 / (2 * math.sqrt(math.pi)), rel=1e-12)
    assert expected_max(5) == pytest.approx(
        1.1629644736, rel=1e-9
    )  # table of normal order statistics


def test_expected_max_of_few_lognormals_in_closed_form():
    for sigma in (0.1, 0.25, 1.0, 3.0):
        mean = math.exp(sigma**2 / 2)
        assert expected_max(1, sigma) == pytest.approx(mean)
        both = 2 * mean * (1 + math.erf(sigma / 2)) / 2  # 2 e^(s2/2) Phi(s / sqrt 2)
        assert expected_max(2, sigma) == pytest.approx(both, rel=1e-10)


@pytest.mark.parametrize("n", [8, 64, 512, 2048])
def test_expected_max_of_samples(n):
    rng = np.random.default_rng(n)
    draws = rng.standard_normal((1_000_000 // n, n))
    assert expected_max(n) == pytest.approx(draws.max(axis=1).mean(), abs=0.04)
    assert expected_max(n, 0.25) == pytest.approx(np.exp(0.25 * draws).max(axis=1).mean(), rel=0.01)


def test_expected_max_of_large_fleets():
    known = {8: 1.424, 64: 2.344, 512: 3.044, 1024: 3.248, 2048: 3.442, 16_384: 3.971}
    for n, z in known.items():
        assert expected_max(n) == pytest.approx(z, abs=6e-4)
    values = [expected_max(10**k) for k in range(10)]
    assert all(
        low < high < math.sqrt(2 * k * math.log(10))
        for k, (low, high) in enumerate(zip(values, values[1:]), 1)
    )


def test_barrier_tax_of_simulated_steps():
    rng, ranks, sigma = np.random.default_rng(6), 512, 0.03
    steps = (1 + sigma * rng.standard_normal((3000, ranks))).max(axis=1)
    assert barrier_tax(sigma, ranks) == pytest.approx(steps.mean() - 1, abs=0.001)
    assert barrier_tax(0, ranks) == barrier_tax(sigma, 1) == 0


def measured_steps(bad: int = 613) -> np.ndarray:
    """50 steps of 1,000 ranks: noise, hosts that differ, rare hiccups, and one rank 10% slow."""
    rng = np.random.default_rng(7)
    times = 1 + 0.01 * rng.standard_normal((50, 1000))
    times += 0.02 * rng.exponential(size=times.shape) * (rng.random(times.shape) < 0.01)
    times *= rng.normal(1, 0.004, 125).repeat(8)
    times[:, bad] *= 1.1
    return times


def test_one_slow_rank_among_a_thousand():
    scores = straggler_scores(measured_steps())
    assert scores.argmax() == 613 and scores[613] == pytest.approx(20.2, abs=0.05)
    assert np.sort(scores)[-2] == pytest.approx(2.9, abs=0.05)
    assert (scores > 6).sum() == 1


def test_scores_by_the_definition_rank_by_rank():
    import statistics

    times = measured_steps()[:, 600:620]
    medians = [statistics.median(times[:, rank]) for rank in range(20)]
    centre = statistics.median(medians)
    spread = 1.4826 * statistics.median(abs(m - centre) for m in medians)
    assert straggler_scores(times).tolist() == pytest.approx(
        [(m - centre) / spread for m in medians]
    )
    assert straggler_scores(times * 1000).tolist() == pytest.approx(
        straggler_scores(times).tolist()
    )


def test_scores_of_one_step_of_two_stragglers_and_of_a_host():
    assert straggler_scores(measured_steps()[0]).argmax() == 613
    times = measured_steps()
    times[:, 100] *= 1.2
    assert set(np.argsort(straggler_scores(times))[-2:]) == {100, 613}
    times[:, 200:208] *= 1.1
    assert set(np.flatnonzero(straggler_scores(times) > 6)) == {100, 613, *range(200, 208)}


def test_scores_of_a_crowd_without_spread():
    times = np.ones((4, 9))
    assert straggler_scores(times).tolist() == [0] * 9
    times[:, 3], times[:, 5] = 1.1, 0.9
    assert straggler_scores(times).tolist() == [0, 0, 0, math.inf, 0, -math.inf, 0, 0, 0]


def test_three_ranks_are_a_crowd_and_no_time_is_a_time():
    assert straggler_scores([1, 2, 9]).tolist() == pytest.approx([-1 / 1.4826, 0, 7 / 1.4826])
    assert straggler_scores([0, 0, 0]).tolist() == [0, 0, 0]


def test_scores_where_a_rank_is_dead():
    times = measured_steps()
    times[:, 5] = np.nan
    times[10:, 6] = np.nan  # died after ten steps
    scores = straggler_scores(times)
    assert np.isnan(scores[5]) and np.isfinite(scores[6]) and np.nanargmax(scores) == 613


@pytest.mark.parametrize(
    "times", [[1, 2], [[1, np.nan, 1]] * 3, [[1, 2, np.inf]], [[1, 2, -1]], np.ones((2, 2, 3))]
)
def test_scores_refuse_what_is_no_crowd_or_no_time(times):
    with pytest.raises(ValueError, match="straggler_scores"):
        straggler_scores(times)


@pytest.mark.parametrize(
    "sigma, delta, steps",
    [
        (0.01, 0.02, 9),
        (0.01, 0.05, 2),
        (0.01, 0.10, 1),
        (0.05, 0.10, 9),
        (0.05, 0.02, 219),
        (0, 0.01, 1),
    ],
)
def test_detection_steps_of_a_thousand_ranks(sigma, delta, steps):
    assert detection_steps(sigma, delta, 1000) == steps


def test_detection_steps_keep_both_promises_in_simulation():
    rng, ranks, sigma, delta = np.random.default_rng(8), 1000, 0.01, 0.02
    steps = detection_steps(sigma, delta, ranks)
    means = sigma / math.sqrt(steps) * rng.standard_normal((2000, ranks))
    threshold = 4.265 * sigma / math.sqrt(steps)  # the quantile 1 - 0.01 / 1,000
    assert (means.max(axis=1) > threshold).mean() == pytest.approx(0.01, abs=0.008)
    assert (means[:, 0] + delta > threshold).mean() >= 0.94
    fewer = sigma / math.sqrt(steps - 2)
    assert (fewer * rng.standard_normal(20_000) + delta > 4.265 * fewer).mean() < 0.95


def test_one_step_is_the_least():
    assert detection_steps(0.5, 0.01, 1, false_alarm=0.9, power=0.05) == 1  # a lax watch


def test_more_ranks_and_less_delta_take_more_steps():
    assert detection_steps(0.02, 0.04, 16_384) == 11
    assert detection_steps(0.05, 0.02, 16_384) > detection_steps(0.05, 0.02, 1000)
    assert detection_steps(0.05, 0.02, 1000, power=0.99) > detection_steps(
        0.05, 0.02, 1000, power=0.5
    )


def replica_ages(interval: float, write: float, transfer: float, horizon: float) -> np.ndarray:
    """Age of the newest remote copy, second by second, in virtual time; only the newest is sent."""
    end = horizon + 3 * transfer
    done = [
        (k * interval, k * interval + write) for k in range(int(end / interval) + 2)
    ]  # state, written
    free, arrivals = 0.0, []
    while free < end:
        ready = [
            state
            for state, written in done
            if written <= free and (not arrivals or state > arrivals[-1][1])
        ]
        if ready:
            free += transfer
            arrivals.append((free, max(ready)))
        else:
            free = min(written for _, written in done if written > free)
    at = np.arange(horizon / 2, horizon)
    newest = np.array([max(state for arrived, state in arrivals if arrived <= t) for t in at])
    return at - newest


def test_recovery_point_of_a_run_in_virtual_time():
    ages = replica_ages(1800, 65, 518, 40_000)
    assert rpo(1800, 65, 518) == pytest.approx(ages.max(), abs=2)
    assert rpo(1800, 65, 518, 0.5) == pytest.approx(ages.mean(), rel=0.02)


def test_a_slow_line_stays_within_the_bound():
    for transfer in (500, 700, 1100):
        ages = replica_ages(400, 20, transfer, 20_000)
        assert ages.max() <= rpo(400, 20, transfer) == 2 * transfer + 400 + 20
        assert ages.max() > 2 * transfer  # and the bound is no idle one


def test_recovery_points_of_the_three_month_run():
    assert rpo(1800, 64.8, 518.4) / MINUTE == pytest.approx(39.72)
    assert rpo(3600, 140, 560) / MINUTE == pytest.approx(71.7, abs=0.05)
    assert rpo(3600, 140, 560, 0.5) / MINUTE == pytest.approx(41.7, abs=0.05)
    assert rpo(1800, 64.8, 1800) == pytest.approx(3600 + 64.8)  # a line that just keeps up
    assert rpo.elasticity("interval", interval=1800, write=64.8, transfer=518.4) == pytest.approx(
        0.755, abs=5e-4
    )


def test_recovery_time_of_a_clock_that_runs_through_the_stages():
    stages = dict(
        detect=30, capacity=5, health=10, image=5, load=2.16, init=0.5, warmup=5, validate=30
    )
    clock = 0.0
    for seconds in stages.values():
        clock += seconds * MINUTE
    assert recovery_time(**{name: t * MINUTE for name, t in stages.items()}) == pytest.approx(clock)


def test_probabilities_compound():
    yearly = rescale_probability(0.53, 3, 1)
    assert 1 - (1 - yearly) ** 3 == pytest.approx(0.53)
    day = rescale_probability(0.02, 365, 1)
    survived = 1.0
    for _ in range(90):
        survived *= 1 - day
    assert rescale_probability(0.02, 365, 90) == pytest.approx(1 - survived)
    assert (
        rescale_probability(0.3, 7, 7) == pytest.approx(0.3) and rescale_probability(0, 1, 5) == 0
    )
    with pytest.raises(ValueError, match="probability"):
        rescale_probability(1, 1, 2)


def test_expected_loss_over_many_worlds():
    rng = np.random.default_rng(9)
    lost = np.where(rng.random(400_000) < 0.05, 504 * HOUR * 20_000 / HOUR, 0)
    assert expected_loss(0.05, 504 * HOUR, 20_000 / HOUR) == pytest.approx(lost.mean(), rel=0.03)
    assert expected_loss(0.005, 1080 * HOUR, 20_000 / HOUR) == pytest.approx(
        108_000
    )  # half of 90 days at stake
