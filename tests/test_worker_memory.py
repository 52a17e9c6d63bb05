"""The room that workers have, against what a fit needs at the least."""

import pytest

from .surroundings import WorkerRoom, check_room

GB = 1e9


def room(memory=1.0, disk=0.0, name="a"):
    return WorkerRoom(0.8 * memory * GB, 0.95 * memory * GB, 0.15 * GB, disk * GB, (name, 0))


# Two workers of 1 GB have 2 (0.8 - 0.15) GB for blocks.
@pytest.mark.parametrize(
    ("rooms", "fits", "message"),
    [
        ([room()] * 2, 1.29, "2 workers have 1.3 GB of memory for them, and write nothing"),
        ([room(disk=2)] * 2, 3.29, "1.3 GB of memory for them, and 2.0 GB on their disks"),
        ([room(disk=2), room(disk=2, name="b")], 5.29, "and 4.0 GB on their disks"),
    ],
)
def test_what_is_kept_is_at_most_memory_and_disks(rooms, fits, message):
    check_room(rooms, fits * GB, 0)
    with pytest.raises(MemoryError, match=f"keeps at least {fits + 0.02:.1f} GB.*{message}"):
        check_room(rooms, (fits + 0.02) * GB, 0)


def test_a_chunk_is_coded_by_the_largest_worker():
    rooms = [room(), room(2.0)]
    check_room(rooms, 0, 1.74 * GB)
    with pytest.raises(MemoryError, match=r"largest chunk needs at least 1.8 GB.*more than 1.8 GB"):
        check_room(rooms, 0, 1.77 * GB)
    check_room([rooms[0], room()._replace(killing=None)], 0, 10 * GB)


def test_workers_without_limits_are_not_checked():
    for rooms in ([], [WorkerRoom(None, None, 0, 0, ("a", 0)), room()]):
        check_room(rooms, 1e15, 1e15)
