"""The times by which a cluster lives. All nodes of one cluster must use the same; each checks how they fit together."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

TASKS_END_S = 1.0
"""When a worker's process dies the keepers of its tasks end these at once; on a busy machine that takes a moment. So
much later it may be fenced, upon which its tasks run elsewhere."""


def _from_number(value: object) -> object:
    """Numbers are seconds, also as text: an environment variable has no other form."""
    if isinstance(value, str):
        try:
            return timedelta(seconds=float(value))
        except (ValueError, OverflowError):
            return value
    return value


Duration = Annotated[timedelta, BeforeValidator(_from_number), Field(gt=timedelta(0))]
"""A time span: seconds (2, 0.5, "2"), or ISO 8601 (PT1M)."""


def _seconds(value: float) -> timedelta:
    return timedelta(seconds=value)


class Timing(BaseModel):
    """How long silence may last before it means something."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    heartbeat_every: Duration = Field(_seconds(2), description="time between two beats of a node")
    session_timeout: Duration = Field(_seconds(10), description="silence after which the registry drops a node")
    master_fence_after: Duration = Field(
        _seconds(10), description="standstill of a master's beat after which others take over its workflows"
    )
    worker_fence_after: Duration = Field(
        _seconds(30),
        description="standstill of a worker's beat, its registry entry gone too, that loses its tasks",
    )
    worker_cut_limit: Duration = Field(
        _seconds(600),
        description="longest time that a worker may run with the registry alone, cut from the database",
    )
    kill_grace: Duration = Field(_seconds(5), description="time between TERM and KILL for a task's processes")

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if 3 * self.heartbeat_every > self.session_timeout:
            raise ValueError("heartbeat_every must be at most a third of session_timeout: one lost beat is no death")
        if self.master_fence_after < 3 * self.heartbeat_every:
            raise ValueError("master_fence_after must be at least three heartbeat_every: one late beat is no death")
        if self.worker_fence_after < 3 * self.heartbeat_every + self.kill_grace + _seconds(2):
            raise ValueError(
                "worker_fence_after must exceed three heartbeat_every + kill_grace + 2 s: "
                "a worker that is cut off needs that long to end its tasks before others run them again"
            )
        if self.worker_cut_limit < self.worker_fence_after:
            raise ValueError("worker_cut_limit must not be shorter than worker_fence_after")
        return self
