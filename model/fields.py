"""Field types shared by definitions, commands and settings."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from model.time.durations import seconds_of

MINUTES_MAX = 366 * 24 * 60
NAME_LENGTH_MAX = 200
DEFAULT_WORKER_GROUP = "default"
GROUP_NAME = r"[\w.-]+"
GROUP_NAME_LENGTH_MAX = 100

Name = Annotated[str, Field(min_length=1, max_length=NAME_LENGTH_MAX, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
GroupName = Annotated[str, Field(min_length=1, max_length=GROUP_NAME_LENGTH_MAX, pattern=f"^{GROUP_NAME}$")]
"""The length is not in the pattern: pydantic takes 50 ms to compile `\\w{1,100}`, for each model that has it."""
POOL_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
POOL_NAME_LENGTH_MAX = 100
PoolName = Annotated[str, Field(min_length=1, max_length=POOL_NAME_LENGTH_MAX, pattern=f"^{POOL_NAME}$")]
"""The name of a resource pool: a part of the variable in which a task finds its resources."""
TenantName = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_.-]{0,31}$")]
"""A user of the operating system."""


TAG_LENGTH_MAX = 50
TAGS_MAX = 20


def _tag(given: str) -> str:
    if not 0 < len(given) <= TAG_LENGTH_MAX or not given.isprintable() or given != given.strip() or "," in given:
        raise ValueError(
            f"must be 1 to {TAG_LENGTH_MAX} printable characters, without a comma, and no space at its ends"
        )
    return given


def each_once(given: tuple[str, ...]) -> tuple[str, ...]:
    """The names. Raises `ValueError` if one occurs twice."""
    if twice := next((tag for place, tag in enumerate(given) if tag in given[:place]), None):
        raise ValueError(f'names "{twice}" twice; once is enough')
    return given


Tag = Annotated[str, AfterValidator(_tag)]
Tags = Annotated[tuple[Tag, ...], Field(max_length=TAGS_MAX), AfterValidator(each_once)]
"""Words by which people find a workflow."""


def _in_minutes(value: object) -> object:
    if isinstance(value, str):
        seconds = seconds_of(value)
        try:
            value = float(value) if seconds is None else seconds / 60
        except ValueError:
            raise ValueError("must be a duration with its unit, such as 10s or 1m; a bare number is minutes") from None
    if isinstance(value, int | float) and not 0 <= value <= MINUTES_MAX:
        raise ValueError(f"must be 0s to {MINUTES_MAX // (24 * 60)}d; a bare number is minutes")
    return value


Minutes = Annotated[
    float,
    Field(ge=0, le=MINUTES_MAX, allow_inf_nan=False),
    BeforeValidator(_in_minutes, json_schema_input_type=float | str),
]
"""A duration: with a unit (`30s`, `5m`, `1h30m`), or a number of minutes as in DolphinScheduler; 0 = none."""
