"""`data_sources` of a task: databases whose URLs its processes find in their environment. Pure.

Their names travel with an attempt beside the types of its parameters; the worker reads the URLs when it begins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

DATA_SOURCES_MAX = 20
KEY = "TASK data sources"
"""Beside the types of an attempt's parameters; no parameter has such a name."""


def variable_of(data_source: str) -> str:
    """The environment variable that has its URL, such as SHOAL_DATA_SOURCE_CRM."""
    return f"SHOAL_DATA_SOURCE_{re.sub('[^A-Za-z0-9]', '_', data_source).upper()}"


def fault_of_names(names: Sequence[str]) -> str | None:
    """Why these cannot be those of one task: two have one variable. None if they can."""
    seen: dict[str, str] = {}
    for name in names:
        if (other := seen.setdefault(variable_of(name), name)) is not name:
            return f'data_sources: "{other}" and "{name}" are one variable, {variable_of(name)}; name only one of them'
    return None


def recorded(names: Sequence[str]) -> dict[str, str]:
    """What travels with an attempt; nothing if it has none."""
    return {KEY: json.dumps(names)} if names else {}


def recorded_in(types: str | None) -> Sequence[str]:
    """The names among what travels with an attempt. Raises `ValueError`: it is no JSON."""
    if types is None or f'"{KEY}"' not in types:
        return ()
    found: list[str] = json.loads(json.loads(types).get(KEY, "[]"))
    return found
