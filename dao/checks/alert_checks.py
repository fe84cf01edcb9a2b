"""Whether alerts reach anybody: what `shoal doctor` and `shoal why` say of those that do not."""

from __future__ import annotations

from dataclasses import dataclass

from dao.checks.table_checks import Check, finding
from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement
from model.ids import WorkflowInstanceId

RECENT = 10_000
"""So many alerts that reached nobody, and so many that wait, the newest, are read; written out below."""

# An alert reaches nobody if its group has no channel that is enabled, whether somebody has tried to send it or not.
# Where nobody has made an alert group, nobody waits for what is reported to none in particular.
_NOBODY = finding("""
    SELECT format('alert group "%s" %s: %s alerts in the last day reached nobody; the last: %s',
                  left(a.alert_group, 100),
                  CASE WHEN EXISTS (SELECT FROM alert_group g WHERE g.name = a.alert_group)
                       THEN 'has no channel that is enabled' ELSE 'does not exist' END, count(*),
                  left((array_agg(a.subject ORDER BY a.id DESC))[1], 200)) AS what
    FROM ((SELECT * FROM alert WHERE state = 'NOBODY' ORDER BY id DESC LIMIT 10000)          -- index: alert_nobody
          UNION ALL
          (SELECT * FROM alert WHERE state = 'WAIT' ORDER BY id DESC LIMIT 10000)) AS a      -- index: alert_wait
    WHERE a.created_at > now() - interval '1 d'
      AND a.state IN ('WAIT', 'NOBODY') AND NOT EXISTS (
          SELECT FROM alert_group g JOIN alert_group_channel m ON m.group_id = g.id
          JOIN alert_channel c ON c.id = m.channel_id AND c.enabled WHERE g.name = a.alert_group)
      AND (a.alert_group <> 'default' OR EXISTS (SELECT FROM alert_group))
    GROUP BY a.alert_group ORDER BY a.alert_group
""")
_WAITING = finding("""
    SELECT format('%s alerts wait to be sent, the oldest since %s: %s', n, date_trunc('second', since), subject) AS what
    FROM (SELECT count(*) AS n, min(a.created_at) AS since,
                 left((array_agg(a.subject ORDER BY a.id))[1], 200) AS subject
          FROM alert a WHERE a.state = 'WAIT') AS waiting                                    -- index: alert_wait
    WHERE since < now() - interval '1 min' AND EXISTS (SELECT FROM alert_group)
""")
_RULES = finding("""
    SELECT format('rule "%s" of project "%s": %s', name, project, problem) AS what
    FROM alert_rule WHERE enabled AND problem IS NOT NULL ORDER BY project, name
""")

ALERT_CHECKS = (
    Check(
        "alerts_are_sent",
        "no alert waits for a sender",
        "Is an alert sender running? shoal alert sends; shoal up starts one.",
        _WAITING,
    ),
    Check(
        "alerts_reach_somebody",
        "each alert group to which something was reported has a channel",
        "Make the group with a channel, or name another one where the run, schedule or rule names it; "
        "docs/guides/alerts.md.",
        _NOBODY,
    ),
    Check(
        "alert_rules_work",
        "each rule of alerts that is enabled works",
        "Change its words, or disable it.",
        _RULES,
    ),
)
"""What a person should know, and no fault of the cluster."""


@dataclass(frozen=True, slots=True)
class Unheard:
    """An alert group to which something of a run was reported, and that nobody is in; `exists`: there is the group."""

    alert_group: str
    exists: bool


@statement("""
    SELECT DISTINCT a.alert_group, EXISTS (SELECT FROM alert_group g WHERE g.name = a.alert_group)
    FROM alert a                                                                             -- index: alert_run
    WHERE a.workflow_instance_id = :run
      AND a.state IN ('WAIT', 'NOBODY') AND NOT EXISTS (
          SELECT FROM alert_group g JOIN alert_group_channel m ON m.group_id = g.id
          JOIN alert_channel c ON c.id = m.channel_id AND c.enabled WHERE g.name = a.alert_group)
    ORDER BY 1
""")
async def unheard_of(connection: AsyncConnection, run: WorkflowInstanceId) -> list[Unheard]:
    """The alert groups to which something of this run was reported, and that reach nobody."""
