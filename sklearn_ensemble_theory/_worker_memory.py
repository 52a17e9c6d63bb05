"""Whether what a fit keeps of the rows fits on the workers of a Dask cluster, before it is made.

Dask restarts a worker that has too much in memory and computes the same again, without an error.
All bytes here are the least that a fit needs, and the most that the workers have: an error is
certain, and its absence is no promise.
"""

import os
import platform
import shutil
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

# What Python and its modules take of the memory of a worker, if it has loaded them all.
OWN_BYTES = 2e8


class WorkerRoom(NamedTuple):
    """What one worker has, in bytes; None for no limit.

    - pausing: process memory at which it starts no more tasks.
    - killing: process memory at which it is restarted.
    - own: process memory that is not there for blocks.
    - on_disk: what it may write to its disk; 0 if it writes nothing.
    - disk: the disk, which workers of one machine may share.
    """

    pausing: float | None
    killing: float | None
    own: float
    on_disk: float
    disk: tuple[str, int]


def check_worker_memory(kept: float, at_once: float) -> None:
    """Raise a MemoryError if the workers of the current cluster cannot keep so many bytes.

    Of all blocks together `kept` bytes stay until the end of the fit; the largest block needs
    `at_once` bytes in a task. Without a cluster nothing is checked.
    """
    if "distributed" not in sys.modules:
        return
    from dask.base import get_scheduler

    client = getattr(get_scheduler(), "__self__", None)
    if client is None or not hasattr(client, "run") or client.asynchronous:
        return
    check_room(list(client.run(room_of_worker, on_error="ignore").values()), kept, at_once)


def room_of_worker(dask_worker: Any) -> WorkerRoom:
    """What a worker has, in its own process."""
    import dask

    own = min(dask_worker.monitor.get_process_memory(), OWN_BYTES)
    manager, folder = dask_worker.memory_manager, dask_worker.local_directory
    disk = platform.node(), os.stat(folder).st_dev

    def bytes_at(share: Any) -> float | None:
        return share * manager.memory_limit if share and manager.memory_limit else None

    # Only the nanny of a worker in a process of its own restarts it.
    share = dask.config.get("distributed.worker.memory.terminate", None)
    killing = share if dask_worker.nanny else None
    on_disk = 0.0
    if manager.memory_target_fraction or manager.memory_spill_fraction:
        on_disk = float(shutil.disk_usage(folder).free)
    pausing = bytes_at(manager.memory_pause_fraction)
    return WorkerRoom(pausing, bytes_at(killing), own, on_disk, disk)


def check_chunks(X: Any) -> None:
    """Raise a MemoryError if a chunk of a Dask array is larger than each worker's memory.

    The lengths of the chunks of a data frame are not known before they are read.
    """
    if hasattr(X, "chunks"):
        rows = np.nanmax([0, *X.chunks[0]])
        check_worker_memory(0, rows * X.shape[1] * X.dtype.itemsize)


def check_room(rooms: Sequence[WorkerRoom], kept: float, at_once: float) -> None:
    """Raise a MemoryError if `kept` bytes, or `at_once` of one task, are more than the room."""
    most = [room.killing - room.own for room in rooms if room.killing is not None]
    if most and len(most) == len(rooms) and at_once > max(most):
        raise MemoryError(
            f"X: the largest chunk needs at least {in_units(at_once)} of memory on a worker, and "
            f"no worker has more than {in_units(max(max(most), 0))} for it. Cut X and y into "
            "smaller chunks (rechunk, repartition), or start workers with more memory."
        )
    in_memory = 0.0
    for room in rooms:
        limit = room.killing if room.pausing is None else room.pausing
        if limit is None:
            return
        in_memory += max(0.0, limit - room.own)
    disks = {room.disk: room.on_disk for room in rooms}
    on_disk = sum(disks.values())
    if rooms and kept > in_memory + on_disk:
        where = (
            f"and {in_units(on_disk)} on their disks" if on_disk else "and write nothing to disk"
        )
        raise MemoryError(
            f"X: the fit keeps at least {in_units(kept)} of the rows on the workers. The "
            f"{len(rooms)} workers have {in_units(in_memory)} of memory for them, {where}. Start "
            "more workers or larger ones, or let them write to a larger disk "
            "(distributed.worker.memory.spill, temporary-directory)."
        )


def in_units(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.1f} MB"
