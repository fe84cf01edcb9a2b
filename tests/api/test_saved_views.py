"""Saved views: whose they are, who sees and changes them, what they may contain, and how many there may be."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from dao.accounts import saved_views
from model.accounts.rights import Role, Scope
from tests.api.people import member
from tests.api.serving import BASE, Serving, token_of
from tests.dao.explaining import Explaining
from tests.dao.scene import Scene

PATH = BASE + "/saved-views"
FAILED = {"state": ["FAILURE"], "since": "7d"}
ALL = frozenset({Scope.RUNS_WRITE, Scope.DEFINITIONS_WRITE})


def view(name: str = "broken", **more: Any) -> dict[str, Any]:
    return {"list": "workflow-instances", "name": name, "query": FAILED, **more}


async def scopeless(api: Serving, name: str, role: Role) -> httpx.AsyncClient:
    """An account with a role in project "etl", by a token with the scopes of edits."""
    token = await member(api.backend, name, "etl", role, ALL | {Scope.ADMIN})
    return api.client(token)


async def names(client: httpx.AsyncClient, **query: str) -> list[str]:
    return [each["name"] for each in (await client.get(PATH, params=query)).json()["items"]]


async def test_a_view_is_made_changed_over_the_revision_that_was_read_and_deleted(admin: httpx.AsyncClient) -> None:
    made = await admin.post(PATH, json=view())
    assert made.status_code == 201, made.text
    found = made.json()
    assert (found["query"], found["is_own"], found["revision"], made.headers["ETag"]) == (FAILED, True, 1, '"1"')
    own = f"{PATH}/{found['id']}"
    change = {"name": "all broken", "query": {"state": ["FAILURE", "STOP"]}}
    assert (await admin.put(own, json=change)).status_code == 428
    changed = await admin.put(own, json=change, headers={"If-Match": '"1"'})
    assert (changed.json()["name"], changed.headers["ETag"]) == ("all broken", '"2"')
    assert (await admin.put(own, json=change, headers={"If-Match": '"1"'})).status_code == 412
    assert (await admin.get(own)).json() == changed.json()
    assert await names(admin, list="workflow-instances") == ["all broken"]
    assert await names(admin, list="schedules") == []
    assert (await admin.delete(own, headers={"If-Match": '"1"'})).status_code == 412
    assert (await admin.delete(own, headers={"If-Match": '"2"'})).status_code == 204
    assert (await admin.get(own)).status_code == 404


async def test_one_alone_is_seen_by_nobody_else_and_a_shared_one_by_its_project(
    api: Serving, admin: httpx.AsyncClient
) -> None:
    editor, viewer = await scopeless(api, "eve", Role.EDITOR), await scopeless(api, "vera", Role.VIEWER)
    stranger = api.client(await token_of(api.backend, "sam", scopes=ALL))
    async with editor, viewer, stranger:
        own = (await viewer.post(PATH, json=view("mine"))).json()
        shared = (await editor.post(PATH, json=view("ours", project="etl"))).json()
        assert await names(viewer) == ["mine", "ours"]
        assert (await names(editor), await names(admin), await names(stranger)) == (["ours"], ["ours"], [])
        for other in (editor, admin, stranger):
            for answer in (
                await other.get(f"{PATH}/{own['id']}"),
                await other.delete(f"{PATH}/{own['id']}", headers={"If-Match": "*"}),
            ):
                assert answer.status_code == 404, answer.text
        assert (await viewer.get(f"{PATH}/{shared['id']}")).json()["is_own"] is False
        assert (await stranger.get(f"{PATH}/{shared['id']}")).status_code == 404
        assert (await viewer.delete(f"{PATH}/{shared['id']}", headers={"If-Match": "*"})).status_code == 403
        assert (await viewer.post(PATH, json=view("more", project="etl"))).status_code == 403
        assert (await admin.put(f"{PATH}/{shared['id']}", json=view_change(), headers={"If-Match": "*"})).is_success
    written = await Scene(api.database).sql("SELECT action, project FROM audit WHERE outcome = 'DONE' ORDER BY id")
    assert written == [("create_saved_view", None), ("create_saved_view", "etl"), ("change_saved_view", "etl")]


def view_change() -> dict[str, Any]:
    return {"name": "everybody's", "query": {}}


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"stat": ["FAILURE"]}, "has no filter"),
        ({"cursor": "x"}, "has no filter"),
        ({"state": ["BROKEN"]}, "the filter"),
        ({"workflow": "w" * 201}, "the filter"),
        ({"workflow": "a\u0000b"}, "NUL"),
        ({"state": ["FAILURE"] * 2_000}, "characters, more than 8192"),
    ],
)
async def test_what_the_list_does_not_know_is_refused(
    admin: httpx.AsyncClient, query: dict[str, Any], said: str
) -> None:
    answer = await admin.post(PATH, json=view(query=query))
    assert (answer.status_code, said in answer.text) == (422, True), answer.text
    assert await names(admin) == []


async def test_names_are_unique_and_views_are_limited_also_if_many_come_at_once(
    api: Serving, admin: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.accounts.saved_views.VIEWS_MAX", 3)
    answers = await asyncio.gather(*(admin.post(PATH, json=view(f"v{n}")) for n in range(8)))
    assert sorted(answer.status_code for answer in answers) == [201] * 3 + [422] * 5
    first, second = (await admin.get(PATH, params={"limit": 2})).json()["items"]
    same = {"name": second["name"], "query": {}}
    taken = await admin.put(f"{PATH}/{first['id']}", json=same, headers={"If-Match": "*"})
    assert (taken.status_code, "already" in taken.text) == (422, True)
    shared = [await admin.post(PATH, json=view(second["name"], project="etl")) for _ in range(2)]
    assert [answer.status_code for answer in shared] == [201, 422]


async def test_a_deleted_project_leaves_no_views(api: Serving, admin: httpx.AsyncClient) -> None:
    await admin.post(BASE + "/projects", json={"name": "etl"})
    await admin.post(PATH, json=view("ours", project="etl"))
    assert (await admin.delete(BASE + "/projects/etl")).status_code == 204
    assert await names(admin) == []


async def test_a_page_reads_no_views_of_others(api: Serving) -> None:
    await Scene(api.database).sql(
        "INSERT INTO saved_view (person, project, list, name, query, created_by) "
        "SELECT 'account ' || n % 500, CASE WHEN n % 2 = 0 THEN 'p' || n % 500 END, 'audit', 'v' || n, '{}', 'n' "
        "FROM generate_series(1, 20000) AS n"
    )
    async with api.database.writing() as connection:
        explaining = Explaining(connection)
        found = await saved_views.page(explaining, "account 7", 51, visible=["p8"])  # type: ignore[arg-type]
        assert (len(found), explaining.plan.whole_tables) == (51, set())
        assert sum(explaining.plan.read.values()) <= 200, explaining.plan
