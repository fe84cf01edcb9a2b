"""`alert_rule`: the rules of projects in words, and what they are applied to: ends of runs, and runs that take long.

The ends are rows that are written with the end (`run_end`), and deleted with what follows from them: so none is lost,
and none counts twice, in whatever order their transactions commit. Where no project has a rule there are none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dao.postgres.database import FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement
from model.alerts.rule_ends import RunEnd
from model.ids import WorkflowCode, WorkflowInstanceId


@dataclass(frozen=True, slots=True)
class StoredRule:
    """A rule as a person wrote it; `updated_at` is since when it applies."""

    id: int
    project: str
    name: str
    text: str
    problem: str | None
    version: int
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class LongRule:
    """A rule about runs that take longer than `than_s`; `workflow_code` None = of any workflow of its project."""

    id: int
    project: str
    workflow_code: WorkflowCode | None
    than_s: float


@dataclass(frozen=True, slots=True)
class LongRun:
    """A run that takes longer than a rule allows. `running_mark` is a text that names since when it runs."""

    rule_id: int
    run: int
    project: str
    workflow: str
    running_mark: str


@dataclass(frozen=True, slots=True)
class Expected:
    """That a run of a workflow is to end from `since` to `deadline`, both aware."""

    rule_id: int
    workflow_code: WorkflowCode
    since: datetime
    deadline: datetime
    succeeded: bool


@statement("SELECT clock_timestamp()")
async def now(connection: AsyncConnection) -> datetime:
    """The database's time, aware."""


@statement("""
    SELECT id, project, name, text, problem, version,
           least(greatest(updated_at, '0100-01-01 00:00Z'), '9900-01-01 00:00Z')   -- Python has no others
    FROM alert_rule WHERE enabled ORDER BY id
""")
async def enabled(connection: AsyncConnection) -> list[StoredRule]: ...


# Only of the rule as it was read: a person may have changed it meanwhile.
@statement("""
    UPDATE alert_rule SET problem = :problem
    WHERE id = :rule.id AND updated_at = :rule.updated_at AND problem IS DISTINCT FROM :problem
""")
async def set_problem(connection: FencedTransaction, rule: StoredRule, problem: str | None) -> None:
    """Record why a rule raises nothing; None = it works."""


@statement("""
    INSERT INTO run_end (workflow_instance_id, workflow_code, state, running_since, ended_at, reason, is_child)
    SELECT i.id, i.workflow_code, i.state, coalesce(i.running_since, i.started_at), i.ended_at, left(i.reason, 1000),
           i.parent_instance_id IS NOT NULL
    FROM workflow_instance i JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE i.id = ANY(CAST(:ids AS bigint[])) AND i.state IN ('SUCCESS', 'FAILURE') AND NOT i.dry_run AND NOT d.is_trial
      AND EXISTS (SELECT FROM alert_rule r WHERE r.project = d.project AND r.enabled)
    ORDER BY i.ended_at, i.id
""")
async def note_ends(connection: FencedTransaction, ids: Sequence[WorkflowInstanceId]) -> None:
    """Note the ends of these runs, which have just ended, for the rules of their projects."""


@statement("""
    WITH taken AS (
        DELETE FROM run_end WHERE id = ANY(ARRAY(
            SELECT id FROM run_end ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED))   -- index: run_end_pkey
        RETURNING *
    )
    SELECT t.workflow_instance_id, t.workflow_code, d.project, coalesce(d.name, ''), t.state,
           CASE WHEN isfinite(t.running_since) AND isfinite(t.ended_at)
                THEN extract(epoch FROM t.ended_at - t.running_since)::float8 END,
           CASE WHEN t.ended_at IS NULL THEN '' ELSE extract(epoch FROM t.ended_at)::text END,
           CASE WHEN t.running_since IS NULL THEN '' ELSE extract(epoch FROM t.running_since)::text END,
           t.reason, t.is_child
    FROM taken t LEFT JOIN workflow_definition d ON d.code = t.workflow_code
    ORDER BY t.id
""")
async def consume_ends(connection: FencedTransaction, limit: int) -> list[RunEnd]:
    """Take up to `limit` ends of runs, in order: no rule is applied to them again."""


@statement("""
    SELECT rule_id, workflow_code, failures FROM alert_rule_state
    WHERE rule_id = ANY(CAST(:rules AS bigint[])) AND workflow_code = ANY(CAST(:workflows AS bigint[]))
""")
async def failures(
    connection: AsyncConnection, rules: Collection[int], workflows: Collection[WorkflowCode]
) -> dict[tuple[int, WorkflowCode], int]:
    """How many runs of these workflows have failed in a row, by rule; 0 is missing."""


# A rule may have been deleted meanwhile.
@statement("""
    INSERT INTO alert_rule_state (rule_id, workflow_code, failures)
    SELECT n.rule_id, n.workflow_code, n.failures
    FROM unnest(CAST(:counts.0 AS bigint[]), CAST(:counts.1 AS bigint[]), CAST(:counts.values AS integer[]))
         AS n (rule_id, workflow_code, failures)
    JOIN alert_rule r ON r.id = n.rule_id
    ORDER BY n.rule_id, n.workflow_code
    ON CONFLICT (rule_id, workflow_code) DO UPDATE SET failures = excluded.failures
""")
async def set_failures(connection: FencedTransaction, counts: Mapping[tuple[int, WorkflowCode], int]) -> None:
    """Store how many runs have failed in a row."""


# The state is said as the index says it. What has its alert is left out, so that the limit is of those that have none.
@statement("""
    SELECT r.rule_id, i.id, d.project, d.name, extract(epoch FROM coalesce(i.running_since, i.started_at))::text
    FROM unnest(CAST(:rules.id AS bigint[]), CAST(:rules.project AS text[]), CAST(:rules.workflow_code AS bigint[]),
                CAST(:rules.than_s AS float8[])) AS r (rule_id, project, workflow_code, than_s)
    JOIN workflow_definition d ON d.project = r.project AND d.code = coalesce(r.workflow_code, d.code)
                              AND NOT d.is_trial
    CROSS JOIN LATERAL (
        SELECT * FROM workflow_instance i                                     -- index: workflow_instance_line
        WHERE i.workflow_code = d.code
          AND (i.state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE
    ) AS i
    WHERE NOT i.dry_run AND (r.workflow_code IS NOT NULL OR i.parent_instance_id IS NULL)
      AND isfinite(coalesce(i.running_since, i.started_at))
      AND extract(epoch FROM clock_timestamp() - coalesce(i.running_since, i.started_at)) > r.than_s
      AND (SELECT a.id FROM alert a                                           -- index: alert_unique
           WHERE a.unique_key = format('rule:%s:long:%s:%s', r.rule_id, i.id,
                                       extract(epoch FROM coalesce(i.running_since, i.started_at)))) IS NULL
    LIMIT :limit
""")
async def long_runs(connection: AsyncConnection, rules: Sequence[LongRule], limit: int) -> list[LongRun]:
    """Up to `limit` runs that take longer than these rules allow, and have no alert of it yet."""


@statement("""
    SELECT rule_id, workflow_code, least(greatest(deadline, '0100-01-01 00:00Z'), '9900-01-01 00:00Z')
    FROM alert_rule_state WHERE rule_id = ANY(CAST(:rules AS bigint[])) AND deadline IS NOT NULL
""")
async def deadlines(connection: AsyncConnection, rules: Collection[int]) -> dict[tuple[int, WorkflowCode], datetime]:
    """The last times of the day for which these rules were checked."""


@statement("""
    INSERT INTO alert_rule_state (rule_id, workflow_code, deadline)
    SELECT n.rule_id, n.workflow_code, n.deadline
    FROM unnest(CAST(:of.rule_id AS bigint[]), CAST(:of.workflow_code AS bigint[]), CAST(:of.deadline AS timestamptz[]))
         AS n (rule_id, workflow_code, deadline)
    JOIN alert_rule r ON r.id = n.rule_id
    ORDER BY n.rule_id, n.workflow_code
    ON CONFLICT (rule_id, workflow_code) DO UPDATE SET deadline = excluded.deadline
""")
async def set_deadlines(connection: FencedTransaction, of: Sequence[Expected]) -> None:
    """Store for which times of the day rules were checked."""


# A run that is run again ended before: what it was then is in its row.
@statement("""
    SELECT e.rule_id
    FROM unnest(CAST(:of.rule_id AS bigint[]), CAST(:of.workflow_code AS bigint[]), CAST(:of.since AS timestamptz[]),
                CAST(:of.deadline AS timestamptz[]), CAST(:of.succeeded AS boolean[]))
         AS e (rule_id, workflow_code, since, deadline, succeeded)
    WHERE EXISTS (
        SELECT FROM workflow_instance i                                       -- index: workflow_instance_ended
        WHERE i.workflow_code = e.workflow_code AND i.ended_at BETWEEN e.since AND e.deadline
          AND i.state IN ('SUCCESS', 'FAILURE') AND NOT i.dry_run AND i.command_type <> 'COMPLEMENT_DATA'
          AND (NOT e.succeeded OR i.state = 'SUCCESS' AND i.scope IS NULL AND i.executing IS NULL))
      OR EXISTS (
        SELECT FROM workflow_instance i                                       -- index: workflow_instance_ended_before
        WHERE i.workflow_code = e.workflow_code AND i.ended_before >= e.since
          AND NOT i.dry_run AND i.command_type <> 'COMPLEMENT_DATA'
          AND CASE WHEN e.succeeded THEN i.succeeded_before BETWEEN e.since AND e.deadline AND i.scope IS NULL
                   ELSE i.ended_before <= e.deadline END)
""")
async def met(connection: AsyncConnection, of: Sequence[Expected]) -> set[int]:
    """Of which of these rules a run ended in time. Dry runs and backfills do not count, nor, where one is to succeed,
    do runs of some tasks only."""
