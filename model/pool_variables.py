"""How a task finds the resources that it holds: one variable of its environment for each pool."""

from __future__ import annotations

import json
import re

PREFIX = "SHOAL_RESOURCE_"
_NO_VARIABLE = re.compile(r"[^A-Z0-9_]")


def resource_variable(pool: str) -> str:
    """The name of the variable for the resources of a pool: its name in upper case, with `_` for what no variable may
    have. Two pools may give the same."""
    return PREFIX + _NO_VARIABLE.sub("_", pool.upper())


def resource_variables(leases: str | None) -> dict[str, str]:
    """The variables for what an attempt holds: JSON lists of objects with `name` and `data`.

    `leases` is the JSON object of a `ClaimedTask`.
    """
    if leases is None:
        return {}
    return {resource_variable(pool): json.dumps(held) for pool, held in sorted(json.loads(leases).items())}
