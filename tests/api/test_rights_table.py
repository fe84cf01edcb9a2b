"""Every operation, asked by every role, about its own project and another: allowed, or 403; nothing sealed in it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx

from dao.accounts import accounts, members, tokens
from dao.postgres.database import Database
from model.ids import AccountId
from model.nodes import NodeKind
from model.rights import CLUSTER_RIGHTS, RIGHTS_OF_ROLE, Role, Scope, covers
from model.tokens import RANDOM_BYTES, make
from service.operation import Operation
from service.operations import ALL
from tests.api.rights import ROWS, Row
from tests.api.serving import BASE, serving
from tests.dao.scene import Scene

OWN, OTHER = "etl", "bi"
SAME_FOR_ALL = {"get_workflow_schema", "list_task_types", "preview_schedule", "count_commands"}
SEALED = f"sealed:v2:{'0' * 12}:{'1' * 12}:password:AAAA="
HAS_SEALED = json.dumps({"password": SEALED})
TASKS = [{"name": "a", "code": 11, "type": "FAKE", "params": {}}]
SPEC = json.dumps({"tasks": TASKS, "params": {"password": SEALED, "mine": SEALED}, "secrets": ["password"]})


@dataclass(frozen=True)
class Asker:
    """Who asks: `role` is in the project `OWN`; None: no role in any project."""

    name: str
    token: str
    account: int
    role: Role | None = None
    is_admin: bool = False
    scopes: frozenset[Scope] = frozenset({Scope.ADMIN})

    def may(self, operation: Operation[Any, Any], row: Row, *, in_own: bool) -> bool:
        """What the documentation says."""
        if row.is_open:
            return True
        if not covers(self.scopes, operation.scope):
            return False
        if row.is_own:
            return self.is_admin or in_own
        if row.is_list or self.is_admin:
            return True
        if operation.right in CLUSTER_RIGHTS:
            return operation.right == "VIEW_CLUSTER"
        return in_own and self.role is not None and operation.right in RIGHTS_OF_ROLE[self.role]


def test_every_operation_has_a_row_and_every_row_an_operation() -> None:
    assert {operation.name for operation in ALL} == set(ROWS)


async def test_who_may_ask_for_what(database_url: str) -> None:
    async with serving(database_url) as api:
        database, wrong, denied = api.database, [], 0
        askers = await _askers(database, {each.scope for each in ALL})
        scene = Scene(database)
        objects = {project: await _objects(scene, place, project) for place, project in enumerate((OWN, OTHER))}
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
                        expected = asker.may(operation, row, in_own=project == OWN)
                        is_allowed = answer.status_code != 403
                        if answer.status_code in (401, 405) or answer.status_code >= 500 or is_allowed != expected:
                            wrong.append(
                                f"{asker.name}, {operation.name} in {project}: {answer.status_code} {answer.text}"
                            )
                        if "sealed:" in answer.text:
                            wrong.append(f"{asker.name}, {operation.name}: a sealed value in {answer.text}")
                        if row.is_list and asker.role is None and not asker.is_admin and is_allowed:
                            assert answer.json().get("items", []) == [] or operation.name in SAME_FOR_ALL
                        denied += not is_allowed
        assert not wrong, "\n".join(wrong)
        (written,) = await scene.sql("SELECT count(*) FROM audit WHERE outcome = 'DENIED'")
        assert 0 < written <= denied


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
        await tokens.insert(connection, account.id, "test", token.hash, asker.scopes, None, timedelta(days=1))
        if asker.role is not None:
            await members.put(connection, AccountId(account.id), OWN, asker.role)
    return Asker(name, token.text, account.id, **fields)


async def _objects(scene: Scene, place: int, project: str) -> dict[str, Any]:
    """A workflow with a run of one task, a command, an error command and a schedule."""
    code = 1001 + place
    await _restore(scene, code, project)
    master = await scene.node(NodeKind.MASTER, f"10.0.0.1:{place}")
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
    same = dict.fromkeys(("workflow", "error", "schedule", "view", "operation", "alert", "silence"), code)
    return {"project": project, "run": run, "task": task, "command": command, "rule": "r", **same}


async def _restore(scene: Scene, code: int, project: str) -> None:
    """What an operation may have deleted is there again, under the same id."""
    await scene.sql(
        """
        WITH definition AS (
            INSERT INTO workflow_definition (code, name, project) VALUES (:code, 'w', :project) ON CONFLICT DO NOTHING
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
            VALUES (:code, 'RULE', 'WARNING', :project, 'a test', 'NOBODY')
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
        VALUES (:code, 'START_PROCESS', :code, :sealed, 'a test of ' || :sealed, 1) ON CONFLICT DO NOTHING
        """,
        code=code,
        project=project,
        spec=SPEC,
        sealed=HAS_SEALED,
    )
