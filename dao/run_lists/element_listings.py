"""The elements of tasks with `each`, for people: pages of them, and how many are in which state. Reads only."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.run_lists import run_listings as listings
from dao.run_lists.attempt_rows import attempts_that, task_of
from dao.runs import lookups
from dao.runs.rows import Elements, Run, TaskRun
from model.definitions.each import count_stored
from model.errors import Refused
from model.ids import TaskCode, TaskInstanceId, WorkflowInstanceId
from model.runs.elements import ELEMENTS_MAX, KEPT, element_code, is_element, task_named_in
from model.runs.states import TaskState

_PAGE = """
    t.workflow_instance_id = :run AND t.flag = 'YES'                                  -- index: task_instance_valid
    AND t.task_code BETWEEN :lowest AND :highest
    AND (CAST(:states AS text[]) IS NULL OR t.state = ANY(CAST(:states AS text[])))
"""
_COUNTS = Sql("""
    SELECT workflow_instance_id AS run, (-task_code) / :most AS code, state, count(*) AS number,
           (-max(task_code)) % :most AS first
    FROM task_instance
    WHERE workflow_instance_id = ANY(CAST(:runs AS bigint[])) AND task_code < 0       -- index: task_instance_valid
      AND flag = 'YES'
    GROUP BY 1, 2, 3
""")
_LISTS = Sql("SELECT id, parameter_values FROM task_instance WHERE id = ANY(CAST(:ids AS bigint[]))")
_FAILED = frozenset({TaskState.FAILURE, TaskState.NEED_FAULT_TOLERANCE})
_QUEUED = frozenset({TaskState.QUEUED, TaskState.DELAY_EXECUTION})
_WHOSE = Sql("SELECT workflow_instance_id, task_code FROM task_instance WHERE id = :id")


async def page(
    connection: AsyncConnection,
    run: WorkflowInstanceId,
    task: TaskCode,
    limit: int,
    after: int | None = None,
    states: Sequence[TaskState] = (),
) -> list[TaskRun]:
    """The last attempts of up to `limit` elements of a task, by their index, from the one after `after` on."""
    values = {
        "run": run,
        "lowest": element_code(task, ELEMENTS_MAX - 1),
        "highest": element_code(task, 0 if after is None else min(after + 1, ELEMENTS_MAX)),
        "states": list(states) or None,
    }
    return [task_of(row) for row in await connection.execute(attempts_that(_PAGE, "t.task_code DESC", values, limit))]


async def elements(
    connection: AsyncConnection, attempts: Mapping[WorkflowInstanceId, Sequence[TaskRun]]
) -> dict[TaskInstanceId, Elements]:
    """How far the tasks of these runs are that have elements which have begun, by the attempt that counts."""
    counts: dict[tuple[int, int], dict[TaskState, tuple[int, int]]] = {}
    for row in await connection.execute(_COUNTS, {"runs": list(attempts), "most": ELEMENTS_MAX}):
        counts.setdefault((row.run, row.code), {})[TaskState(row.state)] = (row.number, row.first)
    wholes = {
        each.id: counts[run, each.code]
        for run, own in attempts.items()
        for each in own
        if each.valid and (run, each.code) in counts
    }
    found = {}
    for id_, row in (await connection.execute(_LISTS, {"ids": list(wholes)})).all() if wholes else ():
        with suppress(Refused):  # it has never had a list, or somebody has damaged that
            found[TaskInstanceId(id_)] = _elements(count_stored(row), wholes[TaskInstanceId(id_)])
    return found


def _elements(total: int, states: Mapping[TaskState, tuple[int, int]]) -> Elements:
    def count(wanted: Collection[TaskState]) -> int:
        return sum(number for state, (number, _) in states.items() if state in wanted)

    def first(wanted: Collection[TaskState]) -> int | None:
        return min((index for state, (_, index) in states.items() if state in wanted), default=None)

    running = count((TaskState.DISPATCH, TaskState.RUNNING_EXECUTION))
    failed, killed = count(_FAILED), count([TaskState.KILL])
    return Elements(total, count(KEPT), failed, killed, running, count(_QUEUED), first(_FAILED), first(_QUEUED))


async def run_of(connection: AsyncConnection, id_: TaskInstanceId) -> tuple[Run, list[TaskRun]]:
    """The run of an attempt, and all attempts of its tasks; of elements those of the one whose attempt this is.

    Raises `NotFound`.
    """
    row = (await connection.execute(_WHOSE, {"id": id_})).first()
    if row is None:
        raise lookups.no_task(id_)
    run, code = WorkflowInstanceId(row.workflow_instance_id), TaskCode(row.task_code)
    attempts = await listings.attempts(connection, [run], code if is_element(code) else None)
    return await listings.run_head(connection, run), attempts[run]


async def attempts_named(
    connection: AsyncConnection, run: WorkflowInstanceId, tasks: Sequence[TaskRun], name: str
) -> list[TaskRun]:
    """All attempts of the element that has this name, of one of these tasks; none if it has another form."""
    of = task_named_in(name)
    whole = next((each for each in tasks if each.name == of), None)
    if whole is None:
        return []
    code = element_code(whole.code, int(name[len(whole.name) + 1 : -1]))
    found = (await listings.attempts(connection, [run], code))[run]
    return [each for each in found if each.code == code]
