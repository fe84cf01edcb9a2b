"""What a pool of connections says of its waits, to a counter.

Nodes and the API count them for Prometheus (`metrics/database.py`). A verb counts nothing, and does not load what
would.
"""

from __future__ import annotations


class Measures:
    """Called by `dao/postgres/database.py`; this one counts nothing. No method may wait."""

    def opened(self, connections_max: int) -> None:
        """A pool of so many connections was opened."""

    def closed(self, connections_max: int) -> None:
        """It was closed."""

    def began(self) -> None:
        """A connection is wanted."""

    def ended(self) -> None:
        """It is no longer needed."""

    def waited(self, seconds: float) -> None:
        """A connection was given after so many seconds."""

    def committed(self, seconds: float) -> None:
        """A COMMIT was answered after so many seconds."""

    def failed(self, error: BaseException) -> None:
        """A use failed with this error."""
