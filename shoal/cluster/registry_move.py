"""Records the cluster's registry: at first, or when a person moves the cluster to another."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dao.cluster import cluster, nodes
from dao.cluster.cluster import RecordedRegistry
from dao.cluster.node_rows import NodeRow
from dao.postgres.database import Database
from model.cluster.nodes import NodeKind
from model.cluster.timing import WORKER_CUT_MARGIN_S
from model.errors import Refused
from registry import belonging
from registry.connect import make_registry
from registry.process import is_gone
from registry.protocol import Registry
from shoal.config.settings import Settings

OPEN_S = 5.0


async def record_named(database: Database, settings: Settings) -> None:
    """Record the registry in the settings, if there is one. Raises as `belonging.verify`."""
    url = settings.named_registry()
    if url is None:
        return
    belonging.url_to_use(url, await database.read(cluster.registry), settings.database())
    async with _opened(url, settings) as registry:
        await belonging.verify(database, registry, belonging.place_of(url, settings.database()))


async def move_to(database: Database, url: str, settings: Settings) -> RecordedRegistry:
    """Make another registry the cluster's; nodes must use it from their next start.

    Raises:
        Refused: a node is alive in one of them.
        Unavailable: the new registry does not answer.
    """
    async with _opened(url, settings) as registry:
        taken = await belonging.take(registry, belonging.place_of(url, settings.database()))
    async with database.writing() as connection:
        living = [node for node in await nodes.living(connection) if may_live(node, settings)]
        if living:
            raise Refused(
                f"the registry stays as it is while nodes live: {', '.join(map(str, living[:5]))}; stop them first "
                f"(one that was killed counts as gone when it was silent for as long as it said that it may be)"
            )
        return await cluster.record_registry(connection, taken, replaces=True)


@asynccontextmanager
async def _opened(url: str, settings: Settings) -> AsyncIterator[Registry]:
    registry = make_registry(url, session_timeout=settings.timing.session_timeout, application_name="shoal-cli")
    await registry.open(OPEN_S)
    try:
        yield registry
    finally:
        await registry.close()


def may_live(node: NodeRow, settings: Settings) -> bool:
    """Whether a node that its row calls alive may be so: its process is not provably gone, and it beat recently."""
    if is_gone(node.process):
        return False
    silence = node.silence or node.kind.silence(settings.timing)
    longest_s = silence.fence_s if node.kind is NodeKind.MASTER else silence.cut_s + WORKER_CUT_MARGIN_S
    return node.beat_age_s < longest_s
