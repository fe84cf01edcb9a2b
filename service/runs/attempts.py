"""The operations that list and show attempts of tasks across runs."""

from __future__ import annotations

from dao.run_lists import run_conditions, run_counts
from dao.runs import lookups
from dao.tasks import attempt_listings as attempts
from model.accounts.rights import Right
from model.definitions.names import as_id
from model.ids import TaskInstanceId
from model.parameters.secret_values import without_sealed
from service.call import Call
from service.fields import Id
from service.operation import operation
from service.paging import PageOf, page_of
from service.runs.answers import AttemptAnswer
from service.runs.listing import COUNTED_MAX, started_after
from service.runs.requests import TaskQuery, pairs


@operation("GET", "/task-instances", Right.VIEW, "task-instances")
async def list_task_instances(call: Call, query: TaskQuery) -> PageOf[AttemptAnswer]:
    """List attempts of tasks of all runs, newest first."""
    visible = call.visible()
    worker_id = as_id(query.worker) if query.worker is not None else None
    async with call.reading() as connection:
        wanted = attempts.AttemptFilter(
            query.state,
            query.type,
            query.name,
            query.workflow,
            query.project,
            query.worker if worker_id is None else None,
            worker_id,
            query.worker_group,
            await started_after(connection, query),
            visible,
            query.started_before,
            query.q,
            run_conditions.RunConditions(query.trigger, query.master, parameters=pairs(query.parameter)),
        )
        walked = await attempts.page(connection, query.limit + 1, wanted, query.after)
        counted = None
        if query.count == "estimate":
            counted = run_counts.Count(await attempts.estimate(connection, wanted), is_capped=False)
        elif query.count == "exact":
            counted = await attempts.count(connection, wanted, COUNTED_MAX)
    page = page_of(
        walked.found, query.limit, AttemptAnswer.of_attempt, lambda each: each.task.id, walked_to=walked.down_to
    )
    if counted is None:
        return page
    return page.model_copy(update={"count": counted.number, "count_capped": counted.is_capped})


@operation("GET", "/task-instances/{id}", Right.VIEW, "task-instances")
async def get_task_instance(call: Call, id: Id) -> AttemptAnswer:
    """Show one attempt of a task, with the values of its parameters."""
    async with call.reading() as connection:
        found = await attempts.attempt(connection, TaskInstanceId(id))
        values = await lookups.values_of(connection, TaskInstanceId(id))
    call.permit(found.project)
    return AttemptAnswer.of_attempt(found).model_copy(update={"values": without_sealed(values)})
