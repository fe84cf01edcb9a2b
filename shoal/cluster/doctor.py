"""The checks of `shoal doctor`: everything that must be true of a cluster, checked from outside, one by one.

First the servers, then the nodes, then the tables (`dao/checks/table_checks.py`, `dao/checks/server_checks.py`,
`dao/checks/stuck_runs.py`: the same queries that the masters' own watchers use). Nothing is fixed here; each finding
comes with a sentence that explains the fix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.checks import server_checks, stuck_runs, table_checks
from dao.checks.server_checks import CONNECTIONS_LEFT_MIN, OLDEST_SERVER, Server
from dao.checks.table_checks import SHOWN_MAX, Check
from dao.cluster import cluster
from dao.cluster.nodes import NodeRow
from dao.commands import commands, error_commands
from dao.postgres import schema, schema_scripts
from dao.postgres.database import Database, database_time
from dao.views import listings, queue_listings
from model.errors import Refused, ShoalError, Unavailable
from model.nodes import NodeKind, NodeState
from model.timing import Timing
from registry.belonging import AnotherRegistry
from registry.clock import boottime_s
from shoal.cluster.slot_report import SlotReport, read_slots
from shoal.config.settings import Settings
from shoal.explain.explanation import full_masters
from shoal.explain.facts import master_facts
from shoal.words import counted, duration

CLOCK_OFF_S = 5.0
QUEUED_S = 30.0
COUNTED_MAX = 1_000
REGISTRY_HOLDS = "the registry answers, and is the cluster's"
TIMING_HOLDS = "all nodes live by the cluster's times"


class Verdict(StrEnum):
    """The result of a check. A NOTE is useful to know, and no fault of the cluster; UNKNOWN could not be checked."""

    HOLDS = "HOLDS"
    BROKEN = "BROKEN"
    NOTE = "NOTE"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class Result:
    """One check and its result. `told` is a figure or the number of findings in words, `shown` the first findings of
    `count`, `fix` how to fix them."""

    name: str
    holds: str
    verdict: Verdict
    told: str = ""
    count: int = 0
    shown: Sequence[str] = ()
    fix: str = ""


async def examine(settings: Settings, database: Database) -> AsyncIterator[Result]:
    """Run all checks, in order. Ends early when the database does not answer or has another schema."""
    try:
        async with database.reading() as connection:
            asked_s, asked_at = boottime_s(), datetime.now(UTC)
            its_time = await database_time(connection)
            took_s = boottime_s() - asked_s
            found = await server_checks.server(connection)
    except ShoalError as error:
        fix = "Is it running, and are URL, user and password right? shoal config show"
        yield _judged("database", "the database answers", [f"{database.shown}: {error}"], fix)
        return
    yield database_result(found, database.shown, took_s)
    try:
        await schema.check(database)
    except Refused as error:
        yield _judged("schema", "its schema fits this program", [str(error)], "shoal db init, or shoal db upgrade")
        return
    yield _good("schema", "its schema fits this program", f"version {schema_scripts.read_scripts().version}")
    async for result in _of_the_server(database, found):
        yield result
    yield clock_result((its_time - asked_at).total_seconds() - took_s / 2)
    try:
        async with database.reading() as connection:
            timing = await cluster.timing(connection) or settings.timing
    except Refused as error:
        yield _judged("timing", TIMING_HOLDS, [str(error)], "shoal db timing --set NAME=SECONDS")
        timing = settings.timing
    try:
        async with database.reading() as connection:
            for result in await _of_the_cluster(connection, settings, timing):
                yield result
    except AnotherRegistry as error:
        yield _judged("registry", REGISTRY_HOLDS, [str(error)], "Name the cluster's registry, or none.")
    async for result in _of_the_tables(database, settings, timing):
        yield result


def database_result(server: Server, shown: str, took_s: float) -> Result:
    """Whether the server meets Shoal's requirements."""
    faults = []
    if server.major < OLDEST_SERVER:
        faults.append(f"it is PostgreSQL {server.version}, and Shoal needs {OLDEST_SERVER} or newer")
    if server.is_standby:
        faults.append("it takes no writes: it is a standby, or read-only")
    told = f"PostgreSQL {server.version} in {duration(took_s)}, {shown}"
    return _judged("database", "the database answers", faults, "Let the URL point to the primary.", told)


def clock_result(ahead_s: float) -> Result:
    """Whether this machine's clock agrees with the database's, which is `ahead_s` seconds ahead."""
    holds = "this machine's clock is that of the database"
    told = f"{duration(abs(ahead_s))} {'behind' if ahead_s > 0 else 'ahead'}"
    if abs(ahead_s) <= CLOCK_OFF_S:
        return _good("clock", holds, told)
    shown = [f"this machine is {told}; nothing is decided by it, but its logs tell other times than the tables"]
    return Result("clock", holds, Verdict.NOTE, told, 1, shown, "Let NTP or chrony set the clocks of all machines.")


def master_results(slots: SlotReport, silent_after: timedelta) -> list[Result]:
    """Whether there are masters, and whether they agree on their slots."""
    rows = [master.row for master in slots.masters]
    none = [] if rows else ["no master is alive: no command is taken, no run goes on"]
    said = f"{slots.registry_fault}" if slots.registry_fault else ""
    faults = []
    for master in slots.masters:
        who, has = str(master.row), master.slot or "none"
        if master.row.state is not NodeState.ALIVE:
            continue
        if not master.in_registry and not said:
            faults.append(f"{who} is not in the registry, so it has no slot")
        elif not master.agrees:
            faults.append(f"{who} has slot {has}, and believes to have {master.believes or 'none'}")
    return [
        _judged(
            "registry", REGISTRY_HOLDS, [said] if said else [],
            "Is ZooKeeper running, and is the registry URL right? Work goes on meanwhile; nobody can join.",
        ),
        _judged(
            "masters", "masters are alive, and beat", [*none, *_silent(rows, silent_after)],
            "Start one: shoal master; the work of a silent one goes on elsewhere when it is fenced.",
            _figure(rows, "master"),
        ),
        _judged(
            "slots", "each slot has one master, and it knows", faults,
            "It passes within seconds; safe meanwhile, since the claim decides. Watch: shoal slots.",
            counted(slots.total, "slot"),
        ),
    ]  # fmt: skip


def room_result(slots: SlotReport, waiting: Sequence[queue_listings.WithoutRoom]) -> Result:
    """Whether a master has room for what waits. It is no fault if none has: runs end, and free some."""
    holds = "a master has room for what waits"
    masters = [master_facts(master.row) for master in slots.masters]
    running, capacity = sum(each.running for each in masters), sum(each.capacity for each in masters)
    told = f"{running} of {counted(capacity, 'run')}"
    if not waiting or not masters or not all(each.is_full for each in masters):
        return _good("room", holds, told)
    awaited = sorted(waiting, key=lambda each: each.above is None)  # those that other runs wait for come first
    shown = [
        f"command {each.id} ({each.type[:40]}) has waited for {duration(each.age_s)}: {full_masters(masters)}"
        + (f"; run {each.above[:20]} waits for the run that it asks for" if each.above else "")
        for each in awaited[:SHOWN_MAX]
    ]
    fix = (
        "They are taken when runs have ended or only wait: shoal runs; to have more room start another master, "
        "shoal master, or raise master.max_running_workflows."
    )
    return Result("room", holds, Verdict.NOTE, f"{told}, {counted(len(waiting), 'command')}", len(waiting), shown, fix)


def worker_results(
    rows: Sequence[NodeRow], queue: Sequence[queue_listings.GroupQueue], silent_after: timedelta
) -> list[Result]:
    """Whether there are workers, and some for each group with waiting tasks."""
    none = [] if rows else ["no worker is alive: no task runs but those of the masters"]
    served = Counter(group for row in rows if row.heartbeat for group in row.heartbeat.groups)
    waiting = [
        f"{counted(each.waiting, 'task')} of group {each.worker_group} for up to {duration(each.oldest_s)}"
        for each in queue
        if each.waiting and not served[each.worker_group] and (each.oldest_s or 0) > QUEUED_S
    ]
    return [
        _judged(
            "workers", "workers are alive, and beat", [*none, *_silent(rows, silent_after)],
            "Start one: shoal worker; the tasks of a silent one run elsewhere when it is fenced.",
            _figure(rows, "worker"),
        ),
        _judged(
            "groups", "each group that tasks wait for has a worker", waiting,
            "Start a worker of that group, shoal worker --group NAME, or stop the run and fix its worker_group.",
        ),
    ]  # fmt: skip


def timing_result(rows: Sequence[NodeRow], timing: Timing) -> Result:
    """Whether all nodes have started since the cluster's timing was changed. Others are judged by their own timing."""
    former = [
        f"{row} lives by the times with which it started"
        for row in rows
        if row.silence is not None and row.silence != row.kind.silence(timing)
    ]
    if not former:
        fences = " and ".join(
            duration(each.total_seconds()) for each in (timing.master_fence_after, timing.worker_fence_after)
        )
        return _good("timing", TIMING_HOLDS, f"masters and workers are fenced after {fences}")
    cure = "Start it again: it takes the cluster's times, shoal db timing. Safe meanwhile: it is judged by its own."
    return Result("timing", TIMING_HOLDS, Verdict.NOTE, f"{len(former)} found", len(former), former[:SHOWN_MAX], cure)


async def _of_the_server(database: Database, server: Server) -> AsyncIterator[Result]:
    free = server.connections_max - server.connections
    crowded = [f"{server.connections} of {server.connections_max} are taken"] if free < CONNECTIONS_LEFT_MIN else []
    told = f"{server.connections} of {server.connections_max} taken"
    yield _judged(
        "connections", "the database has connections left", crowded, "Raise max_connections, or end others.", told
    )
    holds = "the database keeps what it has acknowledged"
    try:
        faults = await server_checks.dangers(database)
        yield _judged("durability", holds, faults, "Switch it on in postgresql.conf, and reload.")
    except ShoalError as error:
        yield _unknown("durability", holds, error)
    for check, values in ((server_checks.GUARDS, server_checks.guards()), (server_checks.SESSIONS, {})):
        yield await _checked(database, check, values)


async def _of_the_cluster(connection: AsyncConnection, settings: Settings, timing: Timing) -> list[Result]:
    slots = await read_slots(connection, settings)
    workers, queue = await listings.workers(connection), await queue_listings.queue_by_group(connection)
    increment = await commands.id_increment(connection)
    step = settings.master.id_step
    stride = [f"ids come in steps of {increment}, and master.id_step is {step}: some slots get no commands"]
    silent_after = 3 * timing.heartbeat_every
    waiting = await queue_listings.without_room(connection, timedelta(seconds=QUEUED_S), COUNTED_MAX)
    return [
        *master_results(slots, silent_after),
        room_result(slots, waiting),
        _judged(
            "stride", "the ids of commands reach every slot", stride if increment != step else [],
            f"Set master.id_step to {increment}, for all masters.", f"step {increment}",
        ),
        *worker_results(workers, queue, silent_after),
        timing_result([*(master.row for master in slots.masters), *workers], timing),
    ]  # fmt: skip


async def _of_the_tables(database: Database, settings: Settings, timing: Timing) -> AsyncIterator[Result]:
    # The living nodes handle this by themselves: they fence, and then find it within a sweep.
    after = timing.master_fence_after + settings.master.sweep_every + timedelta(seconds=4)
    values: dict[str, object] = {"failed_over_after": after}
    for check in table_checks.BEFORE_REASONS:
        yield await _checked(database, check, values)
    # Two polls of the watcher, which come first.
    yield await _reasons(database, settings.master.stuck_after + 3 * settings.master.watch_every)
    for check in table_checks.AFTER_REASONS:
        yield await _checked(database, check, values)
    holds = "no command was refused"
    try:
        async with database.reading() as connection:
            refused = await error_commands.error_commands(connection, COUNTED_MAX)
    except ShoalError as error:
        yield _unknown("refused_commands", holds, error)
        return
    shown = [f"command {each.id} ({each.type[:40]}): {each.reason}" for each in refused[:SHOWN_MAX]]
    verdict = Verdict.NOTE if refused else Verdict.HOLDS
    fix = "Fix what the reason says, then: shoal errors retry ID, or shoal errors drop ID."
    more = "or more" if len(refused) == COUNTED_MAX else ""
    told = f"{len(refused)} {more}".strip() if refused else ""
    yield Result("refused_commands", holds, verdict, told, len(refused), shown, fix if refused else "")


async def _reasons(database: Database, older_than: timedelta) -> Result:
    name, holds = "runs_have_a_reason_to_wait", "each unfinished run has a reason to wait"
    try:
        async with database.reading() as connection:
            stuck = await stuck_runs.stuck(connection, older_than)
    except ShoalError as error:
        return _unknown(name, holds, error)
    return _judged(
        name,
        holds,
        [f"run {each.id} is {each.state} for {duration(each.idle_s)}: {each.missing}" for each in stuck],
        "Its master drives it again from its rows by itself; if it stays, read the master's log and report it.",
    )


async def _checked(database: Database, check: Check, values: Mapping[str, object]) -> Result:
    try:
        async with database.reading() as connection:
            finds = await table_checks.find(connection, check, values)
    except ShoalError as error:
        return _unknown(check.name, check.holds, error)
    return _judged(check.name, check.holds, finds.shown, check.fix, count=finds.count)


def _silent(rows: Sequence[NodeRow], after: timedelta) -> list[str]:
    return [
        f"{row} has been silent for {duration(row.beat_age_s)}"
        for row in rows
        if row.beat_age_s > after.total_seconds()
    ]


def _figure(rows: Sequence[NodeRow], kind: str) -> str:
    running = sum(row.heartbeat.running for row in rows if row.heartbeat)
    what = "run" if kind == NodeKind.MASTER.lower() else "task"
    return f"{counted(len(rows), kind)}, {counted(running, what)}"


def _judged(
    name: str, holds: str, faults: Sequence[str], fix: str, told: str = "", *, count: int | None = None
) -> Result:
    if not faults:
        return _good(name, holds, told)
    many = len(faults) if count is None else count
    return Result(name, holds, Verdict.BROKEN, f"{many} found", many, tuple(faults[:SHOWN_MAX]), fix)


def _good(name: str, holds: str, told: str) -> Result:
    return Result(name, holds, Verdict.HOLDS, told)


def _unknown(name: str, holds: str, error: ShoalError) -> Result:
    fix = "Try again." if isinstance(error, Unavailable) else "May this user of the database read its tables?"
    return Result(name, holds, Verdict.UNKNOWN, "could not be asked", 1, (str(error),), fix)
