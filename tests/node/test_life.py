"""One life of a node on the real database."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from dao.cluster.nodes import NewNode
from dao.cluster.went_back import Known
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from model.cluster.nodes import Heartbeat, NodeKind
from model.cluster.timing import Timing
from model.errors import Fenced, Unavailable
from node.life import Life
from registry.connect import make_registry
from registry.process import this_process
from tests.eventually import eventually
from tests.servers.postgres import PostgresServer

ADDRESS = "127.0.0.1:1"
SCHEMA = Path(__file__).parents[2] / "sql" / "schema.sql"


async def _begin(database_url: str) -> tuple[Life, Heartbeat]:
    registry = make_registry(database_url, session_timeout=timedelta(seconds=60), application_name="shoal-test")
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
    """A copy whose beats had no answer may find a number slightly higher than it knows; but only once."""
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
    """A frozen primary answers for a moment when it continues, and is behind: that stops nobody."""
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


async def _written(life: Life) -> str:
    """Why nothing can be written; empty if it can."""
    try:
        async with life.writing() as connection:
            await connection.execute(Sql("SELECT 1"))
    except Unavailable as error:
        return str(error)
    return ""


@pytest.mark.parametrize("is_lost", [False, True], ids=["with all commits", "without the last beat"])
async def test_a_standby_that_is_promoted_between_two_beats_is_looked_back_at_before_anything_is_written(
    is_lost: bool,
) -> None:
    with PostgresServer(fsync=False) as server:
        with server.connect() as connection:
            connection.execute("CREATE DATABASE shoal")
        with server.connect("shoal") as connection:
            connection.execute(SCHEMA.read_bytes())
        with PostgresServer(fsync=False, primary=server) as standby:
            hosts = f"host=127.0.0.1,127.0.0.1&port={server.port},{standby.port}"
            life, heartbeat = await _begin(f"postgresql+psycopg://shoal:{server.password}@/shoal?{hosts}")
            await life.beat(heartbeat)
            with standby.connect("shoal") as there:
                beat_no = "SELECT beat_no FROM node_beat"
                await eventually(lambda: there.execute(beat_no).fetchone(), until=(1,), within_s=30)
                if is_lost:
                    standby.part_from_primary()
                    receivers = "SELECT count(*) FROM pg_stat_wal_receiver"
                    await eventually(lambda: there.execute(receivers).fetchone(), until=(0,), within_s=30)
                    await life.beat(heartbeat)
            assert await _written(life) == ""
            server.kill()
            standby.promote()
            why = "the database was away: it is first compared with what this node knows"
            await eventually(lambda: _written(life), until=why, within_s=30)
            assert life.beat_now.is_set()
            with pytest.raises(Unavailable):
                await life.beat(heartbeat)  # over its connection to the former primary
            if is_lost:
                with pytest.raises(Fenced):
                    await life.beat(heartbeat)
                await life.look_back()
            else:
                await life.beat(heartbeat)
                assert await _written(life) == ""
            with standby.connect("shoal") as there:
                assert there.execute("SELECT count(*) FROM went_back").fetchone() == (int(is_lost),)
            await life.close()
