"""Compares a worker's former life, as its folder knows it, with a database that may have been restored since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import structlog

from dao.cluster import went_back
from dao.cluster.nodes import Me
from dao.cluster.went_back import LastGiven, Place
from dao.postgres.database import Database
from dao.postgres.pool import AsyncConnection
from model.ids import Epoch
from model.logs.name import LogName

log = structlog.get_logger()

SHOWN_MAX = 100


@dataclass(frozen=True, slots=True)
class FormerLife:
    """The last life of a folder's worker, and the place in the database's history at which it began."""

    epoch: Epoch
    incarnation: UUID
    began: Place


async def last_given(database_url: str) -> LastGiven:
    """Read the last ids that the database assigned, to compare them with those of the folder's logs.

    Read before the life begins: beginning fences the former life, and masters then create new attempts at once in place
    of its attempts. On a restored database these may reuse ids that already have logs.

    Raises:
        Unavailable: the database does not answer.
    """
    database = Database(database_url, application_name="shoal-starting", connections_max=1)
    try:
        return await database.read(went_back.last_given)
    finally:
        await database.close()


async def why_back(
    connection: AsyncConnection, me: Me, before: FormerLife, given: LastGiven, logged: Sequence[LogName]
) -> str | None:
    """Why the database is an earlier state of the one that the folder knows; None if nothing shows that.

    Args:
        before: the folder's life before that of `me`.
        given: the last ids assigned before `me` began.
        logged: attempts of which the folder has logs.
    """
    if before.epoch >= me.epoch:
        return f"the worker's folder knows epoch {before.epoch}, and {me} was begun after it"
    now = await went_back.last_given(connection)
    last = max((each.task_instance_id for each in logged), default=0)
    # If a person has looked meanwhile, no id is given that any folder has. One of another timeline may be of a former
    # primary that was frozen, and is behind.
    is_ours = (now.restored_at, now.timeline) == (given.restored_at, given.timeline)
    attempt = (given if is_ours else now).attempt
    if last > attempt:
        return f"the worker's folder has the log of attempt {last}, and the last given is {attempt}"
    if (await went_back.place(connection)).may_precede(before.began):
        runs = {each.task_instance_id: each.workflow_instance_id for each in logged}
        return await went_back.why_given_again(connection, before.epoch, before.incarnation, runs)
    return None


async def tell_gone(database: Database, logged: Sequence[LogName]) -> None:
    """Log which attempts the restore removed, from those since the folder's last life."""
    gone = await database.read(went_back.gone, [each.task_instance_id for each in logged])
    if gone:
        so = "they are not in the restored database, and their tasks may run again with the same key"
        log.warning("attempts_gone", count=len(gone), first=gone[:SHOWN_MAX], so=so)
