"""The database as one process sees it: `dao/postgres/database.py`'s pool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from dao.cluster import nodes
from dao.cluster.nodes import Me
from tests.simulation.loop import PROCESS
from tests.simulation.server import Server, Session


class SimulatedDatabase:
    """Stands for `Database`."""

    def __init__(self, server: Server, url: str, application_name: str, answer_within_s: float) -> None:
        self.url = self.shown = url
        self.application_name = application_name
        self._server = server
        self._answer_within_s = answer_within_s

    async def close(self) -> None:
        """Nothing is kept open."""

    def doubt(self) -> None:
        """Nothing is kept open."""

    def reading(self) -> _Reading:
        return _Reading(self._session(autocommit=True))

    def writing(self) -> _Writing:
        return _Writing(self._session(autocommit=False))

    async def read(self, statement: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> Any:
        async with self.reading() as session:
            return await statement(session, *args, **kwargs)

    async def write(self, statement: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> Any:
        async with self.writing() as session:
            return await statement(session, *args, **kwargs)

    def _session(self, *, autocommit: bool) -> Session:
        process = PROCESS.get()
        assert process is not None
        return Session(
            self._server,
            process,
            self.application_name,
            autocommit=autocommit,
            answer_within_s=self._answer_within_s,
        )


class _Reading:
    def __init__(self, session: Session) -> None:
        self.session = session

    async def __aenter__(self) -> Session:
        return self.session

    async def __aexit__(self, kind: object, *_: object) -> None:
        self.session.roll_back_by_client()


class _Writing(_Reading):
    async def __aexit__(self, kind: object, *_: object) -> None:
        if kind is None:
            await self.session.commit()
        else:
            self.session.roll_back_by_client()


def hold_alive_next(connection: Session, me: Me) -> None:
    """As in `dao/cluster/nodes.py`."""

    async def hold() -> None:
        await nodes.hold_alive(connection, me)  # type: ignore[arg-type]

    connection.opening = hold
