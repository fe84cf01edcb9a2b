"""The faults, and a seeded stream of them."""

from __future__ import annotations

import asyncio
import contextlib
import random
import resource
import signal
from collections.abc import Collection, Iterator
from functools import partial

from tests.chaos.draining import drain, undrain_all
from tests.chaos.fault import Epochs, Factory, Fault, epochs_of, fault
from tests.chaos.proxy import Way
from tests.chaos.site import SESSION_S, WORKER_FENCE_S, Member, Role, Site
from tests.chaos.strangers import LOCKS, Lock, add_schedule, edit, set_read_only
from tests.chaos.worker_faults import (
    disk_filled,
    frozen_below,
    frozen_in_a_crowd,
    keepers_killed,
    launchers_killed,
)

ROLLING = "rolling restart"


def _kill(members: list[Member]) -> Epochs:
    epochs = epochs_of(*members)
    for member in members:
        member.signal(signal.SIGKILL)
    for member in members:  # who still lives is not started again
        if member.node is not None:
            member.node.kill()
    return epochs


def _killed(role: Role, chance: random.Random, site: Site, _outage_s: float) -> Fault:
    member = site.pick(chance, role)
    return fault(
        f"kill -9 {role}", "process", f"kill -9 {member.name}", chance.uniform(0.5, 5), lambda: _kill([member]),
        member.start,
    )  # fmt: skip


def _all_masters_killed(chance: random.Random, site: Site, _outage_s: float) -> Fault:
    def kill() -> Epochs:
        epochs = _kill(site.masters)
        add_schedule(site)
        return epochs

    def start() -> None:
        for member in site.masters:
            member.start()

    what = "kill -9 all masters, and a schedule is made"
    return fault("kill -9 all masters", "process", what, chance.uniform(0.5, 3), kill, start)


def _paused(role: Role, chance: random.Random, site: Site, _outage_s: float) -> Fault:
    member = site.pick(chance, role)
    lasts_s = WORKER_FENCE_S + chance.uniform(3, 5) if role == "worker" else 3 * SESSION_S + chance.uniform(0, 2)

    def pause() -> Epochs:
        epochs = epochs_of(member)
        member.signal(signal.SIGSTOP)
        return epochs

    what = f"SIGSTOP {member.name}"
    return fault(f"SIGSTOP {role}", "process", what, lasts_s, pause, lambda: member.signal(signal.SIGCONT))


def _rolling_restart(chance: random.Random, site: Site, _outage_s: float) -> Fault:
    members = chance.sample(site.members, k=len(site.members))

    async def restart() -> Epochs:
        epochs = epochs_of(*members)
        for member in members:
            former = member.node
            member.signal(signal.SIGTERM)
            if former is not None:
                await former.ended(within_s=30)
            member.start()
            while member.lives and not member.has_joined:
                await asyncio.sleep(0.1)
        return epochs

    async def nothing() -> None:
        pass

    return Fault(ROLLING, "process", "SIGTERM and start each in turn", 0.0, restart, nothing)


def _drained(chance: random.Random, site: Site, _outage_s: float) -> Fault:
    count, seed = chance.randint(1, len(site.members)), str(chance.random())

    async def begin() -> Epochs:
        drain(site, count, seed)
        return set()

    lasts_s = chance.uniform(0.2, 6)
    what = f"up to {count} nodes are drained, {lasts_s:.1f} s"
    return Fault("drain", "drain", what, lasts_s, begin, partial(undrain_all, site))


def _leader_killed(chance: random.Random, site: Site, _outage_s: float) -> Fault:
    def kill() -> None:
        leader = site.ensemble.leader()
        if leader is not None:
            leader.kill()

    what = "kill -9 ZooKeeper's leader"
    return fault("ZooKeeper leader kill", "zookeeper", what, chance.uniform(1, 5), kill, site.ensemble.start)


def _ensemble_stopped(_chance: random.Random, site: Site, outage_s: float) -> Fault:
    what = "stop the whole ensemble"
    return fault("ensemble stop", "zookeeper", what, outage_s, site.ensemble.stop, site.ensemble.start)


def _postgres_down(chance: random.Random, site: Site, _outage_s: float) -> Fault:
    mode = chance.choice(("fast", "immediate", "kill -9"))

    def stop() -> None:
        if mode == "kill -9":
            site.postgres.kill()
        else:
            site.postgres.stop("fast" if mode == "fast" else "immediate")

    what = f"PostgreSQL down ({mode})"
    return fault("PostgreSQL restart", "postgres", what, chance.choice((0.0, 1.0, 4.0)), stop, site.postgres.start)


def _postgres_frozen(chance: random.Random, site: Site, _outage_s: float) -> Fault:
    what = "PostgreSQL accepts and does not answer"
    return fault("PostgreSQL frozen", "postgres", what, chance.uniform(2, 8), site.postgres.pause, site.postgres.resume)


_OTHERS = "FROM pg_stat_activity WHERE application_name LIKE 'shoal-%' AND pid <> pg_backend_pid()"


def _terminated(chance: random.Random, site: Site, _outage_s: float) -> Fault:
    rounds = chance.randrange(1, 6)

    async def terminate() -> Epochs:
        for _ in range(rounds):
            with site.postgres.connect() as connection:
                connection.execute(f"SELECT pg_terminate_backend(pid) {_OTHERS}")
            await asyncio.sleep(0.3)
        return set()

    async def nothing() -> None:
        pass

    what = f"pg_terminate_backend on all sessions, {rounds} times"
    return Fault("pg_terminate_backend", "postgres", what, 0.0, terminate, nothing)


def _dropped(chance: random.Random, site: Site, _outage_s: float) -> Fault:
    members = chance.sample(site.members, k=chance.randrange(1, len(site.members) + 1))

    def drop() -> None:
        for member in members:
            for gate in member.gates:
                gate.drop()

    names = ", ".join(member.name for member in members)
    return fault("connections dropped", "network", f"drop all connections of {names}", 0.0, drop)


def _delayed(chance: random.Random, site: Site, _outage_s: float) -> Fault:
    members = chance.sample(site.members, k=chance.randrange(1, len(site.members) + 1))
    seconds = chance.choice((0.02, 0.1, 0.3))

    def delay(by_s: float) -> None:
        for member in members:
            for gate in member.gates:
                gate.delay(by_s)

    what = f"{seconds:g} s of delay each way for {', '.join(member.name for member in members)}"
    return fault("connections delayed", "network", what, chance.uniform(2, 6), lambda: delay(seconds), lambda: delay(0))


def _cut_off(chance: random.Random, site: Site, _outage_s: float) -> Fault:
    member = site.pick(chance)
    which = chance.choice(("the database", "the registry", "both"))
    gates = {"the database": [member.database], "the registry": member.registry, "both": member.gates}[which]
    how = chance.choice(("held", "refused"))
    lasts_s = chance.uniform(1, 4 * SESSION_S)

    def cut() -> None:
        for gate in gates:
            gate.hold() if how == "held" else gate.refuse()

    def fix() -> None:
        for gate in gates:
            gate.open()

    return fault("cut off", "network", f"{member.name} cut off from {which} ({how})", lasts_s, cut, fix)


def _swallowed(way: Way, chance: random.Random, site: Site, _outage_s: float) -> Fault:
    members = chance.sample(site.members, k=chance.randrange(1, len(site.members) + 1))
    what = chance.choice(("the database", "all servers"))
    gates = [gate for member in members for gate in (member.gates if what == "all servers" else [member.database])]

    def swallow() -> None:
        for gate in gates:
            gate.swallow(way)

    def open_again() -> None:
        for gate in gates:
            gate.open()

    lost = "is asked" if way is Way.ASK else "is answered"
    sentence = f"links of {', '.join(member.name for member in members)} to {what} acknowledge what {lost} and lose it"
    return fault("links that swallow", "network", sentence, chance.uniform(1, 4), swallow, open_again)


def _without_descriptors(chance: random.Random, site: Site, _outage_s: float) -> Fault:
    member = site.pick(chance)
    before: dict[int, tuple[int, int]] = {}

    def take() -> None:
        if member.node is not None and member.lives:
            pid = member.node.pid
            before[pid] = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (chance.choice((3, 24)), before[pid][1]))

    def give_back() -> None:
        for pid, limits in before.items():
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)

    what = f"{member.name} can open nothing"
    return fault("no descriptors", "descriptors", what, chance.uniform(1, 4), take, give_back)


def _commits_lost(chance: random.Random, site: Site, _outage_s: float) -> Fault:
    count, late_s = chance.randrange(1, 5), chance.choice((0.0, 0.5, 1.5))

    def lose(many: int) -> None:
        for member in site.members:
            member.database.lose_commits(many, late_s)

    what = f"the answers of {count} COMMITs of each lost, arriving {late_s:g} s late"
    return fault("COMMIT answer lost", "network", what, 3.0, lambda: lose(count), lambda: lose(0))


def _locked(chance: random.Random, site: Site, _outage_s: float) -> Fault:
    names = chance.sample(LOCKS, k=chance.randrange(1, 4))
    locks = [Lock(site, name) for name in names]

    def take() -> None:
        for lock in locks:
            lock.take()

    def release() -> None:
        for lock in locks:
            lock.release()

    what = f"somebody locks {', '.join(names)}"
    return fault("locks of strangers", "postgres", what, chance.uniform(1, 5), take, release)


def _read_only(chance: random.Random, site: Site, _outage_s: float) -> Fault:
    what = "PostgreSQL is read-only"
    return fault(
        "PostgreSQL read-only", "postgres", what, chance.uniform(1, 4),
        lambda: set_read_only(site, "on"), lambda: set_read_only(site, "off"),
    )  # fmt: skip


def _edited(chance: random.Random, site: Site, _outage_s: float) -> Fault:
    count = chance.randrange(3, 12)
    return fault("rows edited", "people", f"{count} rows are edited by hand", 0.0, lambda: edit(site, chance, count))


FACTORIES: dict[Factory, int] = {
    partial(_killed, "master"): 4,
    partial(_killed, "worker"): 3,
    partial(_paused, "master"): 3,
    partial(_paused, "worker"): 2,
    partial(_killed, "api"): 2,
    partial(_paused, "api"): 1,
    _all_masters_killed: 1,
    _rolling_restart: 1,
    _drained: 3,
    _leader_killed: 3,
    _ensemble_stopped: 1,
    _postgres_down: 3,
    _postgres_frozen: 1,
    _terminated: 3,
    _dropped: 3,
    _delayed: 2,
    _cut_off: 4,
    partial(_swallowed, Way.ASK): 2,
    partial(_swallowed, Way.ANSWER): 2,
    _without_descriptors: 2,
    _commits_lost: 3,
    _locked: 3,
    _read_only: 2,
    _edited: 4,
    launchers_killed: 2,
    keepers_killed: 2,
    frozen_below: 3,
    frozen_in_a_crowd: 1,
    disk_filled: 3,
}
"""The possible faults, and their relative frequency."""

AT_ONCE = 0.25
"""How many of the faults come with a second one before they are healed."""


def stream(seed: int, site: Site, outage_s: float, only: Collection[str] = ()) -> Iterator[Fault]:
    """An endless stream of faults. The same seed gives the same kinds, times and places, as long as the same members
    live.

    Each kind comes once before chance alone rules, so that a short run meets as many as it can. With `only`, those
    kinds and no others; `ValueError` when there is none of them.
    """
    chance = random.Random(f"faults {seed}")
    weights = {
        factory: weight
        for factory, weight in FACTORIES.items()
        if (site.apis or not (isinstance(factory, partial) and factory.args == ("api",)))
        and (not only or factory(random.Random(0), site, outage_s).kind in only)
        and (factory is not disk_filled or all(worker.disk is not None for worker in site.workers))
    }
    if not weights:
        raise ValueError(f"there is no kind of fault among {', '.join(only)}")
    first = list(weights)
    chance.shuffle(first)
    while True:
        factory = first.pop() if first else chance.choices(list(weights), weights=list(weights.values()))[0]
        first_one = factory(chance, site, outage_s)
        if chance.random() < AT_ONCE:
            second = chance.choices(list(weights), weights=list(weights.values()))[0](chance, site, outage_s)
            # Who restarts one after the other waits for each to join, which a server that is away would hold up.
            if second.family != first_one.family and second.kind != ROLLING:
                yield _together(first_one, second)
                continue
        yield first_one


def _together(first: Fault, second: Fault) -> Fault:
    async def begin() -> Epochs:
        return await first.begin() | await second.begin()

    async def end() -> None:
        # Side by side: to end drains wants a database, which only the end of the other fault may start again.
        await asyncio.gather(second.end(), first.end())

    return Fault(
        "two at once",
        "all",
        f"{first.what} + {second.what}",
        max(first.lasts_s, second.lasts_s),
        begin,
        end,
    )
