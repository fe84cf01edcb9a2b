"""CONDITIONS: the results of named predecessors choose the branch for success or the one for failure.

A task failed if it ended in any state but SUCCESS or FORCED_SUCCESS. A skipped or killed one failed too, as it did not
do its work. Two levels of AND and OR: items make a group, groups make the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from model.fields import Name
from model.logic.fields import Branch, LogicParams, Part, Relation

ITEMS_MAX = 1_000
GROUPS_MAX = 100


class Ended(StrEnum):
    """The expected result of a predecessor."""

    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"


class ConditionsItem(Part):
    """True if the task ended with this result."""

    task: Name
    status: Ended = Ended.SUCCESS


class ConditionsGroup(Part):
    """True if all of its items are, or with OR any of them."""

    relation: Relation = Relation.AND
    items: tuple[ConditionsItem, ...] = Field(min_length=1, max_length=ITEMS_MAX)


def _from_short_form(value: Any) -> Any:
    """`{extract: SUCCESS, load: FAILURE}` becomes one group for each task, so that `relation` joins them."""
    if isinstance(value, dict):
        return [{"items": [{"task": task, "status": status}]} for task, status in value.items()]
    return value


class ConditionsParams(LogicParams):
    """Groups, or as a short form a mapping of tasks to SUCCESS or FAILURE; and the tasks of the two branches."""

    relation: Relation = Relation.AND
    when: Annotated[
        tuple[ConditionsGroup, ...],
        BeforeValidator(_from_short_form, json_schema_input_type=dict[Name, Ended] | tuple[ConditionsGroup, ...]),
        Field(min_length=1, max_length=GROUPS_MAX),
    ]
    on_success: Branch = ()
    on_failure: Branch = ()

    def branches(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.on_success, *self.on_failure)))

    def named(self) -> tuple[str, ...]:
        """The predecessors whose results it uses, each once; it handles their failures, so the run does not fail."""
        return tuple(dict.fromkeys(item.task for group in self.when for item in group.items))


def choose(params: ConditionsParams, succeeded: Mapping[str, bool]) -> tuple[str, ...]:
    """The tasks of the chosen branch.

    Args:
        params: validated when they were saved.
        succeeded: name -> whether it ended in SUCCESS or FORCED_SUCCESS; one without an entry was skipped or killed,
            which counts as FAILURE.
    Source: docs/reference/tasks/conditions.md.
    """
    groups = (
        _join(
            group.relation, [succeeded.get(item.task, False) == (item.status is Ended.SUCCESS) for item in group.items]
        )
        for group in params.when
    )
    return params.on_success if _join(params.relation, list(groups)) else params.on_failure


def _join(relation: Relation, truths: list[bool]) -> bool:
    return all(truths) if relation is Relation.AND else any(truths)
