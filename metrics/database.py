"""How long a process waits for its database."""

from __future__ import annotations

from dao.postgres.measures import Measures
from metrics.declaring import Part

PART = Part()
_wait = PART.times("shoal_database_connection_wait_seconds", "Time in seconds until the pool gave a connection.")
_commit = PART.times("shoal_database_commit_seconds", "Time in seconds of each COMMIT.")
_errors = PART.counter("shoal_database_errors_total", "Failed uses of the database, by the kind of error.", ("error",))
_in_use = PART.gauge("shoal_database_connections_in_use", "Connections of this process that are in use.")
_connections_max = PART.gauge("shoal_database_connections_max", "Connections that this process may have.")

KNOWN = {"Unavailable", "LockTaken", "Unfit", "Denied", "BadData", "Unknown", "Fenced"}
for _name in sorted(KNOWN):
    _errors.labels(_name)


class DatabaseMetrics(Measures):
    """Counts the waits of one pool; see `dao/postgres/measures.py`."""

    def opened(self, connections_max: int) -> None:
        _connections_max.inc(connections_max)

    def closed(self, connections_max: int) -> None:
        _connections_max.dec(connections_max)

    def began(self) -> None:
        _in_use.inc()

    def ended(self) -> None:
        _in_use.dec()

    def waited(self, seconds: float) -> None:
        _wait.observe(seconds)

    def committed(self, seconds: float) -> None:
        _commit.observe(seconds)

    def failed(self, error: BaseException) -> None:
        if (name := type(error).__name__) in KNOWN:
            _errors.labels(name).inc()
