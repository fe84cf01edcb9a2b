"""The schema's version: made in an empty database, brought up to date, compared with what this program expects.

`sql/schema.sql` is always the whole of the newest schema. A database that has an older one gets the scripts of
`sql/upgrades/` that it lacks, named `NNNN_what_it_does.sql`; the number is the version that it makes. Each script runs
in one transaction under an advisory lock and leaves a row in `schema_version`, so that two processes at once are safe
and running again does nothing. The danger is a script that was changed after it ran somewhere: databases would differ
under one number, so that is said.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from importlib.resources import files
from importlib.resources.abc import Traversable

import psycopg
import structlog
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from dao.connection import Connection
from dao.database import Database
from model.errors import Refused

log = structlog.get_logger()

FIRST_VERSION = 1
_SCRIPT_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")


@dataclass(frozen=True)
class Script:
    """A file of SQL and the schema's version once it has run."""

    version: int
    name: str
    content: str

    @cached_property
    def checksum(self) -> str:
        """Tells whether the file is still what once ran."""
        return hashlib.sha256(self.content.encode()).hexdigest()


@dataclass(frozen=True)
class Scripts:
    """All that this program has: the whole schema, and the ways to it from older ones, in order."""

    schema: Script
    upgrades: Sequence[Script]

    @property
    def version(self) -> int:
        """The version that this program works with."""
        return self.schema.version

    def after(self, version: int) -> Script | None:
        """The upgrade that follows on `version`."""
        return next((script for script in self.upgrades if script.version == version + 1), None)


@dataclass(frozen=True)
class Upgraded:
    """What a run of `upgrade` did: the names of the scripts that it ran, and of older ones that were changed since."""

    version: int
    ran: tuple[str, ...]
    changed: tuple[str, ...]


def read_scripts(folder: Traversable | None = None) -> Scripts:
    """The scripts in `folder`, by default those that were installed with this program.

    Raises:
        ValueError: an upgrade has a wrong name or number; a fault of whoever built this program.
    """
    folder = folder or files("sql")
    upgrades = []
    if (folder / "upgrades").is_dir():
        found = [each for each in (folder / "upgrades").iterdir() if each.name.endswith(".sql")]
        for expected, file in enumerate(sorted(found, key=lambda each: each.name), start=FIRST_VERSION + 1):
            named = _SCRIPT_NAME.fullmatch(file.name)
            if named is None or int(named[1]) != expected:
                raise ValueError(f"sql/upgrades/{file.name} must be named {expected:04}_what_it_does.sql")
            upgrades.append(Script(expected, named[2], file.read_text("utf-8")))
    content = (folder / "schema.sql").read_text("utf-8")
    return Scripts(Script(FIRST_VERSION + len(upgrades), "schema", content), tuple(upgrades))


# Our sessions give up after seconds; a script, or another process that runs one, may take longer. Apart from the lock,
# because the time of a statement is reckoned from its beginning.
_PATIENT = text("""
    SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true),
           set_config('idle_in_transaction_session_timeout', '0', true)
""")
_ALONE = text("SELECT pg_advisory_xact_lock(hashtext('shoal schema'))")
_IS_THERE = text("SELECT to_regclass('schema_version') IS NOT NULL")
_APPLIED = text("SELECT version, name, checksum, program FROM schema_version ORDER BY version")
_RECORD = text("""
    INSERT INTO schema_version (version, name, checksum, program) VALUES (:version, :name, :checksum, :program)
    ON CONFLICT (version) DO UPDATE SET checksum = excluded.checksum, program = excluded.program
""")


@dataclass(frozen=True)
class _Applied:
    """A row of `schema_version`. Without a checksum and a program for a schema made by hand with psql."""

    version: int
    name: str
    checksum: str | None
    program: str | None


async def upgrade(database: Database, folder: Traversable | None = None) -> Upgraded:
    """Make the schema in an empty database, or bring an older one up to date; does nothing to a current one.

    Args:
        database: of a user that may create tables there.
        folder: with `schema.sql` and `upgrades/`; None for those of this program.

    Raises:
        Refused: the schema is newer than this program, or a script cannot run there; nothing of that one remains.
    """
    scripts = read_scripts(folder)
    ran: list[str] = []
    while True:
        async with database.writing() as connection, _patient(connection):
            await connection.execute(_ALONE)
            applied = await _applied(connection)
            script = scripts.after(applied[-1].version) if applied else scripts.schema
            if script is None:
                break
            await _run(connection, script, database)
        ran.append(script.name)
        log.info("schema_script_ran", script=script.name, version=script.version)
    if applied[-1].version > scripts.version:
        raise Refused(_too_new(applied[-1], scripts))
    changed = _changed(applied, scripts)
    for name in changed:
        log.warning("schema_script_changed", script=name, danger="databases of one version may differ from each other")
    return Upgraded(scripts.version, tuple(ran), changed)


init = upgrade
"""`shoal db init` and `shoal db upgrade` differ only in what their user expects to happen."""


@asynccontextmanager
async def _patient(connection: AsyncConnection) -> AsyncIterator[None]:
    """For a transaction of which nobody knows how long it takes: no time-outs, neither the server's nor ours."""
    driver = (await connection.get_raw_connection()).driver_connection
    assert isinstance(driver, Connection)
    await connection.execute(_PATIENT)
    answer_within_s, driver.answer_within_s = driver.answer_within_s, None
    try:
        yield
    finally:
        driver.answer_within_s = answer_within_s


async def check(database: Database, folder: Traversable | None = None) -> None:
    """Return if the schema is the one that this program works with.

    Raises:
        Refused: it is missing, older or newer; one sentence that says what to do.
        Unavailable: the database cannot be asked.
    """
    scripts = read_scripts(folder)
    async with database.reading() as connection:
        applied = await _applied(connection)
    if not applied:
        raise Refused(f"the database {database.shown} has no Shoal schema; run `shoal db init`")
    if applied[-1].version < scripts.version:
        raise Refused(
            f"the database has schema version {applied[-1].version}, this program needs {scripts.version}; "
            f"run `shoal db upgrade`"
        )
    if applied[-1].version > scripts.version:
        raise Refused(_too_new(applied[-1], scripts))


async def _applied(connection: AsyncConnection) -> list[_Applied]:
    if not (await connection.execute(_IS_THERE)).scalar_one():
        return []
    return [_Applied(*row) for row in (await connection.execute(_APPLIED)).all()]


async def _run(connection: AsyncConnection, script: Script, database: Database) -> None:
    """Run one script in the open transaction. By the driver itself: only that takes many statements at once."""
    driver = (await connection.get_raw_connection()).driver_connection
    assert isinstance(driver, psycopg.AsyncConnection)
    try:
        await driver.execute(script.content.encode())
    except psycopg.DatabaseError as error:
        if isinstance(error, psycopg.OperationalError):
            raise
        raise Refused(
            f"the database {database.shown} does not take {script.name}.sql, which was undone: "
            f"{str(error).splitlines()[0]}; Shoal needs a database of its own and the right to create tables in it"
        ) from error
    record = {"version": script.version, "name": script.name, "checksum": script.checksum, "program": _program()}
    await connection.execute(_RECORD, record)


def _changed(applied: Sequence[_Applied], scripts: Scripts) -> tuple[str, ...]:
    """Those that ran with another content than they have now. An older whole schema is not among our files any more."""
    ours = {(script.version, script.name): script.checksum for script in (scripts.schema, *scripts.upgrades)}
    return tuple(
        row.name
        for row in applied
        if row.checksum is not None and ours.get((row.version, row.name), row.checksum) != row.checksum
    )


def _too_new(newest: _Applied, scripts: Scripts) -> str:
    cure = f"install Shoal {newest.program} or newer" if newest.program else "install a newer Shoal"
    return f"the database has schema version {newest.version}, this program knows only {scripts.version}; {cure}"


def _program() -> str | None:
    try:
        return version_of("shoal")
    except PackageNotFoundError:  # runs from a folder that was never installed
        return None
