"""The resources of a pool as lines of YAML, `p1: {host: 10.0.0.1, port: 3128}`, as people write them.

A pool has up to 10,000, and its file is part of what an admin reads of it: a writer of YAML needs seconds for so many,
in which its process answers nobody. So these lines are put together here. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

# What is no number, date or keyword of YAML, whichever version of it reads this. An IPv4 address is none of these.
_PLAIN = re.compile(
    r"(?!(?:y|n|yes|no|on|off|true|false|null)$)(?:[a-z][a-z0-9_.-]*|\d+\.\d+\.\d+\.\d+)", re.IGNORECASE
)
# What JSON leaves as it is, and YAML does not accept or takes for the end of a line.
_ODD = re.compile("[\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def resource_lines(resources: Mapping[str, Mapping[str, Any]]) -> str:
    """One line for each, below the key `resources`: names alone if none has data."""
    if not any(resources.values()):
        return "".join(f"  - {_text(name)}\n" for name in resources)
    return "".join(f"  {_text(name)}: {_flow(data)}\n" for name, data in resources.items())


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(key)}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    return _ODD.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
