"""Exit codes by which a process marks its task SKIPPED, as they travel with an attempt.

They lie beside the types of its parameters: `{"SKIP exit codes": "98 99"}`. No parameter of a task has such a name.
"""

from __future__ import annotations

import json
from collections.abc import Collection

KEY = "SKIP exit codes"


def recorded(codes: Collection[int]) -> dict[str, str]:
    """The entry to record; empty without codes."""
    return {KEY: " ".join(map(str, sorted(set(codes))))} if codes else {}


def recorded_in(types: str | None) -> frozenset[int]:
    """The codes in the recorded types of an attempt. Raises `ValueError` if it is no JSON, or a code no number."""
    if types is None or f'"{KEY}"' not in types:
        return _NONE
    return frozenset(map(int, str(json.loads(types).get(KEY, "")).split()))


_NONE: frozenset[int] = frozenset()
