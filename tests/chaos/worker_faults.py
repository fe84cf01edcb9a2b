"""Faults of what is below a worker: its launchers, its keepers, its disk."""

from __future__ import annotations

import asyncio
import random
import signal

import psutil

from tests.chaos import below
from tests.chaos.crowd import SIZE, Crowd
from tests.chaos.disk import FREE_MIN
from tests.chaos.fault import Epochs, Fault, epochs_of, fault
from tests.chaos.site import WORKER_FENCE_S, Site


def launchers_killed(chance: random.Random, site: Site, _outage_s: float) -> Fault:
    worker = site.pick(chance, "worker")

    def kill() -> None:
        below.send(signal.SIGKILL, below.launchers(worker))

    return fault("kill -9 launchers", "below", f"kill -9 the launchers of {worker.name}", 0.0, kill)


def keepers_killed(chance: random.Random, site: Site, _outage_s: float) -> Fault:
    worker, most = site.pick(chance, "worker"), chance.randrange(1, 4)

    def kill() -> None:
        for kept in below.keepers(worker)[:most]:
            site.unkept.add((kept.key, kept.attempt))
            below.send(signal.SIGKILL, [kept.process])

    return fault("kill -9 keepers", "below", f"kill -9 up to {most} keepers of {worker.name}", 0.0, kill)


def frozen_below(chance: random.Random, site: Site, _outage_s: float) -> Fault:
    worker = site.pick(chance, "worker")
    whom = chance.choice(("launchers", "keepers", "launchers and keepers"))
    frozen: list[psutil.Process] = []

    def freeze() -> None:
        if "launchers" in whom:
            frozen.extend(below.launchers(worker))
        if "keepers" in whom:
            frozen.extend(kept.process for kept in below.keepers(worker))
        below.send(signal.SIGSTOP, frozen)

    what = f"SIGSTOP the {whom} of {worker.name}"
    return fault(
        "SIGSTOP below a worker", "below", what, chance.uniform(1, WORKER_FENCE_S + 2), freeze,
        lambda: below.send(signal.SIGCONT, frozen),
    )  # fmt: skip


def frozen_in_a_crowd(chance: random.Random, site: Site, _outage_s: float) -> Fault:
    worker, crowd = site.pick(chance, "worker"), Crowd()
    frozen: list[psutil.Process] = []

    async def freeze() -> Epochs:
        await asyncio.to_thread(crowd.gather)
        epochs = epochs_of(worker)
        frozen.extend(below.freeze(worker))
        return epochs

    async def thaw() -> None:
        worker.signal(signal.SIGCONT)
        below.send(signal.SIGCONT, frozen)
        await asyncio.to_thread(crowd.disperse)

    lasts_s = WORKER_FENCE_S + chance.uniform(12, 16)  # it is fenced only after several scans
    what = f"SIGSTOP {worker.name} and all below it, beside {SIZE} other processes, {lasts_s:.1f} s"
    return Fault("SIGSTOP in a crowd", "process", what, lasts_s, freeze, thaw)


def disk_filled(chance: random.Random, site: Site, _outage_s: float) -> Fault:
    worker, left = site.pick(chance, "worker"), chance.choice((0, 100_000, FREE_MIN // 2))

    def fill() -> None:
        assert worker.disk is not None
        site.cramped.update(epochs_of(worker))
        worker.disk.fill(left)

    def empty() -> None:
        assert worker.disk is not None
        site.cramped.update(epochs_of(worker))  # who was started meanwhile
        worker.disk.empty()

    what = f"the disk of {worker.name} is full but for {left} bytes"
    return fault("disk full", "disk", what, chance.uniform(1, 5), fill, empty)
