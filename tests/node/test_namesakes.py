"""Taking a name: no other living node may have it, and a former life is fenced by the rules of the failure detector."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from uuid import uuid4

import pytest

from dao.cluster import nodes
from dao.cluster.nodes import Me, NewNode
from dao.postgres.database import Database
from dao.postgres.sql import Sql
from model.cluster.nodes import Heartbeat, NodeKind, ProcessIdentity
from model.cluster.timing import Timing
from model.errors import Refused
from node.namesakes import Namesakes
from registry.connect import make_registry
from registry.process import this_process
from registry.protocol import Registry
from tests.eventually import eventually

GONE = replace(this_process(), started=1)
ELSEWHERE = ProcessIdentity("another machine", 17, 4711)
WORKER, MASTER = NodeKind.WORKER, NodeKind.MASTER
TIMING = Timing.model_validate(
    {"heartbeat_every": 0.2, "session_timeout": 1, "master_fence_after": 1, "kill_grace": 0.1, "worker_fence_after": 3}
)
SAME_ADDRESS = "127.0.0.1:5000"


@dataclass
class Scene:
    database: Database
    registry: Registry
    timing: Timing = TIMING
    beats: dict[int, int] = field(default_factory=dict)

    async def node(self, kind: NodeKind, name: str, process: ProcessIdentity = ELSEWHERE) -> Me:
        """A node that has beaten once."""
        async with self.database.writing() as connection:
            me = await nodes.enlist(connection, uuid4(), NewNode(kind, SAME_ADDRESS, process, name))
        await self.beat(me)
        return me

    async def beat(self, me: Me) -> None:
        async with self.database.writing() as connection:
            no = self.beats.get(me.epoch, 0)
            beaten = await nodes.beat(connection, me, no, unanswered=0, heartbeat=heartbeat(me, self.timing))
            self.beats[me.epoch] = beaten.beat_no

    async def give_way(self, kind: NodeKind, name: str) -> None:
        await Namesakes(self.database, self.registry, kind, name, Timing()).give_way()

    async def state(self, me: Me) -> str:
        async with self.database.reading() as connection:
            return str(
                (await connection.execute(Sql("SELECT state FROM node WHERE id = :id"), {"id": me.epoch})).scalar()
            )


def heartbeat(me: Me, timing: Timing = TIMING) -> Heartbeat:
    return Heartbeat(epoch=me.epoch, kind=me.kind, address=me.address, name=me.name, silence=me.kind.silence(timing))


@pytest.fixture
async def scene(database_url: str) -> AsyncIterator[Scene]:
    database = Database(database_url, application_name="shoal-test")
    registry = make_registry(database_url, session_timeout=timedelta(seconds=60), application_name="shoal-test")
    await registry.open(60)
    yield Scene(database, registry)
    await registry.close()
    await database.close()


@pytest.mark.parametrize("kind", NodeKind)
async def test_two_with_one_address_leave_each_other_alone(scene: Scene, kind: NodeKind) -> None:
    """The default loopback address, or one fixed port on many machines; even if the other is silent or its process
    gone, that is for a judge."""
    others = [await scene.node(kind, "b"), await scene.node(kind, "c", GONE)]
    await scene.give_way(kind, "a")
    assert [await scene.state(other) for other in others] == ["ALIVE", "ALIVE"]


@pytest.mark.parametrize("kind", NodeKind)
async def test_one_that_lives_keeps_its_name(scene: Scene, kind: NodeKind) -> None:
    scene.timing = Timing()  # it is not silent for so long while the machine does much else
    other = await scene.node(kind, "a")
    comes = asyncio.create_task(scene.give_way(kind, "a"))

    async def beats_on() -> bool:
        await scene.beat(other)
        return comes.done()

    await eventually(beats_on)
    with pytest.raises(Refused, match=rf"another {kind.lower()} a \(epoch {other.epoch}\) lives.*--name"):
        await comes
    assert await scene.state(other) == "ALIVE"


async def test_a_silent_worker_of_that_name_is_not_fenced_while_the_registry_shows_it(scene: Scene) -> None:
    """It may be cut from the database alone, and its tasks run: the registry is asked, as a judge would."""
    other = await scene.node(WORKER, "a")
    await scene.registry.register(heartbeat(other))
    comes = asyncio.create_task(scene.give_way(WORKER, "a"))
    await asyncio.wait([comes], timeout=5)
    assert not comes.done()
    assert await scene.state(other) == "ALIVE"
    await scene.registry.unregister()
    await asyncio.wait_for(comes, 120)
    assert await scene.state(other) == "FENCED"


@pytest.mark.parametrize(("kind", "fence_s"), [(MASTER, 1.0), (WORKER, 3.0)])
async def test_a_silent_one_is_fenced_after_the_time_that_it_states(
    scene: Scene, kind: NodeKind, fence_s: float
) -> None:
    other = await scene.node(kind, "a")
    began_s = asyncio.get_running_loop().time()
    await scene.give_way(kind, "a")
    assert asyncio.get_running_loop().time() - began_s >= fence_s
    assert await scene.state(other) == "FENCED"
