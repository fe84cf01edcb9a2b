"""`dao/pools/`: what people save of a pool, beside those who give its resources back at the same moment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from dao.pools import pool_checks, pool_leases, resource_changes, saved_pools
from dao.pools.pool_checks import Checked, DueCheck
from dao.pools.saved_pools import PutPool
from dao.postgres.sql import Sql
from dao.tasks import lost_tasks
from model.errors import Refused
from model.ids import Epoch, TaskInstanceId
from model.pools.spec import PoolSpec
from tests.dao.scene import Scene
from tests.eventually import eventually

URL = {"url": "http://x/${name}"}
FREE = "SELECT free_resources(ARRAY[7::bigint], 3)"


async def put(scene: Scene, **content: Any) -> PutPool:
    async with scene.writing() as connection:
        before = await saved_pools.hold(connection, ["p"])
        return (await saved_pools.put(connection, before, {"p": PoolSpec.parse(content)}, "anna"))["p"]


async def takes(scene: Scene, *names: str, attempt: int = 7, worker: int = 3) -> None:
    """The attempt on the worker holds them."""
    await scene.sql(
        "UPDATE pool_resource SET task_instance_id = :attempt, worker_id = :worker, taken_at = now() "
        "WHERE name = ANY(:names)",
        names=list(names),
        attempt=attempt,
        worker=worker,
    )


async def rows(scene: Scene) -> list[Any]:
    return await scene.sql("SELECT name, removed, task_instance_id FROM pool_resource ORDER BY place, id")


async def test_what_is_removed_goes_when_it_is_given_back_also_while_it_is_removed(scene: Scene) -> None:
    await put(scene, resources=["a", "b", "c"])
    await takes(scene, "b", "c")
    async with scene.writing() as connection:
        before = await saved_pools.hold(connection, ["p"])
        saved = (await saved_pools.put(connection, before, {"p": PoolSpec.parse({"resources": ["a"]})}, "anna"))["p"]
        assert (saved.removed, saved.leaving) == (2, 2)
        giving_back = asyncio.create_task(scene.sql(FREE))
        await scene.waits_for_a_lock()
    assert await giving_back == [2]
    assert await rows(scene) == [("a", False, None)], "whoever gave them back saw that they are removed"


async def test_what_was_removed_and_is_back_keeps_its_holder(scene: Scene) -> None:
    await put(scene, resources=["a", "b"])
    await takes(scene, "b")
    await put(scene, resources=["a"])
    back = await put(scene, resources={"a": {}, "b": {"new": 1}})
    assert (back.added, back.removed, back.leaving) == (1, 0, 0)
    assert await rows(scene) == [("a", False, None), ("b", False, 7)]
    await scene.sql(FREE)
    assert await rows(scene) == [("a", False, None), ("b", False, None)]


async def test_a_kind_that_changes_keeps_holders_until_they_end(scene: Scene) -> None:
    await put(scene, count=3)
    await takes(scene, "2")
    await put(scene, resources=["2x"])
    assert sorted(await rows(scene)) == [("2", True, 7), ("2x", False, None)]
    await put(scene, count=1)
    assert sorted(await rows(scene)) == [("1", False, None), ("2", True, 7)]
    await scene.sql(FREE)
    assert await rows(scene) == [("1", False, None)]


async def test_the_same_content_is_no_new_version_and_json_is_compared_as_it_is(scene: Scene) -> None:
    first = await put(scene, resources={"a": {"n": 1, "m": [1.5, None]}}, check={**URL, "timeout": "2s"})
    again = await put(scene, resources={"a": {"m": [1.5, None], "n": 1}}, check={**URL, "timeout": "2s"})
    assert (first.before, again.is_new_version, again.head.version) == (None, False, 1)
    other = await put(scene, resources={"a": {"n": True, "m": [1.5, None]}}, check={**URL, "timeout": "2s"})
    assert other.is_new_version, "true is not 1"
    assert (await put(scene, resources={"a": {"n": True, "m": [1.5, None]}}, check=URL)).head.version == 3


@pytest.mark.parametrize("number", [1e16, 1.5e300, 1.7976931348623157e308, -0.0, 0.0, 1e-7, 1.0, 1, 2**70, -1e22])
async def test_numbers_that_the_database_writes_in_another_way_are_the_same(scene: Scene, number: float) -> None:
    data = {"a": {"n": number, "in": [{"n": number}]}}
    assert (await put(scene, resources=data)).head.version == 1
    assert not (await put(scene, resources=data)).is_new_version


async def test_a_number_that_is_written_in_another_way_is_changed_once(scene: Scene) -> None:
    versions = [(await put(scene, resources={"a": {"n": number}})).head.version for number in (1, 1.0, 1.0)]
    assert versions == [1, 2, 2], "as a task finds it"


async def test_who_holds_what_stays_is_not_waited_for(scene: Scene) -> None:
    await put(scene, resources=["a", "b"])
    async with scene.writing() as giving:
        await giving.execute(Sql("UPDATE pool_resource SET free_since = now() WHERE name = 'a'"))
        async with asyncio.timeout(30):
            saved = await put(scene, resources=["a", "c"])
    assert (saved.added, saved.removed) == (1, 1)


async def test_a_check_that_is_gone_takes_back_what_it_set_aside_and_nothing_else(scene: Scene) -> None:
    await put(scene, resources=["a", "b", "c"], check=URL)
    await scene.sql("UPDATE pool_resource SET checked_at = now()")
    await scene.sql("UPDATE pool_resource SET set_aside_at = now(), set_aside_why = 'broken' WHERE name = 'a'")
    async with scene.writing() as connection:
        pool = (await saved_pools.hold(connection, ["p"]))["p"]
        assert await resource_changes.set_aside(connection, pool, "b", "mine", "anna")
    await put(scene, resources=["a", "b", "c"], check={"url": "http://y/${name}"})
    checked = "SELECT name, checked_at IS NULL, set_aside_at IS NOT NULL FROM pool_resource ORDER BY place"
    assert await scene.sql(checked) == [("a", True, True), ("b", True, True), ("c", True, False)]
    await put(scene, resources=["a", "b", "c"])
    assert await scene.sql(checked) == [("a", True, False), ("b", True, True), ("c", True, False)]


async def test_changed_data_is_checked_again(scene: Scene) -> None:
    await put(scene, resources={"a": {"n": 1}, "b": {"n": 1}}, check=URL)
    await scene.sql("UPDATE pool_resource SET checked_at = now()")
    await put(scene, resources={"a": {"n": 2}, "b": {"n": 1}}, check=URL)
    found = await scene.sql("SELECT name FROM pool_resource WHERE checked_at IS NULL")
    assert found == ["a"]


async def test_a_person_sets_aside_what_a_check_did_and_keeps_it(scene: Scene) -> None:
    await put(scene, resources=["a"], check=URL)
    await scene.sql("UPDATE pool_resource SET set_aside_at = now(), set_aside_why = 'broken'")
    async with scene.writing() as connection:
        pool = (await saved_pools.hold(connection, ["p"]))["p"]
        assert await resource_changes.set_aside(connection, pool, "a", "mine", "anna")
        assert not await resource_changes.set_aside(connection, pool, "a", "yours", "ben")
        now = await resource_changes.read(connection, pool, "a")
        assert (now.why, now.by) == ("mine", "anna")
        await resource_changes.take_back(connection, pool, "a")
        now = await resource_changes.read(connection, pool, "a")
        assert (now.why, now.by) == ("broken", None)
        await resource_changes.take_back(connection, pool, "a")
        with pytest.raises(Refused):
            await resource_changes.take_back(connection, pool, "a")


async def test_a_row_that_was_written_by_hand_is_shown_as_it_is(scene: Scene) -> None:
    await scene.sql("INSERT INTO resource_pool (name, validity_check) VALUES ('代理', '{\"script\": 5}')")
    async with scene.writing() as connection:
        pool = await saved_pools.head(connection, "代理")
        spec = await saved_pools.spec_of(connection, pool)
    assert (spec.resources, spec.count, pool.version) == ({}, None, 1)


async def locks_waited_for(scene: Scene) -> int:
    found = await scene.sql(
        "SELECT count(DISTINCT l.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid) "
        "WHERE NOT l.granted AND a.datname = current_database()"
    )
    return int(found[0])


async def in_turn(scene: Scene, *each: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    """Have the resource "a" locked until each of these waits, one begun after the other; then all of them end.

    Whoever locks another resource before "a" has that one when the first that waits gets "a".
    """
    async with scene.writing() as somebody:
        await somebody.execute(Sql("SELECT FROM pool_resource WHERE name = 'a' FOR UPDATE"))
        running = []
        for number, one in enumerate(each, 1):
            running.append(asyncio.create_task(one()))
            await eventually(lambda: locks_waited_for(scene), until=number)
    await asyncio.wait_for(asyncio.gather(*running), 30)


async def gives_back(scene: Scene, *attempts: int) -> None:
    async with scene.writing() as connection:
        await pool_leases.free(connection, [TaskInstanceId(id_) for id_ in attempts], Epoch(3))


async def deleted(scene: Scene) -> None:
    async with scene.writing() as connection:
        pool = (await saved_pools.hold(connection, ["p"]))["p"]
        with pytest.raises(Refused):
            await saved_pools.delete(connection, pool, despite_line=False)


CHANGES: dict[str, Callable[[Scene], Awaitable[Any]]] = {
    "removed": lambda scene: put(scene, resources=["c"]),
    "other data": lambda scene: put(scene, resources={"a": {"n": 1}, "b": {"n": 1}, "c": {}}, check=URL),
    "another check": lambda scene: put(scene, resources=["a", "b", "c"], check={"url": "http://y/${name}"}),
    "no check": lambda scene: put(scene, resources=["a", "b", "c"]),
    "deleted": deleted,
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_pool_changes_while_a_worker_gives_several_back(scene: Scene, change: str) -> None:
    """Two that lock the same rows in two orders would wait for each other."""
    await put(scene, resources=["a", "b", "c"], check=URL)
    await scene.sql("UPDATE pool_resource SET checked_at = now(), set_aside_at = now(), set_aside_why = 'x'")
    await takes(scene, "b", attempt=7)
    await takes(scene, "a", attempt=8)
    await takes(scene, "c", attempt=9)

    async def changes() -> None:
        await CHANGES[change](scene)

    await in_turn(scene, changes, lambda: gives_back(scene, 7, 8))


async def test_pools_of_one_file_change_while_a_worker_gives_several_back(scene: Scene) -> None:
    for name in ("q", "p"):
        async with scene.writing() as connection:
            spec = PoolSpec.parse({"resources": ["a", "b"] if name == "p" else ["c"]})
            await saved_pools.put(connection, {}, {name: spec}, "anna")
    await takes(scene, "c", "a", attempt=7)

    async def changes() -> None:
        async with scene.writing() as connection:
            held = await saved_pools.hold(connection, ["p", "q"])
            await saved_pools.put(connection, held, dict.fromkeys(held, PoolSpec.parse({"resources": ["x"]})), "anna")

    await in_turn(scene, changes, lambda: gives_back(scene, 7))


async def test_checks_of_several_are_recorded_while_their_pool_changes(scene: Scene) -> None:
    """What is held waits for its turn; the others do not wait for it."""
    me = await scene.worker()
    await put(scene, resources=["a", "b"], check=URL)
    async with scene.writing() as connection:
        due = {each.name: each for each in await pool_checks.take(connection, 10, me.epoch)}

    async def recorded() -> list[int]:
        async with scene.writing() as connection:
            checked = [Checked(due[name].id, due[name].since, None) for name in ("b", "a")]
            return [each.id for each in await pool_checks.record(connection, checked, me.epoch)]

    async with scene.writing() as changes:
        await changes.execute(Sql("SELECT FROM pool_resource WHERE name = 'b' FOR UPDATE"))
        assert await recorded() == [due["b"].id]
        assert await scene.sql("SELECT name FROM pool_resource WHERE checked_at IS NOT NULL") == ["a"]
    await put(scene, resources=["c"])
    assert await recorded() == []
    assert await rows(scene) == [("c", False, None)]


async def test_a_pool_changes_while_attempts_of_a_lost_worker_are_marked(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    await put(scene, resources=["a", "b"])
    run = await scene.instance(master)
    await scene.queue(run, 1, 2, master=master)
    tasks = sorted(await scene.claim(worker), key=lambda task: task.id)
    await scene.sql("UPDATE task_instance SET is_plain = false, resources = '{\"p\": 1}'")
    await takes(scene, "b", attempt=tasks[0].id, worker=worker.epoch)
    await takes(scene, "a", attempt=tasks[1].id, worker=worker.epoch)
    await scene.fence(worker)

    async def marks() -> None:
        async with scene.writing() as connection:
            assert await lost_tasks.mark_lost(connection, 10) == 2

    async def changes() -> None:
        await put(scene, resources=["c"])

    await in_turn(scene, changes, marks)
    assert await rows(scene) == [("c", False, None)]


async def checked_now(scene: Scene, worker: Epoch, due: DueCheck, why: str | None) -> None:
    async with scene.writing() as connection:
        await pool_checks.record(connection, [Checked(due.id, due.since, why)], worker)


async def test_a_check_that_is_gone_keeps_no_resource_and_sets_none_aside(scene: Scene) -> None:
    """Its worker may have died at it, or may say what came of it later."""
    me = await scene.worker()
    await put(scene, resources=["a"], check=URL)
    async with scene.writing() as connection:
        [due] = await pool_checks.take(connection, 10, me.epoch)
    await put(scene, resources=["a"])
    state = "SELECT checking_by IS NOT NULL, set_aside_at IS NOT NULL, checked_at IS NOT NULL FROM pool_resource"
    assert await scene.sql(state) == [(False, False, False)]
    await checked_now(scene, me.epoch, due, "it failed")
    assert await scene.sql(state) == [(False, False, False)]


@pytest.mark.parametrize(
    "after", [{"resources": {"a": {"n": 2}}, "check": URL}, {"resources": {"a": {"n": 1}}, "check": {"script": "true"}}]
)
async def test_what_came_of_a_check_of_other_data_or_in_another_way_does_not_count(
    scene: Scene, after: dict[str, Any]
) -> None:
    me = await scene.worker()
    await put(scene, resources={"a": {"n": 1}}, check=URL)
    async with scene.writing() as connection:
        [due] = await pool_checks.take(connection, 10, me.epoch)
    await put(scene, **after)
    await checked_now(scene, me.epoch, due, None)
    assert await scene.sql("SELECT checked_at FROM pool_resource") == [None]
    async with scene.writing() as connection:
        [again] = await pool_checks.take(connection, 10, me.epoch)
    await checked_now(scene, me.epoch, due, None)
    assert await scene.sql("SELECT checked_at FROM pool_resource") == [None], "nor beside the next one"
    await checked_now(scene, me.epoch, again, None)
    assert await scene.sql("SELECT checked_at IS NOT NULL FROM pool_resource") == [True]


async def test_what_is_removed_while_it_is_checked_is_gone_whatever_becomes_of_the_worker(scene: Scene) -> None:
    me = await scene.worker()
    await put(scene, resources=["a", "b"], check=URL)
    async with scene.writing() as connection:
        await pool_checks.take(connection, 10, me.epoch)
    await put(scene, resources=["b"], check=URL)
    assert [name for name, *_ in await rows(scene)] == ["b"]


async def test_pools_of_files_are_made_in_the_order_of_their_variables(scene: Scene) -> None:
    """Two who make pools that are the same variables wait for each other in one direction only."""
    first, second = ["a-c", "a.b"], ["a-b", "a.c"]
    async with scene.writing() as connection:
        made = await saved_pools.put(connection, {}, dict.fromkeys(first, PoolSpec.parse({"count": 1})), "anna")
        assert list(made) == ["a.b", "a-c"]
    async with scene.writing() as connection:
        with pytest.raises(Refused, match="would be one variable"):
            await saved_pools.put(connection, {}, dict.fromkeys(second, PoolSpec.parse({"count": 1})), "anna")
