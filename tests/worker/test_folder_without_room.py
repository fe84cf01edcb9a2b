"""A worker that starts where nothing can be written for a moment waits for it, and does not end."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from model.errors import Unavailable
from tests.no_descriptors import no_descriptors
from worker.folder import WorkerFolder


async def test_a_worker_that_starts_without_room_waits_until_there_is_some(tmp_path: Path) -> None:
    folder = WorkerFolder(tmp_path / "worker")
    waiting = asyncio.create_task(folder.wait_until_made(asyncio.Event()))
    with no_descriptors():
        with pytest.raises(Unavailable, match="make room"):
            folder.make()
        await asyncio.sleep(0)
        assert not waiting.done()
    await asyncio.wait_for(waiting, 30)
    assert (tmp_path / "worker").is_dir()
