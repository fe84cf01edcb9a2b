"""The bytes of an input as text, and bounds of what it may hold."""

from __future__ import annotations

import codecs
import re
from typing import Any

from model.errors import Refused

BYTES_MAX = 64 * 1_048_576
DEPTH_MAX = 50
_PACKED = (b"\x1f\x8b", b"PK\x03\x04")
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""As PowerShell writes what a command prints."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def text_of(data: bytes) -> str:
    """The text of a file. Raises `Refused` with the reason if it is none, or too long."""
    if len(data) > BYTES_MAX:
        raise Refused(f"it has {len(data):,} bytes, {BYTES_MAX:,} is the most; export fewer workflows at once")
    if data.startswith(_PACKED):
        raise Refused("it is compressed; unpack it first")
    try:
        return data.decode("utf-16" if data.startswith(_UTF_16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(f"the byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8") from None


def too_deep() -> Refused:
    """What is said of data that is nested too deep."""
    return Refused(f"it is nested more than {DEPTH_MAX} levels deep")


def check_depth(tree: Any) -> None:
    """Raises `Refused` for data that is nested too deep."""
    pending = [(tree, 0)]
    while pending:
        value, depth = pending.pop()
        if depth > DEPTH_MAX:
            raise too_deep()
        if isinstance(value, dict | list):
            pending += ((each, depth + 1) for each in (value.values() if isinstance(value, dict) else value))


def storable(value: Any) -> Any:
    """The same without what no database and no process takes."""
    if isinstance(value, dict):
        return {storable(name): storable(each) for name, each in value.items()}
    if isinstance(value, list):
        return [storable(each) for each in value]
    return _UNSTORABLE.sub("\ufffd", value) if isinstance(value, str) else value
