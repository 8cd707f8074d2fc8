"""How often to save, what it costs, and what a restore asks of storage."""
from __future__ import annotations

from .checking import checked
from .formulas import formula
from .ops import INF, SLACK, exp, sqrt
from .reliability import restart_share
from .types import Bandwidth, Bytes, Count, Duration, Loss, Number, Seconds, Share


@formula("f_w", save="C", interval=r"\tau")
def checkpoint_share(save: Seconds, interval: Duration) -> Loss:
    """Share of the wall clock that blocking saves take.

    Args:
        save: time that a save blocks the step.
        interval: from the end of a save to the start of the next.
    """
    return save / (interval + save)


@formula("W", size="S", interval=r"\tau", share="f")
def save_bandwidth(size: Bytes, interval: Duration, share: Share) -> Bandwidth:
    """Bandwidth at which blocking saves take a given share of the wall clock.

    Args:
        size: bytes of a checkpoint.
        interval: as in `checkpoint_share`.
        share: of the wall clock, for saves.
    """
    return size * (1 - share) / (share * interval)


@formula("f_l", unit="%", interval=r"\tau", mtbf="M")
def lost_work_share(interval: Seconds, mtbf: Duration) -> Number:
    """Share of the wall clock spent on work that failures undo: half an interval for each.

    First order: holds while the interval is short against the MTBF, and is no share beyond.

    Args:
        interval: between saves.
        mtbf: mean elapsed time between failures of the job.
    """
    return interval / (2 * mtbf)


@formula("f", unit="%", save="C", interval=r"\tau", mtbf="M", restart="R")
def checkpoint_loss(save: Seconds, interval: Duration, mtbf: Duration,
                    restart: Seconds = 0) -> Number:
    """Share of the wall clock lost to saves, undone work and restarts, to first order.

    Args:
        save, interval: as in `checkpoint_share`.
        mtbf: as in `lost_work_share`.
        restart: time from a failure to the next useful step, without the undone work.
    """
    return (checkpoint_share(save, interval) + lost_work_share(interval, mtbf)
            + restart_share(restart, mtbf))


@formula(r"\tau^*", save="C", mtbf="M", source="young-1974")
def young_interval(save: Seconds, mtbf: Duration) -> Seconds:
    """Young's interval: where saves and undone work together cost least, to first order.

    The same root sets the cadence of remote copies: the cost of a copy over the value of an hour
    for ``save``, one over the rate of the disaster for ``mtbf``.

    Args:
        save: time that a save blocks the step.
        mtbf: mean time between failures.
    Source: Young 1974.
    """
    return sqrt(2 * save * mtbf)


@formula(r"\tau^*", save="C", mtbf="M", x="x", source="daly-2006")
def daly_interval(save: Seconds, mtbf: Duration) -> Seconds:
    """Daly's interval: Young's with the terms that matter when a save is not short.

    Args:
        save, mtbf: as in `young_interval`; from ``save`` = 2 ``mtbf`` on the result is ``mtbf``.
    Source: Daly 2006.
    """
    x = save / (2 * mtbf)
    return sqrt(2 * save * mtbf) * (1 + sqrt(x) / 3 + x / 9) - save if save < 2 * mtbf else mtbf


@formula("g", interval=r"\tau", save="C", mtbf="M", restart="R", through="q", source="daly-2006")
def renewal_goodput(interval: Duration, save: Seconds, mtbf: Duration, restart: Seconds) -> Share:
    """Share of the wall clock that is useful work, exact for exponential failures.

    A failure undoes the work since the last save; saves and restarts can fail themselves.

    Args:
        interval, save, mtbf, restart: as in `checkpoint_loss`.
    Source: Daly 2006.
    """
    through = exp(-((interval + save) / mtbf))
    return interval / mtbf * exp(-(restart / mtbf)) * through / (1 - through)


@checked
def drain_is_stable(size: Bytes, interval: Duration, bandwidth: Bandwidth) -> bool:
    """Whether a background copy of each checkpoint is through before the next one is written.

    Args:
        size: bytes of a checkpoint.
        interval: between checkpoints.
        bandwidth: of the drain; exactly enough counts as stable.
    """
    return bandwidth >= size / interval * (1 - SLACK)


@formula("W", size="S", share="f", mtbf="M", fixed="t_0", readers="k",
         requires="fixed < share * mtbf")
def restore_bandwidth(size: Bytes, share: Share, mtbf: Duration, fixed: Seconds,
                      readers: Count = 1) -> Bandwidth:
    """Read bandwidth at which restarts take no more than a share of the wall clock.

    Args:
        size: bytes of a checkpoint.
        share: of the wall clock, for restarts.
        mtbf: as in `lost_work_share`.
        fixed: what a restart takes besides reading: detect, reschedule, initialize.
        readers: times that each byte is read from storage; 1 with a reader per shard that
            broadcasts, the data-parallel size when every replica reads.
    Raises: ValueError when the fixed part alone takes the share.
    """
    return size * readers / (share * mtbf - fixed) if share * mtbf > fixed else INF


@formula("t", size="S", bandwidth="W", fixed="t_0", readers="k")
def restore_time(size: Bytes, bandwidth: Bandwidth, fixed: Seconds, readers: Count = 1) -> Seconds:
    """Time of a restart that reads a checkpoint from storage.

    Args:
        size, fixed, readers: as in `restore_bandwidth`.
        bandwidth: of the storage, all readers together.
    """
    return fixed + size * readers / bandwidth
