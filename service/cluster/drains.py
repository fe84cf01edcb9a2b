"""The operations that drain a master or worker, so that it takes nothing new, and that end its drain.

A drain belongs to a name: it lasts until it is ended, whatever becomes of the process meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from dao.cluster import drains, nodes
from model.accounts.rights import Right
from model.cluster.nodes import NodeKind, NodeState
from model.errors import NotFound, Refused, Unavailable
from service.call import Call, Subject
from service.explain.answer import names_of
from service.fields import Answer, Asked, Text
from service.operation import operation

if TYPE_CHECKING:
    from dao.cluster.node_rows import Drain, NodeRow
    from dao.postgres.pool import AsyncConnection

WAIT_S_MAX = 30.0
CHECK_EVERY_S = 0.05

NodeName = Annotated[Text, Field(max_length=300, description="its name, or its address if only one has that")]


class WaitForDrain(Asked):
    """How long the answer may wait until the node has confirmed."""

    wait: Annotated[float, Field(ge=0, le=WAIT_S_MAX, description="seconds")] = 5.0


class DrainState(Answer):
    """That a master or worker is to take nothing new. `confirmed`: it has said that it begins nothing new."""

    age_s: float
    asked_by: str
    confirmed: bool

    @classmethod
    def of(cls, drain: Drain, row: NodeRow | None) -> DrainState:
        """The state of a drain; `row` is the living node, if one lives."""
        return cls(age_s=drain.age_s, asked_by=drain.asked_by, confirmed=row is not None and row.is_drained)


class DrainAnswer(Answer):
    """What became of it. `drain` is missing if it takes work. `running` counts what still runs there, None = it is not
    known.

    `is_new`: it was not so before. `alone` names the worker groups in which no other worker takes tasks; of the only
    master that took commands it is `["masters"]`.
    """

    kind: NodeKind
    name: str
    is_alive: bool
    is_new: bool
    running: int | None = None
    drain: DrainState | None = None
    alone: Sequence[str] = ()

    @property
    def is_done(self) -> bool:
        """Whether nothing is to be waited for: it is confirmed, or nobody lives who could confirm."""
        return self.drain is None or self.drain.confirmed or not self.is_alive


async def with_confirmation(call: Call, answer: DrainAnswer, query: WaitForDrain) -> DrainAnswer:
    """The answer once the node has confirmed that it begins nothing new, or after the time that may be waited."""
    if answer.is_done or not query.wait:
        return answer
    try:
        async with asyncio.timeout(query.wait):
            # It may be absent meanwhile: a master is, between two of its lives.
            while answer.drain is not None and not answer.drain.confirmed:
                await asyncio.sleep(CHECK_EVERY_S)
                answer = await call.read(_answer, answer.kind, answer.name, is_new=answer.is_new)
    except (TimeoutError, Unavailable):
        pass
    return answer


@operation("POST", "/masters/{name}/drain", Right.ADMINISTER, "cluster", completes=with_confirmation)
async def drain_master(call: Call, name: NodeName, query: WaitForDrain) -> DrainAnswer:
    """Drain a master: it gives its slot and its runs to others, and takes no commands until it is undrained."""
    return await with_confirmation(call, await _drain(call, NodeKind.MASTER, name), query)


@operation("POST", "/masters/{name}/undrain", Right.ADMINISTER, "cluster")
async def undrain_master(call: Call, name: NodeName) -> DrainAnswer:
    """Let a drained master take a slot and commands again."""
    return await _undrain(call, NodeKind.MASTER, name)


@operation("POST", "/workers/{name}/drain", Right.ADMINISTER, "cluster", completes=with_confirmation)
async def drain_worker(call: Call, name: NodeName, query: WaitForDrain) -> DrainAnswer:
    """Drain a worker: its tasks go on to their ends, its streams go on elsewhere at once, and it begins no others.

    That holds until it is undrained.
    """
    return await with_confirmation(call, await _drain(call, NodeKind.WORKER, name), query)


@operation("POST", "/workers/{name}/undrain", Right.ADMINISTER, "cluster")
async def undrain_worker(call: Call, name: NodeName) -> DrainAnswer:
    """Let a drained worker take tasks again."""
    return await _undrain(call, NodeKind.WORKER, name)


async def _drain(call: Call, kind: NodeKind, asked: str) -> DrainAnswer:
    async with call.changing(Subject("node", None, name=asked)) as change:
        name = await _named(change.connection, kind, asked)
        row = _living(await nodes.living(change.connection), kind, name)
        if row is not None and row.heartbeat is not None and row.heartbeat.drained is None:
            raise Refused(
                f"{kind.lower()} {name} is of a version of Shoal that cannot be drained; stop it with SIGTERM: "
                f"it takes nothing new then, and what runs gets some time to end"
            )
        is_new = await drains.ask(change.connection, kind, name, call.caller.name)
        change.id = change.name = name
        change.before, change.after = {"drained": not is_new}, {"kind": kind, "drained": True}
        change.answer = await _answer(change.connection, kind, name, is_new=is_new)
    return change.answered(DrainAnswer)


async def _undrain(call: Call, kind: NodeKind, asked: str) -> DrainAnswer:
    async with call.changing(Subject("node", None, name=asked)) as change:
        name = await _named(change.connection, kind, asked)
        is_new = await drains.end(change.connection, kind, name)
        change.id = change.name = name
        change.before, change.after = {"drained": is_new}, {"kind": kind, "drained": False}
        change.answer = await _answer(change.connection, kind, name, is_new=is_new)
    return change.answered(DrainAnswer)


async def _named(connection: AsyncConnection, kind: NodeKind, asked: str) -> str:
    """The name that is meant: of nodes that live or lived, or that are drained."""
    found = await drains.known(connection, kind, asked)
    drained = [each.name for each in await drains.every(connection) if each.kind is kind]
    if asked in drained or any(each.name == asked for each in found):
        return asked
    names = {each.name for each in found if each.lives} or {each.name for each in found}
    if len(names) == 1:
        return names.pop()
    who = kind.lower()
    if names:
        raise Refused(f"{len(names)} {who}s have the address {asked}; say which by its name: {names_of(sorted(names))}")
    known = {row.shown for row in await nodes.living(connection) if row.kind is kind} | set(drained)
    there = f"known: {names_of(sorted(known))}" if known else f"none is alive or drained; start one: shoal {who}"
    raise NotFound(f'there is no {who} "{asked}"; {there}')


async def _answer(connection: AsyncConnection, kind: NodeKind, name: str, *, is_new: bool) -> DrainAnswer:
    living = await nodes.living(connection)
    row = _living(living, kind, name)
    drain = next(
        (each.drain for each in await drains.every(connection) if (each.kind, each.name) == (kind, name)), None
    )
    return DrainAnswer(
        kind=kind,
        name=name,
        is_alive=row is not None,
        is_new=is_new,
        running=row.heartbeat.running if row is not None and row.heartbeat is not None else None,
        drain=None if drain is None else DrainState.of(drain, row),
        alone=() if drain is None or row is None else _alone(living, row),
    )


def _alone(living: Sequence[NodeRow], row: NodeRow) -> list[str]:
    others = [
        each
        for each in living
        if each.kind is row.kind and each.epoch != row.epoch and each.state is NodeState.ALIVE and each.drain is None
    ]
    if row.kind is NodeKind.MASTER:
        return [] if others else ["masters"]
    served = {group for each in others if each.heartbeat is not None for group in each.heartbeat.groups}
    return [group for group in (row.heartbeat.groups if row.heartbeat is not None else ()) if group not in served]


def _living(living: Sequence[NodeRow], kind: NodeKind, name: str) -> NodeRow | None:
    """The latest life, while one ends and the next has begun."""
    return next((row for row in reversed(living) if (row.kind, row.shown) == (kind, name)), None)
