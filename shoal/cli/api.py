"""`shoal api`: runs one API server."""

from __future__ import annotations

import gc
from functools import partial
from typing import Annotated

import typer

from api import server
from dao.postgres import database as postgres
from dao.postgres import readiness
from metrics import database as database_metrics
from metrics.health import Health
from node.address import host_name
from service.secrets import key_settings
from shoal import backend, first_login
from shoal.cli import serving
from shoal.cli.invocation import Invocation, system_user
from shoal.cli.verbs import verb
from shoal.local import local_cluster
from shoal.version import shoal_version


def add_to(app: typer.Typer) -> None:
    verb(app, "shoal api", "shoal api --port 8080", process=True)(api)


async def api(
    call: Invocation,
    host: Annotated[str | None, typer.Option(help="The address on which it listens.")] = None,
    port: Annotated[int | None, typer.Option(help="Its port; 0 = any free one.")] = None,
) -> None:
    """Run one API server. SIGTERM stops it gracefully, a second one at once."""
    settings = serving.begin(call, {"api": {"host": host, "port": port}})
    key_settings.open_vault(settings.secrets)  # refused now, and not with the first request that needs a key
    await serving.serve(readiness.wait_until_ready(settings.database(), "api", settings.connect_timeout_s))
    database = postgres.Database(
        settings.database(),
        application_name="shoal-api",
        connections_max=settings.api.database_connections,
        measures=database_metrics.DatabaseMetrics(),
    )
    health = Health()
    try:
        own = backend.backend_of(database, settings)
        open_heavy = partial(backend.open_heavy_backend, settings)
        role = server.ApiServer(own, settings.api, shoal_version(), open_heavy, health=health)
        role.listen()
        typer.echo(f"shoal: {local_cluster.SERVES} {role.url}", err=True)
        if await first_login.first_login(database, system_user()) is not None:
            # Not the link: this is a log, and a reader of it could become an admin.
            typer.echo(
                "shoal: the first admin is made; for a link by which it logs in: shoal user link admin", err=True
            )
        health.begun.set()
        gc.freeze()  # else the collector walks all modules for a tenth of a second, while requests wait
        await serving.run(settings, "api", settings.name or host_name(), health, role.serve, server.STOP_S_MAX)
        own.passwords.close()
    finally:
        await database.close()
