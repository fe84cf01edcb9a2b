"""Drafts and layouts over the API: drafts are each person's own and published over what was read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from dao.accounts import accounts, members
from dao.postgres.sql import Sql
from model.accounts.rights import Role
from tests.api.serving import BASE, Serving, token_of

DRAFT = f"{BASE}/workflow-drafts/default/w"


def text_of(script: str, name: str = "w") -> str:
    return f'name: {name}\ntasks:\n  - {{name: a, type: SHELL, params: {{script: "{script}"}}}}\n'


async def editor(api: Serving, name: str, role: Role = Role.EDITOR) -> httpx.AsyncClient:
    token = await token_of(api.backend, name)
    async with api.database.writing() as connection:
        account = await accounts.by_name(connection, name)
        await members.put(connection, account.id, "default", role)
    return api.client(token)


@pytest.fixture
async def ada(api: Serving) -> AsyncIterator[httpx.AsyncClient]:
    async with await editor(api, "ada") as client:
        yield client


@pytest.fixture
async def ben(api: Serving) -> AsyncIterator[httpx.AsyncClient]:
    async with await editor(api, "ben") as client:
        yield client


async def apply(client: httpx.AsyncClient, text: str) -> dict[str, Any]:
    answer = await client.post(
        f"{BASE}/workflow-definitions:apply", json={"files": [{"name": "f.yaml", "content": text}]}
    )
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["workflows"][0]
    return found


async def test_a_draft_is_saved_checked_compared_and_published(ada: httpx.AsyncClient, sql: Any) -> None:
    head = await apply(ada, text_of("one"))
    made = await ada.put(DRAFT, json={"content": "name: w\ntasks: half of", "base_version": 1})
    assert (made.status_code, made.headers["ETag"]) == (200, '"1"'), made.text
    assert (made.json()["code"], made.json()["base_version"], made.json()["version"]) == (head["code"], 1, 1)
    checked = (await ada.get(f"{DRAFT}/check")).json()
    assert (checked["valid"], checked["problems"][0]["file"], checked["problems"][0]["line"]) == (False, "draft", 2)
    unsaid = await ada.put(DRAFT, json={"content": text_of("two")})
    assert (unsaid.status_code, unsaid.json()["code"]) == (428, "SH-1005")
    saved = await ada.put(DRAFT, json={"content": text_of("two")}, headers={"If-Match": '"1"'})
    late = await ada.put(DRAFT, json={"content": text_of("three")}, headers={"If-Match": '"1"'})
    assert (saved.headers["ETag"], late.status_code, late.json()["code"]) == ('"2"', 412, "SH-1004")
    assert (await ada.get(f"{DRAFT}/check")).json() == {"valid": True, "problems": [], "warnings": []}
    diff = (await ada.get(f"{DRAFT}/diff")).json()
    assert [line.strip(" -+") for line in diff["diff"] if line[1:2] == " "].count("script: one") == 1
    assert diff["published_between"] == []
    read = await ada.get(DRAFT)
    assert (read.json()["content"], read.json()["published_between"]) == (text_of("two"), [])
    done = await ada.post(f"{DRAFT}/publish", headers={"If-Match": read.headers["ETag"], "Idempotency-Key": "k"})
    assert (done.status_code, done.json()["version"], done.json()["is_new_version"]) == (200, 2, True), done.text
    again = await ada.post(f"{DRAFT}/publish", headers={"If-Match": read.headers["ETag"], "Idempotency-Key": "k"})
    assert (again.json(), again.headers["Idempotency-Replayed"]) == (done.json(), "true")
    assert (await ada.get(DRAFT)).status_code == 404
    assert sql("SELECT created_by FROM workflow_version WHERE version = 2") == [("ada",)]
    said = "SELECT action, object_name, after ->> 'version' FROM audit WHERE action LIKE '%draft' ORDER BY id DESC"
    assert sql(said)[0] == ("publish_draft", "w", "2")
    assert "two" not in str(sql("SELECT before, after FROM audit WHERE action = 'save_draft'"))


@pytest.mark.parametrize("asked", ["", "?layout=true", "?canonical=true"])
async def test_a_draft_of_what_is_published_changes_nothing(ada: httpx.AsyncClient, asked: str) -> None:
    """The database stores the names of parameters in an order of its own."""
    tasks = """
      - {name: b, type: FAKE, after: [a]}
      - {name: c, type: FAKE, after: [a]}
      - {name: a, type: SWITCH, params: {cases: [{when: "1 == 1", then: b}], default: c}}
    """
    head = await apply(ada, f"name: w\nparams: {{zone: 1, a: 2}}\ntasks: {tasks}")
    published = (await ada.get(f"{BASE}/workflow-definitions/{head['code']}/export{asked}")).json()["yaml"]
    assert (await ada.put(DRAFT, json={"content": published})).status_code == 200
    assert (await ada.get(f"{DRAFT}/diff")).json()["diff"] == []


async def test_who_published_in_between_is_said_and_what(ada: httpx.AsyncClient, ben: httpx.AsyncClient) -> None:
    await apply(ada, text_of("one"))
    for who, script in ((ada, "adas"), (ben, "bens")):
        draft = {"content": text_of(script), "base_version": 1}
        assert (await who.put(DRAFT, json=draft)).status_code == 200
    assert (await ben.post(f"{DRAFT}/publish", headers={"If-Match": "2"})).status_code == 200
    refused = await ada.post(f"{DRAFT}/publish", headers={"If-Match": "1"})
    assert (refused.status_code, refused.json()["code"]) == (412, "SH-1004")
    assert "ben saved version 2" in refused.json()["detail"]
    read = (await ada.get(DRAFT)).json()
    assert (read["base_version"], read["version"]) == (1, 2)
    assert [(each["version"], each["created_by"]) for each in read["published_between"]] == [(2, "ben")]
    theirs = (await ada.get(f"{DRAFT}/diff")).json()["published_between"]
    assert any(line.startswith("+") and "bens" in line for line in theirs), theirs
    both = {"content": text_of("both"), "base_version": 2}
    merged = await ada.put(DRAFT, json=both, headers={"If-Match": "1"})
    assert merged.json()["base_version"] == 2
    assert (await ada.post(f"{DRAFT}/publish", headers={"If-Match": merged.headers["ETag"]})).json()["version"] == 3


async def test_a_draft_that_names_no_version_replaces_none(ada: httpx.AsyncClient, ben: httpx.AsyncClient) -> None:
    """What its author saw is not known: it may be older than what is there."""
    await apply(ben, text_of("bens"))
    made = await ada.put(DRAFT, json={"content": text_of("old")})
    assert (made.status_code, "base_version" in made.json(), made.json()["version"]) == (200, False, 1)
    refused = await ada.post(f"{DRAFT}/publish", headers={"If-Match": made.headers["ETag"]})
    assert (refused.status_code, refused.json()["code"]) == (412, "SH-1004"), refused.text
    assert "names no version" in refused.json()["detail"]


async def test_a_window_with_an_old_draft_cannot_take_a_new_one_for_its_own(ada: httpx.AsyncClient) -> None:
    """The old draft was published and a new one begun elsewhere; the first window still has the old one's ETag."""
    await apply(ada, text_of("one"))
    old = await ada.put(DRAFT, json={"content": text_of("two"), "base_version": 1})
    assert (await ada.post(f"{DRAFT}/publish", headers={"If-Match": old.headers["ETag"]})).json()["version"] == 2
    assert (await ada.put(DRAFT, json={"content": text_of("three"), "base_version": 2})).status_code == 200
    stale = await ada.put(DRAFT, json={"content": text_of("stale")}, headers={"If-Match": old.headers["ETag"]})
    assert (stale.status_code, stale.json()["code"]) == (412, "SH-1004")
    assert (await ada.get(DRAFT)).json()["content"] == text_of("three")


async def test_drafts_of_a_person_are_limited(api: Serving, ada: httpx.AsyncClient, ben: httpx.AsyncClient) -> None:
    assert (await ada.put(DRAFT, json={"content": "x"})).status_code == 200
    async with api.database.writing() as connection:
        await connection.execute(
            Sql(
                "INSERT INTO workflow_draft (person, project, name, content) SELECT person, project, n::text, 'x' "
                "FROM workflow_draft, generate_series(2, 500) AS n"
            )
        )
    more = await ada.put(f"{BASE}/workflow-drafts/default/more", json={"content": "x"})
    assert (more.status_code, "you have 500 drafts" in more.json()["detail"]) == (422, True)
    assert (await ada.put(DRAFT, json={"content": "y"}, headers={"If-Match": "*"})).status_code == 200
    assert (await ben.put(DRAFT, json={"content": "x"})).status_code == 200


async def test_drafts_are_each_person_s_own(api: Serving, ada: httpx.AsyncClient, ben: httpx.AsyncClient) -> None:
    for name in ("b", "a", "ü"):
        made = await ada.put(f"{BASE}/workflow-drafts/default/{name}", json={"content": text_of("x", name)})
        assert made.status_code == 200, made.text
        assert "code" not in made.json()
    first = (await ada.get(f"{BASE}/workflow-drafts?limit=2")).json()
    rest = (await ada.get(f"{BASE}/workflow-drafts", params={"limit": 2, "cursor": first["next_cursor"]})).json()
    assert [[each["name"] for each in page["items"]] for page in (first, rest)] == [["a", "b"], ["ü"]]
    assert (first["has_more"], rest["has_more"]) == (True, False)
    assert (await ada.get(f"{BASE}/workflow-drafts?cursor=xyz")).status_code == 422
    assert (await ben.get(f"{BASE}/workflow-drafts")).json()["items"] == []
    assert (await ben.get(f"{BASE}/workflow-drafts/default/a")).status_code == 404
    new = (await ada.get(f"{BASE}/workflow-drafts/default/a/diff")).json()["diff"]
    assert "+name: a" in new
    path = f"{BASE}/workflow-drafts/default/b"
    assert (await ada.delete(path)).status_code == 428
    assert (await ada.delete(path, headers={"If-Match": "*"})).status_code == 204
    assert (await ada.delete(path, headers={"If-Match": "*"})).status_code == 404
    gone = await ada.put(path, json={"content": "x"}, headers={"If-Match": "1"})
    assert (gone.status_code, "it is gone" in gone.json()["detail"]) == (412, True)
    async with api.database.writing() as connection:
        account = await accounts.by_name(connection, "ada")
        await members.put(connection, account.id, "default", Role.OPERATOR)
    assert (await ada.get(f"{BASE}/workflow-drafts/default/a")).status_code == 403
    assert (await ada.get(f"{BASE}/workflow-drafts")).json()["items"] == []


async def test_a_draft_reaches_no_further_than_a_file_of_its_author(
    api: Serving, ada: httpx.AsyncClient, sql: Any
) -> None:
    async with api.client(await token_of(api.backend, "root", is_admin=True)) as admin:
        await apply(admin, "name: secret\nproject: other\ntasks: [{name: a, type: FAKE}]\n")
    reaching = "name: w\ntasks: [{name: a, type: SUB_PROCESS, params: {workflow: secret, project: other}}]\n"
    assert (await ada.put(DRAFT, json={"content": reaching})).status_code == 200
    refused = [await ada.get(f"{DRAFT}/check"), await ada.post(f"{DRAFT}/publish", headers={"If-Match": "1"})]
    assert [each.status_code for each in refused] == [404, 404], [each.text for each in refused]
    await ada.put(DRAFT, json={"content": text_of("x", "another")}, headers={"If-Match": "*"})
    found = (await ada.get(f"{DRAFT}/check")).json()
    assert (found["valid"], 'it has "another"' in found["problems"][0]["sentence"]) == (False, True)
    assert sql("SELECT name FROM workflow_definition") == [("secret",)]


async def test_a_layout_is_replaced_without_a_version_and_goes_with_the_next_one(
    api: Serving, ada: httpx.AsyncClient, sql: Any
) -> None:
    head = await apply(ada, text_of("one"))
    path = f"{BASE}/workflow-definitions/{head['code']}/layout"
    assert (await ada.get(path)).json() == {"version": 1, "tasks": {}, "notes": []}
    layout = {"tasks": {"a": {"x": 1, "y": 2.5}}, "notes": [{"text": "why", "x": 0, "y": 0, "w": 10, "h": 5}]}
    put = await ada.put(path, json=layout)
    assert (put.status_code, put.json()["version"]) == (200, 1), put.text
    await apply(ada, text_of("two"))
    assert (await ada.get(path)).json()["version"] == 2
    assert (await ada.get(path)).json()["tasks"] == layout["tasks"]
    assert (await ada.put(f"{path}?version=1", json={})).status_code == 200
    assert (await ada.get(f"{path}?version=1")).json()["tasks"] == {}
    stranger = await ada.put(path, json={"tasks": {"b": {"x": 1, "y": 1}}})
    assert (stranger.status_code, 'has no task "b"' in stranger.json()["detail"]) == (422, True)
    wrong = await ada.put(path, json={"tasks": {"a": {"x": "far", "y": 1}}})
    assert (wrong.status_code, wrong.json()["errors"][0]["pointer"]) == (422, "/tasks/a/x")
    assert [
        (await ada.get(f"{path}?version=9")).status_code,
        (await ada.put(f"{path}?version=9", json={})).status_code,
    ] == [404, 404]
    export = f"{BASE}/workflow-definitions/{head['code']}/export"
    assert "layout" not in (await ada.get(export)).json()["yaml"]
    assert "why" in (await ada.get(f"{export}?layout=true")).json()["yaml"]
    assert sql("SELECT after FROM audit WHERE action = 'put_layout' ORDER BY id LIMIT 1") == [
        ({"version": 1, "tasks": 1, "notes": 1},)
    ]
    async with await editor(api, "olga", Role.OPERATOR) as olga:
        assert [(await olga.get(path)).status_code, (await olga.put(path, json={})).status_code] == [200, 403]
