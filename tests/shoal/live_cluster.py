"""A cluster of a master and a worker with some workflows, for the verbs that a master must act on."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.cluster.cluster import Cluster, without_haste
from tests.conftest import TEMPLATE
from tests.servers.postgres import PostgresServer
from tests.shoal.command_line import CommandLine

QUICK = {"SHOAL_WORKER__DRAIN": "0.1", "SHOAL_MASTER__DRAIN": "0.1", "SHOAL_TIMING__KILL_GRACE": "1"}


AS_ROOT = {"SHOAL_WORKER__DEFAULT_TENANT": "root"} if os.geteuid() == 0 else {}
"""Root has decided so: else the doctor has something to find."""


@asynccontextmanager
async def live_cluster(server: PostgresServer, folder: Path, workflows: str) -> AsyncIterator[CommandLine]:
    """The command line at a cluster that runs and has these workflows (YAML)."""
    name = f"test_{folder.name.replace('-', '_')}"
    url = server.create_database(name, template=TEMPLATE)
    try:
        with Cluster(url, url, folder) as cluster:
            cluster.environment = {**without_haste(cluster.environment), **QUICK}
            await cluster.master(SHOAL_NAME="m1")
            await cluster.worker(SHOAL_NAME="w1", **AS_ROOT)
            (folder / "workflows.yaml").write_text(workflows)
            shoal = CommandLine.at(url)
            applied = await shoal("workflow", "apply", str(folder / "workflows.yaml"))
            assert applied.code == 0, applied.err
            yield shoal
    finally:
        server.drop_database(name)
