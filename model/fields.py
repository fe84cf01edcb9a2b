"""Kinds of fields that definitions, commands and settings have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

MINUTES_MAX = 366 * 24 * 60
NAME_LENGTH_MAX = 200
DEFAULT_WORKER_GROUP = "default"
GROUP_NAME = r"[\w.-]{1,100}"

Name = Annotated[str, Field(min_length=1, max_length=NAME_LENGTH_MAX, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
GroupName = Annotated[str, Field(pattern=f"^{GROUP_NAME}$")]
TenantName = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_.-]{0,31}$")]
"""A user of the operating system."""
Minutes = Annotated[float, Field(ge=0, le=MINUTES_MAX, allow_inf_nan=False)]
"""A time span in minutes, fractions allowed, as in DolphinScheduler; 0 = none."""
