"""The metrics of a role's process, by its settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import structlog

from metrics import alert, api, cluster_collector, database, master, node, worker
from metrics.declaring import Part
from metrics.health import Health
from metrics.serving import served
from shoal.config.settings import Settings
from shoal.version import shoal_version

log = structlog.get_logger()

PARTS: Mapping[str, Sequence[Part]] = {
    "master": (node.PART, master.PART, database.PART, cluster_collector.PART),
    "worker": (node.PART, worker.PART, database.PART),
    "alert": (alert.PART, database.PART),
    "api": (api.PART, database.PART, cluster_collector.PART),
}
"""The parts that each role shows."""


@contextmanager
def serving_metrics(settings: Settings, role: str, name: str, health: Health) -> Iterator[None]:
    """Serve the metrics of a role, one of `PARTS`, and its health during the block. Raises `Refused` as `served`."""
    with served(settings.metrics, PARTS[role], role, name, shoal_version(), health) as url:
        if url is not None:
            log.info("metrics_served", url=url)
        yield
