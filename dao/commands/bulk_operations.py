"""`bulk_operation`: changes of more runs than one transaction takes, and how far each has come.

A part of one is a transaction that locks its row, inserts the commands of some runs, and says how far it came. So any
number of processes may do parts; one that is killed leaves its part undone, and does nothing twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import made_by, missing, statement
from dao.run_lists.run_conditions import RunConditions
from dao.run_lists.wanted_runs import WantedRuns
from model.accounts.audits import ActorKind
from model.errors import Refused
from model.ids import AccountId
from model.runs.bulk import BulkAction
from model.runs.states import WorkflowState
from model.runs.triggers import Trigger


class BulkState(StrEnum):
    """RUNNING: its next part is done by any API process. STOPPED by a person, or FAILED: it can be gone on with."""

    RUNNING = "RUNNING"
    DONE = "DONE"
    STOPPED = "STOPPED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asked for it, as the audit names it."""

    kind: ActorKind
    name: str
    account: AccountId | None
    address: str
    request_id: str


@dataclass(frozen=True)
class NewOperation:
    """An operation that is to begin: what is done with which runs, those after `done_to` up to `last_run`."""

    action: BulkAction
    wanted: WantedRuns
    total: int
    done_to: int
    last_run: int
    asker: Asker


@dataclass(frozen=True)
class BulkOperation(NewOperation):
    """An operation. `asked` commands were inserted, `refused` runs left out. `idle_s`: since its last part."""

    id: int
    state: BulkState
    asked: int
    refused: int
    problem: str | None
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None
    idle_s: float


_INSERT = Sql("""
    INSERT INTO bulk_operation
        (action, wanted, total, done_to, last_run, actor_kind, actor, account_id, address, request_id)
    VALUES (:action, CAST(:wanted AS jsonb), :total, :done_to, :last_run, :kind, :name, :account, :address, :request_id)
    RETURNING id
""")


@statement("SELECT coalesce(max(id), 0) FROM workflow_instance")
async def last_run(connection: AsyncConnection) -> int:
    """The id of the newest run; 0: there is none."""


async def insert(connection: AsyncConnection, new: NewOperation) -> int:
    """Insert an operation and return its id. It is RUNNING from the commit on."""
    asker = new.asker
    values = {
        **{name: getattr(new, name) for name in ("action", "total", "done_to", "last_run")},
        **{name: getattr(asker, name) for name in ("kind", "name", "account", "address", "request_id")},
        "wanted": _written(new.wanted),
    }
    return int((await connection.execute(_INSERT, values)).scalar_one())


def _wanted(found: Mapping[str, Any]) -> WantedRuns:
    since, until = (None if time is None else datetime.fromisoformat(time) for time in (found["since"], found["until"]))
    given = found["conditions"]
    conditions = RunConditions(
        triggers=[Trigger(trigger) for trigger in given["triggers"]],
        parameters=[(name, value) for name, value in given["parameters"]],
        **{name: given.get(name) for name in ("master", "worker", "words", "serial_key")},
    )
    states = [WorkflowState(state) for state in found["states"]]
    return WantedRuns(
        **{name: found[name] for name in ("workflow", "project", "children", "visible")},
        states=states,
        since=since,
        until=until,
        conditions=conditions,
    )


def _read(row: Sequence[Any]) -> BulkOperation:
    action, wanted, total, done_to, last_run, kind, *asker, id_, state = row[:12]
    of_all = BulkAction(action), _wanted(wanted), total, done_to, last_run
    return BulkOperation(*of_all, Asker(ActorKind(kind), *asker), id_, BulkState(state), *row[12:])


@missing("there is no operation {id_}; those that ended long ago are deleted")
@made_by(_read)
@statement("""
    SELECT action, wanted, total, done_to, last_run, actor_kind, actor, account_id, address, request_id, id, state,
           asked, refused, problem, created_at, updated_at, ended_at,
           extract(epoch FROM clock_timestamp() - updated_at)::float8
    FROM bulk_operation WHERE id = :id_
""")
async def find(connection: AsyncConnection, id_: int) -> BulkOperation:
    """An operation. Raises `NotFound`."""


# SKIP LOCKED: another process is at that one. The one that has waited longest comes first, so that all get on.
@made_by(_read)
@statement("""
    SELECT action, wanted, total, done_to, last_run, actor_kind, actor, account_id, address, request_id, id, state,
           asked, refused, problem, created_at, updated_at, ended_at,
           extract(epoch FROM clock_timestamp() - updated_at)::float8
    FROM bulk_operation WHERE state = 'RUNNING'                               -- index: bulk_operation_running
    ORDER BY updated_at LIMIT 1 FOR UPDATE SKIP LOCKED
""")
async def lock_next(connection: AsyncConnection) -> BulkOperation | None:
    """The operation whose next part this transaction is to do; None: there is none that others are not at."""


@statement("""
    UPDATE bulk_operation
    SET done_to = :done_to, asked = asked + :asked, refused = refused + :refused, updated_at = clock_timestamp(),
        state = CASE WHEN :done_to >= last_run THEN 'DONE' ELSE state END,
        ended_at = CASE WHEN :done_to >= last_run THEN clock_timestamp() END
    WHERE id = :id_ AND state = 'RUNNING'
""")
async def advance(connection: AsyncConnection, id_: int, done_to: int, asked: int, refused: int) -> None:
    """Say how far the operation has come by the part of this transaction; it is DONE with its last run."""


@missing("operation {id_} no longer runs; see its `state`", Refused)
@statement("""
    UPDATE bulk_operation
    SET state = :state, problem = :problem, updated_at = clock_timestamp(), ended_at = clock_timestamp()
    WHERE id = :id_ AND state = 'RUNNING'
""")
async def end(connection: AsyncConnection, id_: int, state: BulkState, problem: str | None = None) -> None:
    """End an operation that runs before it is done. Raises `Refused`: it does not run."""


@missing("operation {id_} runs or is done; only one that is STOPPED or FAILED can be resumed", Refused)
@statement("""
    UPDATE bulk_operation SET state = 'RUNNING', problem = NULL, updated_at = clock_timestamp(), ended_at = NULL
    WHERE id = :id_ AND state IN ('STOPPED', 'FAILED')
""")
async def resume(connection: AsyncConnection, id_: int) -> None:
    """Let an operation go on that was stopped or failed. Raises `Refused`."""


def _written(wanted: WantedRuns) -> str:
    since, until = (None if time is None else time.isoformat() for time in (wanted.since, wanted.until))
    visible = None if wanted.visible is None else sorted(wanted.visible)
    fields = {name: getattr(wanted, name) for name in ("workflow", "project", "children")}
    times = {"since": since, "until": until}
    conditions = asdict(wanted.conditions)
    return json.dumps({**fields, **times, "states": list(wanted.states), "visible": visible, "conditions": conditions})
