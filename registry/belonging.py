"""The registry of a cluster: recorded in its database, and identified by a mark in the registry itself.

A node that was started with another registry, or with none where the others use ZooKeeper, would see no other nodes.
The mark is a random text that the first node creates. The address is recorded with it, without secrets, for nodes that
configure none. A ZooKeeper that came back empty has no mark: a node that uses the recorded address, or was connected
before, creates it again.
"""

from __future__ import annotations

from uuid import uuid4

from dao.cluster import cluster
from dao.cluster.cluster import RecordedRegistry
from dao.postgres.address import Address
from dao.postgres.database import Database
from model.cluster.nodes import NodeKind
from model.errors import Refused, Unavailable
from registry.ensemble import SCHEME, Ensemble
from registry.protocol import Registry

OWN_DATABASE = "database"
"""The recorded value when the registry is the cluster's database itself."""
_MOVE = "to move the cluster, stop all nodes and run: shoal db registry --set URL"


class AnotherRegistry(Refused):
    """The configured registry is not the cluster's."""


def place_of(url: str, database_url: str) -> str:
    """The address of a registry, in a form that can be compared, recorded and shown: no user, no password."""
    if url.partition("://")[0] == SCHEME:
        ensemble = Ensemble.parse(url)
        return f"{SCHEME}://{','.join(sorted(ensemble.hosts.split(',')))}{ensemble.root}"
    place, own = (Address.of(each).place for each in (url, database_url))
    return OWN_DATABASE if place == own else place


def url_to_use(given: str | None, recorded: RecordedRegistry | None, database_url: str) -> str:
    """The URL of the registry: as configured, else as recorded, else the database's.

    Raises `AnotherRegistry` when the configured one is of another kind than the recorded one.
    """
    if recorded is None:
        return given or database_url
    if given is None:
        return database_url if recorded.place == OWN_DATABASE else recorded.place
    place = place_of(given, database_url)
    if _root(place) != _root(recorded.place):
        raise _another(place, recorded.place)
    return given


async def verify(database: Database, registry: Registry, place: str) -> None:
    """Verify that an open registry is the cluster's; the first one becomes it.

    Raises:
        AnotherRegistry: it is another, or another cluster's.
        Unavailable: it does not answer, or is empty, so this cannot be verified.
    """
    recorded = await database.read(cluster.registry)
    if recorded is None:
        mark = await _first_mark(registry)
        recorded = await database.write(cluster.record_registry, RecordedRegistry(mark, place))
    await check(registry, recorded, place)
    await registry.set_mark(recorded.mark)


async def check(registry: Registry, recorded: RecordedRegistry, place: str) -> None:
    """Raises `AnotherRegistry` if an open registry is not the recorded one, `Unavailable` if it cannot verify that."""
    mark = await registry.read_mark()
    if mark == recorded.mark or (mark is None and place == recorded.place):
        return
    if mark is None and place.startswith(SCHEME):
        raise Unavailable(
            f"the registry {place} is empty, and recorded for this cluster is {recorded.place}: either it lost all, "
            f"and a node that still runs will mark it again, or it is another; {_MOVE}"
        )
    raise _another(place, recorded.place)


async def take(registry: Registry, place: str) -> RecordedRegistry:
    """Mark an open registry for this cluster, whatever it was before; the caller records it.

    Raises `AnotherRegistry` when nodes are registered there.
    """
    return RecordedRegistry(await _first_mark(registry), place)


async def _first_mark(registry: Registry) -> str:
    there = await registry.read_mark()
    if there is None:
        return await registry.set_mark(uuid4().hex)
    members = [each for kind in NodeKind for each in await registry.members(kind)]
    if members:
        raise AnotherRegistry(
            f"the registry {registry.url} is in use by another cluster: {len(members)} of its nodes are there; "
            f"give this one another root, or another database as its registry"
        )
    await registry.forget()
    return there


def _another(place: str, recorded: str) -> AnotherRegistry:
    own = "the database itself" if recorded == OWN_DATABASE else recorded
    named = "the database itself" if place == OWN_DATABASE else place
    return AnotherRegistry(
        f"the registry named here is {named}, and this cluster's is {own}: a node there would see no other nodes; "
        f"set SHOAL_REGISTRY_URL to it, or leave it out; {_MOVE}"
    )


def _root(place: str) -> str:
    """The part that all addresses of one registry share.

    For ZooKeeper it is the root in its tree, since any number of its servers may be named. For databases it is only
    that both are databases, since a database may have several names.
    """
    return place.rpartition("://")[2].partition("/")[2] if place.startswith(SCHEME) else OWN_DATABASE
