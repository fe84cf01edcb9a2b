"""Files of values that are too large for rows (`model/parameters/large_values.py`), beside the copies of logs.

They block, as a log store does. The copies of a run's logs and its values are deleted together, by their keys.
"""

from __future__ import annotations

import hashlib
import tempfile

from logstore.protocol import Advanced, LogStore
from model.errors import NotFound, Refused, Unavailable
from model.parameters.json_values import looks_like_json
from model.parameters.large_values import LargeValue

READ_BYTES = 4 << 20


def put(store: LogStore, advanced: Advanced, key: str, task: str, name: str, text: str, *, is_text: bool) -> LargeValue:
    """Keep a value that a task has given (`LogName.value_key`). Raises `Unavailable`."""
    data = text.encode(errors="replace")
    is_json = not is_text and looks_like_json(text)
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        store.put(key, file.fileno(), 0, len(data), advanced)
    return LargeValue(key, len(data), hashlib.sha256(data).hexdigest(), is_json, task, name)


def read(store: LogStore, advanced: Advanced, value: LargeValue) -> str:
    """A value that was kept. Raises `Refused` with a sentence that says why it is gone."""
    data = bytearray()
    try:
        is_whole = store.size(value.key) == value.size
        while is_whole and len(data) < value.size:
            data += (part := store.read(value.key, len(data), min(READ_BYTES, value.size - len(data))))
            is_whole = bool(part)
            advanced()
    except NotFound:
        raise Refused(f"{_where(store, value)} is missing; {_cure(value)}") from None
    except Unavailable as error:
        raise Refused(f"{value.said} cannot be read: {error}") from None
    if not is_whole or hashlib.sha256(data).hexdigest() != value.digest:
        raise Refused(f"{_where(store, value)} was changed, by its checksum; {_cure(value)}")
    return data.decode()


def not_set(value: LargeValue) -> Refused:
    """Said by a process that knows no store."""
    return Refused(f"{value.said} is in the log store, and log_store.url is not set here; set it as on all other nodes")


def _where(store: LogStore, value: LargeValue) -> str:
    return f"the file of {value.said}, {value.key} in the log store {store.place},"


def _cure(value: LargeValue) -> str:
    return f'run "{value.task}" again'
