"""The search: what it finds by a part of a name, in which order, for whom, and what that costs."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from dao.definitions import search as views
from model.accounts.rights import Role, Scope
from model.cluster.nodes import NodeKind
from service.search import EACH_MIN, FOUND_MAX, FoundAnswer, FoundKind, chosen
from tests.api.people import member
from tests.api.serving import BASE, Serving
from tests.dao.explaining import Explaining
from tests.dao.scene import Scene


@pytest.fixture
async def scene(api: Serving) -> Scene:
    scene = Scene(api.database)
    await scene.sql(
        "INSERT INTO workflow_definition (code, project, name) VALUES (1, 'sales', 'Daily Orders'), (2, 'sales', "
        "'orders'), (3, 'secret', 'orders of others'), (4, 'sales', '日报'), (5, 'sales', '100%_done')"
    )
    await scene.sql("INSERT INTO schedule (workflow_code, crontab) VALUES (1, '0 5 * * *'), (3, '0 6 * * *')")
    return scene


async def found(client: httpx.AsyncClient, q: str) -> list[tuple[str, str]]:
    answer = await client.get(BASE + "/search", params={"q": q})
    assert answer.status_code == 200, answer.text
    return [(each["kind"], each["name"]) for each in answer.json()["items"]]


async def test_it_finds_any_part_of_a_name_in_any_case_the_best_first(admin: httpx.AsyncClient, scene: Scene) -> None:
    await scene.node(NodeKind.WORKER, "orders-host:1234")
    of_orders = [("WORKFLOW", name) for name in ("orders", "orders of others", "Daily Orders")]
    schedules = [("SCHEDULE", "orders of others"), ("SCHEDULE", "Daily Orders")]
    assert await found(admin, "ORDER") == [*of_orders, *schedules, ("WORKER", "orders-host:1234")]
    assert await found(admin, "日") == [("WORKFLOW", "日报")]
    assert await found(admin, "%_") == [("WORKFLOW", "100%_done")]
    assert await found(admin, "ecre") == [("PROJECT", "secret")]
    assert await found(admin, "nothing") == []
    assert (await admin.get(BASE + "/search", params={"q": ""})).status_code == 422


async def test_runs_are_found_by_the_beginning_of_their_ids(admin: httpx.AsyncClient, scene: Scene) -> None:
    master = await scene.master()
    for _ in range(13):
        await scene.instance(master, code=2)
    ids = [int(each["id"]) for each in await items(admin, "1") if each["kind"] == "RUN"]
    assert ids == [1, 13, 12, 11, 10]
    assert [each["about"] for each in await items(admin, "13") if each["kind"] == "RUN"] == ["RUNNING_EXECUTION"]
    for q in ("0", "01", "9" * 19, "9" * 20, "1x", "-1"):
        assert not [kind for kind, _ in await found(admin, q) if kind == "RUN"], q


async def items(client: httpx.AsyncClient, q: str) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = (await client.get(BASE + "/search", params={"q": q})).json()["items"]
    return answer


async def test_it_shows_only_what_the_caller_may_see(api: Serving, scene: Scene) -> None:
    master = await scene.master()
    await scene.instance(master, code=3)
    everything = frozenset(Scope) - {Scope.ADMIN}
    ada = await member(api.backend, "ada", "sales", Role.VIEWER, everything)
    some = await member(api.backend, "bob", "sales", Role.VIEWER, frozenset({Scope.RUNS_READ}))
    async with api.client(ada) as seen, api.client(some) as limited:
        assert {name for _, name in await found(seen, "orders")} == {"orders", "Daily Orders"}
        assert (await found(seen, "secret"), await found(seen, "1")) == (
            [],
            [("WORKFLOW", "100%_done"), ("SCHEDULE", "Daily Orders"), ("MASTER", "10.0.0.1:5678")],
        )
        assert await found(limited, "orders") == []


def test_each_kind_has_places_and_the_rest_is_filled() -> None:
    many = {kind: [FoundAnswer(kind=kind, name=f"{n}") for n in range(30)] for kind in FoundKind}
    answer = [each.kind for each in chosen(many)]
    assert len(answer) == FOUND_MAX
    assert min(answer.count(kind) for kind in FoundKind) >= EACH_MIN - 1
    few = {
        **many,
        **{kind: [] for kind in FoundKind if kind is not FoundKind.RUN},
        FoundKind.MASTER: many[FoundKind.MASTER][:1],
    }
    answer = [each.kind for each in chosen(few)]
    assert (answer.count(FoundKind.RUN), answer.count(FoundKind.MASTER)) == (FOUND_MAX - 1, 1)


@pytest.mark.parametrize("statistics", ["none", "fresh"])
async def test_runs_and_schedules_are_found_by_their_indexes(api: Serving, statistics: str) -> None:
    scene = Scene(api.database)
    await scene.sql(
        "INSERT INTO workflow_definition (code, project, name) "
        "SELECT n, 'p' || n % 50, 'workflow ' || n FROM generate_series(1, 5000) AS n"
    )
    await scene.sql(
        "INSERT INTO schedule (workflow_code, crontab) SELECT n, '0 5 * * *' FROM generate_series(1, 5000) AS n"
    )
    await scene.sql(
        "INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, "
        "failure_strategy, priority, worker_group, ended_at) "
        "SELECT n, 1 + n % 5000, 1, 'SUCCESS', 1, 'END', 'MEDIUM', 'default', now() FROM generate_series(1, 20000) AS n"
    )
    if statistics == "fresh":
        await scene.sql("ANALYZE")
    async with api.database.writing() as connection:
        explaining: Any = Explaining(connection)
        assert len(await views.runs(explaining, "19", ["p3"], 21)) == 4
        (first, *_) = await views.workflows(connection, "workflow 77", None, 21)
        assert len(await views.schedules(explaining, "x", [first.id], None, 21)) == 1
    assert not explaining.plan.whole_tables & {"workflow_instance", "schedule"}, explaining.plan
    assert sum(explaining.plan.read.values()) <= 2_000, explaining.plan
