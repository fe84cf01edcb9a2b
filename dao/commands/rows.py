"""Commands as answers show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from model.ids import CommandId, Epoch


@dataclass(frozen=True)
class WaitingCommand:
    """A command that no master has taken yet, and the workflow that it starts or whose run it changes.

    `workflow` and `project` are None when there is no such definition.
    """

    id: CommandId
    type: str
    workflow_code: int | None
    workflow: str | None
    project: str | None
    run_id: int | None
    priority: str | None
    age_s: float | None
    created_by: str


@dataclass(frozen=True)
class Residue:
    """The commands that wait for one slot, and the age of the oldest."""

    slot: int
    waiting: int
    oldest_s: float | None


@dataclass(frozen=True)
class Arrival:
    """A command and, once a master handled it, when, by whom and how."""

    id: CommandId
    type: str
    created_at: datetime
    handled_at: datetime | None
    master: Epoch | None
    outcome: str | None
    run_id: int | None


@dataclass(frozen=True)
class Claims:
    """The commands that a master took lately, and how many that is a second."""

    epoch: Epoch
    taken: int
    per_s: float


@dataclass(frozen=True)
class ErrorCommand:
    """A refused command with all its columns. `created_at` is text: a row inserted by hand may contain any date."""

    id: CommandId
    type: str
    workflow_code: int | None
    workflow_version: int | None
    workflow_instance_id: int | None
    params: str
    priority: str | None
    failure_strategy: str | None
    worker_group: str | None
    created_at: str | None
    created_by: str | None
    reason: str
    master: Epoch
    refused_at: datetime
    start_tasks: str | None
    project: str | None
    project_of_run: str | None
    """The projects of the workflow that it names, and of the run that it is to change."""

    @property
    def projects(self) -> frozenset[str]:
        """All projects that it touches; none if there is no such workflow."""
        return frozenset(each for each in (self.project, self.project_of_run) if each is not None)
