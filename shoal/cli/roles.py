"""The verbs that run something: `up`, `master`, `worker`, `api`, `alert`, `demo`."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from model.nodes import NodeKind
from shoal.cli import alert_history, draining
from shoal.cli.invocation import Invocation, system_user
from shoal.cli.verbs import verb

EXIT_CHECK_FAILED = 1
LEAVE_S_MAX = 20.0
"""How long a graceful stop may take in addition to the time that running work gets."""
FLUSH_S_MAX = 1.0
"""How long a master that has left waits for the receiver of its spans."""
EXIT_FENCED = 75
"""Other nodes declared it dead, and it is configured to exit: a supervisor should restart it."""
EXIT_OUTDATED = 76
"""The database has a schema with which it must not continue: start a newer program instead."""
EXIT_SERVERS_AWAY = 1
"""A server was unreachable at start: a supervisor should retry later."""


def add_to(app: typer.Typer) -> None:
    """Add these verbs."""
    for name in ("up", "standalone"):
        example = f"shoal {name} --masters 2 --workers 1"
        verb(app, f"shoal {name}", example, name=name, hidden=name != "up", local=True)(up)
    verb(app, "shoal demo", local=True)(demo)
    masters = typer.Typer(help="Run one master, or drain one.")
    verb(masters, "shoal master", "shoal master --name m1", default=True, local=True)(master)
    draining.add_to(masters, NodeKind.MASTER)
    app.add_typer(masters, name="master")
    workers = typer.Typer(help="Run one worker, or drain one.")
    verb(
        workers,
        "shoal worker",
        "shoal worker --group gpu --group default --capacity 4",
        "shoal worker --name w2",
        default=True,
        local=True,
    )(worker)
    draining.add_to(workers, NodeKind.WORKER)
    app.add_typer(workers, name="worker")
    verb(app, "shoal api", "shoal api --port 8080", local=True)(api)
    senders = typer.Typer(help="Run one sender of alerts, show an alert, or have one sent again.")
    verb(senders, "shoal alert", default=True, local=True)(alert)
    alert_history.add_to_group(senders)
    app.add_typer(senders, name="alert")


async def up(
    call: Invocation,
    masters: Annotated[int, typer.Option(min=1, max=64, help="How many masters.")] = 2,
    workers: Annotated[int, typer.Option(min=0, max=64, help="How many workers.")] = 1,
    folder: Annotated[Path | None, typer.Option(help="Where the data is kept between runs.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="The API's port; else 7465, or a free one if that is taken.")
    ] = None,
    sample: Annotated[bool, typer.Option(help="Save the sample workflow in a new database, and run it once.")] = True,
    examples: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Save the workflow files in it, and run each new one once.")
    ] = None,
    opened: Annotated[bool, typer.Option("--open", help="Open the web page in a browser.")] = False,
) -> None:
    """Run everything on this machine: PostgreSQL, masters, workers, an API, a sender. Ctrl-C stops all cleanly."""
    from shoal.config.logging import configure_logging
    from shoal.local.up import Up
    from shoal.process import until_stopped
    from shoal.secrecy import hide

    hide()
    configure_logging("quiet")
    settings = call.own_settings({"folder": folder})
    standalone = Up(
        settings, masters, workers, typer.echo, port, has_sample=sample, examples=examples, is_opened=opened
    )
    await until_stopped(standalone.serve, standalone.started, LEAVE_S_MAX + 60)


async def demo(
    call: Invocation,
    commands: Annotated[int, typer.Option(min=10, max=100_000, help="How many workflows to start.")] = 300,
    seconds: Annotated[float, typer.Option(min=5, max=600, help="Over how many seconds they are inserted.")] = 20,
) -> None:
    """Three masters and two workers in a temporary folder; one master is killed half way. Nothing is lost."""
    from shoal.cli import output
    from shoal.config.logging import configure_logging
    from shoal.local.demo import Demo
    from shoal.local.demo_view import make_view
    from shoal.secrecy import hide

    hide()
    configure_logging("quiet")
    view = make_view(silent=call.as_json)
    try:
        summary = await Demo(commands, seconds, view).run()
    finally:
        view.close()
    if call.as_json:
        output.print_json(summary.as_fields())
    else:
        typer.echo("\n" + "\n".join(summary.lines()))
    if not summary.passed:
        raise typer.Exit(EXIT_CHECK_FAILED)


async def master(
    call: Invocation,
    name: Annotated[str | None, typer.Option(help="Its name; else made from the host's name and its port.")] = None,
    host: Annotated[str | None, typer.Option(help="The address that is shown to others.")] = None,
    port: Annotated[int | None, typer.Option(help="Its port, unique on its machine; 0 = any free one.")] = None,
) -> None:
    """Run one master. SIGTERM stops it gracefully, a second one at once."""
    from master.server import Master
    from master.tracing.otlp import OtlpSender
    from node.address import host_name
    from shoal.config.logging import configure_role_logging
    from shoal.config.metrics import serving_metrics
    from shoal.process import reserve_address, until_stopped
    from shoal.secrecy import clear_all, clear_keys, hide
    from shoal.version import shoal_version

    hide()
    clear_keys()
    settings = call.settings_with({"name": name, "host": host, "port": port})
    clear_all()
    configure_role_logging(settings)
    address, holder = reserve_address(settings.host, settings.port)
    started = asyncio.Event()
    with holder:
        spans = OtlpSender(settings.tracing, shoal_version()) if settings.tracing.endpoint else None
        own_name = settings.name or f"{host_name()}:{holder.getsockname()[1]}"
        role = Master(
            settings.database(),
            settings.named_registry(),
            own_name,
            address,
            settings.timing,
            settings.master,
            connect_timeout_s=settings.connect_timeout_s,
            joined=lambda _slot: started.set(),
            spans=spans,
        )
        running = until_stopped(role.run, started, settings.master.drain.total_seconds() + LEAVE_S_MAX)
        with serving_metrics(settings, "master", own_name):
            await _serve(running)
        if spans is not None:
            spans.flush(FLUSH_S_MAX)


async def worker(
    call: Invocation,
    name: Annotated[
        str | None, typer.Option(help="Its name; else made from the host's name and an id in its folder.")
    ] = None,
    group: Annotated[list[str] | None, typer.Option(help="A worker group that it serves; may be repeated.")] = None,
    capacity: Annotated[int | None, typer.Option(help="Tasks that it runs at once.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Where its logs and work folders are.")] = None,
) -> None:
    """Run one worker. SIGTERM lets its tasks end first, for a while; a second one ends it at once."""
    from node.address import host_name
    from service.secret_keys import open_vault
    from shoal.config.logging import configure_role_logging
    from shoal.config.metrics import serving_metrics
    from shoal.process import until_stopped
    from shoal.secrecy import clear_all, hide
    from worker.server import Worker

    hide()
    own = {"groups": tuple(group) if group else None, "capacity": capacity, "folder": folder}
    settings = call.settings_with({"name": name, "worker": own})
    clear_all()
    configure_role_logging(settings)
    started = asyncio.Event()
    role = Worker(
        settings.database(),
        settings.named_registry(),
        settings.timing,
        settings.worker_settings(),
        open_vault(settings.secrets),
        connect_timeout_s=settings.connect_timeout_s,
        name=settings.name,
        host=settings.host if "host" in settings.model_fields_set else None,
        joined=lambda _address: started.set(),
        traced=settings.tracing.endpoint is not None,
        log_store=settings.log_store,
    )
    running = until_stopped(role.run, started, settings.worker.drain.total_seconds() + LEAVE_S_MAX)
    with serving_metrics(settings, "worker", settings.name or host_name()):
        await _serve(running)


async def api(
    call: Invocation,
    host: Annotated[str | None, typer.Option(help="The address on which it listens.")] = None,
    port: Annotated[int | None, typer.Option(help="Its port; 0 = any free one.")] = None,
) -> None:
    """Run one API server. SIGTERM stops it gracefully, a second one at once."""
    from api.server import STOP_S_MAX, ApiServer
    from dao.postgres.database import Database
    from dao.postgres.readiness import wait_until_ready
    from metrics.database import DatabaseMetrics
    from node.address import host_name
    from shoal.backend import backend_of, open_heavy_backend
    from shoal.config.logging import configure_role_logging
    from shoal.config.metrics import serving_metrics
    from shoal.first_login import first_login
    from shoal.local.local_cluster import SERVES
    from shoal.process import until_stopped
    from shoal.secrecy import clear_all, hide
    from shoal.version import shoal_version

    hide()
    settings = call.settings_with({"api": {"host": host, "port": port}})
    clear_all()
    configure_role_logging(settings)
    await _serve(wait_until_ready(settings.database(), "api", settings.connect_timeout_s))
    pool = settings.api.database_connections
    database = Database(
        settings.database(), application_name="shoal-api", connections_max=pool, measures=DatabaseMetrics()
    )
    started = asyncio.Event()
    try:
        backend = backend_of(database, settings)
        server = ApiServer(backend, settings.api, shoal_version(), partial(open_heavy_backend, settings))
        server.listen()
        typer.echo(f"shoal: {SERVES} {server.url}", err=True)
        if (link := await first_login(database, system_user())) is not None:
            typer.echo(f"shoal: log in once, within 5 minutes, as the first admin: {server.url}{link}", err=True)
        started.set()
        gc.freeze()  # else the collector walks all modules for a tenth of a second, while requests wait
        with serving_metrics(settings, "api", settings.name or host_name()):
            await _serve(until_stopped(server.serve, started, STOP_S_MAX + LEAVE_S_MAX))
        backend.passwords.close()
    finally:
        await database.close()


async def alert(call: Invocation) -> None:
    """Run one sender of alerts; any number may run. SIGTERM lets it end what it sends, a second one ends it at once."""
    import os

    from alert.server import AlertServer
    from node.address import host_name
    from service.secret_keys import open_vault
    from shoal.config.logging import configure_role_logging
    from shoal.config.metrics import serving_metrics
    from shoal.process import until_stopped
    from shoal.secrecy import clear_all, hide

    hide()
    settings = call.settings_with({})
    clear_all()
    configure_role_logging(settings)
    started = asyncio.Event()
    own_name = settings.name or f"{host_name()}:{os.getpid()}"
    role = AlertServer(
        settings.database(),
        open_vault(settings.secrets),
        settings.alert,
        own_name,
        connect_timeout_s=settings.connect_timeout_s,
        started=started.set,
    )
    running = until_stopped(role.run, started, settings.alert.timeout.total_seconds() + LEAVE_S_MAX)
    with serving_metrics(settings, "alert", own_name):
        await _serve(running)


async def _serve(role: Awaitable[None]) -> None:
    """Wait for a role's end. Raises `typer.Exit` when it failed, with a code different from that of wrong usage."""
    from model.errors import Denied, Fenced, Outdated, Unavailable

    try:
        await role
    except Denied:
        raise
    except Unavailable as gone:
        typer.echo(f"shoal: {gone}", err=True)
        raise typer.Exit(EXIT_SERVERS_AWAY) from None
    except Fenced as fenced:
        typer.echo(f"shoal: {fenced}", err=True)
        raise typer.Exit(EXIT_FENCED) from None
    except Outdated as outdated:
        typer.echo(f"shoal: {outdated}", err=True)
        raise typer.Exit(EXIT_OUTDATED) from None
