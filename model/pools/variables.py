"""The environment variables in which a task finds the resources that it holds, one for each pool."""

from __future__ import annotations

import json
import re

from model.errors import Refused

PREFIX = "SHOAL_RESOURCE_"
VARIABLE_BYTES_MAX = 131_071
"""Linux accepts no longer variable, name included."""
_NO_VARIABLE = re.compile(r"[^A-Z0-9_]")


def resource_variable(pool: str) -> str:
    """The variable of a pool: its name in upper case, with `_` for invalid characters. Two pools may share one."""
    return PREFIX + _NO_VARIABLE.sub("_", pool.upper())


def without_one_variable(needs: dict[str, int]) -> dict[str, int]:
    """Return `needs` (pool -> number of resources). Raises `ValueError` if two pools share a variable, so that no task
    could use both."""
    first: dict[str, str] = {}
    for name in needs:
        if (other := first.setdefault(resource_variable(name), name)) != name:
            raise ValueError(
                f'the pools "{other}" and "{name}" are one variable of a task, {resource_variable(name)}: there can '
                f"never be both; name one of them"
            )
    return needs


def resource_variables(leases: str | None) -> dict[str, str]:
    """The variables of the resources that an attempt holds: JSON lists of objects with `name` and `data`.

    `leases` is the JSON object of a `ClaimedTask`. Raises `Refused` if no environment can hold them.
    """
    if leases is None:
        return {}
    variables = {resource_variable(pool): json.dumps(held) for pool, held in sorted(json.loads(leases).items())}
    for name, value in variables.items():
        if (size := len(name) + len(value) + 1) > VARIABLE_BYTES_MAX:
            raise Refused(
                f"what it holds is {size:,} bytes in {name}, and a variable takes {VARIABLE_BYTES_MAX:,}; have it need "
                f"fewer of that pool, or give its resources less data"
            )
    return variables
