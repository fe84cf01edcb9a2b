"""`data_sources` of a task: databases whose URLs its processes find in their environment. Pure.

Their names travel with an attempt beside the types of its parameters; the worker reads the URLs when it begins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

DATA_SOURCES_MAX = 20
KEY = "TASK data sources"
"""The key beside the types of an attempt's parameters; no parameter has such a name."""


def variable_of(data_source: str) -> str:
    """The environment variable for its URL, such as SHOAL_DATA_SOURCE_CRM."""
    return f"SHOAL_DATA_SOURCE_{re.sub('[^A-Za-z0-9]', '_', data_source).upper()}"


def fault_of_names(names: Sequence[str]) -> str | None:
    """Why one task cannot have all of these, because two share a variable; None if it can."""
    seen: dict[str, str] = {}
    for name in names:
        if (other := seen.setdefault(variable_of(name), name)) is not name:
            return f'data_sources: "{other}" and "{name}" are one variable, {variable_of(name)}; name only one of them'
    return None


def recorded(names: Sequence[str]) -> dict[str, str]:
    """The entry that travels with an attempt; empty without names."""
    return {KEY: json.dumps(names)} if names else {}


def recorded_in(types: str | None) -> Sequence[str]:
    """The names in that entry. Raises `ValueError` if it is no JSON."""
    if types is None or f'"{KEY}"' not in types:
        return ()
    found: list[str] = json.loads(json.loads(types).get(KEY, "[]"))
    return found
