"""`triggers`: events that start a workflow, beside people and its schedules. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from model.choices import TriggeringEnd
from model.fields import Name

TRIGGERS_MAX = 20
UPDATES_MAX = 20
EVENT = "event"
"""The parameter that describes to a run the event that started it: a JSON object."""


class TriggerSpec(BaseModel):
    """One event that starts the workflow.

    It is the end of a run of `workflow` in one of `states`, an update of `dataset`, an update of all `datasets` since
    the last start, or a webhook signed with the SECRET parameter `webhook` (`model/runs/webhooks.py`). `project`
    defaults to the project of the workflow that it starts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    workflow: Name | None = None
    dataset: Name | None = None
    datasets: Annotated[tuple[Name, ...], Field(max_length=UPDATES_MAX)] = ()
    webhook: Name | None = None
    project: Name | None = None
    states: tuple[TriggeringEnd, ...] = (TriggeringEnd.SUCCESS,)

    @property
    def words(self) -> str:
        if self.webhook is not None:
            return f'a webhook signed with "{self.webhook}"'
        what = f'dataset "{self.dataset}"' if self.dataset is not None else f'workflow "{self.workflow}"'
        if self.datasets:
            what = "all of the datasets " + ", ".join(f'"{name}"' for name in self.datasets)
        return what if self.project is None else f'{what} of project "{self.project}"'


Triggers = Annotated[tuple[TriggerSpec, ...], Field(max_length=TRIGGERS_MAX)]


def unfit_trigger(triggers: Sequence[TriggerSpec]) -> str | None:
    """The problem of these triggers as a sentence; None if they are valid."""
    for place, trigger in enumerate(triggers):
        named = (trigger.workflow, trigger.dataset, trigger.datasets or None, trigger.webhook)
        if named.count(None) != len(named) - 1:
            return (
                "each trigger names either a workflow, a dataset, datasets or a webhook; write - workflow: NAME, "
                "- dataset: NAME, - datasets: [NAME, NAME] or - webhook: SECRET"
            )
        if trigger.datasets and (len(trigger.datasets) < 2 or len(set(trigger.datasets)) < len(trigger.datasets)):
            return f"{trigger.words} are not several different ones; name each once, or write - dataset: NAME"
        alone = [each.dataset for each in triggers if each.project == trigger.project and each.dataset is not None]
        if twice := next((name for name in trigger.datasets if name in alone), None):
            return f'each update of dataset "{twice}" starts it, so {trigger.words} need not wait for it; remove one'
        # The API writes the default too, and reads what it wrote.
        if trigger.workflow is None and trigger.states != (TriggeringEnd.SUCCESS,):
            return f"states are those of runs, and the trigger of {trigger.words} has none; remove them"
        if trigger.webhook is not None and trigger.project is not None:
            return f"{trigger.words} is sent to this workflow, in no project; remove project"
        if not trigger.states:
            return f"the trigger of {trigger.words} waits for no state; write states: [FAILURE], or leave them out"
        if trigger in triggers[:place]:
            return f"two triggers wait for {trigger.words}; one is enough"
    return None
