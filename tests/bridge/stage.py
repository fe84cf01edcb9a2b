"""The same scene again and again, in both stores, for one order of two scripts after the other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager

from dao.postgres.database import Database
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from tests.bridge.interleaving import ModelSession, RealSession, Script, Side, play
from tests.bridge.rows import SEQUENCES, TABLES, Rows
from tests.bridge.two_stores import CLOCK_STEP_S, TwoStores
from tests.simulation.server import Server
from tests.simulation.tables import Table, Transaction, Values

_TABLES = (*TABLES, "workflow_definition")
# One call brings back all rows; columns that the database computes by itself are left out.
_KEEP = """
    DO $keep$
    DECLARE
        name text; columns text; last bigint; is_called boolean; body text := '';
    BEGIN
        DROP SCHEMA IF EXISTS kept CASCADE;
        CREATE SCHEMA kept;
        FOREACH name IN ARRAY %(tables)s LOOP
            SELECT string_agg(quote_ident(c.column_name), ', ') INTO columns FROM information_schema.columns c
            WHERE c.table_schema = 'public' AND c.table_name = name AND c.is_generated = 'NEVER';
            EXECUTE format('CREATE TABLE kept.%%I AS TABLE public.%%I', name, name);
            body := body || format('DELETE FROM public.%%I; INSERT INTO public.%%I (%%s) OVERRIDING SYSTEM VALUE '
                                   'SELECT %%s FROM kept.%%I;', name, name, columns, columns, name);
        END LOOP;
        FOREACH name IN ARRAY %(sequences)s LOOP
            EXECUTE format('SELECT s.last_value, s.is_called FROM %%I s', name) INTO last, is_called;
            body := body || format('SELECT setval(%%L, %%s, %%L);', name, last, is_called);
        END LOOP;
        EXECUTE format('CREATE FUNCTION kept.bring_back() RETURNS void LANGUAGE sql AS %%L', body);
    END $keep$
"""


class Stage:
    """A scene that has been made in both stores."""

    def __init__(self, stores: TwoStores, database: Database, watching: AsyncConnection) -> None:
        self._stores = stores
        self._database = database
        self._watching = watching
        self._last_ids: dict[str, int] = {}
        self._kept: list[tuple[Table, list[tuple[int, Values]]]] = []

    @property
    def _server(self) -> Server:
        return self._stores.server

    async def keep(self) -> None:
        """Make the present state the beginning of each run."""
        sequences = [f"{name}_id_seq" for name in SEQUENCES]
        await self._watching.execute(Sql(_KEEP % {"tables": _array(_TABLES), "sequences": _array(sequences)}))
        server, self._last_ids = self._server, dict(self._stores.last_ids)
        for table in (*(getattr(server, name) for name in SEQUENCES.values()), server.beats, server.history):
            self._kept.append((table, [(row.id, row.values) for row in table.rows.values() if row.values is not None]))

    async def play(self, order: Sequence[int], scripts: Sequence[Script], aborts: int | None) -> list[str]:
        """Play on the model alone; returns what happened."""
        self._bring_back_the_model()
        return await play(order, self._sides(scripts, aborts, ModelSession(self._server), ModelSession(self._server)))

    async def play_for_real(
        self, order: Sequence[int], scripts: Sequence[Script], aborts: int | None = None, *, may_deadlock: bool = False
    ) -> list[str]:
        """Play on the server."""
        await self._watching.execute(Sql("SELECT kept.bring_back()"))
        one, other = RealSession(self._database, self._watching), RealSession(self._database, self._watching)
        one.other, other.other = other, one
        return await play(order, self._sides(scripts, aborts, one, other), may_deadlock=may_deadlock)

    async def steps(self, script: Script) -> int:
        """The number of steps of a script that runs alone."""
        self._bring_back_the_model()
        side = Side("A", script, ModelSession(self._server), aborts=False)
        while not side.is_over:
            await side.step()
        return side.steps

    async def rows(self) -> Rows:
        """The rows after a run. Raises `Differs` if the model has other rows."""
        return await self._stores.compare("after all", self._watching)

    def _sides(
        self, scripts: Sequence[Script], aborts: int | None, *sessions: ModelSession | RealSession
    ) -> list[Side]:
        named = zip("AB", scripts, sessions, strict=True)
        return [
            Side(name, script, session, aborts="AB"[aborts] == name if aborts is not None else False)
            for name, script, session in named
        ]

    def _bring_back_the_model(self) -> None:
        server = self._server
        server.loop.now += CLOCK_STEP_S
        made = Transaction(server)
        self._stores.last_ids = dict(self._last_ids)
        for name, attribute in SEQUENCES.items():
            getattr(server, attribute).last_id = self._last_ids.get(name, 0)
        for table, rows in self._kept:
            table.rows, table.unfinished, table.by_key = {}, {}, {}
            for id_, values in rows:
                made.insert(table, id_, values)
        made.install()


def _array(names: Iterable[str]) -> str:
    return "ARRAY[" + ", ".join(f"'{name}'" for name in names) + "]"


@asynccontextmanager
async def stage(
    database: Database, stores: TwoStores, scene: Callable[[TwoStores], Awaitable[None]]
) -> AsyncIterator[Stage]:
    """A stage with the scene that this function makes."""
    await scene(stores)
    async with database.reading() as watching:
        made = Stage(stores, database, watching)
        await made.keep()
        yield made
