"""Projects over the API: created, listed, changed over the state that was read, deleted when they are empty."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from dao.accounts import accounts, members
from dao.secrets.vault import new_key
from model.accounts.rights import Role
from tests.api.serving import BASE, Serving, serving, token_of

PATH = f"{BASE}/projects"


@pytest.fixture
async def api(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Serving]:
    monkeypatch.setenv("SHOAL_SECRETS__KEYS", new_key())
    async with serving(database_url) as running:
        yield running


async def test_a_repeated_request_is_answered_with_the_same_body_and_version(admin: httpx.AsyncClient) -> None:
    key = {"Idempotency-Key": "k1"}
    first, again = [await admin.post(PATH, json={"name": "sales"}, headers=key) for _ in range(2)]
    assert again.headers["Idempotency-Replayed"] == "true"
    assert (again.status_code, again.content, again.headers["ETag"]) == (201, first.content, first.headers["ETag"])


async def test_a_project_is_created_changed_and_deleted_with_an_audit_row_each(
    admin: httpx.AsyncClient, sql: Any
) -> None:
    made = await admin.post(PATH, json={"name": "sales"})
    assert (made.status_code, made.json()["workflows"]) == (201, 0), made.text
    again = await admin.post(PATH, json={"name": "sales"})
    assert (again.status_code, 'there is a project "sales" already' in again.json()["detail"]) == (422, True)
    unsaid = await admin.patch(f"{PATH}/sales", json={"params": {"region": "eu"}})
    assert unsaid.status_code == 428
    etag = made.headers["ETag"]
    changed = await admin.patch(f"{PATH}/sales", json={"params": {"region": "eu"}}, headers={"If-Match": etag})
    assert changed.json()["params"] == {"region": "eu"}
    late = await admin.patch(f"{PATH}/sales", json={"without": ["region"]}, headers={"If-Match": etag})
    assert late.status_code == 412
    read = await admin.get(f"{PATH}/sales")
    assert read.headers["ETag"] == changed.headers["ETag"] != etag
    sql("INSERT INTO workflow_definition (project, name) VALUES ('sales', 'w'), ('other', 'w')")
    used = await admin.delete(f"{PATH}/sales")
    assert (used.status_code, 'it has workflows, such as "w"' in used.json()["detail"]) == (422, True)
    sql("DELETE FROM workflow_definition WHERE project = 'sales'")
    account = sql("INSERT INTO account (name) VALUES ('vi') RETURNING id")[0][0]
    sql(f"INSERT INTO project_member (account_id, project, role) VALUES ({account}, 'sales', 'VIEWER')")
    assert [(await admin.delete(f"{PATH}/sales")).status_code for _ in range(2)] == [204, 404]
    assert sql("SELECT (SELECT count(*) FROM project), (SELECT count(*) FROM project_member)") == [(0, 0)]
    assert sql("SELECT action, object_id, project, after ->> 'set' FROM audit ORDER BY id") == [
        ("create_project", "sales", "sales", None),
        ("change_project", "sales", "sales", '["region"]'),
        ("delete_project", "sales", "sales", None),
    ]
    named = await admin.get(f"{PATH}/other")
    assert (named.json()["workflows"], named.json()["params"]) == (1, {})


async def test_only_a_project_that_there_is_gets_a_time_for_which_its_runs_are_kept(
    admin: httpx.AsyncClient, sql: Any
) -> None:
    """A mistyped name would seem to be kept for ever, and true would be a single day."""
    anyway = {"If-Match": "*"}
    nowhere = await admin.patch(f"{PATH}/slaes", json={"kept_days": 30}, headers=anyway)
    assert (nowhere.status_code, 'there is no project "slaes"' in nowhere.json()["detail"]) == (404, True)
    assert sql("SELECT count(*) FROM project") == [(0,)]
    await admin.post(PATH, json={"name": "sales"})
    for wrong in (True, -1, 36_501, "30", 1.5, "ever"):
        answer = await admin.patch(f"{PATH}/sales", json={"kept_days": wrong}, headers=anyway)
        assert answer.status_code == 422, (wrong, answer.text)
        assert answer.json()["errors"] == [
            {"pointer": "/kept_days", "detail": "must be a whole number of days from 0 to 36500, or default"}
        ]
    for right, shown in ((0, 0), (36_500, 36_500), ("default", None)):
        answer = await admin.patch(f"{PATH}/sales", json={"kept_days": right}, headers=anyway)
        assert (answer.status_code, answer.json().get("kept_days")) == (200, shown), answer.text


async def test_projects_are_listed_in_pages_and_only_those_of_the_caller(
    api: Serving, admin: httpx.AsyncClient, sql: Any
) -> None:
    names = ["a b", "b", "ä" * 60, "z"]
    for name in names[:3]:
        sql(f"INSERT INTO project (name) VALUES ('{name}')")
    sql("INSERT INTO workflow_definition (project, name) VALUES ('z', 'w'), ('z', 'v')")
    seen, cursor = [], ""
    while True:
        page = (await admin.get(f"{PATH}?limit=1{cursor}")).json()
        seen += [(each["name"], each["workflows"]) for each in page["items"]]
        if not page["has_more"]:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert sorted(seen) == sorted([*((name, 0) for name in names[:3]), ("z", 2)])
    for wrong in ("x", "YWZ0ZXIgMQ"):
        assert (await admin.get(f"{PATH}?cursor={wrong}")).status_code == 422
    token = await token_of(api.backend, "ed")
    async with api.database.writing() as connection:
        account = (await accounts.by_name(connection, "ed")).id
        await members.put(connection, account, "b", Role.EDITOR)
    async with api.client(token) as editor:
        assert [each["name"] for each in (await editor.get(PATH)).json()["items"]] == ["b"]
        refused = [
            await editor.get(f"{PATH}/z"),
            await editor.post(PATH, json={"name": "c"}),
            await editor.patch(f"{PATH}/b", json={"params": {"a": "b"}}, headers={"If-Match": "*"}),
            await editor.delete(f"{PATH}/b"),
        ]
        assert [each.status_code for each in refused] == [404, 403, 403, 403]
    wrong_name = await admin.post(PATH, json={"name": "a\nb"})
    assert (wrong_name.status_code, wrong_name.json()["errors"][0]["pointer"]) == (422, "/name")


async def test_a_sealed_value_comes_in_by_no_request_and_a_project_gets_its_secrets_in_clear(
    admin: httpx.AsyncClient, sql: Any
) -> None:
    project = f"{BASE}/projects/etl"
    await admin.post(f"{BASE}/projects", json={"name": "etl"})
    headers = {"If-Match": "*"}
    given = await admin.patch(project, json={"secrets": {"token": "hunter22"}}, headers=headers)
    assert given.json()["params"] == {"token": "******"}, given.text
    ((stored,),) = sql("SELECT params FROM project")
    sealed = json.loads(stored)["token"]
    part = await admin.patch(project, json={"params": {"url": "https://a/${token}"}}, headers=headers)
    assert part.status_code == 422, part.text
    assert "${token} is SECRET and cannot be part of another parameter" in part.json()["detail"]
    kept = await admin.patch(project, json={"secrets": {"token": "******"}}, headers=headers)
    assert (kept.status_code, sql("SELECT params FROM project")) == (200, [(stored,)])
    escaped = "\\x73" + sealed[1:]
    file = f'name: w\nproject: etl\nparams: {{token: "{escaped}"}}\ntasks: [{{name: a, type: FAKE}}]\n'
    spec = {"params": {"token": {"type": "SECRET", "value": sealed}}, "tasks": [{"name": "a", "type": "FAKE"}]}
    plain = await admin.post(f"{BASE}/workflow-definitions:apply", json=as_file(file.replace(f'"{escaped}"', "x")))
    path = f"{BASE}/workflow-definitions/{plain.json()['workflows'][0]['code']}"
    refused = [
        await admin.patch(project, json={"params": {"token": sealed}}, headers=headers),
        await admin.patch(project, json={"secrets": {"token": sealed}}, headers=headers),
        await admin.post(f"{BASE}/workflow-definitions:apply", json=as_file(file)),
        await admin.put(path, json={"spec": spec}, headers=headers),
        await admin.post(f"{path}/runs", json={"params": {"token": sealed}}),
        await admin.post(f"{path}/backfills", json={"dates": ["2026-01-01"], "params": {"token": f"x {sealed}"}}),
        await admin.post(f"{path}/schedules", json={"crontab": "@daily", "params": {"token": sealed}}),
        await admin.put(f"{BASE}/environments/e", json={"script": f"export A={sealed}"}),
        await admin.post(f"{BASE}/projects", json={"name": sealed[:60]}),
        await admin.put(f"{BASE}/resource-pools/p", json={"spec": {"resources": {"r": {"note": [sealed]}}}}),
        await admin.put(f"{BASE}/resource-pools/p", json={"yaml": f"resources:\n  r: {{note: {sealed}}}\n"}),
    ]
    assert [each.status_code for each in refused] == [422] * len(refused), [each.text for each in refused]
    assert all("a sealed value, which only Shoal writes" in each.text for each in refused)
    assert not any(sealed in each.text for each in refused)


def as_file(content: str) -> dict[str, object]:
    return {"files": [{"name": "w.yaml", "content": content}]}
