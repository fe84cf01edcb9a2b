"""A connection to PostgreSQL that answers in time or is closed.

A link can die silently: a proxy, a load balancer or a firewall still acknowledges what it receives, but forwards
nothing. Then neither keep-alives nor the server's own time-outs end the wait. So each wait for an answer has a deadline
on our side. When it passes, the socket is closed at once, without a request to the server, since that would wait for
the same dead link. The same happens when the waiting task is cancelled; psycopg would first ask the server to cancel
the statement, for up to ten seconds (psycopg/psycopg#1371). The server's time-outs end the statement there.

Settings of the session are set by a statement, not when the connection starts: PgBouncer drops them there, or refuses
the connection.
"""

from __future__ import annotations

import asyncio
import socket
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Self, TypeVar

import psycopg
from psycopg import errors, waiting
from psycopg.abc import PQGen

from dao.postgres import reserved_descriptors
from dao.postgres.address import FORMER_PASSWORD, Address
from dao.postgres.errors import login_refused
from dao.postgres.pipeline import Cursor, PipelinedConnection
from model.cluster.means import is_passing
from model.errors import Denied, Refused

CONNECT_S_MAX = 5.0
"""The longest time to make a connection: name resolution, TCP, TLS, login, and all addresses of the server."""

_Answer = TypeVar("_Answer")
_Made = TypeVar("_Made")
_CHECK_EVERY_S = 0.1
"""psycopg's default: how often it lets signals through while it waits."""
_KEEPALIVE: Mapping[str, Any] = {
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 8000,
}
_SET = """
    SELECT pg_backend_pid(), coalesce(array_agg(set_config(name, value, false) ORDER BY place), '{}')
    FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS given (name, value, place)
"""
_HELD = """
    SELECT pg_backend_pid(), coalesce(array_agg(current_setting(name) ORDER BY place), '{}'),
           CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END
    FROM unnest(%s::text[]) WITH ORDINALITY AS given (name, place)
"""
_CURE = "set pool_mode = session for this database, or connect to PostgreSQL directly"
_SHARED = (
    "a pooler such as PgBouncer is in transaction mode, in which LISTEN and the settings of a session are lost; "
    f"{_CURE}"
)

_answered_last: dict[str, Mapping[str, str]] = {}
"""For each address with several hosts the one that answered last: the next connection tries it first."""
POOLER_BELIEVED_S = 60.0
"""A pooler that was found to give each client a session of its own is believed for so long: its mode may change."""
_found_to_keep_s: dict[tuple[str, int, str], float] = {}
"""When each was."""


class NoAnswer(psycopg.OperationalError):
    """The server did not answer in time. The statement may have run."""


async def _connected(connecting: Awaitable[_Made]) -> _Made:
    """What it gives. When it is cancelled, the connection that it has begun is closed at once.

    psycopg leaves that to garbage collection, since the traceback refers to it. Until then the server could go on
    with the login, and keep a session that nobody uses.
    """
    try:
        return await connecting
    except asyncio.CancelledError as cancelled:
        traceback.clear_frames(cancelled.__traceback__)
        raise


async def _first_of(
    hosts: Sequence[Mapping[str, str]],
    within_s: float,
    attempt: Callable[[Mapping[str, str], float], Awaitable[_Made]],
) -> _Made:
    """What the first that answers gives. Each has its share of the time, which a silent one cannot take from others."""
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + within_s
    failed: list[psycopg.OperationalError] = []
    for left, host in zip(range(len(hosts), 0, -1), hosts, strict=True):
        share_s = max(0.0, deadline_s - loop.time()) / left
        try:
            async with asyncio.timeout(share_s):
                return await attempt(host, share_s)
        except TimeoutError:
            where = f" to {host.get('hostaddr') or host['host']}" if len(hosts) > 1 else ""
            failed.append(NoAnswer(f"no connection{where} within {share_s:.2g} s"))
        except psycopg.OperationalError as error:
            failed.append(error)
    if len(failed) == 1:
        raise failed[0]
    said = dict.fromkeys(str(error).strip() for error in failed)
    raise psycopg.OperationalError("; ".join(said), pgconn=failed[-1].pgconn)


async def _addresses(host: Mapping[str, str]) -> list[dict[str, str]]:
    """The arguments for each address that the host's name has."""
    name = host.get("host", "")
    if not name or name.startswith(("/", "@")) or host.get("hostaddr"):
        return [dict(host)]
    try:
        found = await asyncio.get_running_loop().getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise psycopg.OperationalError(f'the name "{name}" of the host has no address: {error.strerror}') from error
    return [{**host, "hostaddr": address} for address in dict.fromkeys(str(each[4][0]) for each in found)]


class Connection(PipelinedConnection):
    """psycopg's connection, with a limit on each wait."""

    answer_within_s: float | None = None
    """The longest wait for one answer; None = no limit, for schema scripts only."""
    host: Mapping[str, str] = {}
    """The arguments with which it was made."""
    timeline: str | None = None
    """Of the server, which a promotion changes; None: it is a standby."""

    @classmethod
    async def connect_within(
        cls,
        address: Address,
        settings: Mapping[str, str],
        *,
        application_name: str,
        answer_within_s: float,
        autocommit: bool = False,
    ) -> Self:
        """A new connection whose session has the address's settings and these.

        Raises `psycopg.Error`, and `Denied` if a pooler does not keep what is set, or the server refuses a setting.
        """

        async def one(host: Mapping[str, str], within_s: float) -> Self:
            return await cls._to_host(host, within_s, application_name, answer_within_s)

        async def prepared(host: Mapping[str, str], within_s: float) -> Self:
            connection: Self = await one(host, within_s)
            await connection._set_up(address, settings, lambda: one(host, within_s))
            return connection

        hosts = address.hosts()
        if (last := _answered_last.get(address.shown)) in hosts:
            hosts.sort(key=lambda host: host != last)
        try:
            with reserved_descriptors.lent():
                connection: Self = await _first_of(hosts, min(CONNECT_S_MAX, answer_within_s), prepared)
        except (OSError, RuntimeError, MemoryError) as error:
            if not is_passing(error):
                raise
            raise NoAnswer(f"no connection can be made now: {error}") from error
        if len(hosts) > 1:
            _answered_last[address.shown] = connection.host
        await connection.set_autocommit(autocommit)
        return connection

    @classmethod
    async def _to_host(
        cls, host: Mapping[str, str], within_s: float, application_name: str, answer_within_s: float
    ) -> Self:
        own_s = float(host.get("connect_timeout", 0))

        async def attempt(arguments: Mapping[str, str], _: float) -> Self:
            own = {
                "connect_timeout": round(CONNECT_S_MAX),
                "client_encoding": "UTF8",
                "application_name": application_name,
            }
            given = {**_KEEPALIVE, **arguments, **own}
            former = given.pop(FORMER_PASSWORD, None)
            try:
                try:
                    return await _connected(cls.connect(autocommit=True, cursor_factory=Cursor, **given))
                except psycopg.OperationalError as refused:
                    if former is None or login_refused(str(refused)) is None:
                        raise
                    given["password"] = former
                    return await _connected(cls.connect(autocommit=True, cursor_factory=Cursor, **given))
            except psycopg.ProgrammingError:  # what libpq cannot read it repeats, with the password
                raise Refused("libpq cannot read the arguments of the database URL; correct it") from None

        connection: Self = await _first_of(
            await _addresses(host), min(within_s, own_s) if own_s > 0 else within_s, attempt
        )
        connection.answer_within_s, connection.host = answer_within_s, host
        return connection

    async def _set_up(
        self, address: Address, settings: Mapping[str, str], again: Callable[[], Awaitable[Self]]
    ) -> None:
        """Set what this program relies on, and make sure that it stays set."""
        together = {**address.settings, **settings}
        try:
            pid, given, *_ = await self._session(_SET, [list(together), list(together.values())])
            await self._verify(pid, dict(zip(together, given, strict=True)))
            place, now_s = (self.info.host, self.info.port, self.info.dbname), time.monotonic()
            found_s = _found_to_keep_s.get(place, -POOLER_BELIEVED_S)
            if pid != self.pgconn.backend_pid and now_s - found_s >= POOLER_BELIEVED_S:
                await self._refuse_shared_session(pid, again)
                _found_to_keep_s[place] = now_s
        except (psycopg.DataError, psycopg.ProgrammingError, errors.CantChangeRuntimeParam) as error:
            self.pgconn.finish()
            raise Denied(
                f"the server does not take a setting of our sessions: {error.diag.message_primary}; "
                "correct options in the database URL, or grant the right"
            ) from error
        except BaseException:
            self.pgconn.finish()
            raise

    async def _verify(self, pid: int, given: Mapping[str, str]) -> None:
        """Read back what was set, in another transaction. Raises `Denied` if it does not hold."""
        there, held, self.timeline = await self._session(_HELD, [list(given)])
        if there != pid:
            raise Denied(_SHARED)
        for (name, value), now in zip(given.items(), held, strict=True):
            if now != value:
                raise Denied(
                    f'a pooler or the server drops the settings of our sessions: {name} was set to "{value}" and is '
                    f'"{now}" in the next transaction; {_CURE}'
                )

    async def _session(self, statement: str, values: Sequence[Any]) -> tuple[Any, ...]:
        """The server process that runs this statement, the settings that it names, and what else it reads."""
        row = await (await self.execute(statement.encode(), values)).fetchone()
        assert row is not None
        return tuple(row)

    async def _backend(self) -> int:
        """The server process that runs this statement."""
        row = await (await self.execute(b"SELECT pg_backend_pid()")).fetchone()
        assert row is not None
        return int(row[0])

    async def _refuse_shared_session(self, pid: int, again: Callable[[], Awaitable[Self]]) -> None:
        """Raises `Denied` if a pooler gives our server process to another client between our transactions.

        There is a pooler: the process is not the one that was announced when we connected.
        """
        other = await again()
        try:
            await other.execute("BEGIN")
            is_shared = await other._backend() == pid or await self._backend() != pid
        except errors.ProtocolViolation:  # PgBouncer in statement mode takes no BEGIN
            is_shared = True
        finally:
            other.pgconn.finish()
        if is_shared:
            raise Denied(_SHARED)

    async def wait(
        self, gen: PQGen[_Answer], interval: float = _CHECK_EVERY_S, timeout: float | None = None
    ) -> _Answer:
        """As in psycopg, where every operation calls this method. A `timeout` is the caller's own limit.

        Raises `NoAnswer` after `answer_within_s`; the connection is closed then.
        """
        if timeout is not None:
            return await super().wait(gen, interval, timeout)
        try:
            return await waiting.wait_async(gen, self.pgconn.socket, interval, self.answer_within_s)
        except errors._WaitTimeout:
            self.pgconn.finish()
            raise NoAnswer(f"no answer within {self.answer_within_s:g} s, the connection was closed") from None
        except (asyncio.CancelledError, KeyboardInterrupt):
            self.pgconn.finish()
            raise
