"""Commands that masters may have died of: set apart, tried in smaller and smaller groups, given up in the end.

What is wrong with a command and can be caught ends that command alone. What cannot (memory, a crash in a library) ends
the process before anything is written, and would end the next one too: the command would walk through the cluster for
ever. So whoever fences a master sets apart what it may have been at. That is tried in groups, each by one master, whose
epoch is committed to it *before* the try: should that one die as well, the group is divided. Who survives has cleared
its group; a command that was alone at the last try is the culprit (reliability study, W19). A master takes no more than
it has room for, and gives back what it has no room for by then, so that a neighbour can try it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from model.ids import CommandId, Epoch
from model.nodes import Slot

GROUPS = (500, 22, 1)
"""How many are tried at once after one death, two and three."""
DEATHS_MAX = len(GROUPS)

SET_APART_MAX = 500
"""Of each kind: the first ones of its slot, and the oldest of all, which it may have taken by age."""

# What is to be halted or taken over goes before all else and is left out: an owner that begins tasks before it hears of
# a stop would be worse, and a run that kills its masters has a limit of its own (`dao.workflow_instances`). The call
# of the next in a line goes before all else too; but what it lets begin may be deadly, and has no limit of its own yet.
# The stride of the ids is asked of the sequence, since who fences may be a process that has no settings of a master.
_SET_APART = text("""
    WITH step AS MATERIALIZED (
        SELECT seqincrement AS n FROM pg_sequence WHERE seqrelid = pg_get_serial_sequence('command', 'id')::regclass
    ), of_its_slot AS MATERIALIZED (
        SELECT ctid FROM command                   -- index: command_claim
        WHERE (id / (SELECT n FROM step)) % :total = :current AND deaths = 0
          AND (priority_rank >= 0 OR type = 'RECOVER_SERIAL_WAIT')
        ORDER BY priority_rank, id LIMIT :limit FOR UPDATE SKIP LOCKED
    ), oldest AS MATERIALIZED (
        SELECT ctid FROM command                   -- index: command_age
        WHERE created_at < now() AND deaths = 0 AND (priority_rank >= 0 OR type = 'RECOVER_SERIAL_WAIT')
        ORDER BY created_at LIMIT :limit FOR UPDATE SKIP LOCKED
    ), tried AS MATERIALIZED (
        SELECT ctid FROM command                   -- index: command_deadly
        WHERE deaths > 0 AND tried_by = :epoch FOR UPDATE SKIP LOCKED
    )
    UPDATE command SET deaths = least(deaths, 1000) + 1, tried_by = NULL
    WHERE ctid = ANY(ARRAY(SELECT ctid FROM of_its_slot UNION SELECT ctid FROM oldest UNION SELECT ctid FROM tried))
""")
# What a living master tries is its own; one that has left in good order has cleared nothing and died of nothing. Who
# asks has nothing in hand: what its own name is on it never heard of, since the answer to a COMMIT was lost.
_TRY = text("""
    WITH free AS MATERIALIZED (
        SELECT c.ctid AS place, c.id, c.deaths FROM command c                                -- index: command_deadly
        WHERE c.deaths > 0 AND (SELECT n.state FROM node n
                                WHERE n.id = c.tried_by AND n.id <> :master
                                  AND n.state IN ('ALIVE', 'LEAVING')) IS NULL
          AND c.id <> ALL(CAST(:aside AS bigint[]))
        ORDER BY c.deaths DESC LIMIT :limit FOR UPDATE OF c SKIP LOCKED
    ), picked AS (
        SELECT place FROM free WHERE deaths = (SELECT max(deaths) FROM free)
        ORDER BY id LIMIT (SELECT least(coalesce((CAST(:groups AS integer[]))[max(deaths)], 1), :room) FROM free)
    )
    UPDATE command SET tried_by = :master WHERE ctid = ANY(ARRAY(SELECT place FROM picked))
    RETURNING id, deaths
""")


_GIVE_BACK = text("""
    UPDATE command SET tried_by = NULL WHERE id = ANY(CAST(:ids AS bigint[])) AND coalesce(tried_by = :master, false)
""")


@dataclass(frozen=True, slots=True)
class Deadly:
    """A command to be tried, and how many masters died when they may have been at it."""

    id: CommandId
    deaths: int

    @property
    def is_the_culprit(self) -> bool:
        """Whether it was alone with a master that died: it is not tried any more."""
        return self.deaths > DEATHS_MAX

    @property
    def consequence(self) -> str:
        """What follows, for a log."""
        if self.is_the_culprit:
            return "it ends as an error command"
        return "it is tried apart from others" if self.deaths == DEATHS_MAX else "it is tried with others like it"


async def set_apart(connection: AsyncConnection, dead: Epoch, slot: Slot) -> int:
    """Set apart what a master that died in this slot may have been at; how many those are."""
    values = {"epoch": dead, "current": slot.current, "total": slot.total, "limit": SET_APART_MAX}
    return (await connection.execute(_SET_APART, values)).rowcount


async def try_next(
    connection: AsyncConnection, master: Epoch, room: int, aside: Sequence[CommandId] = ()
) -> list[Deadly]:
    """The group to be tried next, by this master from the commit on: at most `room`, without those `aside`; a culprit
    comes alone."""
    values = {"master": master, "room": room, "groups": list(GROUPS), "limit": 2 * SET_APART_MAX, "aside": list(aside)}
    rows = (await connection.execute(_TRY, values)).all()
    return [Deadly(CommandId(id_), deaths) for id_, deaths in rows]


async def give_back(connection: AsyncConnection, ids: Sequence[CommandId], master: Epoch) -> None:
    """Let others try these, which this master had taken to be tried and was not at."""
    await connection.execute(_GIVE_BACK, {"ids": list(ids), "master": master})
