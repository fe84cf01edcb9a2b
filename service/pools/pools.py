"""The operations that show resource pools: what is free, who holds what, and who waits in which order."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dao.pools import pool_listings as pools
from dao.pools import saved_pools
from dao.postgres import database
from dao.runs import usual_times
from model.accounts.rights import Right
from model.ids import TaskCode, WorkflowCode
from model.pools.resources import LINE_SHOWN_MAX
from model.runs.estimate import task_left_s
from service.call import Call
from service.operation import operation
from service.paging import PageOf, page_of
from service.pools import pool_file
from service.pools.answers import PoolAnswer, PoolContent, ResourceAnswer, WaitingTaskAnswer
from service.pools.requests import LineQuery, Name, PoolQuery, ResourceQuery, resource_cursor

if TYPE_CHECKING:
    from dao.pools.rows import ResourceRow
    from dao.postgres.pool import AsyncConnection

TAG = "resource-pools"
WORKFLOWS_MAX = 10
"""The tasks of so many workflows are estimated: each costs a statement."""


@operation("GET", "/resource-pools", Right.VIEW_CLUSTER, TAG)
async def list_pools(call: Call, query: PoolQuery) -> PageOf[PoolAnswer]:
    """List the resource pools by name: how many resources of each are free, taken or set aside, and how many wait."""
    found = await call.read(pools.page, query.limit + 1, query.after, query.q)
    return page_of(found, query.limit, PoolAnswer.model_validate, lambda each: each.name)


@operation("GET", "/resource-pools/{name}", Right.VIEW_CLUSTER, TAG)
async def get_pool(call: Call, name: Name) -> PoolContent:
    """Show a pool; the ETag is its version. Its file, and the script or URL of its check, go to admins only."""
    async with call.reading() as connection:
        head = await saved_pools.head(connection, name)
        row = await pools.pool(connection, name)
        if row is None:
            raise await saved_pools.not_found(connection, name)
        yaml = None
        if call.caller.may(Right.ADMINISTER):
            yaml = await asyncio.to_thread(pool_file.yaml_of_pool, name, await saved_pools.spec_of(connection, head))
    return PoolContent.of_content(row, head, yaml)


@operation("GET", "/resource-pools/{name}/resources", Right.VIEW_CLUSTER, TAG)
async def list_resources(call: Call, name: Name, query: ResourceQuery) -> PageOf[ResourceAnswer]:
    """List the resources of a pool in the order of its file: who holds each, until when, and which nobody gets.

    Their data goes to admins only, and the tasks that hold them to who may see their projects.
    """
    visible = call.caller.projects_with(Right.VIEW)
    shows_data = call.caller.may(Right.ADMINISTER)
    async with call.reading() as connection:
        head = await saved_pools.head(connection, name)
        wanted = pools.ResourceFilter(head.code, query.state, query.q)
        lease = call.settings.timing.worker_fence_after
        found = await pools.resources(connection, wanted, query.limit + 1, query.after_place, lease=lease)
        left_s = await seconds_left(connection, found)
    return page_of(
        found,
        query.limit,
        lambda each: ResourceAnswer.of(each, visible, left_s=left_s.get(each.id), shows_data=shows_data),
        resource_cursor,
    )


@operation("GET", "/resource-pools/{name}/line", Right.VIEW_CLUSTER, TAG)
async def get_pool_line(call: Call, name: Name, query: LineQuery) -> PageOf[WaitingTaskAnswer]:
    """List the attempts that wait for resources of a pool, which need not exist, in order, up to place 100,000."""
    visible = call.caller.projects_with(Right.VIEW)
    async with call.reading() as connection:
        limit = min(query.limit, LINE_SHOWN_MAX - query.after_place)
        found = await pools.line(connection, name, limit + 1, query.after_place)
        if not found:
            await saved_pools.head(connection, name)
    if found and found[-1].place > LINE_SHOWN_MAX:
        found.pop()
    return page_of(found, limit, lambda each: WaitingTaskAnswer.of(each, visible), lambda each: each.place)


async def seconds_left(connection: AsyncConnection, resources: Sequence[ResourceRow]) -> dict[int, float]:
    """The seconds for which resources are still held, by their ids; those that nobody knows are missing, as of
    streams."""
    held: dict[WorkflowCode, list[ResourceRow]] = defaultdict(list)
    for each in resources:
        if each.task is None or each.task.is_stream:
            continue
        if each.taken_at is not None and each.task.workflow_code is not None:
            held[WorkflowCode(each.task.workflow_code)].append(each)
    if not held:
        return {}
    now = await database.database_time(connection)
    left: dict[int, float] = {}
    for code, rows in list(held.items())[:WORKFLOWS_MAX]:
        usual = await usual_times.of_tasks(connection, code, {TaskCode(each.task.code) for each in rows if each.task})
        for each in rows:
            assert each.task is not None
            assert each.taken_at is not None
            elapsed_s = max(0.0, (now - each.taken_at).total_seconds())
            left_s = task_left_s(None, elapsed_s, usual.get(TaskCode(each.task.code)))
            if left_s is not None:
                left[each.id] = left_s
    return left
