"""Options of tasks, as `@task`, steps and `defaults` of a flow take them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from shoal_sdk.errors import WrongFlow

Priority = Literal["HIGHEST", "HIGH", "MEDIUM", "LOW", "LOWEST"]
Time = str | int | float
"""A time with its unit, such as `30s`, `5m` or `1h30m`; a bare number is minutes."""

_NAMES: Mapping[str, str] = {"retries": "retry_times", "retry_every": "retry_interval", "pool": "resources"}


@dataclass(frozen=True)
class TaskOptions:
    """How a task runs; what is left out is as the flow's `defaults`, the project or Shoal have it.

    Args:
        retries: attempts after a failure or timeout, each `retry_every` after the one before.
        timeout: how long an attempt may run; then it fails.
        pool: how many resources it needs from each pool, such as `{"proxies": 1}`; see `pool`.
        cache: reuse the result of an earlier success of this version with the same arguments.
        skip_exit_codes: exit codes that mean that the task was skipped.
        group: a name; tasks that have the same are shown as one.
        interpreter: of a Python task: a path or name on the workers, else `python3`.
        requirements: of a Python task: packages that a worker with uv installs for it.
        fields: any other field of a task of Shoal, by its name there.
    """

    retries: int | None = None
    retry_every: Time | None = None
    timeout: Time | None = None
    pool: Mapping[str, int] | None = None
    priority: Priority | None = None
    cache: bool | None = None
    worker_group: str | None = None
    environment: str | None = None
    skip_exit_codes: tuple[int, ...] | None = None
    description: str | None = None
    group: str | None = None
    interpreter: str | None = None
    requirements: list[str] | tuple[str, ...] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    def over(self, others: TaskOptions) -> TaskOptions:
        """These, and for what they leave out those others."""
        mine = {each.name: getattr(self, each.name) for each in fields(self)}
        rest = {each.name: getattr(others, each.name) for each in fields(others)}
        merged = {name: rest[name] if value is None else value for name, value in mine.items()}
        return TaskOptions(**{**merged, "fields": {**others.fields, **self.fields}})

    def spec(self) -> dict[str, Any]:
        """The fields of a task of Shoal."""
        said = {
            _NAMES.get(each.name, each.name): getattr(self, each.name)
            for each in fields(self)
            if each.name not in ("interpreter", "requirements", "fields") and getattr(self, each.name) is not None
        }
        if "skip_exit_codes" in said:
            said["skip_exit_codes"] = list(said["skip_exit_codes"])
        if "resources" in said:
            said["resources"] = dict(said["resources"])
        return {**said, **self.fields}


def options_of(given: Mapping[str, Any], where: str) -> TaskOptions:
    """Options given by name. Raises `WrongFlow` for one that there is not."""
    known = [each.name for each in fields(TaskOptions)]
    if unknown := [name for name in given if name not in known]:
        raise WrongFlow(
            f'{where}: there is no option "{unknown[0]}"; there are {", ".join(known)}, and any field of a task of '
            "Shoal goes into fields={...}"
        )
    return TaskOptions(**given)


def pool(name: str, count: int = 1) -> dict[str, int]:
    """So many resources of one pool, as in `@task(pool=pool("proxies", 2))`; join several with `|`."""
    return {name: count}
