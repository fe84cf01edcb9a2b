"""Workflow definitions over the API: saved all or none, checked, compared, rolled back, published, deleted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest
from ruamel.yaml import YAML

from dao.accounts import accounts, members
from dao.secrets.vault import new_key
from model.accounts.rights import Role, Scope
from tests.api.serving import BASE, Serving, serving, token_of

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))
CHILD = "name: child\ntasks: [{name: a, type: FAKE}]\n"
PARENT = "name: parent\ntasks: [{name: below, type: SUB_PROCESS, params: {workflow: child}}]\n"
WAITS = """\
name: later
tasks: [{name: b, type: DEPENDENT, params: {groups: [{items: [{workflow: child, cycle: today}]}]}}]
"""

LAUGHS = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
MERGES = "a0: &a0 {}\n" + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 12))


@pytest.fixture
async def api(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Serving]:
    monkeypatch.setenv("SHOAL_SECRETS__KEY_FILE", str(tmp_path / "keys"))
    (tmp_path / "keys").write_text(new_key() + "\n")
    (tmp_path / "keys").chmod(0o600)
    async with serving(database_url) as running:
        yield running


@pytest.fixture
async def admin(api: Serving) -> AsyncIterator[httpx.AsyncClient]:
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        yield client


async def member(api: Serving, name: str, **roles: Role) -> httpx.AsyncClient:
    token = await token_of(api.backend, name, scopes=frozenset({Scope.ADMIN}))
    async with api.database.writing() as connection:
        account = await accounts.by_name(connection, name)
        for project, role in roles.items():
            await members.put(connection, account.id, project, role)
    return api.client(token)


def files(*contents: str) -> list[dict[str, str]]:
    return [{"name": f"{place}.yaml", "content": content} for place, content in enumerate(contents)]


async def applied(client: httpx.AsyncClient, *contents: str) -> list[dict[str, Any]]:
    answer = await client.post(f"{BASE}/workflow-definitions:apply", json={"files": files(*contents)})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["workflows"]
    return found


async def test_what_a_file_names_and_does_not_exist_is_a_warning(admin: httpx.AsyncClient) -> None:
    file = """name: names
environment: prod
tasks:
  - {name: a, type: SQL, environment: "x y", params: {datasource: lake, sql: select 1, alert_group: team}}
  - {name: b, type: SQL, params: {datasource: "${which}", sql: select 1}, skip_exit_codes: [9]}
  - {name: c, type: WAIT, params: {for: {s3: {datasource: sea, key: a}}}}
schedules: [{cron: "@daily", alert_group: ops, environment: prod, state: OFFLINE, end_time: 2020-01-01}]
"""
    checked = await admin.post(f"{BASE}/workflow-definitions:validate", json={"files": files(file)})
    assert checked.json()["problems"] == []
    expected = [
        'there is no environment "prod"; create it before the workflow runs',
        'task "a": there is no environment "x y"; create it before the workflow runs',
        'task "a": there is no data source "lake"; create it before the workflow runs',
        'task "a": there is no alert group "team"; create it before the workflow runs',
        'task "c": there is no data source "sea"; create it before the workflow runs',
        'schedule 1: there is no environment "prod"; create it before the workflow runs',
        'schedule 1: there is no alert group "ops"; create it before the workflow runs',
    ]
    useless = [
        'task "a": an environment has no effect on the type SQL; remove it',
        'task "b": skip_exit_codes have no effect on the type SQL; remove them',
    ]
    assert sorted(each["sentence"] for each in checked.json()["warnings"]) == sorted([*expected, *useless])
    (saved,) = await applied(admin, file)
    assert sorted(saved["warnings"]) == sorted([*expected, *useless])


async def test_files_are_saved_all_or_none_with_an_audit_row_each(
    api: Serving, admin: httpx.AsyncClient, sql: Any
) -> None:
    path = f"{BASE}/workflow-definitions:apply"
    refused = await admin.post(path, json={"files": files(PARENT, CHILD + "tsks: 1\n")})
    assert (refused.status_code, refused.json()["code"]) == (422, "SH-1007")
    assert refused.json()["errors"] == [
        {"pointer": "", "detail": '1.yaml:3: there is no field "tsks", did you mean "tasks"?'}
    ]
    assert sql("SELECT count(*) FROM workflow_definition") == [(0,)]
    rehearsed = await admin.post(path, json={"files": files(PARENT, CHILD), "dry_run": True})
    assert [each["name"] for each in rehearsed.json()["workflows"]] == ["parent", "child"]
    assert sql("SELECT count(*) FROM workflow_definition") == [(0,)]
    assert sql("SELECT count(*) FROM audit") == [(0,)], "nothing was changed"
    scheduled = CHILD + "schedules: [{cron: '@daily'}]\nparams: {region: 1}\n"
    scheduled = scheduled.replace("FAKE}", "SHELL, params: {script: 'echo ${regoin}'}}")
    parent, child = await applied(admin, PARENT, scheduled)
    assert (parent["version"], parent["is_new_version"], child["tasks"]) == (1, True, 1)
    assert [each["what"] for each in child["schedules"]] == ["added"]
    assert child["warnings"] == ['task "a": ${regoin} is no parameter of the workflow; did you mean ${region}?']
    said = "actor, action, object_id, object_name, project, before, after ->> 'version'"
    assert sql(f"SELECT {said} FROM audit ORDER BY object_name DESC") == [
        ("ada", "apply_workflows", parent["code"], "parent", "default", None, "1"),
        ("ada", "apply_workflows", child["code"], "child", "default", None, "1"),
    ]
    assert sql("SELECT DISTINCT created_by FROM workflow_version") == [("ada",)]


@pytest.mark.parametrize("script", ["cd /tmp\r\npwd\r\n", "\ufeffcd /tmp\npwd", "cd /tmp\npwd\r"])
async def test_a_script_from_windows_is_made_plain_and_the_answer_says_so(
    admin: httpx.AsyncClient, script: str
) -> None:
    tasks = [{"name": "a", "type": "SHELL", "params": {"script": script}}]
    text = json.dumps({"name": "windows", "tasks": tasks})
    said = 'task "a": its script is saved with plain line ends and without a byte order mark'
    checked = await admin.post(f"{BASE}/workflow-definitions:validate", json={"files": files(text)})
    assert [each["sentence"].startswith(said) for each in checked.json()["warnings"]] == [True]
    (saved,) = await applied(admin, text)
    assert [each.startswith(said) for each in saved["warnings"]] == [True]
    path = f"{BASE}/workflow-definitions/{saved['code']}"
    spec = (await admin.get(path)).json()["spec"]
    assert spec["tasks"][0]["params"]["script"] == script.replace("\r", "").removeprefix("\ufeff")
    (again,) = await applied(admin, text)
    assert not again["is_new_version"]
    spec["tasks"][0]["params"]["script"] = script + "\n# more\r"
    done = await admin.put(path, json={"spec": spec}, headers={"If-Match": '"1"'})
    assert [each.startswith(said) for each in done.json()["warnings"]] == [True]


async def test_validating_names_file_line_and_sentence_and_saves_nothing(admin: httpx.AsyncClient, sql: Any) -> None:
    path = f"{BASE}/workflow-definitions:validate"
    bad = (await admin.post(path, json={"files": files(CHILD, "name: x\ntasks:\n  - {name: t, type: SHEL}\n")})).json()
    assert bad["problems"] == [
        {"file": "1.yaml", "line": 3, "sentence": 'task "t": there is no task type "SHEL"; did you mean SHELL?'}
    ]
    alone = (await admin.post(path, json={"files": files(PARENT)})).json()
    assert (alone["valid"], alone["problems"][0]["line"]) == (False, 2)
    assert 'there is no workflow "child"' in alone["problems"][0]["sentence"]
    good = (await admin.post(path, json={"files": files(PARENT, CHILD)})).json()
    assert good == {"valid": True, "problems": [], "warnings": []}
    half = '{"files": [{"name": "f", "content": "a: \\ud800"}]}'
    odd = await admin.post(path, content=half, headers={"Content-Type": "application/json"})
    assert (odd.status_code, odd.json()["errors"][0]["pointer"]) == (422, "/files/0/content")
    assert sql("SELECT count(*) FROM workflow_definition") == [(0,)]


async def test_a_definition_is_put_only_over_the_version_that_was_read(admin: httpx.AsyncClient, sql: Any) -> None:
    (head,) = await applied(admin, CHILD + "schedules: [{cron: '@daily'}]\n")
    path = f"{BASE}/workflow-definitions/{head['code']}"
    read = await admin.get(path)
    assert read.headers["ETag"] == '"1"'
    spec = {**read.json()["spec"], "description": "changed"}
    unsaid = await admin.put(path, json={"spec": spec})
    assert (unsaid.status_code, unsaid.json()["code"]) == (428, "SH-1005")
    done = await admin.put(path, json={"spec": spec}, headers={"If-Match": '"1"'})
    assert (done.status_code, done.json()["version"], done.headers["ETag"]) == (200, 2, '"2"'), done.text
    assert sql("SELECT count(*) FROM schedule") == [(1,)], "a definition alone leaves schedules as they are"
    late = await admin.put(path, json={"yaml": CHILD}, headers={"If-Match": '"1"'})
    assert (late.status_code, late.json()["code"]) == (412, "SH-1004")
    assert "version 2 is there now, saved by ada at " in late.json()["detail"]
    same = await admin.put(path, json={"spec": spec}, headers={"If-Match": '"2"'})
    assert (same.json()["version"], same.json()["is_new_version"]) == (2, False)
    whole = await admin.put(path, json={"yaml": CHILD}, headers={"If-Match": '"2"'})
    assert whole.json()["version"] == 3
    assert sql("SELECT count(*) FROM schedule") == [(0,)], "a file lists all schedules"
    for body, pointer in (
        ({"spec": {"tasks": [{"name": "a", "type": "NIX"}]}}, "/spec/tasks/0/type"),
        ({"spec": {"tasks": [{"name": "a", "type": "FAKE", "retry_times": -1}]}}, "/spec/tasks/0/retry_times"),
    ):
        wrong = await admin.put(path, json=body, headers={"If-Match": '"3"'})
        assert (wrong.status_code, wrong.json()["errors"][0]["pointer"]) == (422, pointer)
    for body in ({}, {"yaml": CHILD, "spec": spec}, {"yaml": PARENT}, {"yaml": CHILD + "---\n" + PARENT}):
        assert (await admin.put(path, json=body, headers={"If-Match": '"3"'})).status_code == 422
    assert (await admin.put(f"{BASE}/workflow-definitions/99", json={"yaml": CHILD})).status_code == 404


async def test_of_several_who_change_one_version_one_succeeds(admin: httpx.AsyncClient, sql: Any) -> None:
    (head,) = await applied(admin, CHILD)
    path = f"{BASE}/workflow-definitions/{head['code']}"
    answers = await asyncio.gather(
        *(
            admin.put(path, json={"yaml": f"{CHILD}description: text {number}\n"}, headers={"If-Match": "1"})
            for number in range(5)
        )
    )
    assert sorted(answer.status_code for answer in answers) == [200, 412, 412, 412, 412]
    request: dict[str, Any] = {"json": {"files": files(CHILD)}, "headers": {"Idempotency-Key": "k"}}
    first, again = [await admin.post(f"{BASE}/workflow-definitions:apply", **request) for _ in range(2)]
    assert first.json()["workflows"][0]["is_new_version"]
    assert (again.json(), again.headers["Idempotency-Replayed"]) == (first.json(), "true")
    assert sql("SELECT count(*) FROM workflow_version") == [(3,)]


async def test_versions_are_listed_compared_exported_and_rolled_back(admin: httpx.AsyncClient, sql: Any) -> None:
    (head,) = await applied(admin, CHILD)
    for number in (2, 3):
        await applied(admin, CHILD + f"description: text {number}\n")
    path = f"{BASE}/workflow-definitions/{head['code']}"
    first = (await admin.get(f"{path}/versions?limit=2")).json()
    rest = (await admin.get(f"{path}/versions?limit=2&cursor={first['next_cursor']}")).json()
    listed = [*first["items"], *rest["items"]]
    assert [(each["version"], each["is_current"], each["created_by"]) for each in listed] == [
        (3, True, "ada"),
        (2, False, "ada"),
        (1, False, "ada"),
    ]
    assert "+description: text 3" in (await admin.get(f"{path}/diff")).json()["diff"]
    assert "-description: text 3" in (await admin.get(f"{path}/diff?older=3&newer=1")).json()["diff"]
    file = await admin.post(f"{path}/diff", json={"files": files(CHILD)})
    assert "-description: text 3" in file.json()["diff"]
    assert (await admin.get(f"{path}/export?version=2")).json()["yaml"] == CHILD + "description: text 2\n"
    made = (await admin.get(f"{path}/export?version=2&canonical=true")).json()["yaml"]
    assert made == "name: child\ndescription: text 2\ntasks:\n  - name: a\n    type: FAKE\n"
    assert (await admin.get(f"{path}/versions/2")).json()["spec"]["description"] == "text 2"
    for missing in ("versions/9", "versions/99999999999", "export?version=9", "diff?older=1&newer=9"):
        assert (await admin.get(f"{path}/{missing}")).status_code == 404, missing
    assert (await admin.post(f"{path}/roll-back", json={"version": 1})).status_code == 428
    back = await admin.post(f"{path}/roll-back", json={"version": 1}, headers={"If-Match": '"3"'})
    assert (back.json()["version"], back.json()["is_new_version"]) == (4, True)
    assert sql("SELECT count(DISTINCT spec) FROM workflow_version WHERE version IN (1, 4)") == [(1,)]
    assert sql("SELECT after FROM audit WHERE action = 'roll_back_workflow'") == [
        ({"version": 4, "release_state": "ONLINE", "content_of": 1},)
    ]


async def test_workflows_are_listed_found_published_taken_back_and_deleted(admin: httpx.AsyncClient, sql: Any) -> None:
    await applied(admin, CHILD, PARENT, CHILD.replace("child", "Childish") + "project: sales\n")
    path = f"{BASE}/workflow-definitions"
    assert [each["name"] for each in (await admin.get(f"{path}?q=CHILD")).json()["items"]] == ["child", "Childish"]
    assert [each["name"] for each in (await admin.get(f"{path}?project=sales")).json()["items"]] == ["Childish"]
    page = (await admin.get(f"{path}?limit=2")).json()
    rest = (await admin.get(f"{path}?limit=2&cursor={page['next_cursor']}")).json()
    assert [each["name"] for each in rest["items"]] == ["Childish"]
    code = (await admin.get(f"{path}:find?name=child")).json()["code"]
    state = {"release_state": "OFFLINE"}
    off, again = [await admin.put(f"{path}/{code}/release-state", json=state) for _ in range(2)]
    assert (off.json()["is_changed"], again.json()["is_changed"]) == (True, False)
    assert [each["name"] for each in (await admin.get(f"{path}?release_state=OFFLINE")).json()["items"]] == ["child"]
    unread = await admin.delete(f"{path}/{code}", headers={"If-Match": '"7"'})
    assert unread.status_code == 412, "a version that is said is compared"
    used = await admin.delete(f"{path}/{code}")
    assert (used.status_code, 'workflow "parent" uses it' in used.json()["detail"]) == (422, True)
    parent = (await admin.get(f"{path}:find?name=parent")).json()["code"]
    assert [(await admin.delete(f"{path}/{each}")).status_code for each in (parent, code, code)] == [204, 204, 404]
    assert sql("SELECT action, object_name, after FROM audit WHERE action = 'delete_workflow' ORDER BY id") == [
        ("delete_workflow", "parent", None),
        ("delete_workflow", "child", None),
    ]


async def test_relations_are_shown_from_both_ends(admin: httpx.AsyncClient) -> None:
    child, parent, _ = await applied(admin, CHILD, PARENT, WAITS)
    path = f"{BASE}/workflow-definitions"
    of_child = (await admin.get(f"{path}/{child['code']}/relations")).json()
    assert [each["workflow"]["name"] for each in of_child["started_by"]] == ["parent"]
    assert [(each["workflow"]["name"], each["task"], each["type"]) for each in of_child["feeds"]] == [
        ("later", "b", "DEPENDENT")
    ]
    of_parent = (await admin.get(f"{path}/{parent['code']}/relations")).json()
    assert [each["refers_to"]["code"] for each in of_parent["starts"]] == [child["code"]]
    assert len((await admin.get(f"{BASE}/workflow-relations?project=default")).json()["items"]) == 2
    assert (await admin.get(f"{BASE}/workflow-relations?project=sales")).json()["items"] == []


async def test_roles_limit_what_is_seen_and_changed(api: Serving, admin: httpx.AsyncClient) -> None:
    theirs = CHILD + "project: sales\n"
    child, sales = await applied(admin, CHILD, theirs)
    path = f"{BASE}/workflow-definitions"
    viewer, editor = await member(api, "vi", sales=Role.VIEWER), await member(api, "ed", mine=Role.EDITOR)
    async with viewer, editor:
        assert [each["name"] for each in (await viewer.get(path)).json()["items"]] == ["child"]
        refused = [
            await viewer.get(f"{path}/{child['code']}"),
            await viewer.post(f"{path}:apply", json={"files": files(theirs)}),
            await viewer.post(f"{path}:validate", json={"files": files(theirs)}),
            await viewer.put(f"{path}/{sales['code']}", json={"yaml": theirs}, headers={"If-Match": "1"}),
            await viewer.post(f"{path}/{sales['code']}/roll-back", json={"version": 1}, headers={"If-Match": "1"}),
            await viewer.post(f"{path}/{sales['code']}/diff", json={"files": files(theirs)}),
            await viewer.put(f"{path}/{sales['code']}/release-state", json={"release_state": "OFFLINE"}),
            await viewer.delete(f"{path}/{sales['code']}"),
            await editor.post(f"{path}:apply", json={"files": files(CHILD + "project: mine\n", theirs)}),
        ]
        assert [each.status_code for each in refused] == [404, *[403] * 7, 404]
        elsewhere = await editor.get(f"{path}:find?name=child&project=mine")
        assert (elsewhere.status_code, "sales" in elsewhere.text) == (404, False)
        mine = PARENT + "project: mine\n"
        for named in ("{workflow: child, project: sales}", f"{{workflow: {sales['code']}}}"):
            content = mine.replace("{workflow: child}", named)
            reach = await editor.post(f"{path}:apply", json={"files": files(content)})
            assert (reach.status_code, "there is no workflow" in reach.json()["detail"]) == (404, True), reach.text
        own = await editor.post(f"{path}:apply", json={"files": files(mine, CHILD + "project: mine\n")})
        assert own.status_code == 200, own.text
        assert (await viewer.get(f"{BASE}/workflow-relations")).json()["items"] == []
        assert len((await editor.get(f"{BASE}/workflow-relations")).json()["items"]) == 1


async def test_a_project_uses_only_tenants_and_worker_groups_that_it_may(admin: httpx.AsyncClient, sql: Any) -> None:
    sql("INSERT INTO project (name, tenants, worker_groups) VALUES ('default', '{etl}', '{big,default}')")
    path = f"{BASE}/workflow-definitions"
    for more, refused in (
        ("worker_group: small\n", 'may not use the worker group "small", only big, default'),
        ("tenant: root\n", 'may not use the tenant "root", only etl'),
        ("schedules: [{cron: '@daily', worker_group: small}]\n", 'the worker group "small"'),
    ):
        answer = await admin.post(f"{path}:apply", json={"files": files(CHILD + more)})
        assert (answer.status_code, refused in answer.json()["detail"]) == (422, True), answer.text
    (head,) = await applied(admin, CHILD + "worker_group: big\ntenant: etl\n")
    spec = {"tasks": [{"name": "a", "type": "FAKE", "worker_group": "small"}]}
    put = await admin.put(f"{path}/{head['code']}", json={"spec": spec}, headers={"If-Match": "1"})
    started = [
        await admin.post(f"{path}/{head['code']}/runs", json={"worker_group": group}) for group in ("small", "big")
    ]
    assert [each.status_code for each in (put, *started)] == [422, 422, 202]


async def test_a_secret_is_never_answered_and_asterisks_stand_for_it(
    api: Serving, admin: httpx.AsyncClient, sql: Any
) -> None:
    secret = CHILD + "project: sales\nparams: {token: {type: SECRET, value: hunter22}}\n"
    secret += "schedules: [{cron: '@daily', params: {token: hunter44}}, {cron: '@weekly'}]\n"
    (head,) = await applied(admin, secret)
    path = f"{BASE}/workflow-definitions/{head['code']}"
    async with await member(api, "vi", sales=Role.VIEWER) as viewer:
        shown = (await viewer.get(f"{path}/export")).json()["yaml"]
        spec = (await viewer.get(path)).json()["spec"]
    assert "******" in shown
    assert (spec["params"], spec["secrets"]) == ({"token": "******"}, ["token"])
    stored = "SELECT count(*), count(DISTINCT spec -> 'params') FROM workflow_version"
    (same,) = await applied(admin, shown)
    assert (same["is_new_version"], same["schedules"]) == (False, [])
    changed = {**spec, "description": "changed"}
    done = await admin.put(path, json={"spec": changed}, headers={"If-Match": "1"})
    assert done.json()["version"] == 2, done.text
    assert sql(stored) == [(2, 1)], "the value is the same, sealed"
    assert "sealed" in str(sql("SELECT spec FROM workflow_version WHERE version = 2"))
    (other,) = await applied(admin, secret.replace("hunter22", "hunter33"))
    assert other["version"] == 3
    lines = (await admin.get(f"{path}/diff")).json()["diff"]
    assert [line for line in lines if "token" in line and "*" in line]
    assert "sealed" not in str(lines)
    unknown = await admin.post(
        f"{BASE}/workflow-definitions:apply",
        json={"files": files(secret.replace("child", "other").replace("hunter22", "'******'"))},
    )
    assert (unknown.status_code, "has no value" in unknown.json()["detail"]) == (422, True)


async def test_the_schema_of_a_workflow_describes_every_example(admin: httpx.AsyncClient) -> None:
    schema = (await admin.get(f"{BASE}/schema/workflow")).json()
    check = jsonschema_rs.validator_for(schema)
    yaml = YAML(typ="safe", pure=True)
    found = [document for path in EXAMPLES for document in yaml.load_all(path) if document is not None]
    documents = [document for document in found if document.get("kind") != "pool"]
    assert len(documents) >= len(EXAMPLES) > 5
    for document in documents:
        check.validate(_plain(document))
    for wrong in ({"name": "a"}, {"name": "a", "tsks": []}, {"name": "a", "tasks": [{"name": "t"}]}):
        assert not check.is_valid(wrong)
    types = {each["name"]: each for each in (await admin.get(f"{BASE}/task-types")).json()["items"]}
    assert {"SHELL", "SUB_PROCESS", "SWITCH", "SQL"} <= types.keys()
    assert (types["SHELL"]["runs_in"], types["SWITCH"]["runs_in"]) == ("WORKER", "MASTER")
    assert "script" in types["SHELL"]["params"]["properties"]


def _plain(value: Any) -> Any:
    """Dates as texts, which is what a definition takes them for."""
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (LAUGHS, "300000"),
        (MERGES, "300000"),
        ("[" * 100_000, "60 levels"),
        ("{a: " * 100_000, "60 levels"),
        ("- " * 100_000, "60 levels"),
        ("[" * 3_999_999, "60 levels"),
    ],
    ids=["laughs", "merges", "brackets", "braces", "dashes", "four megabytes"],
)
async def test_a_file_that_is_a_bomb_is_refused(admin: httpx.AsyncClient, content: str, sentence: str) -> None:
    answer = await admin.post(f"{BASE}/workflow-definitions:apply", json={"files": files(content)})
    assert (answer.status_code, sentence in answer.json()["detail"]) == (422, True), answer.text[:300]


async def test_a_definition_that_is_nested_too_deeply_is_refused(admin: httpx.AsyncClient) -> None:
    (head,) = await applied(admin, CHILD)
    deep = "[" * 100_000 + "]" * 100_000
    answer = await admin.put(
        f"{BASE}/workflow-definitions/{head['code']}",
        content=f'{{"spec": {{"tasks": {deep}}}}}',
        headers={"If-Match": "1", "Content-Type": "application/json"},
    )
    assert answer.status_code in (400, 422), answer.text[:300]
