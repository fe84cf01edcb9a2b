"""`dao/cluster/went_back.py`: by what a node knows that the database went back, and what then stands and goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pytest

from dao.cluster import nodes, went_back
from dao.cluster.nodes import Me
from dao.cluster.went_back import Known, Place
from dao.commands import error_commands
from model.errors import Fenced, Unavailable
from tests.dao.scene import Scene
from tests.dao.test_nodes import beat

NOTHING = Known()
ELSEWHERE: Mapping[str, Callable[[Place], Place]] = {
    "promoted": lambda place: replace(place, timeline="00000000"),
    "restored": lambda place: replace(place, table=place.table + 1),
    "a snapshot": lambda place: replace(place, position=place.position + 10**12),
}


async def _place(scene: Scene) -> Place:
    async with scene.database.reading() as connection:
        return await went_back.place(connection)


async def _why(scene: Scene, me: Me, began: Place, beat_no: int, silent_s: float = 5, known: Known = NOTHING) -> str:
    async with scene.database.reading() as connection:
        return await went_back.why_back(connection, me, began, beat_no, silent_s, known) or ""


@pytest.mark.parametrize("how", ELSEWHERE)
async def test_a_beat_that_was_confirmed_and_is_gone_counts_only_where_the_history_is_another(
    scene: Scene, how: str
) -> None:
    me, began = await scene.master(), await _place(scene)
    for number in range(3):
        await beat(scene, me, number)
    elsewhere = ELSEWHERE[how](began)
    assert await _why(scene, me, elsewhere, 3) == ""
    await scene.sql("UPDATE node_beat SET beat_no = 2")
    assert await _why(scene, me, began, 3) == "", "a person has edited the row"
    assert await _why(scene, me, elsewhere, 3) == f"beat 3 of {me} was confirmed, and its last one here is 2"
    await scene.sql("UPDATE cluster SET restored_at = clock_timestamp()")
    assert await _why(scene, me, elsewhere, 3) == "", "a person knows it"


@dataclass(frozen=True)
class Gone:
    statement: str
    silent_s: float
    known: Known
    why: str


@pytest.mark.parametrize(
    "gone",
    [
        Gone("DELETE FROM node", 5, Known(), "{me} is not in it, and beat 5 s ago"),
        Gone("DELETE FROM node", 7_200, Known(), ""),
        Gone("DELETE FROM node_beat", 5, Known(), ""),
        Gone("SELECT 1", 5, Known(runs=[17]), "run 17, which {me} drove, is not in it"),
        Gone("SELECT 1", 5, Known(running=[17]), "attempt 17, which {me} ran, is not in it"),
        Gone("SELECT 1", 7_200, Known(runs=[17], running=[17], ended=[17]), ""),  # deleted since, for its age
        Gone("SELECT 1", 5, Known(attempts=[17]), ""),
        Gone("SELECT 1", 5, Known(begun=[17]), ""),
        Gone("SELECT 1", 5, Known(ended=[17]), "the end of attempt 17, which {me} ran, is not in it"),
    ],
    ids=str,
)
async def test_what_must_be_in_the_database_and_is_not_shows_it(scene: Scene, gone: Gone) -> None:
    me, began = await scene.master(), await _place(scene)
    await beat(scene, me, 0)
    await scene.sql(gone.statement)
    why = await _why(scene, me, ELSEWHERE["promoted"](began), 1, gone.silent_s, gone.known)
    assert why == gone.why.format(me=me)
    assert await _why(scene, me, began, 1, gone.silent_s, gone.known) == ""


async def test_nobody_lives_joins_or_asks_until_a_person_has_looked_and_no_id_is_given_again(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    await scene.sql("INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', 1), ('START_PROCESS', 2)")
    await scene.sql(
        "INSERT INTO command_history (command_id, type, outcome, master_id, created_at) "
        "SELECT min(id), 'START_PROCESS', 'DONE', 1, now() FROM command"
    )
    async with scene.writing() as connection:
        known = Known(runs=[5], begun=[5, 4], running=[8], attempts=[8, 7])
        gone = await went_back.record(connection, worker, "why", known)
    assert (gone.runs, gone.attempts) == ([4, 5], [7, 8])
    for me in (master, worker):
        with pytest.raises(Fenced):
            await beat(scene, me, 0)
    with pytest.raises(Unavailable, match="shoal db restored"):
        await scene.worker()
    with pytest.raises(Unavailable, match="shoal db restored"):
        await scene.sql("INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', 1)")
    assert await scene.sql("SELECT kind, facts ->> 'why' FROM alert") == [("DATABASE_WENT_BACK", "why")]
    async with scene.writing() as connection:
        alone = await nodes.fence_all(connection, "restored")
        await went_back.begin_anew(alone)
        assert await error_commands.set_commands_aside(alone, "aside") == 2
    assert await scene.sql("SELECT reason, count(*) FROM error_command GROUP BY 1") == [("aside", 2)]
    outcomes = await scene.sql("SELECT outcome, count(*) FROM command_history GROUP BY 1 ORDER BY 1")
    assert outcomes == [("DONE", 1), ("ERROR", 1)], "one was handled before"
    assert (await scene.worker()).epoch > went_back.ID_STEP
    await scene.sql("INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', 1)")
    assert await scene.sql("SELECT id FROM command") == [2 * went_back.ID_STEP + 1]


async def test_a_node_that_joins_at_that_moment_waits_and_then_does_not(scene: Scene) -> None:
    me = await scene.worker()
    async with scene.writing() as connection:
        await went_back.record(connection, me, "why", Known())
        joining = asyncio.create_task(scene.worker())
        await scene.waits_for_a_lock()
    with pytest.raises(Unavailable, match="shoal db restored"):
        await joining
    assert await scene.sql("SELECT count(*) FROM node WHERE state = 'ALIVE'") == [0]
