"""The record of slots is for people: a database that hangs there delays no master."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from dao.cluster import slot_changes
from master.membership.membership import Membership
from model.cluster.master_settings import MasterSettings
from model.cluster.nodes import NodeKind
from model.cluster.slots import Slot
from registry.connect import make_registry
from tests.eventually import eventually
from tests.master.lives import begin_life


async def test_a_record_that_hangs_does_not_delay_the_slots(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Method: the write of the first view never ends; the slots of a second master must come all the same."""
    begun = asyncio.Event()

    async def hangs(*_: Any) -> None:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(slot_changes, "record", hangs)
    session = timedelta(seconds=10)
    lives = [await begin_life(database_url, name) for name in ("m1", "m2")]
    registries = [make_registry(database_url, session_timeout=session, application_name="shoal-test") for _ in lives]
    for registry in registries:
        await registry.open(5)
    first, second = (
        Membership(life, registry, MasterSettings(), lambda: 0, asyncio.Event())
        for life, registry in zip(lives, registries, strict=True)
    )
    await first.join()
    running = [asyncio.create_task(part) for part in (first.watch(), first.record(), first.beat())]
    try:
        await asyncio.wait_for(begun.wait(), 30)
        await second.join()
        await eventually(lambda: first.slot, until=Slot(0, 2))
        assert len(await registries[0].members(NodeKind.MASTER)) == 2
    finally:
        for task in running:
            task.cancel()
        await asyncio.wait(running)
        for registry in registries:
            await registry.close()
        for life in lives:
            await life.close()
