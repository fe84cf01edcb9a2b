"""Compares the same call on the model and on a real database: their answers and the rows they leave."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from operator import itemgetter
from random import Random
from typing import Any

import psycopg

from dao.cluster import drains
from dao.postgres.database import Database
from dao.postgres.errors import BadData, translated
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from model.cluster.nodes import NodeKind
from model.errors import ShoalError
from tests.bridge.rows import SEQUENCES, SNAPSHOT, Moments, Rows, Told, of_database, of_model, plain
from tests.simulation.invariants import Invariants
from tests.simulation.loop import VirtualLoop
from tests.simulation.protections import Protections
from tests.simulation.server import Server
from tests.simulation.tables import FINAL, Row, Table, Transaction
from tests.simulation.trace import Trace
from tests.simulation.wiring import models

UNORDERED = (
    *(
        "dao.tasks.task_claims.claim",
        "dao.tasks.task_claims.owned",
        "dao.tasks.task_instances.halt",
        "dao.tasks.task_timers.queue_due",
    ),
    *("dao.streams.stream_claims.claim", "dao.pools.pool_claims.claim", "dao.pools.pool_claims.waiters"),
    *(
        "dao.tasks.past_attempts.latest_attempts",
        "dao.commands.deadly_commands.try_next",
        "dao.runs.workflow_instances.read_owned",
    ),
    *("dao.runs.failover.left_behind", "dao.tasks.lost_tasks.lost"),
    *("dao.runs.workflow_instances.finish", "dao.runs.workflow_instances.still_owned", "dao.runs.children.of"),
    *("dao.runs.dependencies.waiting_of", "dao.runs.dependencies.still_waiting"),
)
"""Statements that promise no order of what they answer, or one by times that two rows may share in the model only."""
CLOCK_STEP_S = 0.01
"""How far the model's clock advances between two calls."""
_AN_INSTANT_S = 1e-6
_SHIFTED = {
    "command": ("created_at",),
    "node_beat": ("beaten_at",),
    "workflow_instance": ("started_at", "ended_at", "owned_since", "running_since"),
    "task_instance": ("queued_at", "started_at", "ended_at", "due_at", "dispatch_by"),
    "schedule": ("updated_at", "counts_from"),
    "stream_restart": ("asked_at", "begun_at"),
    "pool_resource": ("free_since",),
}
"""The columns that hold times of the database's clock."""


class Differs(Exception):
    """Model and reality have parted, in the call of this name."""

    def __init__(self, call: str, sentence: str) -> None:
        super().__init__(sentence)
        self.call = call


class GivenUp(Exception):
    """A call was refused by both in the same way, or the program wants no commit: the transaction is rolled back."""


@dataclass(frozen=True, slots=True)
class Each:
    """An argument that is not the same in both: what was read from one store goes back to it."""

    real: Any
    model: Any


def empty_model() -> Server:
    """A server of the simulation, with nothing in it and nothing that goes wrong."""
    loop = VirtualLoop()  # type: ignore[abstract]
    trace = Trace(loop)
    return Server(loop, Random(0), Protections(), trace, Invariants(trace))


def model_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The model of a function of `dao/`."""
    return models()[f"{function.__module__}.{function.__name__}"]


class TwoStores:
    """One program, one transaction at a time."""

    def __init__(self, database: Database, server: Server) -> None:
        self.server = server
        self.trace: list[str] = []
        self.called: Counter[str] = Counter()
        self.calls = 0
        self.tx = Transaction(server)
        self._database = database
        self._connection: AsyncConnection
        self._real, self._model = Moments(), Moments()
        self.last_ids: dict[str, int] = {}

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """One in both, committed at the end of the block; `GivenUp` rolls it back in both."""
        self.tx = Transaction(self.server)
        try:
            async with self._database.writing() as self._connection:
                yield
                await self._compare_rows("the end of the transaction")
        except GivenUp as given_up:
            self.trace.append(f"  rolled back: {given_up}")
            self.tx.roll_back()
            async with self._database.reading() as self._connection:
                await self._compare_rows("the rollback")
        except BaseException:
            self.tx.roll_back()
            raise
        else:
            self.trace.append("  committed")
            self.tx.install()

    async def call(self, function: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> Any:
        """Both do it; the real answer. Raises `Differs`, or `GivenUp` when both refuse."""
        name = f"{function.__module__}.{function.__name__}"
        return await self.both(name, function, models()[name], *args, **kwargs)

    async def pair(self, function: Callable[..., Awaitable[Any]], *args: Any) -> Each:
        """As `call`, with the model's answer beside the real one."""
        name = f"{function.__module__}.{function.__name__}"
        real = await self.both(name, function, models()[name], *args)
        return Each(real, self._model_answer)

    async def both(
        self, name: str, real: Callable[..., Awaitable[Any]], model: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """As `call`, for two functions that have different names."""
        self.calls += 1
        self.called[name] += 1
        self.server.loop.now += CLOCK_STEP_S
        told = ", ".join([*(_told(arg) for arg in args), *(f"{key}={value!r}" for key, value in kwargs.items())])
        self.trace.append(f"{self.calls:>4} {name.removeprefix('dao.')}({told})")
        before = dict(self.tx.writes)
        theirs = await outcome_of(real, self._connection, *[_of(arg, "real") for arg in args], **kwargs)
        ours = self._perform(model, [_of(arg, "model") for arg in args], kwargs)
        if isinstance(theirs, ShoalError) or isinstance(ours, Exception):
            if _kind(theirs) != _kind(ours):
                raise self._differs(name, "the answer", theirs, ours)
            raise GivenUp(f"{type(theirs).__name__}: {theirs}")
        rows_differ = await self._differing_rows() if self.tx.writes != before else None
        shown_real, shown_model = self._shown(name, theirs, self._real), self._shown(name, ours, self._model)
        self.trace.append(f"       = {shown_real!r}")
        if shown_real != shown_model:
            raise self._differs(name, "the answer", shown_real, shown_model)
        if rows_differ is not None:
            raise self._differs(name, *rows_differ)
        self._model_answer = ours
        return theirs

    async def compare(self, after: str, connection: AsyncConnection) -> Rows:
        """The rows that are committed in both. Raises `Differs`."""
        self.tx, self._connection = Transaction(self.server), connection
        await self._compare_rows(after)
        return of_model(self.tx, self._model)

    async def hours_pass(self, hours: float) -> None:
        """Let hours pass in both stores, between two transactions."""
        self.trace.append(f"     {hours} hours pass")
        self.server.clock_step_s += 3600 * hours
        self._real.shift(3600 * hours)
        async with self._database.writing() as connection:
            for table, columns in _SHIFTED.items():
                changes = ", ".join(f"{name} = {name} - make_interval(hours => :hours)" for name in columns)
                await connection.execute(Sql(f"UPDATE {table} SET {changes}"), {"hours": hours})
            shifted = "UPDATE workflow_instance SET schedule_time = schedule_time - make_interval(hours => :hours) "
            await connection.execute(Sql(shifted + "WHERE schedule_time > '2021-01-01'"), {"hours": hours})

    async def drain(self, kind: NodeKind, name: str) -> None:
        """Ask that its nodes take nothing new, or end that; by a person, between two transactions."""
        self.trace.append(f"     somebody asks or ends a drain: {kind} {name}")
        async with self._database.writing() as connection:
            if not await drains.end(connection, kind, name):
                await drains.ask(connection, kind, name, "somebody")
            found = await drains.every(connection)
        self.server.drains = {(each.kind, each.name): each.drain.id for each in found}

    # ------------------------------------------------------------------------------------------- inside

    def _perform(self, model: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
        try:
            return self.tx.perform(model, args, kwargs)
        except ShoalError as error:
            return error

    async def _compare_rows(self, after: str) -> None:
        differing = await self._differing_rows()
        if differing is not None:
            raise self._differs(after, *differing)

    async def _differing_rows(self) -> tuple[str, object, object] | None:
        """The first row that is not the same in both, if there is one: where, there, here."""
        found = [tuple(row) for row in (await self._connection.execute(Sql(SNAPSHOT))).all()]
        self._real.ends_s.append(datetime.fromisoformat(found[0][1]).timestamp())
        self._model.ends_s.append(self.server.now().timestamp() + CLOCK_STEP_S / 2)
        real = of_database(found, self._real)
        self._keep_ids_equal(found, real)
        self._keep_turns_equal(found)
        return _first_difference(real, of_model(self.tx, self._model))

    def _keep_ids_equal(self, found: list[tuple[Any, ...]], real: Rows) -> None:
        """Both sequences go on where the database's stands; what one statement inserted has its ids in any order."""
        for name, value in found:
            if not name.endswith("_id_seq"):
                continue
            name = name.removesuffix("_id_seq")
            table: Table = getattr(self.server, SEQUENCES[name])
            last, now = self.last_ids.get(name, 0), int(value)
            if now == last == table.last_id:
                continue
            model = of_model(self.tx, self._model)
            new = sorted((id_, told) for (kind, id_), told in model.items() if kind == name and id_ > last)
            inserted = sorted((id_, told) for (kind, id_), told in real.items() if kind == name and id_ > last)
            if len(new) == len(inserted):
                self._give_ids(table, new, inserted)
            self.last_ids[name] = table.last_id = now

    def _keep_turns_equal(self, found: list[tuple[Any, ...]]) -> None:
        """Order the model's free items as one statement returned them, which is any order."""
        freed = [row for row in self.tx.writes if row.table is self.server.resources]
        if not freed:
            return
        resources = [json.loads(row) for name, row in found if name == "pool_resource"]
        turns = {each["name"]: turn for turn, each in enumerate(sorted(resources, key=itemgetter("free_since", "id")))}
        for row in freed:
            values = self.tx.see(row)
            assert values is not None
            since_s = round(values.free_since_s, 3) if values.free_since_s > -inf else -inf
            self.tx.writes[row] = values.but({"free_since_s": since_s + _AN_INSTANT_S * turns[row.id]})

    def _give_ids(self, table: Table, new: list[tuple[int, Told]], inserted: list[tuple[int, Told]]) -> None:
        """Rows of the model that are the same as rows of the database get their ids."""
        given: dict[int, Row] = {}
        left = list(inserted)
        for id_, told in new:
            same = next((one for one in left if {**one[1], "id": id_} == told), None)
            if same is None:
                return
            left.remove(same)
            given[same[0]] = table.rows[id_]
        if all(id_ == row.id for id_, row in given.items()):
            return
        for row in given.values():
            del table.rows[row.id]
            table.unfinished.pop(row.id, None)
        for id_, row in sorted(given.items()):
            values = self.tx.see(row)
            assert values is not None
            changes: dict[str, Any] = {"id": id_} if "id" in values.__dict__ else {}
            if "row" in values.__dict__:
                changes["row"] = replace(values.row, id=id_)
            row.id = id_
            if row in self.tx.writes:
                self.tx.writes[row] = values.but(changes)
            else:
                row.values = values.but(changes)
            table.rows[id_] = row
            if table.name in FINAL:
                table.unfinished[id_] = row

    def _shown(self, name: str, answer: Any, moments: Moments) -> Any:
        shown = plain(answer, moments)
        if name in UNORDERED:
            if isinstance(shown, dict):
                return {key: sorted(each, key=str) for key, each in shown.items()}
            return sorted(shown, key=str)
        return shown

    def _differs(self, name: str, where: str, real: object, model: object) -> Differs:
        told = "\n".join(self.trace[-60:])
        return Differs(name, f"{name}: {where}\n  real:  {real}\n  model: {model}\n{told}")


async def outcome_of(function: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> Any:
    """The answer of a function of `dao/`, or the error that its caller would get."""
    try:
        return await function(*args, **kwargs)
    except ShoalError as error:
        return error
    except psycopg.Error as error:
        return translated(error)


def _kind(answer: Any) -> object:
    """The part of an error that callers act on: its class, and for bad data the SQLSTATE."""
    if isinstance(answer, BadData):
        return "BadData", str(answer)[-7:]
    return type(answer) if isinstance(answer, Exception) else None


def _of(argument: Any, store: str) -> Any:
    return getattr(argument, store) if isinstance(argument, Each) else argument


def _told(argument: Any) -> str:
    return repr(argument.real if isinstance(argument, Each) else argument)


def _first_difference(real: Rows, model: Rows) -> tuple[str, object, object] | None:
    for key in sorted(real.keys() | model.keys()):
        there, here = real.get(key), model.get(key)
        if there == here:
            continue
        where = f"{key[0]} {key[1]}"
        if there is None or here is None:
            return where, there, here
        columns = [name for name in there if there[name] != here[name]]
        return where, {name: there[name] for name in columns}, {name: here[name] for name in columns}
    return None
