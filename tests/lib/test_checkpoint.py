"""Cadence against clocks that are run, a simulated failure process, and numerical optima."""

from __future__ import annotations

import math

import numpy as np
import pytest
from clustermath import (
    checkpoint_loss,
    checkpoint_share,
    daly_interval,
    drain_is_stable,
    lost_work_share,
    model_bytes,
    renewal_goodput,
    restart_share,
    restore_bandwidth,
    restore_time,
    save_bandwidth,
    transfer_time,
    young_interval,
)
from clustermath.units import DAY, GIB, HOUR

MTBF = 54 * DAY / 419
SIZE = model_bytes(405e9, 16)


def simulated_goodput(
    interval: float, save: float, restart: float, segments: int, seed: int
) -> float:
    """Useful share of a run of work-and-save segments under exponential failures."""
    rng = np.random.default_rng(seed)
    elapsed, done = 0.0, 0
    while done < segments:
        failure = rng.exponential(MTBF)
        elapsed += failure
        done += int(failure // (interval + save))  # segments saved before it
        while (failure := rng.exponential(MTBF)) < restart:  # restarts can fail too
            elapsed += failure
        elapsed += restart
    return done * interval / elapsed


@pytest.mark.parametrize(
    "interval, save, restart",
    [(1800, 64.8, 600), (1201, 64.8, 600), (300, 64.8, 600), (115, 0.59, 600), (3600, 64.8, 60)],
)
def test_goodput_of_a_simulated_run(interval, save, restart):
    segments = round(5e7 / interval)
    simulated = simulated_goodput(interval, save, restart, segments, seed=1)
    assert renewal_goodput(interval, save, MTBF, restart) == pytest.approx(simulated, abs=0.006)


def best_interval(save: float, mtbf: float, restart: float = 600) -> float:
    """Where the exact goodput peaks, by search on a fine grid."""
    grid = np.geomspace(save, 10 * math.sqrt(2 * save * mtbf), 20_001)
    return float(grid[renewal_goodput(grid, save, mtbf, restart).argmax()])


@pytest.mark.parametrize("save", [0.59, 11.3, 64.8, 300.0])
def test_young_and_daly_against_the_optimum(save):
    best = best_interval(save, MTBF)
    assert daly_interval(save, MTBF) == pytest.approx(best, rel=0.003)
    assert young_interval(save, MTBF) == pytest.approx(best, rel=0.15)
    # Daly's terms come closer, and both meet the optimum when a save is short
    assert abs(daly_interval(save, MTBF) - best) < abs(young_interval(save, MTBF) - best)
    goodput = renewal_goodput(np.array([best, young_interval(save, MTBF)]), save, MTBF, 600)
    assert goodput[1] > goodput[0] - 0.001  # the optimum is flat


def exact_optimum(save: float) -> float:
    """The root of 1 - e^-(tau + C) = tau, where the exact goodput has no slope; the MTBF is 1."""
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 - math.exp(-middle - save) > middle else (low, middle)
    return low


@pytest.mark.parametrize("x", [1e-4, 1e-3, 1e-2])
def test_daly_has_three_terms_of_the_expansion_right(x):
    best = exact_optimum(2 * x)
    assert abs(daly_interval(2 * x, 1) / best - 1) < 0.05 * x**1.5
    assert abs(young_interval(2 * x, 1) / best - 1) > 0.3 * x**0.5  # and Young's one


def test_young_is_the_least_of_the_first_order_loss():
    at = np.geomspace(10, 1e5, 40_001)
    linear = 64.8 / at + lost_work_share(at, MTBF)  # writes over work, and undone work
    assert young_interval(64.8, MTBF) == pytest.approx(at[linear.argmin()], rel=1e-3)
    assert linear.min() == pytest.approx(math.sqrt(2 * 64.8 / MTBF), rel=1e-6)


def test_daly_with_saves_as_long_as_the_mtbf():
    assert daly_interval(2 * MTBF, MTBF) == daly_interval(5 * MTBF, MTBF) == MTBF
    assert daly_interval(np.array([0.0, 3 * MTBF]), MTBF).tolist() == [0, MTBF]


def test_goodput_in_its_limits():
    assert renewal_goodput(1800, 64.8, 1e12, 0) == pytest.approx(1800 / 1864.8)  # no failures
    assert renewal_goodput(1e7, 1, 1e3, 600) == 0  # no interval is ever completed, no overflow
    short = renewal_goodput(60, 0, 1e6, 600)
    assert short == pytest.approx(
        1 - checkpoint_loss(0, 60, 1e6, 600), abs=1e-6
    )  # first order agrees
    for worse in (dict(save=100), dict(restart=900), dict(mtbf=5000)):
        at = {**dict(interval=1800, save=64.8, mtbf=MTBF, restart=600), **worse}
        assert renewal_goodput(**at) < renewal_goodput(1800, 64.8, MTBF, 600)


def test_share_of_blocking_saves_on_a_clock():
    work = blocked = 0.0
    for _ in range(100):
        work += 1800
        blocked += 64.8
    assert checkpoint_share(64.8, 1800) == pytest.approx(blocked / (work + blocked))
    assert checkpoint_share(0, 1800) == 0


def test_half_an_interval_is_undone_per_failure():
    rng = np.random.default_rng(3)
    failures = np.cumsum(rng.exponential(MTBF, 20_000))
    undone = (failures % 1800).sum()  # since the last save
    assert lost_work_share(1800, MTBF) == pytest.approx(undone / failures[-1], rel=0.02)


def test_checkpoint_loss_is_the_sum_of_its_parts():
    parts = checkpoint_share(64.8, 1800) + lost_work_share(1800, MTBF) + restart_share(600, MTBF)
    assert checkpoint_loss(64.8, 1800, MTBF, 600) == pytest.approx(parts)
    assert checkpoint_loss(64.8, 1800, MTBF) == pytest.approx(parts - 600 / MTBF)


@pytest.mark.parametrize("share", [0.001, 0.01, 0.03, 0.5])
def test_save_bandwidth_gives_the_share(share):
    save = transfer_time(SIZE, save_bandwidth(SIZE, 1800, share))
    assert checkpoint_share(save, 1800) == pytest.approx(share)


def test_published_checkpoints():
    # BLOOM: 2.3 TiB in 40 s every three hours, 0.37% of the run
    assert model_bytes(176e9, 14) == pytest.approx(2295 * GIB, rel=1e-3)
    assert checkpoint_share(40, 3 * HOUR) == pytest.approx(0.0037, abs=5e-5)
    # GEMINI: MT-NLG 530B to remote storage at 20 Gb/s in 42 minutes, with 12 bytes a parameter
    assert transfer_time(model_bytes(530e9, 12), 20e9 / 8) == pytest.approx(42 * 60, rel=0.01)
    # ByteCheckpoint, 405B at 14 bytes: load in 129.49 s
    assert restore_time(model_bytes(405e9, 14), 43.8e9, 0) == pytest.approx(129.49, rel=0.001)


def backlog(bandwidth: float, interval: float = 1800, count: int = 400) -> float:
    """Checkpoints waiting after many, each written at its interval and drained all the time."""
    waiting = 0.0
    for _ in range(count):
        waiting = max(0.0, waiting + SIZE - bandwidth * interval)
    return waiting / SIZE


def test_the_drain_keeps_up_from_the_stable_bandwidth_on():
    low, high = 1e9, 10e9
    for _ in range(60):  # the least bandwidth at which nothing piles up
        middle = (low + high) / 2
        low, high = (low, middle) if backlog(middle) < 1e-3 else (middle, high)
    assert high == pytest.approx(SIZE / 1800, rel=0.01)
    assert drain_is_stable(SIZE, 1800, high * 1.01) and not drain_is_stable(SIZE, 1800, low * 0.99)
    # exactly enough is enough, in spite of rounding
    assert drain_is_stable(SIZE, 1800, SIZE / 1800 * (1 - 1e-15))
    assert drain_is_stable(SIZE, 1800, 3.6e9) and not drain_is_stable(SIZE, 1800, 1.25e9)


def test_restore_bandwidth_keeps_restarts_within_their_share():
    for readers in (1, 128):
        bandwidth = restore_bandwidth(SIZE, 0.01, MTBF, 60, readers)
        assert restart_share(restore_time(SIZE, bandwidth, 60, readers), MTBF) == pytest.approx(
            0.01
        )
    assert restore_bandwidth(SIZE, 0.01, MTBF, 60, 128) == pytest.approx(
        128 * restore_bandwidth(SIZE, 0.01, MTBF, 60)
    )


def test_restore_bandwidth_has_an_asymptote_and_says_so():
    with pytest.raises(ValueError, match="fixed < share"):
        restore_bandwidth(SIZE, 0.01, MTBF, 180)
    with pytest.raises(ValueError, match="fixed"):
        restore_bandwidth(SIZE, 0.01, MTBF, 0.01 * MTBF)
    fixed = np.linspace(0, 111, 50)
    assert (np.diff(restore_bandwidth(SIZE, 0.01, MTBF, fixed)) > 0).all()
    # 180 s fixed needs a share of at least 1.62%
    assert restore_bandwidth(SIZE, 0.0162, MTBF, 180) > 1e12


def test_no_elasticity_of_the_brief_is_lost():
    at = dict(size=SIZE, share=0.01, mtbf=MTBF, fixed=60)
    assert restore_bandwidth.elasticity("mtbf", **at) == pytest.approx(-2.17, abs=0.005)
    assert restore_bandwidth.elasticity("fixed", **at) == pytest.approx(1.17, abs=0.005)
    assert checkpoint_share.elasticity("save", save=64.8, interval=1800) == pytest.approx(
        0.965, abs=5e-4
    )
    assert young_interval.elasticity("mtbf", save=64.8, mtbf=MTBF) == pytest.approx(0.5)
