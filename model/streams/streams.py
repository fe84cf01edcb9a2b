"""Streams, tasks that are not expected to end: when they restart, and when they count as ready.

A restart is a new attempt. The pauses between restarts double, and start short again after an attempt that ran long
enough. An attempt that was ended to move it, or lost with its worker, is followed by the next one at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from model.backoff import Backoff
from model.choices import Restart
from model.fields import Minutes
from model.parameters.text import plain_data
from model.runs.states import TaskState

if TYPE_CHECKING:
    from model.definitions.workflow import TaskSpec

SHORTEST_PAUSE_S = 0.1
FAILURES_MAX = 1_000
"""Further ends in a row are not counted: the pause reached its maximum long before."""
ATTEMPTS_KEPT = 20
"""How many attempts of each stream are kept; a new attempt deletes older ones."""
PROBE_S_MIN = 0.1


def _web_address(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_fine = False
    if not is_fine or not url.isascii() or any(each <= " " for each in url):
        raise ValueError("must be a web address, such as http://127.0.0.1:8080/healthz")
    return url


class Readiness(BaseModel):
    """How a worker tests whether a stream is ready: exactly one of `command`, `url` and `port`.

    The probe succeeds if the command (run by bash, with the task's environment and in its folder) ends with 0, if the
    URL answers with a status from 200 to 399, or if the port on the worker's machine accepts a connection. One success
    makes the stream ready; `failures` in a row make it not ready. `within` is how long a rolling restart waits for it.
    Times are in minutes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: Annotated[str, Field(min_length=1, max_length=100_000), AfterValidator(plain_data)] | None = None
    url: Annotated[str, Field(max_length=2_000), AfterValidator(_web_address)] | None = None
    port: int | None = Field(None, gt=0, le=65_535)
    every: Minutes = 10 / 60
    timeout: Minutes = 1 / 60
    failures: int = Field(3, gt=0, le=1_000)
    within: Minutes = 1

    @model_validator(mode="after")
    def _is_one_probe(self) -> Self:
        if sum(each is not None for each in (self.command, self.url, self.port)) != 1:
            raise ValueError("must have exactly one of command, url and port")
        for name in ("every", "timeout"):
            if getattr(self, name) * 60 < PROBE_S_MIN:
                raise ValueError(f"must have a time of at least {PROBE_S_MIN} s in {name}; write it as 5s or 1m")
        return self


@dataclass(frozen=True, slots=True)
class StreamRule:
    """When a stream restarts. `pause_s` is the first pause, `pause_s_max` the longest; an attempt that runs for
    `healthy_s` resets the pauses."""

    restart: Restart
    pause_s: float
    pause_s_max: float
    healthy_s: float
    on_loss: bool
    readiness: Readiness | None = None

    def starts_again(self, state: TaskState) -> bool:
        """Whether another attempt follows one that ended in this state by itself, or was lost."""
        match state:
            case TaskState.NEED_FAULT_TOLERANCE:
                return self.on_loss
            case TaskState.FAILURE:
                return self.restart is not Restart.NEVER
            case TaskState.SUCCESS | TaskState.SKIPPED:
                return self.restart is Restart.ALWAYS
            case _:
                return False

    def failures_after(self, failures: int, ran_s: float) -> int:
        """The number of ends in a row, after an attempt that ran for `ran_s`; `failures` is the count before."""
        return min(self.failures_before(failures, ran_s) + 1, FAILURES_MAX)

    def failures_before(self, failures: int, ran_s: float) -> int:
        """The number of ends in a row before an attempt that ran for `ran_s`, as far as it still counts."""
        return 0 if ran_s >= self.healthy_s else failures

    def pause_after(self, failures: int, share: float) -> float:
        """The pause in seconds after `failures` ends in a row (from 1); `share` in [0, 1) shortens it by up to half."""
        pause = Backoff(self.pause_s, self.pause_s_max, failures - 1).next_pause_s(share)
        return max(SHORTEST_PAUSE_S, pause)


OF_STREAMS = ("restart", "restart_pause", "restart_pause_max", "healthy_after", "readiness")
NOT_OF_STREAMS = {
    "timeout": "it runs until it is stopped",
    "dispatch_timeout": "it waits until a worker has a place for it",
    "cache": "it is there to run, not to give outputs",
    "retry_times": "restart says when it is started again",
    "retry_interval": "restart_pause says how long it pauses",
    "skip_exit_codes": "restart says what follows its end",
    "updates": "it runs until it is stopped",
}


def misused(task: TaskSpec) -> str | None:
    """The problem with a task's stream fields, as a sentence; None if there is none."""
    fields = type(task).model_fields
    if not task.stream:
        wrong = next((name for name in OF_STREAMS if getattr(task, name) != fields[name].default), None)
        return None if wrong is None else f"{wrong} is for a stream; add stream: true, or remove it"
    for name, why in NOT_OF_STREAMS.items():
        if getattr(task, name):
            return f"a stream has no {name}, since {why}; remove it"
    if task.restart_pause * 60 < SHORTEST_PAUSE_S:
        return f"restart_pause must be at least {SHORTEST_PAUSE_S} s; write it as 1s or 1m"
    if task.restart_pause_max < task.restart_pause:
        return "restart_pause_max is shorter than restart_pause; make it longer"
    return None
