"""Streams in the tables: who claims them, how they are handed over, and that nobody waits for a frozen one."""

from __future__ import annotations

from typing import cast

import pytest
import pytest_asyncio

from dao.cluster.nodes import Me
from dao.postgres.database import Database, FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.streams import stream_claims, stream_ends, streams
from dao.streams.stream_claims import GroupStreams
from dao.tasks import requeue, task_claims
from model.ids import TaskCode, WorkflowInstanceId
from model.runs.states import WaitReason
from model.streams.rolling import Turn, turns
from tests.dao.pool_scene import PoolScene
from tests.dao.scene import Scene


@pytest_asyncio.fixture
async def pools(database: Database) -> PoolScene:
    """A database, and sentences for what a test wants to be there."""
    return PoolScene(database)


def fenced(connection: AsyncConnection) -> FencedTransaction:
    return cast(FencedTransaction, connection)


async def test_the_claim_of_plain_tasks_passes_streams_by_and_theirs_takes_no_others(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    run = await scene.instance(master)
    await scene.queue(run, 1, 2, master=master, stream="{}")
    await scene.queue(run, 3, master=master)
    assert [task.code for task in await scene.claim(worker)] == [3]
    async with scene.database.reading() as connection:
        waits = await task_claims.work_waits(connection, ["default"], worker.epoch)
    assert (waits.queued, waits.streams) == (False, True)
    async with scene.writing() as connection:
        found = await stream_claims.count(fenced(connection), ["default", "gpu"])
        claimed = await stream_claims.claim(fenced(connection), {"default": 5, "gpu": 5}, worker.epoch)
    assert found == {"default": GroupStreams(waiting=2), "gpu": GroupStreams()}
    assert sorted(task.code for task in claimed) == [1, 2]
    assert [task.stream for task in claimed] == ["{}", "{}"]


async def test_a_claim_that_hangs_holds_up_no_other(scene: Scene) -> None:
    """It holds the rows that it picked; others skip them, and take theirs."""
    master, frozen, other = await scene.master(), await scene.worker(), await scene.worker()
    await scene.queue(await scene.instance(master), 1, 2, 3, 4, master=master, stream="{}")
    async with scene.writing() as hangs:
        held = await stream_claims.claim(fenced(hangs), {"default": 2}, frozen.epoch)
        async with scene.writing() as connection:
            assert (await stream_claims.count(fenced(connection), ["default"]))["default"].waiting == 4
            taken = await stream_claims.claim(fenced(connection), {"default": 4}, other.epoch)
    assert len(held) == len(taken) == 2
    assert not {task.id for task in held} & {task.id for task in taken}


async def test_a_stream_is_handed_over_once_and_a_kill_goes_before_that(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    await scene.queue(await scene.instance(master), 1, 2, 3, master=master, stream="{}")
    async with scene.writing() as connection:
        one, two, _ = await stream_claims.claim(fenced(connection), {"default": 3}, worker.epoch)
    await scene.sql("UPDATE task_instance SET kill_requested = true WHERE id = :id", id=two.id)
    async with scene.writing() as connection:
        assert await streams.hand_over(fenced(connection), {one.id: "it moves", two.id: "it moves"}) == {one.id}
        assert await streams.hand_over(fenced(connection), {one.id: "again"}) == set()
    async with scene.database.reading() as connection:
        assert await task_claims.to_end(connection, worker.epoch) == {one.id: "it moves", two.id: None}


async def test_streams_that_need_resources_are_claimed_with_them_and_only_then_count(pools: PoolScene) -> None:
    """The claim of streams does not see them wait. What was said of an attempt before is forgotten."""
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 2)
    await pools.wait_for(master, {"a": 1}, {"a": 1}, {"a": 1}, stream="{}")
    await pools.queue(await pools.instance(master), 4, master=master, stream="{}")
    await pools.sql("UPDATE task_instance SET handover = 'it moved', ready_at = now() WHERE task_code = 1")
    async with pools.writing() as connection:
        assert (await stream_claims.count(fenced(connection), ["default"]))["default"].waiting == 1
        claimed = await stream_claims.claim(fenced(connection), {"default": 9}, worker.epoch)
    assert [task.code for task in claimed] == [4]
    async with pools.database.reading() as connection:
        waits = await task_claims.work_waits(connection, ["default"], worker.epoch)
    assert (waits.queued, waits.for_pools, waits.streams) == (False, True, False)
    leased = await pools.claim_for_pools(worker)
    assert sorted(task.code for task in leased) == [1, 2]
    async with pools.writing() as connection:
        assert (await stream_claims.count(fenced(connection), ["default"]))["default"].running == {worker.epoch: 3}
    assert await pools.sql("SELECT id FROM task_instance WHERE handover IS NOT NULL OR ready_at IS NOT NULL") == []


async def test_a_master_sees_which_streams_wait_for_a_pool(pools: PoolScene) -> None:
    """At once where the resources are not there; where they are, when they were not taken for long."""
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 2)
    await pools.wait_for(master, {"a": 2}, {"a": 1}, {"absent": 1}, stream="{}")
    await pools.wait_for(master, {"a": 1})

    async def waiting() -> dict[int, tuple[bool, bool]]:
        async with pools.database.reading() as connection:
            living = await streams.living(connection)
        return {each.id: (each.waits_for_pool, each.is_on_its_way) for each in living}

    first, second, third = sorted(await waiting())
    assert await waiting() == {first: (False, True), second: (False, True), third: (True, False)}
    await pools.claim_for_pools(worker, places=1)
    assert await waiting() == {first: (False, False), second: (True, False), third: (True, False)}
    await pools.sql("UPDATE pool_resource SET task_instance_id = NULL, worker_id = NULL, taken_at = NULL")
    assert (await waiting())[second] == (False, True)
    await pools.sql("UPDATE task_instance SET queued_at = now() - interval '11 s' WHERE state = 'QUEUED'")
    assert (await waiting())[second] == (True, False)


async def test_a_master_sees_who_gets_next_what_becomes_free(pools: PoolScene) -> None:
    """Not those that could not even have all that there is."""
    master = await pools.master()
    await pools.pool("a", 2)
    await pools.pool("b", 1)
    await pools.wait_for(master, {"a": 1, "b": 1}, {"a": 3}, {"absent": 1}, stream="{}")
    await pools.wait_for(master, {"a": 2, "b": 2}, {"a": 2}, worker_group="gpu")
    async with pools.database.reading() as connection:
        assert await streams.first_in_line(connection) == {
            ("a", "default", True),
            ("b", "default", True),
            ("a", "gpu", False),
        }
        living = await streams.living(connection)
    assert {each.pools for each in living} == {("a", "b"), ("a",), ("absent",)}


async def test_a_master_sees_a_task_behind_many_that_wait_before_it(pools: PoolScene) -> None:
    """Those of a group that nobody serves, and streams, hide nobody."""
    master = await pools.master()
    await pools.pool("a", 1)
    await pools.wait_for(master, *[{"a": 1}] * 60, worker_group="nobody's")
    await pools.wait_for(master, *[{"a": 1}] * 60, stream="{}")
    await pools.wait_for(master, {"a": 1})
    async with pools.database.reading() as connection:
        assert await streams.first_in_line(connection) == {
            ("a", "nobody's", False),
            ("a", "default", True),
            ("a", "default", False),
        }


@pytest.mark.parametrize("needs", ['{"a": "x"}', '{"a": 1e300}', '{"a": null}', "[1]", '"a"'])
async def test_a_line_that_somebody_wrote_by_hand_hides_no_other(pools: PoolScene, needs: str) -> None:
    master = await pools.master()
    await pools.pool("a", 1)
    await pools.wait_for(master, {"a": 1}, {"a": 1}, stream="{}")
    await pools.sql("UPDATE pool_line SET needs = CAST(:needs AS jsonb) WHERE task_instance_id = 1", needs=needs)
    async with pools.database.reading() as connection:
        assert await streams.first_in_line(connection) == {("a", "default", True)}


async def test_a_restart_knows_whether_its_stream_has_waited_for_a_pool_for_long(pools: PoolScene) -> None:
    master = await pools.master()
    await pools.wait_for(master, {"a": 1}, stream="{}")
    [run] = await pools.sql("SELECT id FROM workflow_instance")

    async def waits() -> bool:
        async with pools.database.reading() as connection:
            [asked] = await streams.restarts(connection)
        return asked.restart.waits_for_pool

    async with pools.writing() as connection:
        await streams.ask_restart(connection, run, [TaskCode(1)], "anna")
    assert not await waits()
    await pools.sql("UPDATE task_instance SET queued_at = '-infinity'")
    assert await waits()


async def test_a_restart_that_is_asked_for_again_ends_what_the_first_has_begun(scene: Scene) -> None:
    """While the first still ends the old attempt, or the new one waits, it is what the second asks for too."""
    master, worker = await scene.master(), await scene.worker()
    run = await scene.instance(master)

    async def begin(attempt: int) -> None:
        await scene.queue(run, 1, master=master, stream="{}", attempt=attempt)
        async with scene.writing() as connection:
            await stream_claims.claim(fenced(connection), {"default": 1}, worker.epoch)

    async def ask() -> int:
        async with scene.writing() as connection:
            return await streams.ask_restart(connection, run, [TaskCode(1)], "anna")

    await begin(1)
    assert await ask() == 1
    assert await ask() == 1, "whoever asks again does not wait for one that does not become ready"
    async with scene.writing() as connection:
        [asked] = await streams.restarts(connection)
        await streams.begin_restart(fenced(connection), asked.restart, 1)
    assert await ask() == 0
    await scene.sql("UPDATE task_instance SET state = 'KILL', ended_at = now()")
    await begin(2)
    async with scene.database.reading() as connection:
        [first] = await streams.restarts(connection)
    assert await ask() == 1
    async with scene.writing() as connection:
        await streams.restarted(fenced(connection), [first.restart])
        [second] = await streams.restarts(connection)
    assert (first.restart.begun_s is None, second.restart.begun_s is None) == (False, True)


async def test_a_restart_that_is_asked_for_again_ends_the_pause_of_a_stream_that_has_ended_since(scene: Scene) -> None:
    """Whoever has fixed what it fails of need not wait for a pause of minutes."""
    master = await scene.master()
    run = await scene.instance(master)
    pause = {"wait_reason": WaitReason.RETRY, "due_in_minutes": 5.0}
    await scene.queue(run, 1, master=master, stream="{}", attempt=3, **pause)
    async with scene.writing() as connection:
        await streams.ask_restart(connection, run, [TaskCode(1)], "anna")
        [asked] = await streams.restarts(connection)
        await streams.begin_restart(fenced(connection), asked.restart, 0)
    async with scene.writing() as connection:
        assert await streams.ask_restart(connection, run, [TaskCode(1)], "anna") == 1
        [again] = await streams.restarts(connection)
    assert turns([again.restart]) == [(again.restart, Turn.BEGIN)]


async def failed(scene: Scene, run: int, code: int, *at: Me, master: Me, ago: str = "1 s", after: str = "2 s") -> None:
    """A stream that has failed on each of these, one attempt after the other, so long ago and so long after it began,
    and waits again."""
    for attempt, worker in enumerate(at):
        more = {"attempt": attempt + 1, "retries": attempt}
        await scene.queue(WorkflowInstanceId(run), code, master=master, stream="{}", **more)
        await scene.sql(
            "UPDATE task_instance SET state = 'FAILURE', worker_id = :at, flag = 'NO', "
            "started_at = now() - CAST(:ago AS interval) - CAST(:after AS interval), "
            "ended_at = now() - CAST(:ago AS interval) WHERE task_code = :code AND state = 'QUEUED'",
            at=worker.epoch, ago=ago, after=after, code=code,
        )  # fmt: skip
    more = {"attempt": len(at) + 1, "retries": len(at)}
    await scene.queue(WorkflowInstanceId(run), code, master=master, stream="{}", **more)


async def test_a_worker_on_which_streams_fail_is_known_until_one_runs_there_for_long(scene: Scene) -> None:
    master, bad, other = await scene.master(), await scene.worker(), await scene.worker()
    run = await scene.instance(master)

    async def troubled() -> object:
        async with scene.writing() as connection:
            mine = await stream_claims.troubled(fenced(connection), ["default", "gpu"])
            assert await stream_claims.troubled(fenced(connection)) == mine
            return mine

    await failed(scene, run, 1, bad, master=master)
    await failed(scene, run, 2, other, master=master, ago="11 min")
    await failed(scene, run, 3, other, master=master)
    await failed(scene, run, 7, bad, master=master, after="5 h")
    await failed(scene, run, 8, bad, bad, other, other, master=master, ago="9 min")
    assert await troubled() == {"default": {other.epoch}}
    await scene.sql("UPDATE task_instance SET flag = 'NO', stream = NULL WHERE task_code IN (3, 8)")
    assert await troubled() == {}, "one on each: it may be the stream"
    await failed(scene, run, 4, bad, master=master)
    assert await troubled() == {"default": {bad.epoch}}
    await failed(scene, run, 5, other, other, other, master=master)
    assert await troubled() == {"default": {bad.epoch, other.epoch}}
    await scene.queue(run, 6, master=master, stream="{}")
    settled = (
        "UPDATE task_instance SET state = 'RUNNING_EXECUTION', worker_id = :at, started_at = now() - interval '2 min'"
    )
    await scene.sql(f"{settled} WHERE task_code = 6", at=bad.epoch)
    assert await troubled() == {"default": {other.epoch}}


async def test_a_pause_that_somebody_has_locked_holds_up_nothing(scene: Scene) -> None:
    master = await scene.master()
    run = await scene.instance(master)
    pause = {"wait_reason": WaitReason.RETRY, "due_in_minutes": 5.0}
    await scene.queue(run, 1, 2, master=master, stream="{}", **pause)
    ids = await scene.sql("SELECT id FROM task_instance ORDER BY task_code")
    async with scene.writing() as stranger:
        await stranger.execute(Sql("SELECT FROM task_instance WHERE task_code = 1 FOR UPDATE"))
        async with scene.writing() as connection:  # a wait would be an error after lock_timeout
            assert await streams.start_now(fenced(connection), ids) == {ids[1]}
    due = "SELECT task_code FROM task_instance WHERE due_at <= now()"
    assert await scene.sql(due) == [2]


async def test_what_is_put_back_into_the_queue_is_handed_over_no_more(scene: Scene) -> None:
    """Its worker was lost before it began it: what begins is new anyway."""
    master, worker = await scene.master(), await scene.worker()
    run = await scene.instance(master)
    await scene.queue(run, 1, master=master, stream="{}")
    await scene.sql("UPDATE task_instance SET write_ahead = false")
    async with scene.writing() as connection:
        await stream_claims.claim(fenced(connection), {"default": 1}, worker.epoch)
    [id_] = await scene.sql("SELECT id FROM task_instance WHERE state = 'DISPATCH'")
    async with scene.writing() as connection:
        assert await streams.hand_over(fenced(connection), {id_: "it moves"}) == {id_}
        await requeue.put_back(fenced(connection), [id_])
    assert await scene.sql("SELECT state, handover FROM task_instance") == [("QUEUED", None)]


async def test_only_one_transaction_decides_about_streams_and_the_next_may_when_it_has_ended(scene: Scene) -> None:
    async with scene.writing() as one:
        assert await streams.try_lock(fenced(one))
        async with scene.writing() as other:
            assert not await streams.try_lock(fenced(other))
    async with scene.writing() as later:
        assert await streams.try_lock(fenced(later))


async def test_old_attempts_of_an_own_stream_are_deleted_and_those_of_others_stay(scene: Scene) -> None:
    master, other, worker = await scene.master(), await scene.master(), await scene.worker()
    run = await scene.instance(master)
    ended = (
        "UPDATE task_instance SET state = 'SUCCESS', ended_at = started_at + interval '90 s' WHERE state LIKE 'RUN%'"
    )
    for attempt in (1, 2, 3, 40_000):
        await scene.queue(run, 1, master=master, stream="{}", attempt=attempt)
        async with scene.writing() as connection:
            await stream_claims.claim(fenced(connection), {"default": 1}, worker.epoch)
        await scene.sql(ended)
    async with scene.database.reading() as connection:
        ran = await stream_ends.ran_s(connection, [(run, TaskCode(1), 40_000), (run, TaskCode(9), 1)])
    assert ran == {(run, 1, 40_000): 90.0}
    numbers = "SELECT attempt FROM task_instance ORDER BY attempt"
    async with scene.writing() as connection:
        await stream_ends.delete_old(fenced(connection), [(run, TaskCode(1), 2)], other.epoch)
    assert await scene.sql(numbers) == [1, 2, 3, 40_000]
    async with scene.writing() as connection:
        await stream_ends.delete_old(fenced(connection), [(run, TaskCode(1), 2)], master.epoch)
    assert await scene.sql(numbers) == [3, 40_000]


async def test_a_restart_is_waited_for_from_when_the_next_attempt_runs(scene: Scene) -> None:
    """How long the former one took to end does not count; what a crash loop takes does."""
    master, worker = await scene.master(), await scene.worker()
    run = await scene.instance(master)
    await scene.queue(run, 1, master=master, stream="{}", attempt=4)
    async with scene.writing() as connection:
        await stream_claims.claim(fenced(connection), {"default": 1}, worker.epoch)
    await scene.sql("INSERT INTO stream_restart (workflow_instance_id, task_code) VALUES (:run, 1)", run=run)
    waited = []
    for ended in ("NULL", "4", "3", "2", "0"):
        await scene.sql(f"UPDATE stream_restart SET begun_at = now() - interval '100 s', ended_attempt = {ended}")
        async with scene.database.reading() as connection:
            [asked] = await streams.restarts(connection)
        waited.append(asked.restart.begun_s)
    assert [begun_s is not None and begun_s < 100 for begun_s in waited] == [False, False, True, False, False]


async def test_while_a_stream_is_restarted_others_of_its_run_are_not_to_move_and_one_that_moves_is_waited_for(
    scene: Scene,
) -> None:
    master, worker = await scene.master(), await scene.worker()
    run, other = await scene.instance(master), await scene.instance(master)
    for each in (run, other):
        await scene.queue(each, 1, 2, master=master, stream="{}")
    async with scene.writing() as connection:
        await stream_claims.claim(fenced(connection), {"default": 4}, worker.epoch)
    await scene.sql("INSERT INTO stream_restart (workflow_instance_id, task_code) VALUES (:run, 1)", run=run)

    async def found() -> tuple[bool, int]:
        async with scene.database.reading() as connection:
            [asked] = await streams.restarts(connection)
            return asked.restart.another_moves, sum(each.restarts for each in await streams.living(connection))

    assert await found() == (False, 0)
    moves = "UPDATE task_instance SET handover = :why WHERE workflow_instance_id = :run AND task_code = :code"
    await scene.sql(moves, run=other, code=2, why="it moves")
    await scene.sql(moves, run=run, code=1, why="it is restarted")
    assert await found() == (False, 0)
    await scene.sql(moves, run=run, code=2, why="it moves")
    await scene.sql("UPDATE stream_restart SET begun_at = now()")
    assert await found() == (True, 2)
    await scene.sql("UPDATE stream_restart SET begun_at = now() - interval '1 h'")
    assert await found() == (True, 0)
