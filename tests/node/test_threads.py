"""`node/threads.py`: a machine that can begin no thread says nothing about what was to be done in it."""

from __future__ import annotations

from threading import Thread

import pytest

from model.cluster.means import NO_THREAD
from model.errors import Unavailable
from node.threads import in_thread


async def test_a_machine_that_can_begin_no_thread_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_thread: Thread) -> None:
        raise RuntimeError(NO_THREAD)

    with monkeypatch.context() as short:
        short.setattr(Thread, "start", start)
        with pytest.raises(Unavailable, match="no more threads"):
            await in_thread(int, "7")
    assert await in_thread(int, "7") == 7


async def test_what_the_work_itself_raises_is_raised() -> None:
    def broken() -> None:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        await in_thread(broken)
