"""Saving the pools of files, in the transaction of the caller, and what is wrong with a workflow beside the pools."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dao.pools import pool_listings as pools
from dao.pools import saved_pools
from model.errors import Changed, Refused
from model.near import nearest
from service.pools.answers import SavedPool

if TYPE_CHECKING:
    from dao.accounts.audit import AuditEntry
    from dao.pools.saved_pools import PoolHead, PutPool
    from dao.postgres.pool import AsyncConnection
    from model.definitions.workflow import WorkflowSpec
    from service.callers import Caller
    from service.pools.pool_file import PoolDocument

KIND = "resource-pool"
"""In the audit."""
NEAR_MAX = 20
"""Of so many pools that are missing it is said which may be meant."""


@dataclass(frozen=True)
class PoolSaved:
    """A pool of a file, and what became of it."""

    document: PoolDocument
    put: PutPool

    def answer(self) -> SavedPool:
        return SavedPool(
            file=self.document.file,
            name=self.document.name,
            version=self.put.head.version,
            is_new_version=self.put.is_new_version,
            version_before=self.put.before,
            total=self.document.spec.size,
            added=self.put.added,
            removed=self.put.removed,
            leaving=self.put.leaving,
        )

    @property
    def before(self) -> Mapping[str, Any] | None:
        """What the audit says was before."""
        return None if self.put.before is None else {"version": self.put.before}

    @property
    def after(self) -> Mapping[str, Any]:
        """What the audit says is now: no data, since it may contain passwords."""
        counts = {"total": self.document.spec.size, "added": self.put.added, "removed": self.put.removed}
        return {"version": self.put.head.version, **counts}

    def entry(self, caller: Caller, action: str) -> AuditEntry:
        name = self.document.name
        return caller.entry(action, KIND, name, name, before=self.before, after=self.after)


async def save_pools(
    connection: AsyncConnection,
    documents: Sequence[PoolDocument],
    by: str,
    version: int | None = None,
    *,
    are_new: bool = False,
) -> list[PoolSaved]:
    """Save them. The caller must roll back the transaction if this raises.

    Args:
        by: who saves them.
        version: the one that the caller has seen of the only one of them; None: any.
        are_new: none of them may be there already.
    Raises:
        Refused: one would be the same variable of a task as another pool, or is there and should not. Changed: it has
            another version.
    """
    held = await saved_pools.hold(connection, [each.name for each in documents])
    if are_new and held:
        there = sorted(held)[0]
        raise Refused(
            f'there is a pool "{there}" already, in version {held[there].version}; give this one another name, or '
            "change that one"
        )
    if version is not None:
        for each in documents:
            check_version(held.get(each.name), each.name, version)
    put = await saved_pools.put(connection, held, {each.name: each.spec for each in documents}, by)
    return [PoolSaved(each, put[each.name]) for each in documents]


def check_version(now: PoolHead | None, name: str, version: int) -> None:
    """Raises `Changed` unless a pool has the version that was read."""
    if now is None:
        raise Changed(f'pool "{name}" was deleted meanwhile; version {version} was read')
    if now.version != version:
        raise Changed(
            f'pool "{name}" was changed meanwhile: version {version} was read, version {now.version} is there now, '
            f"saved by {now.changed_by} at {now.changed_at:%F %T %Z}"
        )


async def sizes_named(connection: AsyncConnection, specs: Sequence[WorkflowSpec]) -> Mapping[str, int]:
    """How many resources the pools have of which tasks of these workflows need some; a pool that is not, is missing.

    Those that may be meant by one that is missing are among them too.
    """
    named = {pool for spec in specs for task in spec.tasks for pool in task.resources}
    if not named:
        return {}
    sizes = await pools.sizes(connection, named)
    if missing := sorted(named - sizes.keys())[:NEAR_MAX]:
        known = await saved_pools.all_names(connection)
        near = await asyncio.to_thread(lambda: [nearest(each, known) for each in missing])
        sizes |= await pools.sizes(connection, [each for each in near if each is not None])
    return sizes


def doubtful_resources(spec: WorkflowSpec, sizes: Mapping[str, int]) -> Iterator[str]:
    """Tasks that need a pool that there is not, or more than it has: they would wait until somebody makes it.

    `sizes`: how many resources each pool has, also of those that may be meant.
    """
    near: dict[str, str | None] = {}
    for task in spec.tasks:
        for pool, needed in task.resources.items():
            if pool not in sizes:
                if pool not in near and len(near) < NEAR_MAX:
                    near[pool] = nearest(pool, sorted(sizes))
                meant = near.get(pool)
                cure = f'did you mean "{meant}"?' if meant else "it waits until there is one"
                yield f'task "{task.name}": there is no resource pool "{pool}"; {cure}'
            elif needed > sizes[pool]:
                yield (
                    f'task "{task.name}": it needs {needed} of pool "{pool}", which has {sizes[pool]}; it waits until '
                    f"there are more"
                )
