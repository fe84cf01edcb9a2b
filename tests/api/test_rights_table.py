"""Every operation, asked by every role, about its own project and another: allowed, 403, or as if it were not there.

Nothing sealed is in any answer.
What belongs to the other project has names with `HIDDEN` and ids that begin with `FAR`. It is related to what belongs
to the own one in every way that there is, so that an answer that shows a row of the other project contains one of both.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from dao.accounts import accounts, members, tokens
from dao.accounts.tokens import NewToken
from dao.postgres.database import Database
from model.accounts.rights import CLUSTER_RIGHTS, RIGHTS_OF_ROLE, Role, Scope, covers
from model.accounts.tokens import RANDOM_BYTES, make
from model.cluster.nodes import NodeKind
from model.ids import AccountId
from service.operation import Operation
from service.operations import ALL
from tests.api.rights import ROWS, Row
from tests.api.serving import BASE, serving
from tests.dao.scene import Scene

OWN, OTHER = "etl", "hidden-bi"
HIDDEN, FAR, NOWHERE = "hidden", 7_770_000, 8_880_000
SAME_FOR_ALL = {"get_workflow_schema", "list_task_types", "preview_schedule", "count_commands"}
SEALED = f"sealed:v2:{'0' * 12}:{'1' * 12}:password:AAAA="
HAS_SEALED = json.dumps({"password": SEALED})
TASKS = [{"name": "a", "code": 11, "type": "FAKE", "params": {}}]
SPEC = json.dumps({"tasks": TASKS, "params": {"password": SEALED, "mine": SEALED}, "secrets": ["password"]})
NAMES_OWN = {
    "tasks": [
        {"name": f"{HIDDEN} runs", "code": 12, "type": "SUB_PROCESS", "params": {"workflow": 1001}},
        {
            "name": f"{HIDDEN} waits",
            "code": 13,
            "type": "DEPENDENT",
            "params": {"groups": [{"items": [{"workflow": 1001, "cycle": "today"}]}]},
        },
    ]
}
"""The content of a workflow of the other project that runs, and waits for, the one of the own project."""


@dataclass(frozen=True)
class Asker:
    """Who asks: `role` is in the project `OWN`; None: no role in any project."""

    name: str
    token: str
    account: int
    role: Role | None = None
    is_admin: bool = False
    scopes: frozenset[Scope] = frozenset({Scope.ADMIN})

    def refusal(self, operation: Operation[Any, Any], row: Row, *, in_own: bool) -> int | None:
        """The status with which it is refused, as the documentation says; None: it is not."""
        if row.is_open:
            return None
        if not covers(self.scopes, operation.scope):
            return 403
        if row.is_own:
            return None if self.is_admin or in_own else 403
        if row.is_list or self.is_admin or (row.skips_hidden and not self.sees(in_own=in_own)):
            return None
        if operation.right in CLUSTER_RIGHTS and "project" not in row.path.values():
            return None if operation.right == "VIEW_CLUSTER" else 403
        has = self.role is not None and operation.right in RIGHTS_OF_ROLE[self.role]
        if not self.sees(in_own=in_own) and (has or not row.is_of_any):
            return 404
        return None if has else 403

    def sees(self, *, in_own: bool) -> bool:
        """Whether it may know what is there in the project."""
        return self.is_admin or (in_own and self.role is not None)


def test_every_operation_has_a_row_and_every_row_an_operation() -> None:
    assert {operation.name for operation in ALL} == set(ROWS)


async def test_who_may_ask_for_what(database_url: str) -> None:
    async with serving(database_url) as api:
        database, wrong, denied = api.database, [], 0
        askers = await _askers(database, {each.scope for each in ALL})
        scene = Scene(database)
        objects = await _both(scene)
        nothing = {**dict.fromkeys(objects[OTHER], NOWHERE), "project": "nowhere", "rule": "r"}
        stranger = await _asker(database, "stranger")
        async with api.client() as client:
            for operation in ALL:
                row = ROWS.get(operation.name)
                if row is None:
                    continue  # the test above names it
                for asker in askers:
                    if asker.name.startswith("without") and asker.name != f"without {operation.scope}":
                        continue
                    for project in (OWN, OTHER):
                        account = asker.account if row.is_own and project == OWN else stranger.account
                        is_of_none = operation.path.startswith("/me/") or operation.right in CLUSTER_RIGHTS
                        if project == OTHER and is_of_none and "{account}" not in operation.path:
                            continue
                        if operation.changes:
                            await _restore(scene, objects[project]["workflow"], project)
                        answer = await _ask(client, operation, row, {**objects[project], "account": account}, asker)
                        expected = asker.refusal(operation, row, in_own=project == OWN)
                        is_allowed = answer.status_code != 403
                        is_right = is_allowed if expected is None else answer.status_code == expected
                        if answer.status_code in (401, 405) or answer.status_code >= 500 or not is_right:
                            wrong.append(
                                f"{asker.name}, {operation.name} in {project}: {answer.status_code} {answer.text}"
                            )
                        if "sealed:" in answer.text:
                            wrong.append(f"{asker.name}, {operation.name}: a sealed value in {answer.text}")
                        if not asker.is_admin and _is_foreign(answer, row.with_objects(objects[project])):
                            wrong.append(f"{asker.name}, {operation.name} in {project} shows {answer.text}")
                        if project == OTHER and not (asker.is_admin or row.is_own or row.is_list):
                            missing = await _ask(client, operation, row, {**nothing, "account": account}, asker)
                            if _said(missing, nothing) != _said(answer, objects[OTHER]):
                                wrong.append(
                                    f"{asker.name}, {operation.name}: {answer.text} of one, {missing.text} of none"
                                )
                        if row.is_list and asker.role is None and not asker.is_admin and is_allowed:
                            assert answer.json().get("items", []) == [] or operation.name in SAME_FOR_ALL
                        denied += answer.status_code in (403, 404)
        assert not wrong, "\n".join(wrong)
        (written,) = await scene.sql("SELECT count(*) FROM audit WHERE outcome = 'DENIED'")
        assert 0 < written <= denied


ABOUT_OWN: tuple[tuple[str, str, Mapping[str, str]], ...] = (
    ("GET", "/workflow-instances", {"children": "true"}),
    ("GET", "/workflow-instances:find", {"name": "5001"}),
    *(("GET", f"/workflow-instances/{run}{about}", {}) for run in (5_001, 5_002) for about in ("", "/why", "/events")),
    *(("GET", "/workflow-instances/<run>/why", {"task": task}) for task in ("runs", "asks", "failed")),
    *(("GET", f"/task-instances/<{task}>/{log}", {}) for task in ("runs", "failed") for log in ("log", "log-source")),
    ("GET", "/names", {"kind": "run", "prefix": str(FAR)[:3]}),
    ("GET", "/names", {"kind": "workflow", "prefix": HIDDEN}),
    ("GET", "/search", {"q": HIDDEN}),
    ("GET", "/search", {"q": str(FAR)}),
    ("GET", "/commands:arrived", {"arrived_after": "<hour ago>", "arrived_before": "<soon>"}),
    ("GET", "/workflow-relations", {"project": OTHER}),
    ("GET", "/alerts", {"project": OTHER}),
    ("POST", "/workflow-definitions/1001/backfills", {"dependents": "true"}),
    ("DELETE", "/workflow-definitions/1001", {}),
)
"""More requests about the own project, whose answers could name rows of the other: method, address, query or body."""


async def test_no_answer_about_the_own_project_shows_a_row_of_another(database_url: str) -> None:
    async with serving(database_url) as api:
        scene, shown = Scene(api.database), []
        words = {f"<{name}>": str(value) for name, value in (await _both(scene))[OWN].items()}
        tasks = await scene.sql("SELECT task_name, id FROM task_instance WHERE task_type = 'SUB_PROCESS'")
        words |= {f"<{name}>": str(id_) for name, id_ in tasks}
        now = datetime.now(UTC)
        words |= {
            "<hour ago>": (now - timedelta(minutes=30)).isoformat(),
            "<soon>": (now + timedelta(minutes=5)).isoformat(),
        }
        await scene.sql("DELETE FROM schedule")
        await scene.sql("UPDATE workflow_definition SET release_state = 'ONLINE'")
        owner = await _asker(api.database, "owner", role=Role.OWNER)
        async with api.client(owner.token, **{"If-Match": "*"}) as client:
            for method, address, given in ABOUT_OWN:
                for word, value in words.items():
                    address = address.replace(word, value)
                given = {name: words.get(value, value) for name, value in given.items()}
                if method == "POST":
                    body = {"dates": ["2026-01-01"], **given}
                    answer = await client.post(BASE + address, json=body)
                    assert (answer.status_code, "another project" in answer.text) == (403, True), answer.text
                else:
                    answer = await client.request(method, BASE + address, params=given)
                assert answer.status_code < 500, answer.text
                if _is_foreign(answer, given):
                    shown.append(f"{method} {address} {given}: {answer.text}")
        assert not shown, "\n".join(shown)


async def _both(scene: Scene) -> dict[str, dict[str, Any]]:
    """The objects of both projects, and what relates them."""
    objects = {OWN: await _objects(scene, OWN, 1001)}
    await _number_from(scene, FAR)
    objects[OTHER] = await _objects(scene, OTHER, FAR)
    await _number_from(scene, 6_000)
    await _relate(scene, objects[OWN], objects[OTHER])
    return objects


async def _ask(
    client: httpx.AsyncClient, operation: Operation[Any, Any], row: Row, objects: Mapping[str, object], asker: Asker
) -> httpx.Response:
    path, query, body = row.with_objects(objects)
    return await client.request(
        operation.method,
        BASE + operation.path.format(**path),
        params=query,  # type: ignore[arg-type]
        json=body,
        headers={"Authorization": f"Bearer {asker.token}", "If-Match": "*"},
    )


async def _askers(database: Database, scopes: set[Scope]) -> list[Asker]:
    """Each role, nobody, an admin; and for each scope an admin's token that has all others."""
    found = [await _asker(database, "nobody")]
    found += [await _asker(database, role.lower(), role=role) for role in Role]
    found.append(await _asker(database, "admin", is_admin=True))
    for wanted in sorted(scopes):
        left = frozenset(each for each in Scope if not covers({each}, wanted))
        found.append(await _asker(database, f"without {wanted}", is_admin=True, scopes=left))
    return found


async def _asker(database: Database, name: str, **fields: Any) -> Asker:
    token = make(os.urandom(RANDOM_BYTES))
    asker = Asker(name, token.text, 0, **fields)
    async with database.writing() as connection:
        account = await accounts.insert(connection, name.replace(" ", ".").replace(":", "."), asker.is_admin)
        await tokens.insert(connection, account.id, NewToken("test", token.hash, asker.scopes, None, timedelta(days=1)))
        if asker.role is not None:
            await members.put(connection, AccountId(account.id), OWN, asker.role)
    return Asker(name, token.text, account.id, **fields)


def _said(answer: httpx.Response, objects: Mapping[str, object]) -> tuple[int, str]:
    """An answer without what tells a request from another, and without what was asked for."""
    text = answer.text
    if 400 <= answer.status_code < 500:
        text = json.dumps({**answer.json(), "instance": ""})
    for value in sorted({str(each) for each in objects.values()}, key=len, reverse=True):
        text = text.replace(value, "X")
    return answer.status_code, text


def _is_foreign(answer: httpx.Response, asked: object) -> bool:
    """Whether an answer shows something of the other project besides what was asked for by its name or id.

    The random name of a request may have such digits between its letters.
    """
    found = set(re.findall(rf"{HIDDEN}[\w-]*|(?<![\w.]){str(FAR)[:3]}\d{{4}}(?!\w)", answer.text))
    return any(each not in str(asked) for each in found)


async def _objects(scene: Scene, project: str, code: int) -> dict[str, Any]:
    """A workflow with a run of one task, a command, an error command and a schedule."""
    await _restore(scene, code, project)
    master = await scene.node(NodeKind.MASTER, f"10.0.0.1:{code % 1000}")
    run = await scene.instance(master, code=code)
    await scene.queue(run, 11, master=master)
    (task,) = await scene.sql("SELECT id FROM task_instance WHERE workflow_instance_id = :run", run=run)
    (command,) = await scene.sql(
        "INSERT INTO command (type, workflow_code, params) VALUES ('START_PROCESS', :code, :sealed) RETURNING id",
        code=code,
        sealed=HAS_SEALED,
    )
    await scene.sql(
        """UPDATE task_instance SET parameter_values = :sealed, params = :sealed, outputs = :sealed, reason = :sealed
           WHERE workflow_instance_id = :run""",
        run=run,
        sealed=HAS_SEALED,
    )
    await scene.sql("UPDATE workflow_instance SET params = :sealed WHERE id = :run", run=run, sealed=HAS_SEALED)
    await scene.sql(
        """INSERT INTO audit (actor_kind, actor, action, object_kind, object_id, object_name, project, outcome, after)
           VALUES ('SYSTEM_USER', 'ops', 'start_backfill', 'workflow', CAST(:code AS text), 'w', :project, 'DONE',
                   jsonb_build_object('command', CAST(:code AS text), 'workflow', CAST(:code AS text), 'dates', 1,
                                      'chains', 1, 'request', CAST('{"dates": ["2026-01-01"]}' AS jsonb)))""",
        code=code,
        project=project,
    )
    same = dict.fromkeys(("workflow", "backfill", "error", "schedule", "view", "operation", "alert", "silence"), code)
    return {"project": project, "run": run, "task": task, "command": command, "rule": "r", **same}


async def _number_from(scene: Scene, first: int) -> None:
    """Rows that are inserted from now on have ids from there on."""
    for table in ("workflow_instance", "task_instance", "command", "audit"):
        await scene.sql(f"ALTER TABLE {table} ALTER COLUMN id RESTART WITH {first}")


async def _relate(scene: Scene, own: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Relations of every kind between the two projects, and what they share."""
    tasks = {"runs": "RUNNING_EXECUTION", "asks": "RUNNING_EXECUTION", "failed": "FAILURE"}
    for code, (name, state) in enumerate(tasks.items(), 21):
        await scene.sql(
            """
            INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                                       workflow_priority, task_priority, started_at, ended_at)
            VALUES (:run, :code, :name, 'SUB_PROCESS', :state, 'default', 'MEDIUM', 'MEDIUM', now(),
                    CASE WHEN :state = 'FAILURE' THEN now() END)
            """,
            run=own["run"],
            code=code,
            name=name,
            state=state,
        )
    await scene.sql(
        """
        INSERT INTO command (id, type, workflow_code, parent) OVERRIDING SYSTEM VALUE
        VALUES (:id, 'START_PROCESS', :code, :parent)
        """,
        id=FAR + 50,
        code=other["workflow"],
        parent=f"{own['run']}/22/1/0",
    )
    for id_, above, code, state in (
        (FAR + 61, own["run"], 21, "RUNNING_EXECUTION"),
        (FAR + 62, own["run"], 23, "FAILURE"),
        (5_001, other["run"], 11, "RUNNING_EXECUTION"),
        (5_002, other["run"], 12, "FAILURE"),
    ):
        await scene.sql(
            """
            INSERT INTO workflow_instance (
                id, command_id, workflow_code, workflow_version, state, master_id, failure_strategy, priority,
                worker_group, ended_at, reason, parent_instance_id, parent_task_code, parent_attempt, child_index)
            OVERRIDING SYSTEM VALUE
            VALUES (:id, :id, :workflow, 1, :state, 1, 'CONTINUE', 'MEDIUM', 'default',
                    CASE WHEN :state = 'FAILURE' THEN now() END, :reason, :above, :code, 1, 0)
            """,
            id=id_,
            workflow=other["workflow"] if id_ > FAR else own["workflow"],
            state=state,
            reason=f"{HIDDEN} reason" if id_ > FAR else None,
            above=above,
            code=code,
        )
        await scene.sql(
            """
            INSERT INTO task_instance (id, workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                                       workflow_priority, task_priority, ended_at, reason)
            OVERRIDING SYSTEM VALUE
            VALUES (:id, :id, 11, :name, 'SHELL', CASE WHEN :state = 'FAILURE' THEN 'FAILURE' ELSE 'QUEUED' END,
                    'default', 'MEDIUM', 'MEDIUM', CASE WHEN :state = 'FAILURE' THEN now() END, :name)
            """,
            id=id_,
            name=f"{HIDDEN} task" if id_ > FAR else "a",
            state=state,
        )
    await scene.sql(
        """
        INSERT INTO workflow_definition (code, name, project, release_state) VALUES (:code, :name, :project, 'ONLINE')
        """,
        code=FAR + 70,
        name=f"{HIDDEN} user",
        project=OTHER,
    )
    await scene.sql(
        "INSERT INTO workflow_version (workflow_code, version, spec) VALUES (:code, 1, :spec)",
        code=FAR + 70,
        spec=json.dumps(NAMES_OWN),
    )
    await scene.sql("INSERT INTO resource_pool (code, name, counted) OVERRIDING SYSTEM VALUE VALUES (1, 'x', 1)")
    await scene.sql(
        """
        INSERT INTO pool_resource (pool_code, name, task_instance_id, worker_id, taken_at)
        VALUES (1, '1', :task, 1, now())
        """,
        task=other["task"],
    )
    for run, task in ((FAR + 61, FAR + 61), (own["run"], own["task"])):
        await scene.sql(
            """
            INSERT INTO pool_line (pool_name, workflow_priority, workflow_instance_id, task_priority, task_instance_id,
                                   needed, needs, worker_group)
            VALUES ('x', 'MEDIUM', :run, 'MEDIUM', :task, 1, '{"x": 1}', 'default') ON CONFLICT DO NOTHING
            """,
            run=run,
            task=task,
        )
    await scene.sql(
        """
        WITH duty AS (INSERT INTO duty (name, every_s) VALUES ('checks', 60))
        INSERT INTO duty_done (name, due_at, node_id, node_name, began_at, steps, late, is_fine, result)
        VALUES ('checks', now(), 1, 'm1', now(), 1, false, false, :result)
        """,
        result=f"stuck runs: 1; {HIDDEN} run {FAR + 61}",
    )


async def _restore(scene: Scene, code: int, project: str) -> None:
    """What an operation may have deleted is there again, under the same id."""
    await scene.sql(
        """
        WITH definition AS (
            INSERT INTO workflow_definition (code, name, project) VALUES (:code, :name, :project) ON CONFLICT DO NOTHING
        ), version AS (
            INSERT INTO workflow_version (workflow_code, version, spec) VALUES (:code, 1, :spec) ON CONFLICT DO NOTHING
        ), schedule AS (
            INSERT INTO schedule (id, workflow_code, crontab, params) OVERRIDING SYSTEM VALUE
            VALUES (:code, :code, '0 0 5 * * ?', :sealed) ON CONFLICT DO NOTHING
        ), project AS (
            INSERT INTO project (name, params) VALUES (:project, :sealed) ON CONFLICT DO NOTHING
        ), operation AS (
            INSERT INTO bulk_operation (id, action, state, wanted, total, last_run, actor_kind, actor)
            OVERRIDING SYSTEM VALUE
            VALUES (:code, 'STOP', 'STOPPED', jsonb_build_object('states', '[]'::jsonb, 'workflow', NULL,
                    'project', CAST(:project AS text), 'since', NULL, 'until', NULL, 'children', true,
                    'visible', NULL, 'conditions', '{"triggers": [], "master": null, "worker": null, "parameters": [],
                    "words": null}'::jsonb),
                    0, 0, 'TOKEN', 'ada') ON CONFLICT DO NOTHING
        ), alert AS (
            INSERT INTO alert (id, kind, severity, project, subject, state) OVERRIDING SYSTEM VALUE
            VALUES (:code, 'RULE', 'WARNING', :project, :name, 'NOBODY')
            ON CONFLICT (id) DO UPDATE SET state = 'NOBODY'
        ), silence AS (
            INSERT INTO alert_silence (id, project, ends_at) OVERRIDING SYSTEM VALUE
            VALUES (:code, :project, clock_timestamp() + interval '1 day') ON CONFLICT DO NOTHING
        ), rule AS (
            INSERT INTO alert_rule (project, name, text) VALUES (:project, 'r', 'any run of w fails -> group data')
            ON CONFLICT DO NOTHING
        ), view AS (
            INSERT INTO saved_view (id, person, project, list, name, query, created_by) OVERRIDING SYSTEM VALUE
            VALUES (:code, 'account 0', :project, 'audit', 'v', '{}', 'nobody') ON CONFLICT DO NOTHING
        )
        INSERT INTO error_command (command_id, type, workflow_code, params, reason, master_id)
        VALUES (:code, 'START_PROCESS', :code, :sealed, :name || ' ' || :sealed, 1) ON CONFLICT DO NOTHING
        """,
        code=code,
        project=project,
        name="w" if project == OWN else f"{HIDDEN} w",
        spec=SPEC,
        sealed=HAS_SEALED,
    )
