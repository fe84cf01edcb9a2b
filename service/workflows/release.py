"""Putting workflows ONLINE and OFFLINE, and deleting those that nothing uses."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from dao.definitions import definitions, release
from dao.definitions.definitions import Definition
from dao.definitions.release import Users
from dao.postgres.engine import AsyncConnection
from model.accounts.rights import is_seen
from model.errors import Refused


async def delete(connection: AsyncConnection, head: Definition, visible: Collection[str] | None = None) -> None:
    """Delete a workflow and its versions; its ended runs stay listed.

    `visible`: the projects whose workflows may be named; None = all.

    Raises:
        Refused: something uses it; the sentence says what, and how to end that.
    """
    await definitions.lock(connection, head.code)
    reasons = list(_reasons(await release.users_of(connection, head.code), visible))
    if reasons:
        raise Refused(f'workflow "{head.name}" cannot be deleted: {"; ".join(reasons)}')
    await release.delete(connection, head.code)


def _reasons(users: Users, visible: Collection[str] | None) -> Iterator[str]:
    if users.runs:
        one = len(users.runs) == 1
        yield f"{_listed('run', users.runs)} {'has' if one else 'have'} not ended (shoal stop {users.runs[0]})"
    if users.commands:
        one = len(users.commands) == 1
        yield f"{_listed('command', users.commands)} {'waits' if one else 'wait'} for a master (shoal queue)"
    if users.schedules:
        one = len(users.schedules) == 1
        starts = "starts" if one else "start"
        yield f"{_listed('schedule', users.schedules)} {starts} it (shoal schedule delete {users.schedules[0]})"
    if users.workflows:
        names = [f'"{name}"' for project, name in users.workflows if is_seen(project, visible)]
        hidden = len(users.workflows) - len(names)
        whose = [*([_listed("workflow", names)] if names else []), *(["one of another project"] if hidden else [])]
        uses = "uses" if len(users.workflows) == 1 else "use"
        yield f"{' and '.join(whose)} {uses} it (take that task out of its file and apply it)"


def _listed(thing: str, found: Sequence[object]) -> str:
    more = " and perhaps more" if len(found) == release.FOUND_MAX else ""
    return f"{thing}{'' if len(found) == 1 else 's'} {', '.join(map(str, found))}{more}"
