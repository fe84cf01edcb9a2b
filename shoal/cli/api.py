"""`shoal api`: runs one API server."""

from __future__ import annotations

import asyncio
import gc
from functools import partial
from typing import Annotated

import typer

from api import server
from dao.postgres import database as postgres
from dao.postgres import readiness
from metrics import database as database_metrics
from node.address import host_name
from shoal import backend, first_login, process, secrecy
from shoal.cli.invocation import Invocation, system_user
from shoal.cli.serving import LEAVE_S_MAX, serve
from shoal.cli.verbs import verb
from shoal.config import logging, metrics
from shoal.local import local_cluster
from shoal.version import shoal_version


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "shoal api", "shoal api --port 8080", process=True)(api)


async def api(
    call: Invocation,
    host: Annotated[str | None, typer.Option(help="The address on which it listens.")] = None,
    port: Annotated[int | None, typer.Option(help="Its port; 0 = any free one.")] = None,
) -> None:
    """Run one API server. SIGTERM stops it gracefully, a second one at once."""
    secrecy.hide()
    settings = call.settings_with({"api": {"host": host, "port": port}})
    secrecy.clear_all()
    logging.configure_role_logging(settings)
    await serve(readiness.wait_until_ready(settings.database(), "api", settings.connect_timeout_s))
    database = postgres.Database(
        settings.database(),
        application_name="shoal-api",
        connections_max=settings.api.database_connections,
        measures=database_metrics.DatabaseMetrics(),
    )
    started = asyncio.Event()
    try:
        own = backend.backend_of(database, settings)
        serving = server.ApiServer(own, settings.api, shoal_version(), partial(backend.open_heavy_backend, settings))
        serving.listen()
        typer.echo(f"shoal: {local_cluster.SERVES} {serving.url}", err=True)
        if (link := await first_login.first_login(database, system_user())) is not None:
            typer.echo(f"shoal: log in once, within 5 minutes, as the first admin: {serving.url}{link}", err=True)
        started.set()
        gc.freeze()  # else the collector walks all modules for a tenth of a second, while requests wait
        with metrics.serving_metrics(settings, "api", settings.name or host_name()):
            await serve(process.until_stopped(serving.serve, started, server.STOP_S_MAX + LEAVE_S_MAX))
        own.passwords.close()
    finally:
        await database.close()
