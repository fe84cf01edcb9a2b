"""Drains of nodes that live, by plain SQL: a node reads the row with its next beat."""

from __future__ import annotations

import asyncio
import contextlib
import time

import psycopg

from tests.chaos.site import DATABASE, Site

_WRITABLE = "SET default_transaction_read_only = off; SET lock_timeout = '1s'; SET statement_timeout = '2s'"
_DRAIN = """
    INSERT INTO drain (kind, name) SELECT kind, name FROM node WHERE state = 'ALIVE'
    ORDER BY md5(id || %s) LIMIT %s ON CONFLICT DO NOTHING
"""
END_WITHIN_S = 60.0


def drain(site: Site, count: int, seed: str) -> None:
    """Drain this many nodes, chosen by the seed, unless the server is away."""
    with contextlib.suppress(psycopg.OperationalError), site.postgres.connect(DATABASE) as connection:
        connection.execute(_WRITABLE)
        connection.execute(_DRAIN, (seed, count))
        connection.execute("NOTIFY shoal_drain")


async def undrain_all(site: Site) -> None:
    """End all drains, as soon as the server lets us: otherwise nothing would ever run there again."""
    deadline_s = time.monotonic() + END_WITHIN_S
    while True:
        try:
            with site.postgres.connect(DATABASE) as connection:
                connection.execute(_WRITABLE)
                connection.execute("DELETE FROM drain")
                connection.execute("NOTIFY shoal_drain")
            return
        except psycopg.OperationalError:
            if time.monotonic() > deadline_s:
                raise
            await asyncio.sleep(0.5)
