"""The operation that lists what happened to a run."""

from __future__ import annotations

from collections.abc import Sequence

from dao.run_lists import run_listings as listings
from model.accounts.rights import Right
from model.ids import WorkflowInstanceId
from service.call import Call
from service.fields import Answer, Id
from service.operation import operation
from service.runs.story import StoryEvent, read_story


class StoryEventAnswer(Answer, StoryEvent):
    """One event of a run's story.

    Of a command: `command_id`, `command_type`, who asked (`by`), the master that handled it with the `slot` that it
    believed to have, and why it was refused (`reason`). Of an attempt: `task`, `task_id`, `attempt`, its worker, and
    at its end `state` and `reason`. Of a child run: `child_id`, its `workflow`, the `task` and `attempt` that it stands
    for. `node` is the name of the master or worker.
    """


class Story(Answer):
    """What happened to a run, oldest first."""

    events: Sequence[StoryEventAnswer]


@operation("GET", "/workflow-instances/{id}/events", Right.VIEW, "workflow-instances")
async def get_story(call: Call, id: Id) -> Story:
    """List what happened to a run: what was asked and by whom, masters, attempts, children, its end."""
    run_id = WorkflowInstanceId(id)
    async with call.reading() as connection:
        call.permit((await listings.run_head(connection, run_id)).project)
        found = await read_story(connection, run_id, call.visible())
    return Story(events=[StoryEventAnswer.model_validate(event) for event in found])
