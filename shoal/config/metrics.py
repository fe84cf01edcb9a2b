"""The metrics of a role's process, as its settings say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from metrics.serving import served
from shoal.config.settings import Settings
from shoal.version import shoal_version

log = structlog.get_logger()


@contextmanager
def serving_metrics(settings: Settings, role: str, name: str) -> Iterator[None]:
    """Serve `/metrics` during the block. Raises `Refused` as `served`."""
    with served(settings.metrics, role, name, shoal_version()) as url:
        if url is not None:
            log.info("metrics_served", url=url)
        yield
