"""`shoal demo`: three masters and two workers, one master killed half way, and the proof that nothing was lost.

Everything is real: a separate PostgreSQL in a temporary folder, processes, kill -9. The cluster's timing is shortened
so that the effect is visible; with the default timing the same takes some seconds longer.
"""

from __future__ import annotations

import asyncio
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

from dao.cluster import node_listings
from dao.cluster.node_rows import NodeRow
from dao.commands import demo as tables
from dao.commands.demo import Tally
from dao.definitions import definitions
from dao.postgres import schema
from dao.postgres.database import Database
from model.choices import ReleaseState
from model.cluster.nodes import NodeKind
from model.cluster.slots import Slot
from model.definitions.workflow import WorkflowSpec
from model.errors import Unavailable
from model.ids import Epoch, WorkflowCode
from shoal.embedded.server import EmbeddedPostgres
from shoal.local.demo_summary import Summary
from shoal.local.demo_view import MasterPicture, Picture, View
from shoal.local.local_cluster import Child, LocalCluster

MASTERS, WORKERS = 3, 2
QUICK = {
    "SHOAL_TIMING__HEARTBEAT_EVERY": "0.5",
    "SHOAL_TIMING__SESSION_TIMEOUT": "3",
    "SHOAL_TIMING__MASTER_FENCE_AFTER": "3",
    "SHOAL_TIMING__WORKER_FENCE_AFTER": "10",
    "SHOAL_TIMING__KILL_GRACE": "1",
    "SHOAL_MASTER__DRAIN": "1",
    "SHOAL_WORKER__DRAIN": "1",
    "SHOAL_WORKER__CAPACITY": "24",
}
INSERT_EVERY_S = 0.25
LOOK_EVERY_S = 0.1
SLOTS_WITHIN_S = 15.0
REBALANCE_WITHIN_S = 25.0
DEAD_FOR_S = 4.0
"""How long the other masters run alone, so that the user can see it."""
END_WITHIN_S = 30.0
FAILS_ON_PURPOSE = "one_branch_fails"
"""The only workflow of the seed that is expected to end as FAILURE."""

LONGER = WorkflowSpec.parse(
    {
        "description": "Three steps of a second: some of these are always under way when a master dies.",
        "tasks": [
            {"name": "fetch", "type": "FAKE", "params": {"sleep_s": 1}},
            {"name": "work", "type": "FAKE", "params": {"sleep_s": 1}, "after": ["fetch"]},
            {"name": "store", "type": "FAKE", "params": {"sleep_s": 1}, "after": ["work"]},
        ],
    }
)


class Demo:
    """One demo; `run` executes all of it.

    Args:
        commands: how many to insert.
        seconds: over how long.
        view: the display.
    """

    def __init__(self, commands: int, seconds: float, view: View) -> None:
        self._commands = commands
        self._seconds = seconds
        self._view = view
        self._began_s = time.monotonic()
        self._inserted = 0
        self._lives: dict[Epoch, str] = {}
        self._tally = Tally(0, {}, {}, {}, {})
        self._masters: list[NodeRow] = []
        self._polled = asyncio.Event()

    async def run(self) -> Summary:
        """Set up, let it run, kill, watch, restart, wait for the end, and count.

        Raises:
            Unavailable: something does not start, or does not happen in time.
        """
        async with AsyncExitStack() as running:
            folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="shoal-demo-")))
            server = EmbeddedPostgres(folder)
            url = await server.start(lambda sentence: self._say(sentence))
            running.push_async_callback(server.stop)
            self._say(f"PostgreSQL {server.version} started in {folder}")
            database = Database(url, application_name="shoal-demo", connections_max=3)
            running.push_async_callback(database.close)
            workflows = await _load_workflows(database)
            self._say(f"{len(workflows)} workflows loaded from sql/seed")
            cluster = LocalCluster(url, folder, settings=QUICK)
            running.push_async_callback(cluster.stop, 10)
            await self._start(cluster)
            tasks = await running.enter_async_context(asyncio.TaskGroup())
            polling = tasks.create_task(self._poll(cluster, database))
            running.callback(polling.cancel)
            inserting = self._insert(database, workflows)
            return await self._happen(cluster, database, lambda: tasks.create_task(inserting))

    async def _start(self, cluster: LocalCluster) -> None:
        workers = [await cluster.start(NodeKind.WORKER) for _ in range(WORKERS)]
        for _ in range(MASTERS):  # one after the other, so that m1 gets slot 0
            master = await cluster.start(NodeKind.MASTER)
            self._lives[(await cluster.joined(master)).epoch] = master.name
        for worker in workers:
            await cluster.joined(worker)
        self._say(f"{MASTERS} masters and {WORKERS} workers are there, each a process")

    async def _happen(
        self, cluster: LocalCluster, database: Database, begin: Callable[[], asyncio.Task[None]]
    ) -> Summary:
        """The sequence of events. `begin` starts the commands; its task ends when the last one is inserted."""
        await self._until("all slots are given out", lambda: self._slots() == _slots(MASTERS), SLOTS_WITHIN_S)
        inserting = begin()
        half_s = self._seconds + END_WITHIN_S
        await self._until("half of the commands are in", lambda: self._inserted >= self._commands // 2, half_s)
        victim = cluster.masters[1]
        rebalance_s = await self._kill(victim)
        await asyncio.sleep(DEAD_FOR_S)
        await self._bring_back(cluster, victim)
        await inserting
        self._say(f"all {self._commands} commands are inserted; waiting for the last runs")
        await self._until("all runs have ended", self._all_ended, END_WITHIN_S)
        async with database.reading() as connection:
            proof = await tables.read_proof(connection, FAILS_ON_PURPOSE)
            tally = await tables.read_tally(connection)
        by_master: dict[str, int] = {}
        for epoch, number in tally.handled.items():
            by_master[self._name(epoch)] = by_master.get(self._name(epoch), 0) + number
        return Summary(self._commands, proof, tally, by_master, rebalance_s, self._at_s())

    async def _kill(self, victim: Child) -> float:
        """Kill a master; returns the seconds until the others have failed over everything."""
        epoch = next(row.epoch for row in self._masters if self._lives.get(row.epoch) == victim.name)
        owned = self._tally.owned.get(epoch, 0)
        killed_s = time.monotonic()
        victim.send(signal.SIGKILL)
        self._say(f"kill -9 {victim.name} (slot {self._slot_of(epoch)}), which owns {owned} runs")
        await victim.ended()

        def failed_over() -> bool:
            return self._slots() == _slots(MASTERS - 1) and not self._tally.owned.get(epoch)

        await self._until(f"the others fail over from {victim.name}", failed_over, REBALANCE_WITHIN_S)
        took_s = time.monotonic() - killed_s
        slots = ", ".join(f"{self._name(row.epoch)} {self._slot_of(row.epoch)}" for row in self._masters)
        self._say(f"slots rebalanced after {took_s:.1f} s: {slots}; the runs of {victim.name} go on there")
        return took_s

    async def _bring_back(self, cluster: LocalCluster, victim: Child) -> None:
        await cluster.start_again(victim)
        row = await cluster.joined(victim)
        self._lives[row.epoch] = victim.name
        await self._until("the slots are three again", lambda: self._slots() == _slots(MASTERS), SLOTS_WITHIN_S)
        slots = ", ".join(f"{self._name(each.epoch)} {self._slot_of(each.epoch)}" for each in self._masters)
        self._say(f"{victim.name} is back as a new master (epoch {row.epoch}): {slots}")

    async def _insert(self, database: Database, workflows: list[WorkflowCode]) -> None:
        """Insert the commands in small portions, evenly over the time."""
        began_s = time.monotonic()
        while self._inserted < self._commands:
            share = min(1.0, (time.monotonic() - began_s) / self._seconds)
            due = max(1, round(share * self._commands))
            if due > self._inserted:
                await database.write(tables.insert_commands, workflows, self._inserted, due - 1)
                self._inserted = due
            await asyncio.sleep(INSERT_EVERY_S)

    async def _poll(self, cluster: LocalCluster, database: Database) -> None:
        """Repeatedly read and show the current state."""
        while True:
            async with database.reading() as connection:
                self._tally = await tables.read_tally(connection)
                self._masters = await node_listings.masters(connection)
            self._polled.set()
            self._view.show(self._picture(cluster))
            await asyncio.sleep(LOOK_EVERY_S)

    async def _until(self, what: str, is_so: Callable[[], bool], within_s: float) -> None:
        """Wait until the last state read fulfils a condition. Raises `Unavailable` after `within_s`."""
        try:
            async with asyncio.timeout(within_s):
                while not is_so():
                    self._polled.clear()
                    await self._polled.wait()
        except TimeoutError:
            raise Unavailable(f"the demo waited in vain for {within_s:.0f} s until {what}") from None

    def _all_ended(self) -> bool:
        ended = sum(number for state, number in self._tally.runs.items() if state.is_final)
        return not self._tally.waiting and ended == self._commands

    def _slots(self) -> list[Slot]:
        """The slots that the living masters believe they have."""
        return sorted(row.heartbeat.slot for row in self._masters if row.heartbeat and row.heartbeat.slot)

    def _slot_of(self, epoch: Epoch) -> str:
        found = (row.heartbeat.slot for row in self._masters if row.epoch == epoch and row.heartbeat)
        return str(next(found, None) or "-")

    def _name(self, epoch: Epoch) -> str:
        return self._lives.get(epoch, f"epoch {epoch}")

    def _picture(self, cluster: LocalCluster) -> Picture:
        return Picture(
            self._at_s(),
            self._commands,
            self._inserted,
            self._tally.waiting,
            [self._master_picture(child) for child in cluster.masters],
            dict(self._tally.runs),
            sum(self._tally.tasks.values()),
        )

    def _master_picture(self, child: Child) -> MasterPicture:
        epochs = [epoch for epoch, name in self._lives.items() if name == child.name]
        slots = [self._slot_of(epoch) for epoch in epochs] if child.runs else []
        return MasterPicture(
            child.name,
            child.runs,
            next((slot for slot in reversed(slots) if slot != "-"), ""),
            sum(self._tally.handled.get(epoch, 0) for epoch in epochs),
            sum(self._tally.owned.get(epoch, 0) for epoch in epochs),
        )

    def _say(self, sentence: str) -> None:
        self._view.say(self._at_s(), sentence)

    def _at_s(self) -> float:
        return time.monotonic() - self._began_s


async def _load_workflows(database: Database) -> list[WorkflowCode]:
    """Load the seed's workflows and a longer one; returns the codes of those that can be started."""
    await schema.upgrade(database)
    await database.read(tables.load_seed)
    async with database.writing() as connection:
        await definitions.save(connection, "default", "three_seconds", ReleaseState.ONLINE, LONGER)
        online = definitions.Wanted(state=ReleaseState.ONLINE)
        return [head.code for head in await definitions.page(connection, 100, online)]


def _slots(total: int) -> list[Slot]:
    return [Slot(current, total) for current in range(total)]
