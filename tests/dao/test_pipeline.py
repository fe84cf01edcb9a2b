"""What opens a transaction goes with its first statement, what it notifies with its COMMIT."""

from __future__ import annotations

from pathlib import Path

import pytest

from dao.cluster import nodes
from dao.postgres.errors import BadData
from dao.postgres.notify import TASK, notify
from dao.postgres.sql import Sql
from dao.tasks import task_claims
from model.errors import Fenced
from tests.dao.scene import Scene

ADD = Sql("INSERT INTO project (name) VALUES (:name)")
NAMES = "SELECT name FROM project WHERE name IN ('a', 'b') ORDER BY name"


async def test_a_transaction_of_a_statement_that_notifies_takes_two_round_trips(scene: Scene, tmp_path: Path) -> None:
    me = await scene.worker()
    with (tmp_path / "trace").open("w") as trace:
        async with nodes.fenced_transaction(scene.database, me) as connection:
            pgconn = connection.driver.pgconn
            pgconn.trace(trace.fileno())
            assert await task_claims.claim(connection, ["default"], 1, me.epoch) == []
            await notify(connection, TASK)
        pgconn.untrace()
        assert (tmp_path / "trace").read_text().count("ReadyForQuery") == 2


async def test_a_node_that_was_fenced_writes_nothing_even_if_its_first_statement_fails(scene: Scene) -> None:
    me = await scene.master()
    await scene.fence(me)
    for value in ("a", None):  # the second violates a constraint
        with pytest.raises(Fenced):
            async with nodes.fenced_transaction(scene.database, me) as connection:
                await connection.execute(ADD, {"name": value})
    with pytest.raises(Fenced):
        async with nodes.fenced_transaction(scene.database, me) as connection:
            await connection.execute(ADD, [{"name": "a"}, {"name": "b"}])
    with pytest.raises(Fenced):
        async with nodes.fenced_transaction(scene.database, me):
            pass
    assert await scene.sql(NAMES) == []


async def test_a_first_statement_that_fails_says_why(scene: Scene) -> None:
    me = await scene.master()
    with pytest.raises(BadData, match="null value"):
        async with nodes.fenced_transaction(scene.database, me) as connection:
            await connection.execute(ADD, {"name": None})


async def test_a_transaction_that_was_given_up_before_it_began_leaves_nothing_to_the_next(scene: Scene) -> None:
    """Its connection goes back to the pool, and is the next one's."""
    me = await scene.master()
    with pytest.raises(ZeroDivisionError):
        async with nodes.fenced_transaction(scene.database, me):
            raise ZeroDivisionError
    await scene.fence(me)
    async with scene.database.writing() as connection:
        await connection.execute(ADD, {"name": "a"})
    assert await scene.sql(NAMES) == ["a"]


async def test_a_commit_that_the_server_refuses_has_written_nothing(scene: Scene) -> None:
    me = await scene.master()
    with pytest.raises(BadData):
        async with nodes.fenced_transaction(scene.database, me) as connection:
            await connection.execute(ADD, {"name": "a"})
            await connection.execute(Sql("CREATE TEMPORARY TABLE late (x int UNIQUE DEFERRABLE INITIALLY DEFERRED)"))
            await connection.execute(Sql("INSERT INTO late VALUES (1), (1)"))
            await notify(connection, TASK)
    assert await scene.sql(NAMES) == []


async def test_the_permission_to_write_is_found_by_its_key(scene: Scene) -> None:
    me = await scene.master()
    async with nodes.fenced_transaction(scene.database, me) as connection:
        rows = await connection.execute(Sql("EXPLAIN " + nodes._HOLD_ALIVE.text), nodes._of(me))
        assert "node_pkey" in str(rows.all())
