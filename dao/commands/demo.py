"""Database statements of `shoal demo`: commands in bulk, counts to show, and the proof at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.ids import Epoch, WorkflowCode
from model.runs.states import TaskState, WorkflowState

SEED = "demo_workflows.sql"


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts at one moment.

    `handled` and `owned` count by master: commands taken, and unfinished runs.
    """

    waiting: int
    handled: Mapping[Epoch, int]
    owned: Mapping[Epoch, int]
    runs: Mapping[WorkflowState, int]
    tasks: Mapping[TaskState, int]


@dataclass(frozen=True, slots=True)
class Proof:
    """The final state of the commands in the tables. If all but the first four are 0, nothing was lost or done twice.

    `starts_handled` and `takeovers_handled` count history by kind; `runs` and `tasks` (attempts) are the totals.
    """

    starts_handled: int
    takeovers_handled: int
    runs: int
    tasks: int
    waiting: int
    refused: int
    starts_without_one_run: int
    runs_without_start: int
    runs_unfinished: int
    tasks_unfinished: int
    tasks_succeeded_twice: int
    attempts_overlapping: int
    failed_unexpectedly: int


# The tables of a demo are small: full scans are acceptable here and nowhere else.
_TALLY = Sql("""
    SELECT 'waiting' AS what, '' AS which, count(*) AS number FROM command
    UNION ALL SELECT 'handled', master_id::text, count(*) FROM command_history GROUP BY master_id
    UNION ALL SELECT 'owned', master_id::text, count(*) FROM workflow_instance WHERE ended_at IS NULL GROUP BY master_id
    UNION ALL SELECT 'runs', state, count(*) FROM workflow_instance GROUP BY state
    UNION ALL SELECT 'tasks', state, count(*) FROM task_instance GROUP BY state
""")


async def load_seed(connection: AsyncConnection) -> None:
    """Run `sql/seed/demo_workflows.sql` without psql: skips lines that begin with a backslash (psql commands)."""
    lines = (files("sql") / "seed" / SEED).read_text("utf-8").splitlines()
    script = "\n".join(line for line in lines if not line.startswith("\\"))
    driver = connection.driver
    await driver.execute(script.encode())


@statement("""
    INSERT INTO command (type, workflow_code)
    SELECT 'START_PROCESS', (CAST(:workflows AS bigint[]))[1 + n % cardinality(CAST(:workflows AS bigint[]))]
    FROM generate_series(CAST(:first AS integer), CAST(:last AS integer)) AS n
""")
async def insert_commands(
    connection: AsyncConnection, workflows: Sequence[WorkflowCode], first: int, last: int
) -> None:
    """Insert start commands number `first` to `last`, for each workflow in turn."""


async def read_tally(connection: AsyncConnection) -> Tally:
    """Count, in one statement, so that the numbers are consistent."""
    found: dict[str, dict[str, int]] = {"waiting": {}, "handled": {}, "owned": {}, "runs": {}, "tasks": {}}
    for what, which, number in await connection.execute(_TALLY):
        found[what][which] = number
    return Tally(
        found["waiting"][""],
        {Epoch(int(master)): number for master, number in found["handled"].items()},
        {Epoch(int(master)): number for master, number in found["owned"].items()},
        {WorkflowState(state): number for state, number in found["runs"].items()},
        {TaskState(state): number for state, number in found["tasks"].items()},
    )


@statement("""
    SELECT (SELECT count(*) FROM command_history WHERE type = 'START_PROCESS' AND outcome = 'DONE'),
           (SELECT count(*) FROM command_history WHERE type <> 'START_PROCESS' AND outcome = 'DONE'),
           (SELECT count(*) FROM workflow_instance),
           (SELECT count(*) FROM task_instance),
           (SELECT count(*) FROM command),
           (SELECT count(*) FROM error_command),
           (SELECT count(*) FROM command_history h WHERE h.type = 'START_PROCESS'
              AND (SELECT count(*) FROM workflow_instance i WHERE i.command_id = h.command_id) <> 1),
           (SELECT count(*) FROM workflow_instance i WHERE NOT EXISTS (
              SELECT FROM command_history h WHERE h.command_id = i.command_id AND h.type = 'START_PROCESS')),
           (SELECT count(*) FROM workflow_instance WHERE ended_at IS NULL),
           (SELECT count(*) FROM task_instance WHERE ended_at IS NULL),
           (SELECT count(*) FROM (SELECT FROM task_instance WHERE state = 'SUCCESS'
              GROUP BY workflow_instance_id, task_code HAVING count(*) > 1) AS twice),
           (SELECT count(*) FROM task_instance a JOIN task_instance b
              ON b.workflow_instance_id = a.workflow_instance_id AND b.task_code = a.task_code AND b.attempt > a.attempt
              WHERE b.started_at < a.ended_at),
           (SELECT count(*) FROM workflow_instance i JOIN workflow_definition d ON d.code = i.workflow_code
              WHERE i.state = 'FAILURE' AND d.name <> :fails_on_purpose)
""")
async def read_proof(connection: AsyncConnection, fails_on_purpose: str) -> Proof:
    """The proof from the tables at the end; `fails_on_purpose` is the workflow whose runs are expected to fail."""
