"""Selects the registry that a URL names."""

from __future__ import annotations

from datetime import timedelta

from model.errors import Refused
from registry.ensemble import SCHEME as ZOOKEEPER
from registry.ensemble import Ensemble
from registry.protocol import Registry

_SHORTEST = timedelta(seconds=1)


def make_registry(url: str, *, session_timeout: timedelta, application_name: str) -> Registry:
    """The registry at `url`, not yet open.

    Args:
        url: `zookeeper://[user:password@]host:2181[,host:2181...]/root`, or a database URL
            `postgresql+psycopg://user:password@host:5432/name`.
        session_timeout: silence after which other nodes no longer see us; at least a second.
        application_name: the name of database connections; not used by ZooKeeper.

    Raises:
        Refused: the URL or the time-out is wrong. The message never contains a password.
    """
    if session_timeout < _SHORTEST:
        raise Refused(f"session_timeout is {session_timeout.total_seconds():g} s; a registry needs at least 1 s")
    scheme = url.partition("://")[0]
    # The clients are imported where they are needed: each import takes a tenth of a second.
    if scheme == ZOOKEEPER:
        from registry.zookeeper import ZooKeeperRegistry

        return ZooKeeperRegistry(Ensemble.parse(url), session_timeout=session_timeout)
    if scheme.partition("+")[0] in ("postgresql", "postgres"):
        from registry.postgres import PostgresRegistry

        return PostgresRegistry(url, session_timeout=session_timeout, application_name=application_name)
    raise Refused(
        "the registry URL must begin with zookeeper:// or postgresql+psycopg://, as in zookeeper://127.0.0.1:2181/shoal"
    )
