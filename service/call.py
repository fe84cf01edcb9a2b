"""One call of an operation: its caller, what it works on, and the only way for it to change something.

A change is one transaction, and it contains the audit row that tells of it. With an idempotency key it also contains
the answer, so that the same request has the same effect however often it comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from dao.accounts import audit, idempotency
from model.accounts.audits import Outcome
from model.accounts.rights import CLUSTER_RIGHTS, Right
from model.errors import Changed, Forbidden, Hidden, NotFound, VersionNeeded
from model.ids import AccountId, TokenId
from service.answered import headers_of, json_of
from service.batches import Batches
from service.callers import Caller
from service.cluster.figure_samples import Samples
from service.operation import Operation
from service.runs.asking_versions import AskingVersions
from service.settings import ServiceSettings

if TYPE_CHECKING:
    from dao.accounts.audit import AuditEntry
    from dao.accounts.idempotency import Answer, KeyedRequest
    from dao.postgres.database import Database
    from dao.postgres.pool import AsyncConnection
    from service.accounts.passwords import Passwords
    from service.checks.doctor import MachineChecks
    from service.cluster.drill import Drill
    from service.cluster.registered_masters import RegisteredMasters
    from service.logs.stored_logs import StoredLogs
    from service.slots.slot_owners import SlotOwners
    from service.workflows.importing import Importer
    from service.workflows.workflow_file import TaskTypes

A = TypeVar("A")
P = ParamSpec("P")
R = TypeVar("R")
ANY_VERSION = "*"


class Connects(Protocol):
    """Connects to users' databases as a worker does."""

    async def __call__(self, name: str, url: str) -> str:
        """Connect to the data source of this name and whole URL, and run a query; returns the kind of database.

        Raises:
            Refused: the URL is wrong, the driver is missing, or the database refused the query.
            Unavailable: it cannot be reached, or does not let us in.
        """


class ChannelFault(Protocol):
    """Reads the URL of a channel as a sender of alerts does, without sending anything."""

    async def __call__(self, url: str, /) -> str | None:
        """What is wrong with it, in a sentence without a secret; None: nothing is."""


async def _no_fault(_url: str, /) -> str | None:
    return None


class Saved(Protocol):
    """What has a version, raised whenever somebody saves it."""

    @property
    def version(self) -> int: ...
    @property
    def updated_at(self) -> datetime: ...
    @property
    def updated_by(self) -> str: ...


@dataclass(frozen=True)
class Backend:
    """What operations work on. `machine` are the doctor's checks of the machine on which they run. `drill` is there
    where `shoal up` runs.

    Its maker closes its database and passwords.
    """

    database: Database
    settings: ServiceSettings
    task_types: TaskTypes
    machine: MachineChecks
    connects: Connects
    importer: Importer
    passwords: Passwords
    registered: RegisteredMasters
    slot_owners: SlotOwners
    stored_logs: StoredLogs
    batches: Batches = field(default_factory=Batches)
    """Of requests that are handled together."""
    large_bulk: asyncio.Event | None = None
    """Set when a large bulk operation begins or is resumed, to go on with here; None: this process does with none."""
    drill: Drill | None = None
    asking: AskingVersions = field(default_factory=AskingVersions)
    """Which workflows have a required parameter."""
    samples: Samples = field(default_factory=Samples)
    """Of the figures of the cluster."""
    channel_fault: ChannelFault = _no_fault


@dataclass(frozen=True)
class Subject:
    """What a change is about. `project` None: the cluster. `after` is for the audit, besides the change's own.

    With `account` it belongs to that account, which may change it itself; `token` is one that may change itself. One
    that is `own` belongs to the caller alone, who needs no right for it.
    """

    kind: str
    id: object
    project: str | None = None
    name: str | None = None
    after: Mapping[str, Any] = field(default_factory=dict)
    account: AccountId | None = None
    token: TokenId | None = None
    own: bool = False


@dataclass
class Change:
    """A change in the making. `before` and `after` are for the audit, without secrets; `answer` is the operation's.

    `id` and `name` are those of the subject, where they are known only now.
    """

    connection: AsyncConnection
    id: object = None
    name: str | None = None
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    answer: object = None

    def answered(self, of: type[A]) -> A:
        """The answer, which has been set and is one of these."""
        assert isinstance(self.answer, of)
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
        caller: the account or token that calls.
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
    subject: Subject | None = field(default=None, init=False)
    """What it is about, as far as it has said so."""

    @property
    def database(self) -> Database:
        return self.backend.database

    @property
    def settings(self) -> ServiceSettings:
        return self.backend.settings

    def permit(self, project: str | None) -> None:
        """Require the operation's right on a project; None: on the cluster, or on what no longer has a project.

        Raises:
            Hidden: the caller may not even see it.
            Forbidden: it may see it, and not do this.
        """
        right = self.operation.right
        self.subject = self.subject or Subject(self.operation.tag, None, project)
        self.check_scope()
        if project is None and right not in CLUSTER_RIGHTS:
            if not self.caller.may(Right.ADMINISTER):
                raise self.hidden()
        else:
            if project is not None and not self.caller.may(Right.VIEW, project):
                raise self.hidden()
            self.caller.need(right, project)
        self.is_permitted = True

    def hidden(self) -> Hidden:
        """The answer about what is not there, and about what the caller may not see: the same."""
        return Hidden(
            f"there is no such {self.operation.thing} that {self.caller.name} may see; look at the id or the name, or "
            "ask an owner of its project for a role"
        )

    def permit_account(self, account: AccountId, token: TokenId | None = None) -> None:
        """Require that this is the caller's own account, or the token itself, or an admin. Raises `Forbidden`."""
        if token is None or (self.caller.account, self.caller.token) != (account, token):
            self.caller.need_account(account)
        self.is_permitted = True

    def permit_known(self) -> None:
        """Require nothing but to be known: what each caller may ask about itself."""
        self.is_permitted = True

    def permit_own(self) -> None:
        """Require nothing but the scope: for what belongs to the caller alone. Raises `Forbidden`."""
        self.check_scope()
        self.is_permitted = True

    def require(self, *subjects: Subject) -> None:
        """Require the right on all of these, which are about to change. Raises as `permit`."""
        for subject in subjects:
            self.subject = subject
            if subject.own:
                self.permit_own()
            elif subject.account is None:
                self.permit(subject.project)
            else:
                self.permit_account(subject.account, subject.token)

    def visible(self) -> Collection[str] | None:
        """The projects whose objects a listing may contain; None: all. Raises `Forbidden`."""
        self.check_scope()
        self.is_permitted = True
        return self.caller.projects_with(self.operation.right)

    def check_scope(self) -> None:
        """Require that the caller's token is for this operation. Raises `Forbidden`."""
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

    def expect_saved(self, saved: Saved | None, gone: str) -> None:
        """The same of what people save by name. Raises `NotFound` with the sentence `gone`: the caller has seen one,
        and there is none now."""
        if saved is not None:
            self.expect(saved.version, f", saved by {saved.updated_by} at {saved.updated_at:%F %T %Z}")
        elif self.if_match not in (None, ANY_VERSION):
            raise NotFound(gone)

    @property
    def keyed(self) -> KeyedRequest | None:
        """The request, if it may come again."""
        if self.replay is None:
            return None
        return idempotency.KeyedRequest(self.caller.key, self.replay.key, self.replay.request_hash)

    def keyed_answer(self, answer: object) -> list[tuple[KeyedRequest, Answer]]:
        """What is stored for the same request to come; nothing if it may not come again."""
        if (keyed := self.keyed) is None:
            return []
        answered = idempotency.Answer(self.operation.status_of(answer), headers_of(answer), json_of(answer))
        return [(keyed, answered)]

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A connection for single reads. Raises `Unavailable`."""
        async with self.database.reading() as connection:
            yield connection

    async def read(
        self, function: Callable[Concatenate[AsyncConnection, P], Awaitable[R]], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """What a single statement gives, on such a connection."""
        return await self.database.read(function, *args, **kwargs)

    @asynccontextmanager
    async def changing(self, *subjects: Subject) -> AsyncIterator[Change]:
        """The transaction of the change, with an audit row for each subject. The right on all is required first.

        Raises:
            Forbidden: the caller may not.
            Replayed: a request with the same key has been answered.
        """
        self.require(*subjects)
        async with self.database.writing() as connection:
            await self._begin_once(connection)
            change = Change(connection)
            yield change
            await audit.insert(connection, [self.entry(subject, change) for subject in subjects])
            await idempotency.finish(connection, self.keyed_answer(change.answer))

    async def check_replayed(self) -> None:
        """Raises `Replayed` if a request with the same key has been answered."""
        if self.replay is not None:
            await self.database.write(self._begin_once)

    async def _begin_once(self, connection: AsyncConnection) -> None:
        if (keyed := self.keyed) is not None and (before := await idempotency.begin(connection, keyed)) is not None:
            raise Replayed(before)

    async def record_denial(self, subject: Subject) -> None:
        """Write the audit row of a call that was not permitted."""
        async with self.database.writing() as connection:
            await audit.insert(connection, [self.entry(subject, Change(connection), Outcome.DENIED)])

    def entry(self, subject: Subject, change: Change, outcome: Outcome = Outcome.DONE) -> AuditEntry:
        return self.caller.entry(
            self.operation.name,
            subject.kind,
            subject.id if change.id is None else change.id,
            change.name or subject.name,
            project=subject.project,
            before=change.before,
            after={**(change.after or {}), **subject.after} or None,
            outcome=outcome,
        )
