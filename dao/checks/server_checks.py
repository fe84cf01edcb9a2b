"""Checks of the database server: its durability settings, its sessions, and the constraints and triggers of the schema.

The guards are the unique indexes and triggers behind "exactly once": without one nothing fails at first, and the first
race that it would have stopped does harm.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dao.checks.table_checks import Check, finding
from dao.postgres.address import Address
from dao.postgres.connection import Connection
from dao.postgres.database import ANSWER_WITHIN_S, Database
from dao.postgres.errors import translating
from dao.postgres.pool import AsyncConnection
from dao.postgres.schema_scripts import read_scripts
from dao.postgres.statements import statement

OLDEST_SERVER = 15
CONNECTIONS_LEFT_MIN = 5


@dataclass(frozen=True, slots=True)
class Server:
    """The server: `version` as it reports it, `major` its first number. `is_standby`: it accepts no writes."""

    version: str
    major: int
    is_standby: bool
    connections: int
    connections_max: int


_SESSIONS_LEFT_OPEN = finding(r"""
    SELECT format('session %s (%s) is %s since %s', pid, application_name, state, date_trunc('second', state_change))
           AS what
    FROM pg_stat_activity
    WHERE datname = current_database() AND state LIKE 'idle in transaction%'
      AND state_change < clock_timestamp() - interval '5 s'
    UNION ALL
    SELECT format('session %s is that of %s %s, which is %s', a.pid, lower(n.kind), n.id, n.state)
    FROM pg_stat_activity a
    JOIN node n ON n.id = substring(a.application_name FROM '^shoal-[a-z]+-(\d{1,18})$')::bigint
    WHERE a.datname = current_database() AND n.ended_at < clock_timestamp() - interval '10 s'
""")
_COMMITS_WAIT = finding("""
    SELECT format('session %s (%s) has waited since %s for a standby of synchronous_standby_names = %L', pid,
                  application_name, date_trunc('second', query_start), current_setting('synchronous_standby_names'))
           AS what
    FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query_start < clock_timestamp() - interval '5 s'
    ORDER BY query_start
""")
_GUARDS_MISSING = finding("""
    SELECT format('index %s is missing, or was not finished', w.name) AS what
    FROM unnest(CAST(:indexes AS text[])) AS w (name)
    LEFT JOIN pg_class c ON c.oid = to_regclass(quote_ident(w.name))
    LEFT JOIN pg_index x ON x.indexrelid = c.oid
    WHERE x.indexrelid IS NULL OR NOT x.indisvalid
    UNION ALL
    SELECT format('trigger %s is missing or off', w.name) FROM unnest(CAST(:triggers AS text[])) AS w (name)
    WHERE NOT EXISTS (SELECT FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
                      WHERE t.tgname = w.name AND t.tgenabled IN ('O', 'A') AND pg_table_is_visible(c.oid))
""")
_CONSTRAINTS = ("command_history_pkey", "error_command_pkey", "node_pkey", "node_beat_pkey", "task_event_pkey",
                "task_instance_pkey", "task_instance_attempt", "workflow_instance_pkey", "workflow_instance_command",
                "command_pkey")  # fmt: skip
"""Indexes that the schema names only as keys."""

SESSIONS = Check(
    "sessions_end",
    "no session sits in a transaction, none is that of a dead node",
    "End it: SELECT pg_terminate_backend(PID); while it sits there, tables bloat and others wait for its locks.",
    _SESSIONS_LEFT_OPEN,
)
STANDBY = Check(
    "synchronous_standby",
    "no commit waits for a standby",
    "Start that standby, or take it out of the setting and reload: until then no beat is answered, no run goes on.",
    _COMMITS_WAIT,
)
GUARDS = Check(
    "guards_stand",
    "the indexes and triggers of the schema are in place",
    "Take the statement that makes it from sql/schema.sql, and run it: "
    "until then polls are slow, or nothing stops what it forbids.",
    _GUARDS_MISSING,
)
_MUST_BE_ON = {
    "fsync": "a crash of the machine loses commands that were acknowledged, or the whole database",
    "full_page_writes": "a crash of the machine can damage the tables",
    "synchronous_commit": "a crash loses what others than Shoal committed last, such as commands inserted by hand",
    "autovacuum": "the queue tables bloat until every poll of them is slow",
}


def guards() -> dict[str, list[str]]:
    """The names of the guards in this program's schema, for `GUARDS`."""
    content = read_scripts().schema.content
    return {
        "indexes": [*re.findall(r"(?m)^CREATE (?:UNIQUE )?INDEX (\w+)", content), *_CONSTRAINTS],
        "triggers": re.findall(r"(?m)^CREATE TRIGGER (\w+)", content),
    }


@statement("""
    SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int / 10000 AS major,
           pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS is_standby,
           (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
           current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
               AS connections_max
""")
async def server(connection: AsyncConnection) -> Server:
    """The server's version and how full it is."""


async def dangers(database: Database) -> list[str]:
    """What must not be so at the server but is, and what that can cost, a sentence each.

    Read on a connection without our session settings: those would hide the values that apply to all others.
    """
    with translating():
        async with await Connection.connect_within(
            Address.of(database.url),
            {},
            application_name=database.application_name,
            answer_within_s=ANSWER_WITHIN_S,
        ) as connection:
            cursor = await connection.execute(
                "SELECT name FROM pg_settings WHERE name = ANY(%s) AND setting = 'off'", [list(_MUST_BE_ON)]
            )
            found = [f"{name} is off: {_MUST_BE_ON[name]}" for (name,) in await cursor.fetchall()]
            encoding = connection.info.parameter_status("server_encoding")
            if encoding != "UTF8":
                found.append(
                    f"the encoding of the database is {encoding}: texts that it cannot hold are refused or broken"
                )
            return found
