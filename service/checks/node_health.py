"""Checks of masters and workers by what they say of themselves: who is alive, slots, room, groups, timing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from dao.checks.table_checks import SHOWN_MAX
from dao.cluster import drains, node_listings, went_back
from dao.cluster.drains import NamedDrain
from dao.cluster.node_rows import NodeRow
from dao.commands import commands, queue_listings
from dao.postgres.pool import AsyncConnection
from model.cluster.nodes import NodeKind, NodeState
from model.cluster.timing import Timing
from service.checks.check_result import Result, Verdict, passed, result_of
from service.checks.table_health import COUNTED_MAX
from service.cluster.registered_masters import Registered
from service.explain.explanation import full_masters
from service.explain.facts import master_facts
from service.settings import ServiceSettings
from service.slots.slot_report import SlotReport, read_slots
from service.words import counted, duration

QUEUED_S = 30.0
DRAINED_S = 3600.0
"""A drain that lasts longer may have been left behind by somebody."""
REGISTRY_CONDITION = "the registry answers, and is the cluster's"
TIMING_CONDITION = "all nodes live by the cluster's times"


def master_results(slots: SlotReport, silent_after: timedelta) -> list[Result]:
    """Whether there are masters, and whether they agree on their slots."""
    rows = [master.row for master in slots.masters]
    none = [] if rows else ["no master is alive: no command is taken, no run goes on"]
    if rows and all(row.drain is not None for row in rows):
        none = [f"all masters are drained: no command is taken, no run goes on; shoal master undrain {rows[0].shown}"]
    said = f"{slots.registry_fault}" if slots.registry_fault else ""
    faults = []
    for master in slots.masters:
        who, has = str(master.row), master.slot or "none"
        if master.row.state is not NodeState.ALIVE:
            continue
        if not master.in_registry and not said:
            faults.append(f"{who} is not in the registry, so it has no slot")
        elif not master.agrees:
            faults.append(f"{who} has slot {has}, but assumes {master.believes or 'none'}")
    return [
        result_of(
            "registry", REGISTRY_CONDITION, [said] if said else [],
            "Is ZooKeeper running, and is the registry URL right? Work goes on meanwhile; nobody can join.",
        ),
        result_of(
            "masters", "masters are alive, and beat", [*none, *_silent(rows, silent_after)],
            "Start one: shoal master; the work of a silent one goes on elsewhere when it is fenced.",
            _figure(rows, "master"),
        ),
        result_of(
            "slots", "each slot has one master, and it knows", faults,
            "It passes within seconds; safe meanwhile, since the claim decides. Watch: shoal master list.",
            counted(slots.total, "slot"),
        ),
    ]  # fmt: skip


def room_result(slots: SlotReport, waiting: Sequence[queue_listings.WithoutRoom]) -> Result:
    """Whether a master has room for what waits. It is no fault if none has: runs end, and free some."""
    condition = "a master has room for what waits"
    masters = [master_facts(master.row) for master in slots.masters if master.row.drain is None]
    running, capacity = sum(each.running for each in masters), sum(each.capacity for each in masters)
    detail = f"{running} of {counted(capacity, 'run')}"
    if not waiting or not masters or not all(each.is_full for each in masters):
        return passed("room", condition, detail)
    awaited = sorted(waiting, key=lambda each: each.above is None)  # those that other runs wait for come first
    shown = [
        f"command {each.id} ({each.type[:40]}) has waited for {duration(each.age_s)}: {full_masters(masters)}"
        + (f"; run {each.above[:20]} waits for the run that it asks for" if each.above else "")
        for each in awaited[:SHOWN_MAX]
    ]
    fix = (
        "They are taken when runs have ended or only wait: shoal runs; to have more room start another master, "
        "shoal master, or raise master.max_running_workflows."
    )
    return Result(
        "room", condition, Verdict.NOTE, f"{detail}, {counted(len(waiting), 'command')}", len(waiting), shown, fix
    )


def worker_results(
    rows: Sequence[NodeRow], queue: Sequence[queue_listings.GroupQueue], silent_after: timedelta
) -> list[Result]:
    """Whether there are workers, and some for each group with waiting tasks."""
    none = [] if rows else ["no worker is alive: no task runs but those of the masters"]
    served = Counter(group for row in rows if row.heartbeat and row.drain is None for group in row.heartbeat.groups)
    drained = {group for row in rows if row.heartbeat and row.drain is not None for group in row.heartbeat.groups}
    waiting = [
        f"{counted(each.waiting, 'task')} of group {each.worker_group} for up to {duration(each.oldest_s)}"
        + ("; its workers are drained" if each.worker_group in drained else "")
        for each in queue
        if each.waiting and not served[each.worker_group] and (each.oldest_s or 0) > QUEUED_S
    ]
    return [
        result_of(
            "workers", "workers are alive, and beat", [*none, *_silent(rows, silent_after)],
            "Start one: shoal worker; the tasks of a silent one run elsewhere when it is fenced.",
            _figure(rows, "worker"),
        ),
        result_of(
            "groups", "each group that tasks wait for has a worker", waiting,
            "Start a worker of that group, shoal worker --group NAME, or undrain one; or stop the run and fix its "
            "worker_group.",
        ),
    ]  # fmt: skip


def history_result(notices: Sequence[went_back.Notice]) -> Result:
    """Whether nodes found the database to be an earlier state of itself."""
    return result_of(
        "database_went_back", "the database has what it confirmed", [each.why for each in notices],
        "Nodes and commands wait for you. What is lost, and how to go on: shoal db restored",
    )  # fmt: skip


def root_result(workers: Sequence[NodeRow]) -> Result:
    """Whether a worker runs tasks as root that name no tenant."""
    as_root = [f"{row} has no default tenant" for row in workers if row.heartbeat and row.heartbeat.runs_as_root]
    return result_of(
        "root", "no task runs as root unless its tenant is root", as_root,
        "A task without a tenant can read the worker's keys and database URL. Set worker.default_tenant, or start the "
        "worker as an ordinary user.",
        bad=Verdict.NOTE,
    )  # fmt: skip


def drains_result(found: Sequence[NamedDrain], rows: Sequence[NodeRow]) -> Result:
    """Whether a master or worker has been drained for so long that somebody may have left it behind."""
    living = {(row.kind, row.shown): row for row in rows}
    long = []
    for each in found:
        if each.drain.age_s < DRAINED_S:
            continue
        row = living.get((each.kind, each.name))
        running = row.heartbeat.running if row is not None and row.heartbeat is not None else 0
        now = "does not run" if row is None else f"has {counted(running, 'task')} left" if running else "is empty"
        long.append(
            f"{each.kind.lower()} {each.name} has been drained for {duration(each.drain.age_s)}, "
            f"by {each.drain.asked_by}; it {now}"
        )
    return result_of(
        "drains", "no node has been drained for long", long,
        "End it when the node is to take work again: shoal worker undrain NAME, or shoal master undrain NAME.",
        counted(len(found), "node") + " drained", bad=Verdict.NOTE,
    )  # fmt: skip


def timing_result(rows: Sequence[NodeRow], timing: Timing) -> Result:
    """Whether all nodes have started since the cluster's timing was changed. Others count by their own timing."""
    former = [
        f"{row} lives by the times with which it started"
        for row in rows
        if row.silence is not None and row.silence != row.kind.silence(timing)
    ]
    if not former:
        fences = " and ".join(
            duration(each.total_seconds()) for each in (timing.master_fence_after, timing.worker_fence_after)
        )
        return passed("timing", TIMING_CONDITION, f"masters and workers are fenced after {fences}")
    cure = (
        "Start it again: it takes the cluster's times, shoal db timing. Safe meanwhile: its own times are used for it."
    )
    return result_of("timing", TIMING_CONDITION, former, cure, bad=Verdict.NOTE)


async def of_the_nodes(
    connection: AsyncConnection, registered: Registered, settings: ServiceSettings, timing: Timing
) -> list[Result]:
    """Whether masters and workers live, agree, and suffice for what waits."""
    slots = await read_slots(connection, registered)
    workers, queue = await node_listings.workers(connection), await queue_listings.queue_by_group(connection)
    increment = await commands.id_increment(connection)
    step = settings.master.id_step
    stride = [f"ids come in steps of {increment}, and master.id_step is {step}: some slots get no commands"]
    silent_after = 3 * timing.heartbeat_every
    waiting = await queue_listings.without_room(connection, timedelta(seconds=QUEUED_S), COUNTED_MAX)
    return [
        history_result(await went_back.notices(connection)),
        *master_results(slots, silent_after),
        room_result(slots, waiting),
        result_of(
            "stride", "the ids of commands reach every slot", stride if increment != step else [],
            f"Set master.id_step to {increment}, for all masters.", f"step {increment}",
        ),
        *worker_results(workers, queue, silent_after),
        root_result(workers),
        timing_result(rows := [*(master.row for master in slots.masters), *workers], timing),
        drains_result(await drains.every(connection), rows),
    ]  # fmt: skip


def _silent(rows: Sequence[NodeRow], after: timedelta) -> list[str]:
    return [
        f"{row} has been silent for {duration(row.beat_age_s)}"
        for row in rows
        if row.beat_age_s > after.total_seconds()
    ]


def _figure(rows: Sequence[NodeRow], kind: str) -> str:
    running = sum(row.heartbeat.running for row in rows if row.heartbeat)
    what = "run" if kind == NodeKind.MASTER.lower() else "task"
    return f"{counted(len(rows), kind)}, {counted(running, what)}"
