"""Imports over the API: the answer is what the command line writes, and nothing is saved by them."""

from __future__ import annotations

import json
from typing import Any

import httpx

from importers.airflow.convert import import_dags
from importers.report import Grade
from model.accounts.rights import Role, Scope
from tests.api.people import member
from tests.api.serving import BASE, Serving
from worker.tasks.catalog import TaskCatalog

IMPORT = f"{BASE}/workflow-definitions:import"
DAG = """\
from airflow import DAG
from airflow.operators.bash import BashOperator
from airflow.providers.amazon.aws.operators.s3 import S3CopyObjectOperator

with DAG("daily", schedule="0 5 * * *"):
    BashOperator(task_id="load", bash_command="echo load") >> BashOperator(task_id="tell", bash_command="echo told")

with DAG("copies", schedule=None):
    S3CopyObjectOperator(task_id="copy", source_bucket_key="a", dest_bucket_key="b")
"""
SQL_TASK = {
    "code": 11,
    "name": "q",
    "taskType": "SQL",
    "taskParams": {"datasource": 7, "type": "MYSQL", "sql": "SELECT 1"},
}
EXPORT = [
    {
        "processDefinition": {"code": 1, "name": "shop", "projectCode": 2},
        "processTaskRelationList": [{"preTaskCode": 0, "postTaskCode": 11}],
        "taskDefinitionList": [SQL_TASK],
    }
]


def body(source: str, *files: tuple[str, str], **more: Any) -> dict[str, Any]:
    return {"source": source, "files": [{"name": name, "content": content} for name, content in files], **more}


async def asked(client: httpx.AsyncClient, given: dict[str, Any]) -> dict[str, Any]:
    answer = await client.post(IMPORT, json=given, timeout=120)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_it_gives_what_the_command_line_writes_and_saves_nothing(admin: httpx.AsyncClient) -> None:
    found = await asked(admin, body("airflow", ("daily.py", DAG)))
    written = import_dags([("daily.py", DAG.encode())], TaskCatalog())
    assert {each["content"] for each in found["workflows"]} == {written.files[path] for path in written.origins}
    assert {(each["name"], each["grade"]) for each in found["workflows"]} == {("daily", "same"), ("copies", "todo")}
    assert [each["sentence"] for each in found["lines"]] == [line.sentence for line in written.report.lines()]
    assert any(line["grade"] == Grade.TODO and line["workflow"] == "copies" for line in found["lines"])
    assert (await admin.get(f"{BASE}/workflow-definitions")).json()["items"] == []


async def test_what_has_nothing_to_do_is_saved_and_the_rest_is_refused_and_can_be_a_draft(
    admin: httpx.AsyncClient,
) -> None:
    found = await asked(admin, body("airflow", ("daily.py", DAG), project="shop"))
    by_name = {each["name"]: each for each in found["workflows"]}
    assert {each["project"] for each in found["workflows"]} == {"shop"}
    for name, status in (("daily", 200), ("copies", 422)):
        files = [{"name": f"{name}.yaml", "content": by_name[name]["content"]}]
        saved = await admin.post(f"{BASE}/workflow-definitions:apply", json={"files": files})
        assert saved.status_code == status, saved.text
    draft = {"content": by_name["copies"]["content"]}
    kept = await admin.put(f"{BASE}/workflow-drafts/shop/copies", json=draft)
    assert kept.status_code == 200, kept.text


async def test_names_behind_ids_are_asked_for_and_read_again(admin: httpx.AsyncClient) -> None:
    given = body("dolphinscheduler", ("export.json", json.dumps(EXPORT)))
    first = await asked(admin, given)
    assert first["missing"] > 0
    assert '"7": ""' in first["catalog"]
    again = await asked(admin, {**given, "names": first["catalog"].replace('"7": ""', '"7": "orders"')})
    assert again["missing"] == first["missing"] - 1
    assert "datasource: orders" in again["workflows"][0]["content"]
    wrong = await admin.post(IMPORT, json={**given, "names": "datasource: {}"})
    assert (wrong.status_code, 'no kind "datasource"' in wrong.json()["detail"]) == (422, True)


async def test_crontabs_and_files_that_are_none(admin: httpx.AsyncClient) -> None:
    found = await asked(admin, body("crontab", ("cron", "5 4 * * * ann /opt/load.sh\n"), system=True, project="shop"))
    (only,) = found["workflows"]
    assert "tenant: ann" in only["content"]
    assert "project: shop" in only["content"]
    for source in ("airflow", "dolphinscheduler"):
        none = await asked(admin, body(source, ("x.json", "{"), ("y.py", "(" * 5_000)))
        assert none["workflows"] == []
        assert {line["file"] for line in none["lines"] if line["grade"] == "todo"} == {"x.json", "y.py"}


async def test_it_needs_the_right_to_edit_in_the_project(api: Serving) -> None:
    given = body("crontab", ("cron", "@daily true\n"))
    for name, role, scope, status in (
        ("ann", Role.EDITOR, Scope.DEFINITIONS_WRITE, 200),
        ("bob", Role.OPERATOR, Scope.DEFINITIONS_WRITE, 403),
        ("cid", Role.EDITOR, Scope.RUNS_WRITE, 403),
    ):
        async with api.client(await member(api.backend, name, "shop", role, frozenset({scope}))) as client:
            answer = await client.post(IMPORT, json={**given, "project": "shop"}, timeout=120)
            assert answer.status_code == status, f"{name}: {answer.text}"
            assert (await client.post(IMPORT, json={**given, "project": "hidden"})).status_code in (403, 404)


async def test_one_that_unrolls_for_ever_is_ended(admin: httpx.AsyncClient) -> None:
    """What it makes is bounded by rounds and not by the length of its text."""
    loops = "x = 'a' * 10**9\ny = [0] * 10**10\nz = 10**10**10\nfor a in range(10**12):\n    pass\n"
    found = await asked(admin, body("airflow", ("bomb.py", DAG.replace("with DAG", loops + "with DAG", 1))))
    assert len(found["workflows"]) == 2
