"""Approvals over REST, with the rights of the API's role: who sees and answers them, the form, and what is recorded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import psycopg
import pytest

from model.accounts.rights import Role
from tests.api.people import member
from tests.api.serving import BASE, Serving, serving, token_of

FORM = {
    "rows": {"type": "INTEGER", "value": "${count}", "min": 1, "description": "how many"},
    "region": {"enum": ["eu", "us"], "required": True},
    "comment": "",
}
RUN = """INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                        priority, worker_group)
         SELECT coalesce(max(command_id), 0) + 1, %s, 1, 'RUNNING_EXECUTION', 5, 'CONTINUE', 'MEDIUM', 'default'
         FROM workflow_instance RETURNING id"""
TASK = """INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                                     workflow_priority, task_priority, params, parameter_values, started_at)
          VALUES (%s, 1, 'ask', 'APPROVAL', 'RUNNING_EXECUTION', 'default', 'MEDIUM', 'MEDIUM', %s, %s, now())
          RETURNING id"""


class Scene:
    """A project with people and a workflow, whose approvals the tests write as a master does."""

    def __init__(self, api: Serving, connection: psycopg.Connection[Any], tokens: dict[str, str], code: int) -> None:
        self.api, self.tokens, self.code = api, tokens, code
        self._connection = connection

    def sql(self, query: str, *values: object) -> list[Any]:
        """What a query gives, with all rights."""
        cursor = self._connection.execute(query, values)
        return cursor.fetchall() if cursor.description else []

    def ask(self, **params: Any) -> int:
        """An attempt that waits; its id."""
        ((run,),) = self.sql(RUN, self.code)
        whole = {"text": "publish ${count} rows?", "form": FORM, **params}
        ((id_,),) = self.sql(TASK, run, json.dumps(whole), json.dumps({"count": "7"}))
        return int(id_)

    async def listed(self, who: str, **query: Any) -> list[dict[str, Any]]:
        """What somebody sees."""
        async with self.api.client(self.tokens[who]) as client:
            answer = await client.get(f"{BASE}/approvals", params=query)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["items"])

    async def answer(self, who: str, id_: int, answer: str = "APPROVE", key: str = "", **body: Any) -> httpx.Response:
        """Somebody answers."""
        headers = {"Idempotency-Key": key} if key else {}
        async with self.api.client(self.tokens[who], **headers) as client:
            return await client.post(f"{BASE}/task-instances/{id_}/answer", json={"answer": answer, **body})


@pytest.fixture
async def scene(database_url: str) -> AsyncIterator[Scene]:
    url = database_url.replace("+psycopg", "")
    async with serving(database_url) as api:
        tokens = {"root": await token_of(api.backend, "root", is_admin=True)}
        async with api.client(tokens["root"]) as admin:
            for name in ("shop", "other"):
                assert (await admin.post(f"{BASE}/projects", json={"name": name})).status_code == 201
        for name, project, role in (
            ("viewer", "shop", Role.VIEWER),
            ("Ada", "shop", Role.VIEWER),
            ("operator", "shop", Role.OPERATOR),
            ("owner", "shop", Role.OWNER),
            ("stranger", "other", Role.OWNER),
        ):
            tokens[name] = await member(api.backend, name, project, role)
        with psycopg.connect(url, autocommit=True) as connection:
            made = Scene(api, connection, tokens, 0)
            query = (
                "INSERT INTO workflow_definition (project, name, version) VALUES ('shop', 'publish', 1) RETURNING code"
            )
            ((made.code,),) = made.sql(query)
            yield made


async def test_it_shows_what_is_asked_with_the_values_of_the_run(scene: Scene) -> None:
    id_ = scene.ask()
    (seen,) = await scene.listed("operator")
    assert (seen["task_instance_id"], seen["text"], seen["may_answer"]) == (str(id_), "publish 7 rows?", True)
    assert seen["answerers"] == "an OPERATOR of the project"
    rows, region, _comment = seen["form"]
    assert (rows["name"], rows["type"], rows["value"]) == ("rows", "INTEGER", "7")
    assert (region["enum"], region["required"], region["allowed"]) == (["eu", "us"], True, 'one of "eu", "us"')
    assert [each["may_answer"] for each in await scene.listed("viewer")] == [False]
    assert await scene.listed("stranger") == []
    assert await scene.listed("operator", run="999999") == []
    assert len(await scene.listed("operator", run=seen["run_id"], project="shop")) == 1


@pytest.mark.parametrize(
    ("params", "may"),
    [
        ({}, {"operator", "owner", "root"}),
        ({"role": "OWNER"}, {"owner", "root"}),
        ({"role": "VIEWER"}, {"viewer", "Ada", "operator", "owner", "root"}),
        ({"users": ["ada"]}, {"Ada"}),
        ({"users": ["ADA", "stranger"], "role": "OWNER"}, {"Ada", "owner", "root"}),
    ],
)
async def test_only_those_whom_it_names_may_answer(scene: Scene, params: dict[str, Any], may: set[str]) -> None:
    id_ = scene.ask(form={}, **params)
    for who in ("viewer", "Ada", "operator", "owner", "root"):
        assert [each["may_answer"] for each in await scene.listed(who)] == [who in may], who
        if who not in may:
            refused = await scene.answer(who, id_)
            assert refused.status_code == 403, refused.text
            assert "it waits for" in refused.json()["detail"]
    assert (await scene.answer("stranger", id_)).status_code == 404
    assert (await scene.answer(sorted(may)[0], id_)).status_code == 200


async def test_the_values_of_the_form_are_checked_and_become_results(scene: Scene) -> None:
    id_ = scene.ask()
    wrong = await scene.answer("operator", id_, params={"rows": "many", "regio": "eu"})
    assert wrong.status_code == 422
    assert [each["pointer"] for each in wrong.json()["errors"]] == ["/params/regio", "/params/rows", "/params/region"]
    assert 'the form has no field "regio"; did you mean "region"?' in wrong.json()["detail"]
    assert (await scene.answer("operator", id_, params={"rows": 0, "region": "eu"})).status_code == 422
    done = await scene.answer("operator", id_, params={"rows": 5, "region": "eu"}, reason="looks right")
    assert done.status_code == 200, done.text
    assert done.json()["results"] == {"rows": "5", "region": "eu", "comment": ""}
    ((state, reason, outputs),) = scene.sql("SELECT state, reason, outputs FROM task_instance WHERE id = %s", id_)
    assert (state, reason) == ("SUCCESS", "approved by operator: looks right")
    assert json.loads(outputs) == {"rows": "5", "region": "eu", "comment": "", "answered_by": "operator"}
    event = "SELECT state, outputs, owner FROM task_event"
    assert scene.sql(event) == [("SUCCESS", outputs, 5)]
    assert await scene.listed("operator") == []


async def test_a_rejection_needs_a_reason_and_has_no_values(scene: Scene) -> None:
    id_ = scene.ask()
    assert (await scene.answer("operator", id_, "REJECT", reason=" ")).status_code == 422
    assert (await scene.answer("operator", id_, "REJECT", reason="no", params={"rows": 5})).status_code == 422
    done = await scene.answer("operator", id_, "REJECT", reason="the totals are wrong")
    assert (done.json()["state"], done.json()["reason"]) == ("FAILURE", "rejected by operator: the totals are wrong")
    assert scene.sql("SELECT outputs FROM task_instance WHERE id = %s", id_) == [(None,)]


async def test_of_two_people_at_once_one_answers_and_the_other_learns_who(scene: Scene) -> None:
    for _ in range(5):
        id_ = scene.ask(form={})
        answers = await asyncio.gather(
            scene.answer("operator", id_), scene.answer("owner", id_, "REJECT", reason="no"), scene.answer("root", id_)
        )
        assert sorted(each.status_code for each in answers) == [200, 422, 422]
        ((reason,),) = scene.sql("SELECT reason FROM task_instance WHERE id = %s", id_)
        assert all(f"no longer waits for an answer: it was {reason}" in each.text for each in answers if each.is_error)
        assert scene.sql("SELECT count(*) FROM task_event WHERE workflow_instance_id = "
                         "(SELECT workflow_instance_id FROM task_instance WHERE id = %s)", id_) == [(1,)]  # fmt: skip


async def test_the_same_request_again_has_the_same_answer(scene: Scene) -> None:
    id_ = scene.ask(form={})
    first, second = [await scene.answer("operator", id_, key="k1") for _ in range(2)]
    assert (first.status_code, second.status_code, first.json()) == (200, 200, second.json())


async def test_the_audit_names_who_answered_what(scene: Scene) -> None:
    id_ = scene.ask()
    await scene.answer("viewer", id_)
    await scene.answer("operator", id_, params={"region": "us"})
    rows = scene.sql("SELECT actor, outcome, project, after FROM audit WHERE action = 'answer_approval' ORDER BY id")
    (denied, done) = rows
    assert denied[:3] == ("viewer", "DENIED", "shop")
    assert done[:3] == ("operator", "DONE", "shop")
    assert done[3]["results"]["region"] == "us"
    assert done[3]["reason"] == "approved by operator"


async def test_what_cannot_be_shown_can_be_rejected(scene: Scene) -> None:
    id_ = scene.ask(text="since $[interval_start(yyyy)]")
    (seen,) = await scene.listed("operator")
    assert "interval" in seen["fault"]
    assert (await scene.answer("operator", id_)).status_code == 422
    assert (await scene.answer("operator", id_, "REJECT", reason="nobody can read it")).status_code == 200


async def test_there_is_no_answer_to_another_task(scene: Scene) -> None:
    id_ = scene.ask()
    scene.sql("UPDATE task_instance SET task_type = 'SHELL' WHERE id = %s", id_)
    assert (await scene.answer("operator", id_)).status_code == 404
    assert (await scene.answer("root", 999_999)).status_code == 404
