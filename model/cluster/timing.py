"""The timing of a cluster: one set of values in the database, and the limits that each node reports.

A node with other settings does not start. Nodes that run while a person changes the timing keep the old values until
they are restarted. So each node reports with every beat how long it may be silent, and is measured by that.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from model.errors import Refused
from model.time.durations import seconds_of

TASKS_END_S = 1.0
"""When a worker's process dies, the supervisors of its tasks kill these at once, which takes a moment on a busy
machine. The worker is fenced only after this delay, and then its tasks run elsewhere."""

WORKER_CUT_MARGIN_S = 30.0
"""A worker that lost the database ends its tasks at `worker_cut_limit`; others wait this much longer."""


def _from_number(value: object) -> object:
    """Read numbers as seconds, also from text: an environment variable is always text."""
    if isinstance(value, str):
        if (seconds := seconds_of(value)) is not None:
            return timedelta(seconds=seconds)
        try:
            return timedelta(seconds=float(value))
        except (ValueError, OverflowError):
            return value
    return value


Duration = Annotated[timedelta, BeforeValidator(_from_number), Field(gt=timedelta(0))]
"""A duration: seconds (2, 0.5, "2"), or ISO 8601 (PT1M)."""

DurationOrNone = Annotated[timedelta, BeforeValidator(_from_number), Field(ge=timedelta(0))]
"""The same, or 0 for none."""


def _seconds(value: float) -> timedelta:
    return timedelta(seconds=value)


class Timing(BaseModel):
    """The time limits for silence and for the beats of nodes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    heartbeat_every: Duration = Field(_seconds(2), description="time between two beats of a node")
    session_timeout: Duration = Field(_seconds(10), description="silence after which the registry drops a node")
    master_fence_after: Duration = Field(
        _seconds(10), description="standstill of a master's beat after which others fail over its runs"
    )
    worker_fence_after: Duration = Field(
        _seconds(30),
        description="standstill of a worker's beat, without a registry entry, after which its tasks are lost",
    )
    worker_cut_limit: Duration = Field(
        _seconds(600),
        description="longest time that a worker may run without the database",
    )
    kill_grace: Duration = Field(_seconds(5), description="time between TERM and KILL for a task's processes")

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if 3 * self.heartbeat_every > self.session_timeout:
            raise ValueError("heartbeat_every must be at most a third of session_timeout: one lost beat is not a death")
        if self.master_fence_after < 3 * self.heartbeat_every:
            raise ValueError("master_fence_after must be at least three heartbeat_every: one late beat is not a death")
        if self.worker_fence_after < 3 * self.heartbeat_every + self.kill_grace + _seconds(2):
            raise ValueError(
                "worker_fence_after must exceed three heartbeat_every + kill_grace + 2 s: "
                "a worker that is cut off needs that long to end its tasks before others run them again"
            )
        if self.worker_cut_limit < self.worker_fence_after:
            raise ValueError("worker_cut_limit must not be shorter than worker_fence_after")
        return self

    @classmethod
    def recorded(cls, seconds: Mapping[str, object]) -> Self:
        """Read the values as stored, or as a person sets them. Raises `Refused`."""
        try:
            return cls.model_validate(seconds)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            where = ".".join(str(step) for step in fault["loc"])
            sentence = str(fault["msg"]).removeprefix("Value error, ")
            raise Refused(f"the cluster cannot live by these times: {where}{': ' if where else ''}{sentence}") from None

    def seconds(self) -> dict[str, float]:
        """The values by name, in seconds, as stored."""
        return {name: getattr(self, name).total_seconds() for name in type(self).model_fields}

    def agreed(self, recorded: Timing) -> Timing:
        """The cluster's timing. Raises `Refused` if this node's settings differ from it."""
        ours, theirs = self.seconds(), recorded.seconds()
        differing = [name for name in ours if name in self.model_fields_set and ours[name] != theirs[name]]
        if not differing:
            return recorded
        other = ", ".join(f"{name} = {ours[name]:g} s (the cluster: {theirs[name]:g} s)" for name in differing)
        change = " ".join(f"--set {name}={ours[name]:g}" for name in differing)
        raise Refused(
            f"this node's settings name other times than the cluster lives by: {other}; "
            f"take them out of its settings, or change the cluster's: shoal db timing {change}"
        )


class Silence(BaseModel):
    """How long a node may be silent before others consider it dead, in seconds, as it reports with each beat.

    `cut_s` is how long a worker continues with the registry alone; a master ignores it.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    beat_s: float = Field(gt=0)
    session_s: float = Field(gt=0)
    fence_s: float = Field(gt=0)
    cut_s: float = Field(gt=0)

    @classmethod
    def of_master(cls, timing: Timing) -> Self:
        """The silence that a master with this timing reports."""
        return cls._of(timing, timing.master_fence_after)

    @classmethod
    def of_worker(cls, timing: Timing) -> Self:
        """The silence that a worker with this timing reports and obeys: its tasks end before the earliest limit."""
        return cls._of(timing, timing.worker_fence_after)

    @classmethod
    def _of(cls, timing: Timing, fence_after: timedelta) -> Self:
        return cls(
            beat_s=timing.heartbeat_every.total_seconds(),
            session_s=timing.session_timeout.total_seconds(),
            fence_s=fence_after.total_seconds(),
            cut_s=timing.worker_cut_limit.total_seconds(),
        )
