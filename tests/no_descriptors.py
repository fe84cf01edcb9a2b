"""A process that cannot open anything: its own limit, or another's, is set to what it has open."""

from __future__ import annotations

import gc
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def no_descriptors(pid: int = 0, spare: int = 0, *, also_none_again: bool = False) -> Iterator[None]:
    """Within this block that process (0 = this one) gets no more than `spare` descriptors.

    Nor, with `also_none_again`, any that it has closed meanwhile; this process neither, without `spare`, since what
    earlier tests left may close one in another thread at any time.
    """
    gc.collect()  # what earlier tests left open must not be closed within the block
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    folder = Path(f"/proc/{pid or 'self'}/fd")
    used = {int(each.name) for each in list(folder.iterdir()) if each.is_symlink()}  # not that of the look itself
    free = (fd for fd in range(before[0]) if fd not in used)
    none_again = also_none_again or (pid == 0 and spare == 0)
    limit = 3 if none_again else next(fd for number, fd in enumerate(free) if number == spare)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
