"""Opens the log store that the settings name."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from logstore.calls import StoreCalls
from logstore.folder import FolderStore
from logstore.protocol import LogStore
from logstore.settings import LogStoreSettings, folder_or_bucket


def open_store(settings: LogStoreSettings) -> LogStore | None:
    """The store; None if none is set. Nothing is asked yet. Raises `Refused` if its library is not installed."""
    if settings.url is None:
        return None
    found = folder_or_bucket(settings.url)
    if isinstance(found, PurePosixPath):
        return FolderStore(Path(found))
    from logstore.objects import ObjectStore  # its library is only for those who use it

    return ObjectStore(*found, settings)


def open_calls(settings: LogStoreSettings) -> StoreCalls | None:
    """Calls of that store; None if none is set. Raises as `open_store`."""
    store = open_store(settings)
    return None if store is None else StoreCalls(store, settings.timeout.total_seconds())
