"""Which runs are wanted: by their states, workflow and start, which indexes have, and by conditions that none has."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from dao.run_lists.run_conditions import ANY_RUN, RunConditions
from model.runs.states import WorkflowState

_LIMITS = {
    "states": "i.state = ANY(CAST(:states AS text[]))",
    "workflow": "d.name = :workflow",
    "project": "d.project = :project",
    "visible": "d.project = ANY(CAST(:visible AS text[]))",
    "since": "i.started_at >= CAST(:since AS timestamptz)",
    "until": "i.started_at < CAST(:until AS timestamptz)",
}


@dataclass(frozen=True)
class WantedRuns:
    """Which runs are meant, and of a page of their list how many and where it begins.

    Args:
        states: only these; none = all.
        workflow: only those of workflows with this name.
        project: only those of workflows of this project.
        since: only those that started then or later, and before `until`; aware.
        before: the last id of the previous page.
        children: also the child runs of others.
        visible: only those of workflows of these projects; None = of all.
        conditions: what else they must meet, which no index has.
    """

    limit: int = 0
    states: Sequence[WorkflowState] = ()
    workflow: str | None = None
    project: str | None = None
    since: datetime | None = None
    before: int | None = None
    children: bool = True
    visible: Collection[str] | None = None
    until: datetime | None = None
    only_children: bool = False
    conditions: RunConditions = ANY_RUN

    def page(self, limit: int, before: int | None = None) -> WantedRuns:
        """A page of them."""
        return replace(self, limit=limit, before=before)

    @property
    def is_of_workflows(self) -> bool:
        """Whether it depends on the workflow of a run."""
        return (self.workflow, self.project, self.visible) != (None, None, None)

    @property
    def is_any(self) -> bool:
        limits = self.states or self.is_of_workflows or self.since or self.until or self.only_children
        return self.children and not limits

    @property
    def tops(self) -> list[bool]:
        """Whether runs without a parent are wanted, those with one, or both."""
        return [False] if self.only_children else [True, False] if self.children else [True]


def matching(wanted: WantedRuns) -> tuple[str, dict[str, Any]]:
    """The condition on a run `i` and its definition `d` that says which runs are wanted, and its values."""
    limits = {
        "states": [state.value for state in wanted.states] or None,
        "visible": None if wanted.visible is None else list(wanted.visible),
        **{name: getattr(wanted, name) for name in ("workflow", "project", "since", "until")},
    }
    values = {name: value for name, value in limits.items() if value is not None}
    condition, of_conditions = wanted.conditions.sql("i")
    only_top = [] if wanted.children else ["i.parent_instance_id IS NULL"]
    return " AND ".join([*(_LIMITS[name] for name in values), condition, *only_top]), values | of_conditions
