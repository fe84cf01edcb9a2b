"""Which registry a cluster has: recorded in its database, and by a mark in the registry itself.

A node that was started with another, or with none where the others have ZooKeeper, would think itself alone. The mark
is a random text that the first node makes; the address is recorded beside it, without secrets, for whoever names none.
A ZooKeeper that came back empty has no mark: whoever comes to it by the recorded address, or was connected before,
makes it again.
"""

from __future__ import annotations

from uuid import uuid4

from dao import cluster
from dao.cluster import RecordedRegistry
from dao.database import Database, parse_url
from model.errors import Refused, Unavailable
from model.nodes import NodeKind
from registry.ensemble import SCHEME, Ensemble
from registry.protocol import Registry

OWN_DATABASE = "database"
"""What is recorded for the cluster's database itself."""
_MOVE = "to move the cluster, stop all nodes and say: shoal db registry --set URL"


class AnotherRegistry(Refused):
    """The registry that was named is not the cluster's."""


def place_of(url: str, database_url: str) -> str:
    """Where a registry is, in a form that can be compared, recorded and shown: no user, no password."""
    if url.partition("://")[0] == SCHEME:
        ensemble = Ensemble.parse(url)
        return f"{SCHEME}://{','.join(sorted(ensemble.hosts.split(',')))}{ensemble.root}"
    bare, own = (parse_url(each).set(username=None, password=None) for each in (url, database_url))
    return OWN_DATABASE if bare == own else bare.render_as_string()


def url_to_use(given: str | None, recorded: RecordedRegistry | None, database_url: str) -> str:
    """The URL of the registry: as it was set, else as it is recorded, else the database's.

    Raises `AnotherRegistry` when what was set is of another kind than what is recorded.
    """
    if recorded is None:
        return given or database_url
    if given is None:
        return database_url if recorded.place == OWN_DATABASE else recorded.place
    place = place_of(given, database_url)
    if _root(place) != _root(recorded.place):
        raise _another(place, recorded.place)
    return given


async def settle(database: Database, registry: Registry, place: str) -> None:
    """Make sure that an open registry is the cluster's; the first one becomes it.

    Raises:
        AnotherRegistry: it is another, or another cluster's.
        Unavailable: it does not answer, or is empty, so that nobody can know.
    """
    async with database.reading() as connection:
        recorded = await cluster.registry(connection)
    if recorded is None:
        mark = await _first_mark(registry)
        async with database.writing() as connection:
            recorded = await cluster.record_registry(connection, RecordedRegistry(mark, place))
    await check(registry, recorded, place)
    await registry.hold_mark(recorded.mark)


async def check(registry: Registry, recorded: RecordedRegistry, place: str) -> None:
    """Raises `AnotherRegistry` if an open registry is not the recorded one, `Unavailable` if nobody can know."""
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

    Raises `AnotherRegistry` when nodes are there.
    """
    return RecordedRegistry(await _first_mark(registry), place)


async def _first_mark(registry: Registry) -> str:
    there = await registry.read_mark()
    if there is None:
        return await registry.hold_mark(uuid4().hex)
    members = [each for kind in NodeKind for each in await registry.members(kind)]
    if members:
        raise AnotherRegistry(
            f"the registry {registry.url} is in use by another cluster: {len(members)} of its nodes are there; "
            f"give this one another root, or another database as its registry"
        )
    return there


def _another(place: str, recorded: str) -> AnotherRegistry:
    own = "the database itself" if recorded == OWN_DATABASE else recorded
    named = "the database itself" if place == OWN_DATABASE else place
    return AnotherRegistry(
        f"the registry named here is {named}, and this cluster's is {own}: a node there would think itself alone; "
        f"set SHOAL_REGISTRY_URL to it, or leave it out; {_MOVE}"
    )


def _root(place: str) -> str:
    """What two addresses of one registry have in common: the root in ZooKeeper's tree, of which servers may be named
    in any number; that both are databases, which may be reached by several names."""
    return place.rpartition("://")[2].partition("/")[2] if place.startswith(SCHEME) else OWN_DATABASE
