"""`dao/pools/pool_claims.py` and `pool_leases.py`: an attempt begins with all its leases, and nobody has one twice."""

from __future__ import annotations

import json

import pytest
import pytest_asyncio

from dao.cluster.nodes import Me
from dao.pools import pool_claims, pool_leases, pool_line_repair, pool_readings
from dao.postgres.database import Database
from dao.postgres.errors import BadData
from dao.postgres.sql import Sql
from dao.tasks import lost_tasks, requeue, task_timers
from dao.tasks.task_claims import ClaimedTask
from model.errors import Unavailable
from model.ids import TaskInstanceId
from model.pools.turns import turns
from tests.dao.pool_scene import PoolScene
from tests.eventually import eventually


@pytest_asyncio.fixture
async def pools(database: Database) -> PoolScene:
    """A database, and sentences for what a test wants to be there."""
    return PoolScene(database)


def codes(tasks: list[ClaimedTask]) -> list[int]:
    return sorted(task.code for task in tasks)


def leases(task: ClaimedTask) -> dict[str, list[str]]:
    return {pool: [one["name"] for one in held] for pool, held in json.loads(task.leases or "{}").items()}


async def test_an_attempt_gets_all_its_leases_with_its_claim(pools: PoolScene) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("proxies", 3)
    await pools.pool("licence", 1)
    await pools.wait_for(master, {"proxies": 2, "licence": 1}, {"proxies": 2}, {"proxies": 1})
    claimed = await pools.claim_for_pools(worker)
    assert [task.code for task in claimed] == [1], "the second is short, and reserves the third resource"
    assert leases(claimed[0]) == {"licence": ["licence-1"], "proxies": ["proxies-1", "proxies-2"]}
    assert json.loads(claimed[0].leases or "")["proxies"][0]["data"] == {"port": 1}
    assert await pools.holders() == dict.fromkeys(("licence-1", "proxies-1", "proxies-2"), claimed[0].id)
    assert (await pools.line("proxies"), await pools.line("licence")) == ([2, 3], [])


async def test_what_is_free_again_goes_to_the_next(pools: PoolScene) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 2)
    await pools.wait_for(master, *[{"a": 1}] * 4)
    first = await pools.claim_for_pools(worker)
    assert codes(first) == [1, 2]
    assert await pools.claim_for_pools(worker) == []
    await pools.end(worker, first[0])
    assert codes(await pools.claim_for_pools(worker)) == [3]
    assert len(await pools.holders()) == 2


async def test_the_plain_claim_passes_by_what_needs_resources(pools: PoolScene) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.wait_for(master, {"a": 1}, {})
    assert codes(await pools.claim(worker)) == [2]


async def test_nobody_begins_without_leases_not_even_by_hand(pools: PoolScene) -> None:
    """A worker of the former version claims so, and is left out."""
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 1)
    await pools.wait_for(master, {"a": 1})
    begin = "UPDATE task_instance SET state = 'RUNNING_EXECUTION', worker_id = :worker, started_at = now() RETURNING id"
    assert await pools.sql(begin, worker=worker.epoch) == []
    assert await pools.line("a") == [1]
    [task] = await pools.claim_for_pools(worker)
    assert task.code == 1


async def test_leases_of_another_worker_do_not_count(pools: PoolScene) -> None:
    master, worker, other = await pools.master(), await pools.worker(), await pools.worker()
    await pools.pool("a", 1)
    await pools.wait_for(master, {"a": 1})
    await pools.sql("UPDATE pool_resource SET task_instance_id = 1, worker_id = :w, taken_at = now()", w=other.epoch)
    begin = "UPDATE task_instance SET state = 'RUNNING_EXECUTION', worker_id = :worker, started_at = now() RETURNING id"
    assert await pools.sql(begin, worker=worker.epoch) == []


async def test_two_workers_at_once_give_nothing_twice_and_wait_for_nobody(pools: PoolScene) -> None:
    """The second passes by the pool that the first holds, and finds it again later."""
    master, one, other = await pools.master(), await pools.worker(), await pools.worker()
    await pools.pool("a", 4)
    await pools.pool("b", 1)
    await pools.wait_for(master, *[{"a": 1}] * 4, {"b": 1})
    async with pools.writing() as first:
        held = await pool_claims.hold_pools(first, ["default"], one.epoch)
        assert held == {"a": True, "b": True}
        # A wait for the first transaction would be an error after lock_timeout.
        assert await pools.claim_for_pools(other) == []
        assert set((await self_held(pools, other)).values()) == {False}
        rooms = await pool_claims.rooms(first, held)
        waiters = await pool_claims.waiters(first, rooms, ["default"], (), 2)
        given = turns(waiters, rooms, ["default"], 2, ()).given
        assert codes(await pool_claims.claim(first, given, one.epoch)) == [1, 2]
    assert codes(await pools.claim_for_pools(other)) == [3, 4, 5]
    assert len(await pools.holders()) == 5


async def test_a_worker_that_stops_in_its_claim_holds_up_nobody_for_long(
    pools: PoolScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_claims, "HELD_MS_MAX", 200)
    master, stopped, other = await pools.master(), await pools.worker(), await pools.worker()
    await pools.pool("a", 1)
    await pools.wait_for(master, {"a": 1})
    with pytest.raises(Unavailable):
        async with pools.writing() as first:
            assert await pool_claims.hold_pools(first, ["default"], stopped.epoch) == {"a": True}
            await eventually(lambda: self_held(pools, other), until={"a": True})
            await pool_claims.rooms(first, {"a": True})
    assert codes(await pools.claim_for_pools(other)) == [1]


async def self_held(pools: PoolScene, worker: Me) -> dict[str, bool]:
    async with pools.writing() as connection:
        return await pool_claims.hold_pools(connection, ["default"], worker.epoch)


async def test_a_worker_that_is_drained_claims_none(pools: PoolScene) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 1)
    await pools.wait_for(master, {"a": 1})
    await pools.sql("INSERT INTO drain (kind, name) VALUES ('WORKER', :name)", name=worker.address)
    assert await pools.claim_for_pools(worker) == []
    assert await self_held(pools, worker) == {}


async def test_an_attempt_that_somebody_locks_stays_queued_and_holds_nothing(pools: PoolScene) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 2)
    await pools.wait_for(master, {"a": 1}, {"a": 1})
    async with pools.writing() as somebody:
        await somebody.execute(Sql("SELECT FROM task_instance WHERE task_code = 1 FOR UPDATE"))
        assert codes(await pools.claim_for_pools(worker)) == [2]
    assert len(await pools.holders()) == 1
    assert codes(await pools.claim_for_pools(worker)) == [1]


async def test_what_is_set_aside_or_removed_is_not_given(pools: PoolScene) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 4)
    await pools.sql("UPDATE pool_resource SET set_aside_at = now(), set_aside_why = 'x' WHERE name = 'a-1'")
    await pools.sql("UPDATE pool_resource SET removed = true WHERE name = 'a-2'")
    await pools.sql("UPDATE pool_resource SET checking_by = 7, checking_since = now() WHERE name = 'a-3'")
    await pools.wait_for(master, *[{"a": 1}] * 4)
    await pools.claim_for_pools(worker)
    assert set(await pools.holders()) == {"a-4"}


async def test_what_was_removed_goes_when_it_is_given_back(pools: PoolScene) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 1)
    await pools.wait_for(master, {"a": 1})
    claimed = await pools.claim_for_pools(worker)
    await pools.sql("UPDATE pool_resource SET removed = true")
    await pools.end(worker, *claimed)
    assert await pools.sql("SELECT name FROM pool_resource") == []


async def test_a_pool_that_there_is_not_or_that_is_too_small_holds_up_nobody(pools: PoolScene) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 2)
    await pools.wait_for(master, {"a": 3}, {"a": 1, "none": 1}, {"a": 1}, {"a": 1})
    assert codes(await pools.claim_for_pools(worker)) == [3, 4]
    await pools.pool("none", 1)
    assert await pools.claim_for_pools(worker) == []


async def test_who_needs_three_is_not_overtaken_for_ever(pools: PoolScene) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 3)
    await pools.wait_for(master, {"a": 1}, {"a": 1}, {"a": 1}, {"a": 3}, *[{"a": 1}] * 5)
    running = await pools.claim_for_pools(worker)
    assert codes(running) == [1, 2, 3]
    for task in running:
        assert await pools.claim_for_pools(worker) == []
        await pools.end(worker, task)
    assert codes(await pools.claim_for_pools(worker)) == [4]


async def test_many_that_wait_for_another_pool_do_not_hold_up_this_one(pools: PoolScene) -> None:
    """More than the statement reads of a line."""
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 3)
    await pools.pool("b", 1)
    run = await pools.instance(master)
    await pools.queue(run, *range(1, 201), master=master, resources='{"a": 1, "b": 1}')
    await pools.queue(await pools.instance(master), 999, master=master, resources='{"a": 1}')
    assert codes(await pools.claim_for_pools(worker)) == [1, 999], "and the next of those reserves what is left"


async def test_who_needs_several_is_not_overtaken_behind_many_that_wait_for_another_pool(pools: PoolScene) -> None:
    """However many of one kind wait before it, the first of each kind reserves."""
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 7)
    await pools.pool("b", 1)
    await pools.wait_for(master, {"a": 1, "b": 1})
    [holder] = await pools.claim_for_pools(worker)
    await pools.wait_for(master, *[{"a": 1, "b": 1}] * 60, {"a": 7}, {"a": 1})
    assert await pools.claim_for_pools(worker) == [], "the first reserves one, the 61st the rest"
    await pools.sql(
        "UPDATE task_instance SET state = 'KILL', ended_at = now() WHERE state = 'QUEUED' AND task_code < 61"
    )
    await pools.end(worker, holder)
    assert codes(await pools.claim_for_pools(worker)) == [61]


async def test_groups_that_nobody_serves_reserve_nothing(pools: PoolScene) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 1)
    await pools.wait_for(master, *[{"a": 1}] * 60, worker_group="elsewhere")
    run = await pools.instance(master)
    await pools.queue(run, 99, master=master, resources='{"a": 1}')
    assert await pools.claim_for_pools(worker, served=["elsewhere"]) == [], "they are older"
    assert codes(await pools.claim_for_pools(worker)) == [99]


async def test_the_most_urgent_plain_attempts_use_places_in_their_turn(pools: PoolScene) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 2)
    await pools.wait_for(master, {}, {"a": 1}, {}, {"a": 1})
    assert codes(await pools.claim_for_pools(worker, places=2)) == [2]


async def test_a_lost_attempt_gives_back_what_it_held_with_its_mark(pools: PoolScene) -> None:
    master, worker, other = await pools.master(), await pools.worker(), await pools.worker()
    await pools.pool("a", 1)
    await pools.wait_for(master, {"a": 1}, {"a": 1})
    await pools.claim_for_pools(worker)
    await pools.fence(worker)
    assert await pools.claim_for_pools(other) == [], "its attempt has not ended yet"
    async with pools.writing() as connection:
        assert await lost_tasks.mark_lost(connection, 10) == 1
    assert codes(await pools.claim_for_pools(other)) == [2]


async def test_an_unstarted_attempt_of_a_lost_worker_waits_in_the_line_again(pools: PoolScene) -> None:
    master, worker, other = await pools.master(), await pools.worker(), await pools.worker()
    await pools.pool("a", 1)
    await pools.wait_for(master, {"a": 1}, write_ahead=False)
    [task] = await pools.claim_for_pools(worker)
    await pools.fence(worker)
    async with pools.writing() as connection:
        await lost_tasks.mark_lost(connection, 10)
    assert (await pools.line("a"), await pools.holders()) == ([1], {})
    [again] = await pools.claim_for_pools(other)
    await pools.end(worker, task)
    assert await pools.holders() == {"a-1": again.id}, "what its former worker says frees nothing of the new one"


@pytest.mark.parametrize(
    "by_hand", ["UPDATE task_instance SET state = 'KILL', ended_at = now()", "DELETE FROM task_instance"]
)
async def test_a_row_that_is_changed_by_hand_frees_nothing_while_its_worker_lives(
    pools: PoolScene, by_hand: str
) -> None:
    """The process may still run: only its worker knows."""
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 1)
    await pools.wait_for(master, {"a": 1})
    [task] = await pools.claim_for_pools(worker)
    await pools.sql(by_hand)
    async with pools.writing() as connection:
        assert await pool_leases.free_left(connection, 10) == 0
    assert await pools.holders() == {"a-1": task.id}
    async with pools.writing() as connection:
        assert await pool_leases.held(connection, worker.epoch) == {task.id}
    await pools.fence(worker)
    async with pools.writing() as connection:
        assert await pool_leases.free_left(connection, 10) == 1
    assert await pools.holders() == {}


async def test_a_timer_that_is_due_puts_its_attempt_into_the_line(pools: PoolScene) -> None:
    master = await pools.master()
    run = await pools.instance(master)
    fields = {"wait_reason": "DELAY", "due_in_minutes": 0}
    await pools.queue(run, 1, master=master, resources='{"a": 1}', **fields)
    assert await pools.line("a") == []
    async with pools.writing() as connection:
        await task_timers.queue_due(connection, 10)
    assert await pools.line("a") == [1]


@pytest.mark.parametrize("end", ["KILL", "PAUSE", "FAILURE"])
async def test_who_ends_while_it_waits_leaves_the_line(pools: PoolScene, end: str) -> None:
    master = await pools.master()
    await pools.wait_for(master, {"a": 1, "b": 2})
    assert (await pools.line("a"), await pools.line("b")) == ([1], [1])
    await pools.sql("UPDATE task_instance SET state = :state, ended_at = now()", state=end)
    assert (await pools.line("a"), await pools.line("b")) == ([], [])


async def test_a_line_without_its_attempt_holds_up_nobody(pools: PoolScene) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 1)
    await pools.wait_for(master, {"a": 1}, {"a": 1})
    await pools.sql("DELETE FROM task_instance WHERE task_code = 1")
    assert codes(await pools.claim_for_pools(worker)) == [2]


@pytest.mark.parametrize("resources", ['{"a": 0}', '{"a": "1"}', "{}", "[]", '{"a": 1.5}', '{"a": 100000}'])
async def test_needs_that_nobody_could_read_are_refused(pools: PoolScene, resources: str) -> None:
    master = await pools.master()
    run = await pools.instance(master)
    with pytest.raises(BadData, match="resources of an attempt"):
        await pools.queue(run, 1, master=master, resources=resources)


async def test_put_back_keeps_the_place_in_the_line(pools: PoolScene) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 1)
    await pools.wait_for(master, {"a": 1}, {"a": 1}, write_ahead=False)
    [task] = await pools.claim_for_pools(worker)
    async with pools.writing() as connection:
        await requeue.put_back(connection, [TaskInstanceId(task.id)])
    assert await pools.line("a") == [1, 2]


async def test_lines_are_put_right_after_rows_were_changed_by_hand(pools: PoolScene) -> None:
    master = await pools.master()
    await pools.wait_for(master, {"a": 1, "b": 1}, {"a": 2}, {"b": 1})
    await pools.sql("DELETE FROM pool_line WHERE pool_name = 'b'")
    await pools.sql("DELETE FROM task_instance WHERE task_code = 2")
    async with pools.writing() as connection:
        assert await pool_line_repair.leave_lines(connection, 10) == 1
        assert await pool_line_repair.join_lines(connection, 10) == 2
    assert (await pools.line("a"), await pools.line("b")) == ([1], [1, 3])
    assert await pools.sql("SELECT needed, needs, worker_group FROM pool_line WHERE pool_name = 'b' LIMIT 1") == [
        (1, {"a": 1, "b": 1}, "default")
    ]
    async with pools.writing() as connection:
        assert await pool_line_repair.leave_lines(connection, 10) == 0
        assert await pool_line_repair.join_lines(connection, 10) == 0


@pytest.mark.parametrize(
    "change",
    [
        *(f"needs = '{needs}'" for needs in ("5", "[]", "{}", "null", '"a"', '{"a": "x"}', '{"a": -1}', '{"a": 1.5}')),
        *(f"needs = '{needs}'" for needs in ('{"a": 1e400}', '{"a": null}', '{"a": {"b": 1}}', '{"none": 1}')),
        *("needed = 2000000000", "worker_group = 'nobody'", "task_instance_id = 7000", "workflow_instance_id = 7000"),
        *("workflow_priority = 'LOWEST'", "task_priority = 'LOWEST'", "pool_name = 'b'"),
    ],
)
async def test_a_row_of_a_line_that_was_changed_by_hand_holds_up_nobody_and_is_put_right(
    pools: PoolScene, change: str
) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 2)
    await pools.pool("b", 1)
    await pools.wait_for(master, {"a": 1}, {"a": 1})
    await pools.sql(f"UPDATE pool_line SET {change} WHERE task_instance_id = (SELECT min(id) FROM task_instance)")
    claimed = await pools.claim_for_pools(worker)
    assert 2 in codes(claimed)
    async with pools.writing() as connection:
        await pool_line_repair.leave_lines(connection, 10)
        await pool_line_repair.join_lines(connection, 10)
    claimed += await pools.claim_for_pools(worker)
    assert codes(claimed) == [1, 2]
    assert await pools.sql("SELECT * FROM pool_line") == []


@pytest.mark.parametrize("needs", [{"a": 1}, {}])
async def test_an_attempt_of_no_run_keeps_neither_a_resource_nor_a_place_from_others(
    pools: PoolScene, needs: dict[str, int]
) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 1)
    await pools.wait_for(master, needs, {"a": 1})
    await pools.sql("DELETE FROM workflow_instance WHERE id = (SELECT min(workflow_instance_id) FROM task_instance)")
    assert codes(await pools.claim_for_pools(worker, places=1)) == [2]


async def test_who_needs_very_many_gets_them(pools: PoolScene) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 2_000)
    await pools.wait_for(master, {"a": 1_900}, {"a": 101}, {"a": 100})
    [first] = await pools.claim_for_pools(worker)
    assert (first.code, len(leases(first)["a"])) == (1, 1_900)
    await pools.end(worker, first)
    assert codes(await pools.claim_for_pools(worker)) == [2, 3]


async def test_who_waits_for_a_pool_for_too_long_is_told_so(pools: PoolScene) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 2)
    await pools.pool("b", 2)
    needs = [{"a": 2}, {"a": 2, "none": 1}, {"b": 1}, {"a": 1, "b": 1}]
    await pools.wait_for(master, *needs, dispatch_timeout_s=90)
    assert codes(await pools.claim_for_pools(worker, places=1)) == [1]
    await pools.sql("UPDATE task_instance SET dispatch_by = now()")
    async with pools.writing() as connection:
        assert await task_timers.fail_undispatched(connection, 10) == 3
    assert await pools.sql("SELECT reason FROM task_instance ORDER BY task_code OFFSET 1") == [
        "it did not get 1 of pool none, which does not exist and 2 of pool a, of which 0 of 2 were free within its "
        "dispatch_timeout of 1.5 min; give the pools more, or give it more time",
        "no worker of group default took it within its dispatch_timeout of 1.5 min; start one there, or give it more "
        "time",
        "it did not get 1 of pool a, of which 0 of 2 were free and 1 of pool b, of which 2 of 2 were free, with others "
        "before it within its dispatch_timeout of 1.5 min; give the pools more, or give it more time",
    ]


async def test_what_is_free_is_kept_for_one_before_that_needs_more_and_it_is_named_to_its_project(
    pools: PoolScene,
) -> None:
    """A stream holds one of two: the first needs both, and the others wait though one is free."""
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 2)
    await pools.sql("INSERT INTO workflow_definition (code, project, name) VALUES (71, 'x', 'x'), (72, 'y', 'y')")
    stream, big, own, other = [await pools.instance(master, code=code) for code in (71, 71, 71, 72)]
    await pools.queue(stream, 1, master=master, resources='{"a": 1}', stream="{}")
    assert codes(await pools.claim_for_pools(worker)) == [1]
    await pools.queue(big, 2, master=master, resources='{"a": 2}')
    await pools.queue(own, 3, master=master, resources='{"a": 1}')
    await pools.queue(other, 4, master=master, resources='{"a": 1}')
    assert await pools.claim_for_pools(worker) == []
    ids = await pools.sql("SELECT id FROM task_instance WHERE state = 'QUEUED' ORDER BY task_code")
    async with pools.database.reading() as connection:
        found = await pool_readings.read(connection, ids)
    kept = [(reading.kept_for, reading.kept_needs, reading.by_streams) for (reading,) in found.values()]
    name = (await pools.sql("SELECT task_name FROM task_instance WHERE task_code = 2"))[0]
    assert kept == [(None, 0, 1), (f"{big}/{name}", 2, 1), ("a task", 2, 1)]


async def test_for_whom_it_is_kept_is_found_behind_many_that_nobody_serves(pools: PoolScene) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 2)
    await pools.wait_for(master, {"a": 1})
    assert len(await pools.claim_for_pools(worker)) == 1
    await pools.wait_for(master, *[{"a": 1}] * 60, worker_group="nobody's")
    await pools.wait_for(master, {"a": 2}, {"a": 1})
    assert await pools.claim_for_pools(worker) == []
    (last,) = await pools.sql("SELECT max(id) FROM task_instance")
    async with pools.database.reading() as connection:
        ((reading,),) = (await pool_readings.read(connection, [last])).values()
    assert (reading.kept_needs, reading.kept_for) == (2, "a task")
