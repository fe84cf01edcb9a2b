"""The schema's version: created in an empty database, upgraded, compared with what this program expects.

`sql/schema.sql` is always the whole of the newest schema. A database with an older one gets the scripts of
`sql/upgrades/` that it lacks, named `NNNN_what_it_does.sql`; the number is the version that the script makes. Each
script runs in one transaction (`table_changes`) and leaves a row in `schema_version`, so two processes at once are safe
and a second run does nothing. Its first line states whether nodes of the previous schema may run meanwhile; if not, it
does not run while one lives. That is recorded too, for nodes that live nevertheless: with its beats each node checks
whether a schema is recorded that it does not know (`newer`), and stops if it must. A script that was changed after it
ran somewhere would leave databases different under the same number, so that is reported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from importlib.resources.abc import Traversable
from urllib.parse import quote

import psycopg

from dao.logger import logger
from dao.postgres.address import Address
from dao.postgres.database import Database
from dao.postgres.pool import AsyncConnection
from dao.postgres.rows import Row
from dao.postgres.schema_scripts import Script, Scripts, read_scripts
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from dao.postgres.table_changes import LOCKS_WITHIN_S, change_tables
from model.errors import Denied, Refused

log = logger()

BEATS_WITHIN_S = 660.0
"""A node that has not beaten for this long is gone: longer than a worker may continue with the registry alone."""


class TooNew(Refused):
    """The schema is newer than this program: waiting does not help."""


@dataclass(frozen=True)
class Upgraded:
    """The result of `upgrade`: the names of the scripts that it ran, and of older ones changed since they ran."""

    version: int
    ran: tuple[str, ...]
    changed: tuple[str, ...]


@dataclass(frozen=True)
class Planned:
    """What `upgrade` would do: the version that is there, 0 for none, the one that this program needs, the scripts in
    between, and the living nodes for which those that do not go with them would not run."""

    version: int
    needed: int
    scripts: tuple[Script, ...]
    in_the_way: tuple[str, ...]


_IS_THERE = Sql("SELECT to_regclass('schema_version') IS NOT NULL")
_ELSEWHERE = Sql("""
    SELECT quote_ident(n.nspname) AS schema, quote_ident(current_database()) AS database,
           has_schema_privilege(n.oid, 'USAGE') AS is_open
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname = 'schema_version'     -- other programs have a table of this name too
      AND EXISTS (SELECT FROM pg_class b WHERE b.relnamespace = n.oid AND b.relname = 'node_beat')
    ORDER BY is_open LIMIT 1
""")
_HOME = Sql("SELECT current_setting('server_encoding'), current_schema(), current_setting('search_path')")
_APPLIED = Sql("SELECT version, name, checksum, program, old_nodes_may_run FROM schema_version ORDER BY version")
_RECORD = Sql("""
    INSERT INTO schema_version (version, name, checksum, program, old_nodes_may_run)
    VALUES (:version, :name, :checksum, :program, :may_run)
    ON CONFLICT (version) DO UPDATE
    SET checksum = excluded.checksum, program = excluded.program, old_nodes_may_run = excluded.old_nodes_may_run
""")


@dataclass(frozen=True)
class _Applied:
    """A row of `schema_version`. Checksum and program are null for a schema made by hand with psql."""

    version: int
    name: str
    checksum: str | None
    program: str | None
    old_nodes_may_run: bool


async def upgrade(
    database: Database,
    folder: Traversable | None = None,
    *,
    locks_within_s: float = LOCKS_WITHIN_S,
    nobody_runs: bool = False,
) -> Upgraded:
    """Create the schema in an empty database, or upgrade an older one; does nothing to a current one.

    Args:
        database: of a user that may create tables there, with two connections.
        folder: with `schema.sql` and `upgrades/`; None for those of this program.
        locks_within_s: how long each script tries to get its locks.
        nobody_runs: the caller knows that no node lives, whatever the rows say.

    Raises:
        Refused: the schema is newer than this program, a script cannot run there, or a script is incompatible with
            nodes that live; that script is rolled back.
        Unavailable: others hold locks for too long; the message names them.
    """
    scripts = read_scripts(folder)
    ran: list[str] = []

    async def run_next(connection: AsyncConnection) -> tuple[list[_Applied], Script | None]:
        applied = await _applied(connection)
        script = scripts.after(applied[-1].version) if applied else scripts.schema
        if script is scripts.schema:
            await _refuse_home(connection, database)
        if script is not None:
            if applied and not (script.old_nodes_may_run or nobody_runs):
                await _refuse_while_nodes_live(connection, script)
            await _run(connection, script, database)
        return applied, script

    while True:
        applied, script = await change_tables(database, "the upgrade", run_next, locks_within_s)
        if script is None:
            break
        ran.append(script.name)
        log.info("schema_script_ran", script=script.name, version=script.version)
    if applied[-1].version > scripts.version:
        raise TooNew(_too_new(applied[-1], scripts))
    changed = _changed(applied, scripts)
    for name in changed:
        danger = "databases of one version may differ from each other"
        log.warning("schema_script_changed", script=name, danger=danger)
    return Upgraded(scripts.version, tuple(ran), changed)


init = upgrade
"""`shoal db init` and `shoal db upgrade` differ only in what their user expects to happen."""


async def plan(database: Database, folder: Traversable | None = None) -> Planned:
    """What `upgrade` would do now. Takes no lock and changes nothing.

    Raises:
        TooNew: the schema is newer than this program.
        Unavailable: the database does not answer.
    """
    scripts = read_scripts(folder)
    async with database.reading() as connection:
        applied = await _applied(connection)
        living = await _living(connection) if applied else []
    if not applied:
        return Planned(0, scripts.version, (scripts.schema,), ())
    if applied[-1].version > scripts.version:
        raise TooNew(_too_new(applied[-1], scripts))
    version = applied[-1].version
    missing = tuple(each for each in scripts.upgrades if each.version > version)
    must_stop = any(not each.old_nodes_may_run for each in missing)
    return Planned(version, scripts.version, missing, tuple(living) if must_stop else ())


async def check(database: Database, folder: Traversable | None = None) -> int:
    """The version of the schema, if this program works with it: its own, or a newer one that older nodes bear.

    They bear it when they start as well: during an upgrade a machine may boot that has not had its turn yet.

    Raises:
        Refused: it is missing or older; the message says what to do.
        TooNew: it is newer, and this program must not use it.
        Denied: the database's user may not read it.
        Unavailable: the database does not answer.
    """
    scripts = read_scripts(folder)
    async with database.reading() as connection:
        applied = await _applied(connection)
        elsewhere = None if applied else (await connection.execute(_ELSEWHERE)).first()
    if elsewhere is not None and not elsewhere.is_open:
        raise Denied(
            f"this user of the database {database.shown} may not use its schema {elsewhere.schema}; "
            "grant it: docs/reference/roles.md"
        )
    if elsewhere is not None:
        raise Refused(_elsewhere(database, elsewhere))
    if not applied:
        raise Refused(f"the database {database.shown} has no Shoal schema; run `shoal db init`")
    if applied[-1].version < scripts.version:
        raise Refused(
            f"the database has schema version {applied[-1].version}, this program needs {scripts.version}; "
            f"run `shoal db upgrade`"
        )
    if not all(row.old_nodes_may_run for row in applied if row.version > scripts.version):
        raise TooNew(_too_new(applied[-1], scripts))
    return applied[-1].version


def _elsewhere(database: Database, found: Row) -> str:
    return (
        f"the tables of Shoal in the database {database.shown} are in its schema {found.schema}, which is not in the "
        f"search_path; ALTER DATABASE {found.database} SET search_path = {found.schema}, or name it in the database "
        f"URL: options=-csearch_path%3D{quote(found.schema)}"
    )


async def _refuse_home(connection: AsyncConnection, database: Database) -> None:
    """Nothing is made where texts cannot be stored, or beside the tables that are there, unless the URL says where."""
    encoding, schema, path = (await connection.execute(_HOME)).one()
    if encoding != "UTF8":
        raise Refused(
            f"the database {database.shown} has the encoding {encoding}, and Shoal needs UTF8; create another with "
            "CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0"
        )
    if schema is None:
        raise Refused(f"the database {database.shown} has no schema of its search_path {path}; CREATE SCHEMA makes it")
    if "search_path" in Address.of(database.url).settings:
        return
    if (elsewhere := (await connection.execute(_ELSEWHERE)).first()) is not None:
        raise Refused(_elsewhere(database, elsewhere))


async def _refuse_while_nodes_live(connection: AsyncConnection, script: Script) -> None:
    if living := await _living(connection):
        more = f" and {len(living) - 5} more" if len(living) > 5 else ""
        raise Refused(
            f"the upgrade {script.name} does not go with nodes of the former schema, and these live: "
            f"{', '.join(living[:5])}{more}; stop them first; "
            f"if all were killed, say shoal db upgrade --nobody-runs"
        )


@statement("""
    SELECT lower(n.kind) || ' ' || n.address || ' (epoch ' || n.id || ')'
    FROM node n JOIN node_beat b ON b.node_id = n.id
    WHERE n.state IN ('ALIVE', 'LEAVING') AND b.beaten_at > clock_timestamp() - make_interval(secs => :BEATS_WITHIN_S)
    ORDER BY n.id
""")
async def _living(connection: AsyncConnection) -> list[str]: ...


async def _applied(connection: AsyncConnection) -> list[_Applied]:
    if not (await connection.execute(_IS_THERE)).scalar_one():
        return []
    return [_Applied(*row) for row in await connection.execute(_APPLIED)]


async def _run(connection: AsyncConnection, script: Script, database: Database) -> None:
    """Run one script in the open transaction. Uses the driver: only that accepts several statements at once."""
    driver = connection.driver
    try:
        await driver.execute(script.content.encode())
    except psycopg.DatabaseError as error:
        if isinstance(error, psycopg.OperationalError):
            raise
        raise Refused(
            f"the database {database.shown} does not take {script.name}.sql, which was undone: "
            f"{str(error).splitlines()[0]}; Shoal needs a separate database and the right to create tables in it"
        ) from error
    record = {
        "version": script.version,
        "name": script.name,
        "checksum": script.checksum,
        "program": _program(),
        "may_run": script.old_nodes_may_run,
    }
    await connection.execute(_RECORD, record)


def _changed(applied: Sequence[_Applied], scripts: Scripts) -> tuple[str, ...]:
    """Scripts whose content differs from when they ran. An older whole schema is no longer among our files."""
    ours = {(script.version, script.name): script.checksum for script in (scripts.schema, *scripts.upgrades)}
    return tuple(
        row.name
        for row in applied
        if row.checksum is not None and ours.get((row.version, row.name), row.checksum) != row.checksum
    )


def _too_new(newest: _Applied, scripts: Scripts) -> str:
    own, cure = _program(), "install a newer Shoal"
    if newest.program and (own is None or _numbers(newest.program) > _numbers(own)):
        cure = f"install Shoal {newest.program} or newer"
    elif newest.program:  # between two releases programs of one version differ
        cure += f" than this {own}: one whose sql/upgrades holds {newest.version:04}"
    return f"the database has schema version {newest.version}, this program knows only {scripts.version}; {cure}"


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _program() -> str | None:
    try:
        return version_of("shoal")
    except PackageNotFoundError:  # runs from a folder that was never installed
        return None
