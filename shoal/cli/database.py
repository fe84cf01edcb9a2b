"""`shoal db`: create, upgrade and check the schema; and the settings that all nodes of the cluster share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from dao.cluster import cluster, node_listings, went_back
from dao.postgres import address, schema, upgrade_trial
from dao.postgres import roles as dao_roles
from model.cluster import timing as times_of_nodes
from model.errors import Denied, InvalidSettings, Refused, Unavailable
from model.runs.states import WorkflowState
from service.words import counted, exact, plain
from shoal import psql as psql_program
from shoal.cli import output
from shoal.cli.invocation import Invocation
from shoal.cli.output import Column
from shoal.cli.verbs import new_group, verb
from shoal.cluster import registry_move, restoring
from shoal.config import logging

SHOWN_MAX = 20
WAIT_STEP_S = 0.5


def add_to(app: typer.Typer) -> None:
    group = new_group(app, "db", "The database: create, upgrade and check its schema.")
    verb(group, "shoal db init --database-url postgresql+psycopg://user:password@host/name", local=True)(init)
    verb(group, "shoal db upgrade", "shoal db upgrade --plan", local=True)(upgrade)
    verb(group, "shoal db wait --within 300", local=True)(wait)
    verb(group, "shoal db check", local=True)(check)
    verb(group, "shoal db psql", "shoal db psql -f sql/seed/commands_100.sql", passes_on=True, local=True)(psql)
    verb(group, "shoal db url", local=True)(url)
    verb(group, "shoal db registry", "shoal db registry --set zookeeper://zk1:2181,zk2:2181/shoal", local=True)(
        registry
    )
    verb(group, "shoal db timing", "shoal db timing --set worker_fence_after=40", local=True)(timing)
    verb(group, "shoal db roles", "shoal db roles --prefix airport_", local=True)(roles)
    verb(group, "shoal db restored", "shoal db restored --hold", local=True)(restored)


async def init(call: Invocation) -> None:
    """Create the schema in an empty database; an existing one is upgraded."""
    await _upgrade(call)
    try:
        async with call.database() as database:
            await registry_move.record_named(database, call.settings)
    except Unavailable as away:
        output.say(f"Note: the registry is not recorded yet, the first node will do it: {away}")


async def upgrade(
    call: Invocation,
    nobody_runs: Annotated[
        bool, typer.Option("--nobody-runs", help="No node is alive, whatever the rows say: all were killed.")
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only list the scripts that would run, and the nodes that must stop first.")
    ] = False,
    locks: Annotated[
        bool,
        typer.Option("--locks", help="With --plan: run and undo the scripts, to say what waits for them."),
    ] = False,
) -> None:
    """Upgrade an older schema. Safe to run twice, and concurrently."""
    if locks and not plan:
        raise Refused("--locks belongs to --plan; give that too")
    if plan:
        await _show_plan(call, with_locks=locks)
    else:
        await _upgrade(call, nobody_runs=nobody_runs)


async def wait(
    call: Invocation,
    within: Annotated[float, typer.Option(min=0, help="Give up after so many seconds.")] = 60,
) -> None:
    """Wait until the database answers and has the schema that this program needs; not if that is a newer one."""
    deadline_s = time.monotonic() + within
    while True:
        try:
            await check(call)
        except (InvalidSettings, schema.TooNew):
            raise
        except (Refused, Denied, Unavailable):
            if time.monotonic() > deadline_s:
                raise
        else:
            return
        await asyncio.sleep(WAIT_STEP_S)


async def check(call: Invocation) -> None:
    """Check that the database can be reached and has a schema that this program works with."""
    async with call.database() as database:
        version = await schema.check(database)
    said = f"The database {database.shown} has schema version {version}, and this program works with it."
    output.print_result(call, {"database": database.shown, "schema_version": version}, said)


async def psql(
    call: Invocation,
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[ARGUMENT]...", help="Passed on to psql.")] = None,
) -> None:
    """Start psql on the database. The password is in the environment, since `ps` shows arguments to all users."""
    psql_program.become_psql(call.settings.database(), arguments or [])


async def url(call: Invocation) -> None:
    """Print the database's URL, with its password, for other clients. Do not use it as an argument: `ps` shows it."""
    plain = address.Address.of(call.settings.database()).url()
    output.print_result(call, {"url": plain}, plain)


async def roles(
    call: Invocation,
    prefix: Annotated[str, typer.Option(help="Prefix of the role names.")] = "shoal_",
) -> None:
    """Create the database roles, one for each part of Shoal, with their privileges. Safe to run twice."""
    async with call.database() as database:
        await schema.check(database)
        made = await dao_roles.grant(database, prefix)
    said = f"Roles {', '.join(made)} have their rights. Give a user one: CREATE USER name IN ROLE {made[1]}."
    output.print_result(call, {"roles": made}, said)


async def registry(
    call: Invocation,
    url: Annotated[
        str | None, typer.Option("--set", metavar="URL", help="Move the cluster to this one, while no node lives.")
    ] = None,
) -> None:
    """Show the cluster's registry, the default of nodes and verbs; --set moves the cluster to another."""
    async with call.reading() as reading:
        found: cluster.RecordedRegistry | None
        if url is not None:
            found = await registry_move.move_to(reading.database, url, call.settings)
        else:
            found = await cluster.registry(reading.connection)
    place = found.place if found else None
    said = f"The registry of the cluster is {place}." if place else "No node has started yet: the first decides."
    output.print_result(call, {"registry": place}, said)


async def timing(
    call: Invocation,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=SECONDS", help="Change one; may be repeated.")
    ] = None,
) -> None:
    """Show the timing that all nodes of the cluster use; --set changes it. A node reads it when it starts."""
    wanted = _times(changes or ())
    async with call.reading() as reading:
        if wanted:
            async with reading.database.writing() as connection:
                found: times_of_nodes.Timing | None = await cluster.set_timing(connection, wanted)
        else:
            found = await cluster.timing(reading.connection)
        living = [*await node_listings.masters(reading.connection), *await node_listings.workers(reading.connection)]
    times = found or call.settings.timing
    former = [row for row in living if row.silence is not None and row.silence != row.kind.silence(times)]
    if call.as_json:
        by_others = [str(row.epoch) for row in former]
        output.print_json({"timing": times.seconds(), "recorded": found is not None, "live_by_others": by_others})
        return
    if found is None:
        output.say("No node has started yet: the first one's settings become the cluster's times. These are yours.")
    seconds = times.seconds()
    output.table(Column("TIME", list(seconds)), Column("VALUE", [f"{s:g} s" for s in seconds.values()], right=True))
    for row in former:
        output.say(f"{row} lives by the times with which it started, until it is started again.")


async def restored(
    call: Invocation,
    hold: Annotated[
        bool, typer.Option("--hold", help="Pause all unfinished runs; waiting commands become error commands.")
    ] = False,
    drop: Annotated[
        bool, typer.Option("--drop", help="Stop all unfinished runs; waiting commands become error commands.")
    ] = False,
) -> None:
    """Go on after the database went back to an earlier state: a restore, or a promotion that lost commits.

    New ids are above all that were given before. Says what nodes know that is gone, and which runs go on.
    """
    if hold and drop:
        raise Refused("--hold and --drop exclude each other; keep one")
    halt = WorkflowState.READY_PAUSE if hold else WorkflowState.READY_STOP if drop else None
    async with call.reading() as reading:
        done = await restoring.restored(reading.database, call.settings, halt)
    if call.as_json:
        output.print_json(
            {
                "notices": [_notice_fields(each) for each in done.notices],
                "runs": [output.json_fields(asdict(each)) for each in done.runs],
                "commands_set_aside": done.commands,
            }
        )
        return
    for notice in done.notices:
        output.say(f"{notice.node} found at {exact(notice.noticed_at)}: {notice.why}.")
    for what, gone in (("run", [n.runs for n in done.notices]), ("attempt", [n.attempts for n in done.notices])):
        if ids := sorted({id_ for some in gone for id_ in some}):
            output.say(
                f"Gone, as far as nodes know: {counted(len(ids), what)}, {', '.join(map(str, ids[:SHOWN_MAX]))}."
            )
    output.say("Masters and workers may join. New ids are above all that were given.")
    if done.commands:
        output.say(f"{counted(done.commands, 'command')} that waited: shoal queue errors")
    if not done.runs:
        output.say("No run is unfinished.")
        return
    fate = "was paused" if hold else "was stopped" if drop else "goes on; what ended since may run again"
    output.say(f"{counted(len(done.runs), 'unfinished run')}, each {fate}:")
    shown = done.runs[:SHOWN_MAX]
    output.table(
        Column("RUN", [run.id for run in shown], right=True),
        Column("WORKFLOW", [plain(run.workflow) for run in shown]),
        Column("STATE", [output.state(run.state) for run in shown]),
    )
    if hold:
        output.say("Let them go on when masters run: shoal runs resume --all")


def _notice_fields(notice: went_back.Notice) -> dict[str, object]:
    ids = {"runs": [*map(str, notice.runs)], "attempts": [*map(str, notice.attempts)]}
    return {**asdict(notice), **ids}


def _times(changes: Sequence[str]) -> dict[str, object]:
    """Parse each `NAME=SECONDS`. Raises `Refused`."""
    found: dict[str, object] = {}
    for change in changes:
        name, equals, value = change.partition("=")
        name = name.strip().removeprefix("timing.")
        if not equals or name not in times_of_nodes.Timing.model_fields:
            raise Refused(
                f'"{change}" changes no time; write NAME=SECONDS, of {", ".join(times_of_nodes.Timing.model_fields)}'
            )
        found[name] = value.strip()
    return found


async def _show_plan(call: Invocation, *, with_locks: bool) -> None:
    async with call.database() as database:
        planned = await schema.plan(database)
        is_tried = with_locks and planned.version > 0
        trials = await upgrade_trial.tried(database, planned.scripts) if is_tried else []
    if call.as_json:
        scripts = [
            {"version": each.version, "script": each.name, "old_nodes_may_run": each.old_nodes_may_run}
            for each in planned.scripts
        ]
        versions = {"schema_version": planned.version, "needed_version": planned.needed}
        tried = {"trials": [asdict(each) for each in trials]} if with_locks else {}
        output.print_json({**versions, "scripts": scripts, "in_the_way": list(planned.in_the_way), **tried})
        return
    has = f"has schema version {planned.version}" if planned.version else "has no Shoal schema"
    output.say(f"The database {database.shown} {has}, and this program needs version {planned.needed}.")
    if not planned.scripts:
        output.say("Nothing is to do.")
        return
    output.table(
        Column("VERSION", [str(each.version) for each in planned.scripts], right=True),
        Column("SCRIPT", [each.name for each in planned.scripts]),
        Column("NODES MEANWHILE", ["may run" if each.old_nodes_may_run else "must stop" for each in planned.scripts]),
    )
    if planned.in_the_way:
        output.say(f"Stop these first: {', '.join(planned.in_the_way)}.")
    for trial in trials:
        ended = f"more than {upgrade_trial.TRIAL_S_MAX:g} s, and was ended"
        output.say(f"{trial.script} took {ended if trial.took_s is None else f'{trial.took_s:.2g} s'}. Its locks:")
        output.table(
            Column("TABLE", [lock.table for lock in trial.locks]),
            Column("WAIT FOR IT", [upgrade_trial.BLOCKED[lock.mode] for lock in trial.locks]),
            Column("WORK", [f"{lock.work} of {lock.size}" if lock.work else "none" for lock in trial.locks]),
        )
    if planned.version and not with_locks:
        output.hint("What they lock, and for how long: shoal db upgrade --plan --locks (runs and undoes them)")


async def _upgrade(call: Invocation, *, nobody_runs: bool = False) -> None:
    logging.configure_logging("quiet")
    async with call.database() as database:
        done = await schema.upgrade(database, nobody_runs=nobody_runs)
    if call.as_json:
        output.print_json({"database": database.shown, "schema_version": done.version, "ran": list(done.ran)})
        return
    what = f"ran {', '.join(done.ran)}" if done.ran else "nothing was to do"
    output.say(f"The database {database.shown} has schema version {done.version}: {what}.")
    for name in done.changed:
        output.say(f"Note: the script {name} has changed since it ran here; databases of one version may differ.")
