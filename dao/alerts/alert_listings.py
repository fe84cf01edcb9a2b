"""Alerts for display: pages of them, newest first, and what became of each on each channel."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dao.alerts.rows import AlertRow, Delivery
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import filtered
from dao.postgres.statements import missing, statement


@dataclass(frozen=True, slots=True)
class AlertFilter:
    """Which alerts; None = any. `visible`: the projects whose alerts may be shown, None = all.

    `result`: FAILED = of which a channel did not get it, WAIT = still to be sent somewhere, NOBODY = nobody gets it,
    SILENCED = a silence covers it.
    """

    visible: Collection[str] | None
    public: Collection[str]
    kinds: Collection[str] | None = None
    project: str | None = None
    workflow: str | None = None
    run: int | None = None
    result: str | None = None


_VISIBLE = (
    "(a.project = ANY(CAST(:visible AS text[])) OR (a.project IS NULL AND a.kind = ANY(CAST(:public AS text[]))))"
)
# Named by id, so that a few of a long history are found by their own index, whatever the statistics say. The other
# conditions stand within: a limit before them would hide what fits behind what does not.
_RESULTS: Mapping[str, str] = {
    "FAILED": """a.id = ANY(ARRAY(
        SELECT d.alert_id FROM alert_delivery d
        CROSS JOIN LATERAL (SELECT FROM alert a WHERE a.id = d.alert_id {conditions} OFFSET 0) AS its
        WHERE d.state = 'FAILED' AND d.alert_id < coalesce(CAST(:before AS bigint), 9223372036854775807)
        GROUP BY d.alert_id ORDER BY d.alert_id DESC LIMIT :limit))""",
    "WAIT": """a.id = ANY(ARRAY(
        (SELECT a.id FROM alert a WHERE a.state = 'WAIT' {conditions} ORDER BY a.id DESC LIMIT :limit)
        UNION (SELECT d.alert_id FROM (SELECT alert_id FROM alert_delivery WHERE state = 'WAIT' OFFSET 0) AS d
               CROSS JOIN LATERAL (SELECT FROM alert a WHERE a.id = d.alert_id {conditions} OFFSET 0) AS its
               GROUP BY d.alert_id ORDER BY d.alert_id DESC LIMIT :limit)))""",
    "NOBODY": "a.state = 'NOBODY'",
    "SILENCED": "a.state = 'SILENCED'",
}


_PAGE = """
    SELECT a.id, a.created_at, a.kind, a.severity, a.project, a.workflow, a.workflow_instance_id,
           a.task_instance_id, a.alert_group, a.subject, a.state, a.state_reason
    FROM alert a WHERE {condition} ORDER BY a.id DESC LIMIT :limit
"""


async def page(connection: AsyncConnection, wanted: AlertFilter, limit: int, before: int | None) -> list[AlertRow]:
    """Up to `limit` alerts, newest first, with ids below `before`."""
    conditions: list[str] = []
    values: dict[str, Any] = {"limit": limit, "before": before}
    if before is not None:
        conditions.append("a.id < :before")
    if wanted.visible is not None:
        conditions.append(_VISIBLE)
        values |= {"visible": list(wanted.visible), "public": list(wanted.public)}
    if wanted.kinds is not None:
        conditions.append("a.kind = ANY(CAST(:kinds AS text[]))")
        values["kinds"] = list(wanted.kinds)
    for column, value in (
        ("project", wanted.project),
        ("workflow", wanted.workflow),
        ("workflow_instance_id", wanted.run),
    ):
        if value is not None:
            conditions.append(f"a.{column} = :{column}")
            values[column] = value
    if wanted.result is not None:
        within = "".join(f" AND {condition}" for condition in conditions)
        conditions.append(_RESULTS[wanted.result].format(conditions=within))
    condition = " AND ".join(conditions) or "true"
    if wanted.result != "FAILED" and before is None:
        del values["before"]
    return [AlertRow(*row) for row in await connection.execute(filtered(_PAGE, condition, values))]


@missing("there is no alert {id_}; `shoal alert list` lists those there are")
@statement("""
    SELECT a.id, a.created_at, a.kind, a.severity, a.project, a.workflow, a.workflow_instance_id, a.task_instance_id,
           a.alert_group, a.subject, a.state, a.state_reason, a.facts
    FROM alert a WHERE a.id = :id_
""")
async def find(connection: AsyncConnection, id_: int) -> tuple[AlertRow, Mapping[str, Any]]:
    """An alert, and its facts. Raises `NotFound`."""


@statement("""
    SELECT d.alert_id, c.name, d.state, d.tries,
           CASE WHEN d.state = 'WAIT' AND d.tries > 0 THEN d.next_try_at END, d.last_error, d.sent_at, d.grouped_with
    FROM alert_delivery d JOIN alert_channel c ON c.id = d.channel_id
    WHERE d.alert_id = ANY(CAST(:alerts AS bigint[]))
    ORDER BY d.alert_id, c.name
""")
async def deliveries(connection: AsyncConnection, alerts: Sequence[int]) -> dict[int, list[Delivery]]:
    """What became of these alerts: of each its channels, by name."""
