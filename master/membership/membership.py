"""What this master knows of the other nodes: its slot, which have failed, and what must be failed over.

It reads the registry on its change events and on a timer (a watch may fail silently), and the beats with its own beat.
All of these are hints: each decision is made again, safely, in the database.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import structlog

from dao.cluster import fencing, gone_nodes, nodes
from dao.cluster.node_rows import NodeRow
from dao.postgres.errors import BadData, LockTaken
from master.claim.serial import unblock_lines
from master.membership.doubts import Doubts
from master.membership.failover import Leftovers
from master.membership.failure_detector import FailureDetector, Sight
from master.membership.slot_record import SlotRecord
from metrics import master as metrics
from metrics.tally import Tally
from model.cluster.load import RUNS_LIMIT, Measure
from model.cluster.master_settings import MasterSettings
from model.cluster.nodes import Heartbeat, NodeKind, NodeState, NodeStatus
from model.cluster.slot_view import SlotView, slot_view
from model.cluster.slots import Slot
from model.errors import ShoalError, Unavailable, Unknown
from model.ids import Epoch
from node.left_tasks import LeftTasks
from node.life import Life
from node.meter import load_a_core
from node.overload import Overload
from node.remembered import text_of
from node.waiting import set_within
from registry.clock import boottime_s
from registry.presence import present
from registry.protocol import Registry

log = structlog.get_logger()

READ_MEMBERS_EVERY_S = 5.0
ANNOUNCE_EVERY_S = 10.0


class Membership:
    """Beats, computes slots, detects failures and fences.

    `slot` is this master's share now, None = none; `poll` is set when it changes. `active` returns how many runs count
    against the run limit now.
    """

    def __init__(
        self,
        life: Life,
        registry: Registry,
        settings: MasterSettings,
        active: Callable[[], int],
        poll: asyncio.Event,
    ) -> None:
        self.slot: Slot | None = None
        metrics.slot.set(-1)
        metrics.slots.set(0)
        self.doubts = Doubts(life.timing)
        self.left = asyncio.Event()
        """Set when the life of a node has ended: its runs and tasks must be failed over."""
        self._life = life
        self._registry = registry
        self._timing = life.timing
        self._settings = settings
        self._active = active
        self._poll = poll
        self._detector = FailureDetector(life.me.epoch, life.timing)
        self._leftovers = Leftovers(life)
        self._left_tasks = LeftTasks(life.beat_now.set)
        self.is_idle = False
        """Whether this master is drained: without a slot, it takes no commands and fires no schedules."""
        self._overload = Overload(settings.load, so="leaves its slot to others, if others have room", own=[RUNS_LIMIT])
        self._statuses: dict[Epoch, NodeStatus] = {}
        self._view = SlotView(())
        self._record = SlotRecord(life)
        self._announced: Heartbeat | None = None
        self._announced_s = 0.0
        self._tally = Tally()

    def heartbeat(self) -> Heartbeat:
        return Heartbeat(
            epoch=self._life.me.epoch,
            kind=NodeKind.MASTER,
            address=self._life.me.address,
            name=self._life.me.name,
            status=NodeStatus.BUSY if self.is_idle else self._overload.status,
            because=self._overload.because,
            running=self._active(),
            capacity=self._settings.max_running_workflows,
            load=round(load_a_core(), 2),
            slot_current=self.slot.current if self.slot else None,
            slot_total=self.slot.total if self.slot else None,
            view=self._view.hash,
            silence=self._life.silence,
            drained=self._life.drain_id if self.is_idle else 0,
            counted=self._tally.counted(),
        )

    def why_idle(self) -> str | None:
        """Why it takes no commands now; None if it does."""
        if self.slot is not None:
            return None
        busy = self._overload.because
        return f"it has no slot, since it is BUSY: {busy}" if busy else "it has no slot"

    @property
    def accepts(self) -> bool:
        """Whether it takes commands at all. While BUSY it does not, unless it has a slot or no other master accepts
        any: somebody must take new commands. Without the registry it may have no slot for a long time."""
        return self._overload.status is NodeStatus.NORMAL or self.slot is not None or not self._another_accepts

    @property
    def _another_accepts(self) -> bool:
        """Whether another living master is not BUSY, according to its beats."""
        return any(
            node.kind is NodeKind.MASTER
            and node.state is NodeState.ALIVE
            and node.epoch != self._life.me.epoch
            and (node.heartbeat is None or node.heartbeat.status is NodeStatus.NORMAL)
            for node in self._life.living
        )

    @property
    def is_overloaded(self) -> bool:
        """Whether its machine is overloaded, so that it should take commands slowly."""
        return self._overload.of_machine

    async def join(self) -> None:
        """Register, and take the first slot, unless it must drain."""
        await self._overload.measure()
        self._evaluate_load()
        await self._life.beat(self.heartbeat())
        self.is_idle = self._life.drained.is_set()
        self.doubts.begin(self._life.living)
        await self._registry.register(self.heartbeat())
        await self._count_slots()

    async def leave(self) -> None:
        """Release the slot, since this life is about to end."""
        self._life.is_leaving = True
        await self._registry.unregister()
        await self._life.database.write(nodes.set_leaving, self._life.me)

    def take_part(self) -> None:
        """Take a slot, after a drain."""
        if self.is_idle:
            self.is_idle = False
            self._life.beat_now.set()
            self._registry.changed.set()

    async def beat(self) -> None:
        """Beat forever; each beat reads who is alive. Raises `Fenced`."""
        every_s = self._timing.heartbeat_every.total_seconds()
        while True:
            now_s = boottime_s()
            try:
                is_news = self._evaluate_load()
                heartbeat = self.heartbeat()
                metrics.runs.set(heartbeat.running)
                metrics.runs_max.set(heartbeat.capacity)
                await self._life.beat(heartbeat)
                self._registry.remember(text_of(self._life))
                await self._announce(heartbeat, now_s)
                if is_news or self._others_changed():
                    self._registry.changed.set()
                await self._detect_failures(boottime_s())
                self.doubts.resolve(self._life.living)
            except (Unavailable, Unknown, BadData) as error:
                log.warning("beat_failed", error=str(error))
            await set_within(self._life.beat_now, max(0.05, every_s - (boottime_s() - now_s)))

    async def measure(self) -> None:
        await self._overload.run(self._timing.heartbeat_every.total_seconds())

    async def watch(self) -> None:
        """Recompute the slots on registry events, and periodically without an event."""
        while True:
            if await set_within(self._registry.changed, READ_MEMBERS_EVERY_S):
                try:
                    await self._life.refresh_living()
                except ShoalError as error:
                    log.warning("living_nodes_not_read", error=str(error))
            await self._count_slots()

    async def record(self) -> None:
        """Record who has slots, forever; beside `watch`, which never waits for it. Raises `Fenced`."""
        await self._record.run()

    async def clean_up(self) -> None:
        """Fail over runs and tasks: when a node's life has ended, and periodically."""
        while True:
            try:
                await self._fail_over_all()
            except ShoalError as error:
                log.warning("clean_up_failed", error=str(error))
                await asyncio.sleep(1)
                continue
            await set_within(self.left, self._settings.sweep_every.total_seconds())

    def _evaluate_load(self) -> bool:
        """Update the load; return whether it changed between BUSY and NORMAL."""
        runs = self._active() / self._settings.max_running_workflows
        return self._overload.evaluate(boottime_s(), {Measure.RUNS: runs})

    def _others_changed(self) -> bool:
        """Whether a master changed between BUSY and NORMAL, which no registry event reports."""
        before, self._statuses = (
            self._statuses,
            {
                node.epoch: node.heartbeat.status
                for node in self._life.living
                if node.kind is NodeKind.MASTER and node.heartbeat is not None
            },
        )
        return any(before.get(epoch, status) is not status for epoch, status in self._statuses.items())

    async def _announce(self, heartbeat: Heartbeat, now_s: float) -> None:
        """Write to the registry at once what others act upon, and the rest periodically."""
        acted_on = {"status", "drained", "slot_current", "slot_total"}
        former = self._announced
        same = former is not None and former.model_dump(include=acted_on) == heartbeat.model_dump(include=acted_on)
        if not same or now_s - self._announced_s >= ANNOUNCE_EVERY_S:
            await self._registry.update(heartbeat)
            self._announced, self._announced_s = heartbeat, now_s

    async def _detect_failures(self, now_s: float) -> None:
        # A copy: `living` is read again by others during this await.
        living = {node.epoch: node for node in self._life.living}
        self._left_tasks.restrict_to(living)
        sights = [
            Sight(node.epoch, node.kind, node.beat_no, self._left_tasks.are_over(node), node.silence)
            for node in living.values()
        ]
        suspects = self._detector.observe(sights, now_s)
        if not suspects:
            return
        present = await self._present() if any(not suspect.is_gone for suspect in suspects) else None
        for verdict in self._detector.verdicts(suspects, present, now_s):
            try:
                if self._left_tasks.have_ended(living[verdict.epoch]):
                    await self._fence(living[verdict.epoch], verdict.why)
            except (LockTaken, BadData) as error:  # concerns one node: the others are still processed
                log.warning("not_fenced", epoch=verdict.epoch, error=str(error), so="it is retried at each beat")

    async def _present(self) -> set[Epoch] | None:
        others = [node.silence.session_s for node in self._life.living if node.silence is not None]
        return await present(self._registry, max(self._life.silence.session_s, *others))

    async def _fence(self, node: NodeRow, why: str) -> None:
        if await fencing.fence(self._life.database, node, why, by=self._life.me):
            metrics.nodes_fenced.labels(node.kind.value).inc()
            log.warning(
                "node_fenced",
                kind=node.kind,
                name=node.shown,
                address=node.address,
                epoch=node.epoch,
                why=why,
                so="others fail over its runs and tasks",
            )
        self.doubts.was_fenced(node.epoch)
        self.left.set()
        self._registry.changed.set()

    async def _fail_over_all(self) -> None:
        # Almost always there is nothing: one query instead of a transaction, which would also wake all masters.
        left = await self._life.database.read(gone_nodes.work_left)
        steps: list[Callable[[], Awaitable[None]]] = [self._leftovers.fail_over] if left.by_gone_nodes else []
        if left.in_lines:
            steps.append(partial(unblock_lines, self._life))
        failed: ShoalError | None = None
        for step in steps:
            try:
                await step()
            except (LockTaken, BadData) as error:  # concerns one of them: the other is still done
                failed = error
        if failed is not None:
            raise failed

    async def _count_slots(self) -> None:
        """Compute the slots. The view stays while the registry cannot be read: nobody can join or leave it then."""
        try:
            members = await self._registry.members(NodeKind.MASTER)
        except Unavailable as error:
            log.warning("slots_frozen", slot=str(self.slot), error=str(error))
            return
        alive = {node.epoch for node in self._life.living if node.state is NodeState.ALIVE}
        self._view = slot_view(members, alive)
        self._record.note(self._view, members)
        slot = self._view.slot_of(self._life.me.epoch)
        if slot != self.slot:
            log.info("slot_changed", slot=str(slot), before=str(self.slot), masters=len(self._view.masters))
            self.slot = slot
            metrics.slot_changes.inc()
            metrics.slot.set(-1 if slot is None else slot.current)
            metrics.slots.set(0 if slot is None else slot.total)
            self._poll.set()
