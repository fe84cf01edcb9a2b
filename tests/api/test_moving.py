"""A workflow moves between projects with all that has its code, and what names it is changed with it, or nothing is."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import httpx
import psycopg
import pytest
from sqlalchemy import make_url

from model.accounts.rights import Role
from tests.api.serving import BASE, Serving
from tests.api.test_definitions import admin, api, applied, member  # noqa: F401 - fixtures
from tests.eventually import eventually

CHILD = """\
# What it is for.
name: child
project: a
params:
  token: {type: SECRET, value: open sesame}
tasks:
  - {name: one, type: SHELL, params: {script: 'echo ${bucket}'}, updates: [sales]}   # one
  - name: below
    type: SUB_PROCESS
    params:
      # by name
      workflow: leaf
  - {name: self, type: DEPENDENT, params: {groups: [{items: [{workflow: child, cycle: last1Days}]}]}}
schedules: [{cron: "@daily", params: {token: other words}}]
"""
LEAF = "name: leaf\nproject: a\ntasks: [{name: one, type: FAKE}]\n"
PARENT = """\
name: parent
project: a
triggers: [{workflow: child}]   # when it ends
tasks: [{name: below, type: SUB_PROCESS, params: {workflow: child}}]
"""
FAR = "name: far\nproject: c\ntriggers: [{dataset: sales, project: a}]\ntasks: [{name: t, type: FAKE}]\n"
OTHER = "name: other\nproject: b\ntasks: [{name: t, type: FAKE}]\n"


async def moved(
    client: httpx.AsyncClient, code: str, *, version: int | None = 1, language: str = "en", **body: Any
) -> httpx.Response:
    match = {"Accept-Language": language, **({} if version is None else {"If-Match": f'"{version}"'})}
    return await client.post(f"{BASE}/workflow-definitions/{code}/move", json=body, headers=match)


@pytest.fixture
async def code(admin: httpx.AsyncClient) -> str:  # noqa: F811
    """Of the child."""
    found = await applied(admin, LEAF, CHILD, PARENT, FAR, OTHER)
    return str(found[1]["code"])


async def test_it_keeps_its_meaning_its_text_and_what_has_its_code(
    api: Serving,  # noqa: F811
    admin: httpx.AsyncClient,  # noqa: F811
    sql: Any,
    code: str,
) -> None:
    sql("INSERT INTO project (name, params) VALUES ('a', '{\"bucket\": \"x\"}')")
    sql("INSERT INTO alert_rule (project, name, text) VALUES ('a', 'on-child', 'any run of child fails -> group ops')")
    sql("INSERT INTO alert_silence (ends_at, project, workflow) VALUES ('2100-01-01', 'a', 'child')")
    asked = await moved(admin, code, version=None, project="b", dry_run=True)
    preview = asked.json()
    assert (preview["project"], preview["project_before"], preview["version"]) == ("b", "a", 2)
    assert ([each["name"] for each in preview["changed"]], preview["refused"]) == (["parent"], [])
    assert preview["notes"] == [
        'project "b" has no parameter "bucket", which it uses',
        'workflow "far" of project "c" waits for datasets of "a", which it updates',
        'alert rules of "a" name it: write on-child in "b"',
        'silences of "a" no longer cover it: 1',
        'in 1 of its older versions, names of workflows and data sources mean those of "b" then',
    ]
    asked = await moved(admin, code, version=None, project="b", dry_run=True, language="zh")
    assert [each for each in asked.json()["notes"] if re.search("[a-z]{4}", re.sub("“.*?”|on-child", "", each))] == []
    assert sql("SELECT count(*) FROM workflow_version") == [(5,)], "nothing was changed"
    assert (await moved(admin, code, version=None, project="b")).status_code == 428
    assert (await moved(admin, code, version=9, project="b")).status_code == 412
    done = await moved(admin, code, project="b")
    assert done.json() == {**preview, "dry_run": False}
    assert done.headers["ETag"] == '"2"'
    text = (await admin.get(f"{BASE}/workflow-definitions/{code}/export")).json()["yaml"]
    expected = CHILD.replace("project: a", "project: b").replace(
        "      workflow: leaf", '      project: "a"\n      workflow: leaf'
    )
    assert text == expected.replace("open sesame", '"******"').replace("other words", '"******"')
    above = (await admin.get(f"{BASE}/workflow-definitions:find?name=parent&project=a")).json()
    text = (await admin.get(f"{BASE}/workflow-definitions/{above['code']}/export")).json()["yaml"]
    assert text == PARENT.replace("workflow: child", 'project: "b", workflow: child')
    relations = (await admin.get(f"{BASE}/workflow-definitions/{code}/relations")).json()
    assert [each["refers_to"]["project"] for each in relations["starts"]] == ["a"]
    assert [each["workflow"]["name"] for each in relations["started_by"]] == ["parent"]
    rows = sql("SELECT object_name, project FROM audit WHERE action = 'move_workflow' ORDER BY 1, 2")
    assert rows == [("child", "a"), ("child", "b"), ("parent", "a")]
    assert sql(f"SELECT count(*) FROM schedule WHERE workflow_code = {code}") == [(1,)]
    # The secrets are those of the new project: a start there takes them, and the same content is no new version.
    again = await applied(admin, expected)
    assert (again[0]["is_new_version"], again[0]["schedules"]) == (False, [])


async def test_what_stands_against_it_is_said_before_and_refuses_it(
    api: Serving,  # noqa: F811
    admin: httpx.AsyncClient,  # noqa: F811
    sql: Any,
    code: str,
) -> None:
    await applied(admin, LEAF.replace("leaf", "child").replace("project: a", "project: c"))
    sql("INSERT INTO project (name, worker_groups) VALUES ('c', '{gpu}')")
    sql(
        f"""INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id,
               failure_strategy, priority, worker_group)
           SELECT 7, code, 1, 'RUNNING_EXECUTION', 1, 'END', 'LOW', 'g' FROM workflow_definition WHERE code = {code}"""
    )
    await admin.put(f"{BASE}/workflow-drafts/a/child", json={"content": CHILD}, headers={"If-None-Match": "*"})
    told = (await moved(admin, code, project="c", dry_run=True)).json()["refused"]
    refused = await moved(admin, code, project="c")
    assert refused.status_code == 422
    assert refused.json()["detail"] == f'workflow "child" cannot be moved: {"; ".join(told)}'
    parts = (
        'has a workflow "child" already',
        "has not ended",
        "1 draft of it",
        'may not use the worker group "default"',
    )
    for part in parts:
        assert any(part in each for each in told), (part, told)
    assert (await moved(admin, code, project="nix")).json()["detail"].startswith('there is no project "nix"')
    assert "already" in (await moved(admin, code, project="a")).json()["detail"]


async def test_of_two_moves_that_take_one_name_the_slower_one_says_so(
    api: Serving,  # noqa: F811
    admin: httpx.AsyncClient,  # noqa: F811
    sql: Any,
    code: str,
    database_url: str,
) -> None:
    await applied(admin, LEAF.replace("leaf", "child").replace("project: a", "project: c"))
    plain = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain) as other:
        other.execute("UPDATE workflow_definition SET project = 'b' WHERE project = 'c' AND name = 'child'")
        moving = asyncio.create_task(moved(admin, code, project="b"))
        waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        await eventually(lambda: moving.done() or bool(sql(waiting)))
    refused = await moving
    assert refused.status_code == 422, refused.text
    assert (
        refused.json()["detail"]
        == 'project "b" has had a workflow of that name since a moment ago; rename one of the two first'
    )
    assert sql(f"SELECT project, version FROM workflow_definition WHERE code = {code}") == [("a", 1)]


async def test_it_needs_the_right_in_both_projects_and_in_those_that_name_it(
    api: Serving,  # noqa: F811
    admin: httpx.AsyncClient,  # noqa: F811
    code: str,
) -> None:
    async with await member(api, "bob", a=Role.EDITOR) as bob:
        assert (await moved(bob, code, project="b")).status_code == 404, "he does not see it"
    async with await member(api, "eve", a=Role.EDITOR, b=Role.VIEWER) as eve:
        assert (await moved(eve, code, project="b")).status_code == 403, (await moved(eve, code, project="b")).text
    (_,) = await applied(admin, PARENT.replace("project: a", "project: c").replace("child", "child, project: a"))
    async with await member(api, "tom", a=Role.EDITOR, b=Role.EDITOR, c=Role.VIEWER) as tom:
        (told,) = (await moved(tom, code, project="b", dry_run=True)).json()["refused"]
        assert told.startswith('workflow "parent" of project "c" names it, and tom may not change that one')
    async with await member(api, "kim", a=Role.EDITOR, b=Role.EDITOR) as kim:
        (told,) = (await moved(kim, code, project="b", dry_run=True)).json()["refused"]
        assert told.startswith("a workflow names it, and kim may not"), "nor what it is called"
