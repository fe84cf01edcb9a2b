"""One call of an operation: who asks, what it works on, and the only way for it to change something.

A change is one transaction, and it contains the audit row that tells of it. With an idempotency key it also contains
the answer, so that the same request has the same effect however often it comes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncConnection

from dao.accounts import audit, idempotency
from dao.accounts.audit import AuditEntry
from dao.accounts.idempotency import Answer
from dao.postgres.database import Database
from model.audits import Outcome
from model.errors import Changed, Forbidden, VersionNeeded
from model.rights import CLUSTER_RIGHTS, Right
from service.callers import Caller
from service.cluster.doctor import MachineChecks
from service.operation import Operation
from service.settings import ServiceSettings
from service.workflows.workflow_file import TaskTypes

A = TypeVar("A")
ANY_VERSION = "*"


@dataclass(frozen=True)
class Backend:
    """What operations work on. `machine` are the doctor's checks of the machine on which they run."""

    database: Database
    settings: ServiceSettings
    task_types: TaskTypes
    machine: MachineChecks


@dataclass(frozen=True)
class Subject:
    """What a change is about. `project` None: the cluster."""

    kind: str
    id: object
    project: str | None = None
    name: str | None = None


@dataclass
class Change(Generic[A]):
    """A change in the making. `before` and `after` are for the audit, without secrets; `answer` is the operation's.

    `id` is that of what was created, which its subject did not know.
    """

    connection: AsyncConnection
    id: object | None = None
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    answer: A | None = None

    def answered(self) -> A:
        """The answer, which has been set."""
        assert self.answer is not None
        return self.answer


@dataclass(frozen=True)
class Replay:
    """A request that may come again: the caller's key, and SHA-256 of method, path and body."""

    key: str
    request_hash: bytes


class Replayed(Exception):
    """The request has been answered before: nothing is done, and the answer is the same."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer


@dataclass
class Call:
    """One call.

    Args:
        backend: what it works on.
        caller: who asks.
        operation: what is asked.
        if_match: the version that the caller has seen of what is to change; None = not said, `*` = any.
        replay: None: the request is new, however often it comes.
    """

    backend: Backend
    caller: Caller
    operation: Operation[Any, Any]
    if_match: str | None = ANY_VERSION
    replay: Replay | None = None
    is_permitted: bool = field(default=False, init=False)

    @property
    def database(self) -> Database:
        """Where everything is stored."""
        return self.backend.database

    @property
    def settings(self) -> ServiceSettings:
        """Which cluster it is."""
        return self.backend.settings

    def permit(self, project: str | None) -> None:
        """Require the operation's right on a project; None: on the cluster. Raises `Forbidden`."""
        right = self.operation.right
        if project is None and right not in CLUSTER_RIGHTS:
            right = Right.ADMINISTER  # what belongs to a workflow that is gone
        self._check_scope()
        self.caller.need(right, project)
        self.is_permitted = True

    def visible(self) -> Collection[str] | None:
        """The projects whose objects a listing may contain; None: all. Raises `Forbidden`."""
        self._check_scope()
        self.is_permitted = True
        return self.caller.projects_with(self.operation.right)

    def _check_scope(self) -> None:
        if not self.caller.may_in_scope(scope := self.operation.scope):
            raise Forbidden(f"this token may not be used here: it needs the scope {scope}; make another token")

    def expect(self, version: object, changed: str = "") -> None:
        """Require that the caller has seen the present version of what is to change.

        Args:
            version: the present one.
            changed: who made it and when, as " by ... at ...".

        Raises:
            VersionNeeded: the caller did not say which version it has seen.
            Changed: it has seen another one.
        """
        if self.if_match is None:
            raise VersionNeeded(
                f"say which version is to be changed: If-Match, with the ETag that was read ({version})"
            )
        if self.if_match not in (ANY_VERSION, str(version)):
            raise Changed(
                f"it was changed meanwhile: version {self.if_match} was read, version {version} is there now{changed}"
            )

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A connection for single reads. Raises `Unavailable`."""
        async with self.database.reading() as connection:
            yield connection

    @asynccontextmanager
    async def changing(self, subject: Subject) -> AsyncIterator[Change[Any]]:
        """The transaction of the change, with its audit row. The right is required first.

        Raises:
            Forbidden: the caller may not.
            Replayed: a request with the same key has been answered.
        """
        self.permit(subject.project)
        async with self.database.writing() as connection:
            await self._begin(connection)
            change: Change[Any] = Change(connection)
            yield change
            await audit.insert(connection, [self._entry(subject, change)])
            if self.replay is not None:
                answer = Answer(self.operation.status, {}, _json(change.answer))
                await idempotency.finish(connection, self.caller.key, self.replay.key, self.replay.request_hash, answer)

    async def raise_answered(self) -> None:
        """Raises `Replayed` if a request with the same key has been answered: what it deleted, for one, is gone."""
        if self.replay is not None:
            async with self.database.writing() as connection:
                await self._begin(connection)

    async def _begin(self, connection: AsyncConnection) -> None:
        if self.replay is not None:
            before = await idempotency.begin(connection, self.caller.key, self.replay.key, self.replay.request_hash)
            if before is not None:
                raise Replayed(before)

    async def record_denial(self, subject: Subject) -> None:
        """Write the audit row of a call that was not permitted."""
        async with self.database.writing() as connection:
            await audit.insert(connection, [self._entry(subject, Change(connection), Outcome.DENIED)])

    def _entry(self, subject: Subject, change: Change[Any], outcome: Outcome = Outcome.DONE) -> AuditEntry:
        return self.caller.entry(
            self.operation.name,
            subject.kind,
            subject.id if change.id is None else change.id,
            subject.name,
            project=subject.project,
            before=change.before,
            after=change.after,
            outcome=outcome,
        )


def _json(answer: object) -> bytes:
    return answer.model_dump_json(exclude_none=True).encode() if isinstance(answer, BaseModel) else b""
