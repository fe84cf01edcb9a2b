"""One life of a node on the real database."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from datetime import timedelta

import psycopg
import pytest

from dao.cluster.nodes import NewNode
from dao.cluster.went_back import Known
from dao.postgres.engine import AsyncConnection
from model.cluster.nodes import Heartbeat, NodeKind
from model.cluster.timing import Timing
from model.errors import Fenced, Unavailable
from node.life import Life
from registry.connect import make_registry
from registry.process import this_process

ADDRESS = "127.0.0.1:1"


async def _begin(database_url: str) -> tuple[Life, Heartbeat]:
    registry = make_registry(database_url, session_timeout=timedelta(seconds=2), application_name="shoal-test")
    new = NewNode(NodeKind.MASTER, ADDRESS, this_process(), "m1")
    life = await Life.begin(database_url, new, timing=Timing(), registry=registry)
    return life, Heartbeat(epoch=life.me.epoch, kind=NodeKind.MASTER, address=ADDRESS)


async def test_of_a_process_and_its_clone_one_stops_at_its_next_beat(database_url: str) -> None:
    """A machine that was copied while it ran: both have the epoch, the incarnation and the last beat number."""
    life, heartbeat = await _begin(database_url)
    await life.beat(heartbeat)
    clone = copy.copy(life)
    await clone.beat(heartbeat)
    with pytest.raises(Fenced):
        await life.beat(heartbeat)
    await clone.beat(heartbeat)
    await life.close()


async def test_nor_do_both_go_on_when_they_were_copied_while_beats_had_no_answer(database_url: str) -> None:
    """Whose beats had none may find a number a little higher than it knows; but only once."""
    life, heartbeat = await _begin(database_url)
    await life.beat(heartbeat)
    for _ in range(3):
        beat = asyncio.create_task(life.beat(heartbeat))
        await asyncio.sleep(0)
        beat.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await beat
    clone = copy.copy(life)
    await life.beat(heartbeat)
    await clone.beat(heartbeat)
    with pytest.raises(Fenced):
        await life.beat(heartbeat)
    await clone.beat(heartbeat)
    await life.close()


async def test_what_a_former_primary_told_is_asked_again_where_it_is_recorded(database_url: str) -> None:
    """One that was frozen answers for a moment when it goes on, and is behind: that stops nobody."""
    life, heartbeat = await _begin(database_url)
    answers = ["a beat is gone", None]

    async def why_back(_connection: AsyncConnection) -> str | None:
        return answers.pop(0)

    assert await life.stop_all_if(why_back, Known()) is None
    assert answers == []
    await life.beat(heartbeat)
    await life.close()


async def test_after_an_outage_nothing_is_written_before_the_database_was_looked_back_at(database_url: str) -> None:
    """An earlier state of it would give ids again."""
    life, heartbeat = await _begin(database_url)
    await life.beat(heartbeat)
    with psycopg.connect(database_url.replace("+psycopg", "")) as stranger:
        stranger.execute("LOCK TABLE node_beat IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(Unavailable):
            await life.beat(heartbeat)
    with pytest.raises(Unavailable, match="it is first compared with what this node knows"):
        life.writing()
    assert life.beat_now.is_set()
    await life.beat(heartbeat)
    async with life.writing():
        pass
    await life.close()
