"""A control group of the kernel's own, in which processes may use so much memory and no more."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_V1 = Path("/sys/fs/cgroup/memory")
_V2 = Path("/sys/fs/cgroup")


def may_limit_memory() -> bool:
    """Whether this user may make such groups here: only root may, and not in every container."""
    where = _where()
    controllers = where / "cgroup.subtree_control"
    return os.access(where, os.W_OK) and (
        (where == _V1 and _V1.exists()) or (controllers.exists() and "memory" in controllers.read_text())
    )


@contextmanager
def memory_group(limit_bytes: int) -> Iterator[Path]:
    """A control group; writing a process id to `cgroup.procs` adds the process. All must have ended at the end."""
    folder = _where() / f"shoal-test-{uuid.uuid4().hex[:8]}"
    folder.mkdir()
    (folder / ("memory.max" if _where() == _V2 else "memory.limit_in_bytes")).write_text(str(limit_bytes))
    yield folder
    folder.rmdir()


def _where() -> Path:
    return _V2 if (_V2 / "cgroup.controllers").exists() else _V1
