"""A plan is made before the transaction that needs it, in a thread, and never on the event loop."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import contextmanager

import pytest
import pytest_asyncio

from dao.postgres.database import Database
from master.drive import plans
from master.drive.events import Started
from master.drive.handling import MANY, handle
from master.drive.plans import Fetched, PlanKey, Plans, PlansMissing
from master.drive.runnable import WorkflowRunnable
from master.drive.writes import Writes
from model.definitions.plan import Plan
from model.errors import NotFound, Refused
from model.ids import WorkflowCode
from tests.dao.scene import Scene
from tests.master.plans import an_instance, plan_of

CODE = WorkflowCode(1001)
KEY = (CODE, 1)


@pytest_asyncio.fixture
async def scene(database_url: str) -> AsyncIterator[Scene]:
    """A fresh database."""
    database = Database(database_url, application_name="shoal-test")
    yield Scene(database)
    await database.close()


@contextmanager
def noting(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[threading.Thread]]:
    """The threads in which plans are made."""
    threads: list[threading.Thread] = []
    make = plans._made

    def made(*args: object) -> Plan | Refused:
        threads.append(threading.current_thread())
        return make(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(plans, "_made", made)
    yield threads


async def save(scene: Scene, *tasks: dict[str, object], code: int = CODE) -> None:
    await scene.sql("INSERT INTO workflow_definition (code, name) VALUES (:code, :name)", code=code, name=f"w{code}")
    spec = json.dumps({"tasks": list(tasks)})
    await scene.sql(
        "INSERT INTO workflow_version (workflow_code, version, spec) VALUES (:code, 1, CAST(:spec AS jsonb))",
        code=code,
        spec=spec,
    )


async def asked(made: Plans, database: Database, *keys: PlanKey) -> tuple[dict[PlanKey, Plan | Refused], int]:
    """The plans that a transaction needs, and how often it was begun."""
    begun = 0

    async def transaction(fetched: Fetched) -> dict[PlanKey, Plan | Refused]:
        nonlocal begun
        begun += 1
        async with database.writing():
            return made.at_hand(keys, fetched)

    return await made.with_plans(database, transaction), begun


async def test_a_transaction_that_misses_a_plan_is_given_up_and_begins_again_when_a_thread_has_made_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    await save(scene, {"name": "a", "type": "FAKE"})
    with noting(monkeypatch) as threads:
        found, begun = await asked(made := Plans(), scene.database, KEY)
        assert (begun, [task.name for task in found[KEY].tasks.values()]) == (2, ["a"])  # type: ignore[union-attr]
        assert [thread is threading.main_thread() for thread in threads] == [False]
        assert (await asked(made, scene.database, KEY))[1] == 1, "it is at hand by then"
        assert len(threads) == 1


async def test_what_has_no_plan_is_told_with_its_reason_and_asked_for_again_the_next_time(scene: Scene) -> None:
    made = Plans()
    await save(scene, {"name": "a", "type": "FAKE", "after": ["b"]}, code=1002)
    found, begun = await asked(made, scene.database, KEY, (WorkflowCode(1002), 1))
    assert begun == 2
    assert isinstance(found[KEY], NotFound)
    assert "cannot be run" in str(found[WorkflowCode(1002), 1])
    await save(scene, {"name": "a", "type": "FAKE"})
    found, _ = await asked(made, scene.database, KEY)
    assert isinstance(found[KEY], Plan)


async def test_plans_that_do_not_fit_into_the_cache_together_are_all_there_for_one_transaction(scene: Scene) -> None:
    codes = [WorkflowCode(code) for code in range(1, 6)]
    for code in codes:
        await save(scene, *({"name": f"t{n}", "type": "FAKE"} for n in range(3)), code=code)
    found, begun = await asked(Plans(tasks_max=4), scene.database, *((code, 1) for code in codes))
    assert (len(found), begun) == (5, 2)


async def test_a_run_of_many_tasks_is_handled_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    begin = WorkflowRunnable.handle

    def noted(runnable: WorkflowRunnable, event: Started) -> object:
        threads.append(threading.current_thread())
        return begin(runnable, event)

    monkeypatch.setattr(WorkflowRunnable, "handle", noted)
    for count in (1, MANY + 1):
        plan = plan_of([{"name": f"t{n}", "type": "FAKE"} for n in range(count)])
        await handle(WorkflowRunnable(an_instance(plan), plan), Started(), writes := Writes())
        assert len(writes.touched) == 1
    assert [thread is threading.main_thread() for thread in threads] == [True, False]


def test_what_is_missing_is_named() -> None:
    with pytest.raises(PlansMissing) as missing:
        Plans().at_hand([KEY], {})
    keys: Collection[PlanKey] = missing.value.keys
    assert list(keys) == [KEY]
