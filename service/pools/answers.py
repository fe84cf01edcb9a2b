"""Resource pools as people see them. Tasks of projects that a caller may not see have no name for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from dao.pools.rows import PoolRow, ResourceRow, TaskOfRun, WaitingTask
from model.choices import Priority
from service.fields import Answer, Id, Moment, WrittenId

if TYPE_CHECKING:
    from dao.pools.saved_pools import PoolHead

Visible = Collection[str] | None
"""The projects whose tasks a caller may see; None = all."""


class PoolAnswer(Answer, PoolRow, etag="version"):
    """A resource pool: how many resources it has (`total`), and how many of them are in which state.

    NAMED: they have names and data; COUNT: it is a limit, and they are called 1, 2, 3 ... `removed` ones are not in
    `total`: somebody holds them still. `waiting` counts the attempts in its line, up to 10,000.
    """

    is_checked: Annotated[bool, Field(description="its resources are checked before they are given")]


class PoolContent(PoolAnswer):
    """A pool, and how its resources are checked. `yaml` and the check's `script` or `url` may contain passwords: only
    who may change the pool gets them."""

    check: PoolCheckAnswer | None = None
    yaml: Annotated[str | None, Field(description="its file, which `apply` reads as the same pool")] = None

    @classmethod
    def of_content(cls, pool: PoolRow, head: PoolHead, yaml: str | None) -> PoolContent:
        """The answer for a pool; `yaml` None: to one who may not change it."""
        return cls.showing(pool, check=PoolCheckAnswer.of(head, shows=yaml is not None), yaml=yaml)


class PoolCheckAnswer(Answer):
    """How each resource is checked."""

    kind: Literal["SCRIPT", "URL"]
    script: str | None = None
    url: str | None = None
    timeout_s: float
    every_s: float

    @classmethod
    def of(cls, pool: PoolHead, *, shows: bool) -> PoolCheckAnswer | None:
        """Of a pool; None: it has none. `shows`: with the script or URL."""
        if (check := pool.check) is None:
            return None
        return cls(
            kind="SCRIPT" if check.script is not None else "URL",
            script=check.script if shows else None,
            url=check.url if shows else None,
            timeout_s=check.timeout,
            every_s=check.every,
        )


class TaskOfRunAnswer(Answer, TaskOfRun, without={"code", "workflow_code"}):
    """An attempt of a task, and whose it is. A stream runs until it is stopped."""

    id: Id
    run_id: Id

    @classmethod
    def of(cls, task: TaskOfRun | None, visible: Visible) -> TaskOfRunAnswer | None:
        """The answer for an attempt; None if the caller may not see it."""
        if task is None or (visible is not None and task.project not in visible):
            return None
        return cls.model_validate(task)


class ResourceAnswer(Answer, ResourceRow, without={"place"}):
    """A resource of a pool.

    `task` holds it since `taken_at` on `worker`; it is left out for who may not see its project. Its lease lasts until
    `busy_before`, and each beat of the worker extends it; `left_s` is how long tasks like it usually take from here.
    A resource that is set aside may still be held: then nobody gets it afterwards. `set_aside_by` is left out if its
    check did that. `data` is shown to who may change the pool, since it may contain passwords.
    """

    id: Id
    data: Mapping[str, Any] | None = None
    task: TaskOfRunAnswer | None = None
    worker_epoch: WrittenId | None = None
    left_s: float | None = None

    @classmethod
    def of(
        cls, resource: ResourceRow, visible: Visible, *, left_s: float | None = None, shows_data: bool
    ) -> ResourceAnswer:
        return cls.showing(
            resource,
            data=resource.data if shows_data else None,
            task=TaskOfRunAnswer.of(resource.task, visible),
            left_s=left_s,
        )


class WaitingTaskAnswer(Answer, WaitingTask):
    """An attempt that waits for resources of a pool, at its `place` in the line, from 1: by the priorities of run and
    task, then age. `needs` are all pools of which it needs resources. `task` is left out for who may not see it."""

    task: TaskOfRunAnswer | None = None
    priority: Annotated[Priority, Field(description="of its run")]

    @classmethod
    def of(cls, waiting: WaitingTask, visible: Visible) -> WaitingTaskAnswer:
        return cls.showing(waiting, task=TaskOfRunAnswer.of(waiting.task, visible))


class SavedPool(Answer, etag="version"):
    """What became of a pool: `added` and `removed` resources; `leaving` ones were removed and are still held."""

    file: str = ""
    name: str
    version: int
    is_new_version: bool
    version_before: Annotated[int | None, Field(description="left out of a new pool")] = None
    total: int
    added: int
    removed: int
    leaving: int


class AppliedPools(Answer):
    """What was saved, or with `dry_run` would be."""

    pools: Sequence[SavedPool]
    dry_run: bool


class ResourceChange(Answer):
    """A resource after it was set aside, or taken back. `is_new`: it was not so before. `is_held`: an attempt holds it,
    and goes on."""

    pool: str
    resource: str
    is_new: bool
    is_held: bool
    set_aside_at: Moment | None = None
    set_aside_why: str | None = None
    set_aside_by: str | None = None
