"""Which versions have a required parameter, remembered: a version never changes, and few have one.

So the start of a workflow that asks for nothing costs no more than a look into a dictionary.
"""

from __future__ import annotations

from collections.abc import Collection

from model.ids import WorkflowCode

VersionKey = tuple[WorkflowCode, int]
REMEMBERED_MAX = 20_000


class AskingVersions:
    """What one process knows of them."""

    def __init__(self) -> None:
        self._asks: dict[VersionKey, bool] = {}

    def unknown(self, versions: Collection[VersionKey]) -> list[VersionKey]:
        """Those that it does not know."""
        return [each for each in versions if each not in self._asks]

    def learn(self, versions: Collection[VersionKey], asking: Collection[VersionKey]) -> None:
        """Remember which of these versions are `asking`; those before are forgotten when they become too many."""
        if len(self._asks) + len(versions) > REMEMBERED_MAX:
            self._asks = {}
        self._asks |= {each: each in asking for each in versions}

    def __contains__(self, version: VersionKey) -> bool:
        """Whether it asks. One that was forgotten meanwhile is left to the master, which refuses the start too."""
        return self._asks.get(version, False)
