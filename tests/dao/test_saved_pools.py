"""`dao/pools/`: what people save of a pool, beside those who give its resources back at the same moment."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import text

from dao.pools import resource_changes, saved_pools
from dao.pools.saved_pools import PutPool
from model.errors import Refused
from model.pool_spec import PoolSpec
from tests.dao.scene import Scene

URL = {"url": "http://x/${name}"}
FREE = "SELECT free_resources(ARRAY[7::bigint], 3)"


async def put(scene: Scene, **content: Any) -> PutPool:
    async with scene.writing() as connection:
        before = (await saved_pools.hold(connection, ["p"])).get("p")
        return await saved_pools.put(connection, before, "p", PoolSpec.parse(content), "anna")


async def takes(scene: Scene, *names: str) -> None:
    """The attempt 7 on the worker 3 holds them."""
    await scene.sql(
        "UPDATE pool_resource SET task_instance_id = 7, worker_id = 3, taken_at = now() WHERE name = ANY(:names)",
        names=list(names),
    )


async def rows(scene: Scene) -> list[Any]:
    return await scene.sql("SELECT name, removed, task_instance_id FROM pool_resource ORDER BY place, id")


async def test_what_is_removed_goes_when_it_is_given_back_also_while_it_is_removed(scene: Scene) -> None:
    await put(scene, resources=["a", "b", "c"])
    await takes(scene, "b", "c")
    async with scene.writing() as connection:
        before = (await saved_pools.hold(connection, ["p"]))["p"]
        saved = await saved_pools.put(connection, before, "p", PoolSpec.parse({"resources": ["a"]}), "anna")
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


async def test_who_holds_what_stays_is_not_waited_for(scene: Scene) -> None:
    await put(scene, resources=["a", "b"])
    async with scene.writing() as giving:
        await giving.execute(text("UPDATE pool_resource SET free_since = now() WHERE name = 'a'"))
        async with asyncio.timeout(10):
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
        with pytest.raises(Refused):
            await resource_changes.take_back(connection, pool, "a")


async def test_a_row_that_was_written_by_hand_is_shown_as_it_is(scene: Scene) -> None:
    await scene.sql("INSERT INTO resource_pool (name, validity_check) VALUES ('代理', '{\"script\": 5}')")
    async with scene.writing() as connection:
        pool = await saved_pools.head(connection, "代理")
        spec = await saved_pools.spec_of(connection, pool)
    assert (spec.resources, spec.count, pool.version) == ({}, None, 1)
