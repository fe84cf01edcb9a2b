"""Suspect commands: commands that masters may have died of. They are tried in smaller and smaller groups, then refused.

An error that can be caught ends only its own command. One that cannot (memory, a crash in a library) ends the process
before anything is written, and would end the next master too, so the command would kill one master after another. So
the node that fences a master marks the commands that it may have been handling as suspect. They are tried in groups,
each by one master, whose epoch is committed to the group *before* the try: if that master dies as well, the group is
divided. A master that survives has cleared its group; a command that was alone at the last try is the culprit. A master
takes no more commands than it has room for, and gives back those that no longer fit, so that another master can try
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dao.postgres.database import FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement
from model.cluster.slots import Slot
from model.ids import CommandId, Epoch

GROUPS = (500, 22, 1)
"""The size of a group after one death, two and three."""
DEATHS_MAX = len(GROUPS)

SUSPECTS_MAX = 500
"""Of each kind: the first ones of the master's slot, and the oldest of all, which it may have stolen."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A command to be tried, and how many masters died when they may have been handling it."""

    id: CommandId
    deaths: int

    @property
    def is_the_culprit(self) -> bool:
        """Whether it was alone with a master that died: it is no longer tried."""
        return self.deaths > DEATHS_MAX

    @property
    def consequence(self) -> str:
        """What happens next, for a log."""
        if self.is_the_culprit:
            return "it ends as an error command"
        return "it is tried apart from others" if self.deaths == DEATHS_MAX else "it is tried with others like it"


# Commands that halt or fail over a run have priority and are left out: an owner that starts tasks before it learns of a
# stop would be worse, and a run that kills its masters has its own limit (`dao/runs/failover.py`). The command
# that starts the next run of a serial line has the same priority but is included: that run may be suspect, and has no
# limit yet. The increment of the ids is read from the sequence, since the process that fences may lack the settings of
# a master.
@statement("""
    WITH step AS MATERIALIZED (
        SELECT seqincrement AS n FROM pg_sequence WHERE seqrelid = pg_get_serial_sequence('command', 'id')::regclass
    ), of_its_slot AS MATERIALIZED (
        SELECT ctid FROM command                   -- index: command_claim
        WHERE (id / (SELECT n FROM step)) % :slot.total = :slot.current AND deaths = 0
          AND (priority_rank >= 0 OR type = 'RECOVER_SERIAL_WAIT')
        ORDER BY priority_rank, id LIMIT :SUSPECTS_MAX FOR UPDATE SKIP LOCKED
    ), oldest AS MATERIALIZED (
        SELECT ctid FROM command                   -- index: command_age
        WHERE created_at < now() AND deaths = 0 AND (priority_rank >= 0 OR type = 'RECOVER_SERIAL_WAIT')
        ORDER BY created_at LIMIT :SUSPECTS_MAX FOR UPDATE SKIP LOCKED
    ), tried AS MATERIALIZED (
        SELECT ctid FROM command                   -- index: command_deadly
        WHERE deaths > 0 AND tried_by = :dead FOR UPDATE SKIP LOCKED
    )
    UPDATE command SET deaths = least(deaths, 1000) + 1, tried_by = NULL
    WHERE ctid = ANY(ARRAY(SELECT ctid FROM of_its_slot UNION SELECT ctid FROM oldest UNION SELECT ctid FROM tried))
""")
async def mark_suspects(connection: AsyncConnection, dead: Epoch, slot: Slot) -> int:
    """Mark as suspect what a master that died in this slot may have been handling. Returns how many."""


# A command that a living master tries belongs to it. A master that has left in good order has cleared nothing and died
# of nothing. The caller has no suspect command at the moment: it does not know of rows with its own epoch, because the
# answer to a COMMIT was lost.
@statement("""
    WITH free AS MATERIALIZED (
        SELECT c.ctid AS place, c.id, c.deaths FROM command c                                -- index: command_deadly
        WHERE c.deaths > 0 AND (SELECT n.state FROM node n
                                WHERE n.id = c.tried_by AND n.id <> :master
                                  AND n.state IN ('ALIVE', 'LEAVING')) IS NULL
          AND c.id <> ALL(CAST(:without AS bigint[]))
        ORDER BY c.deaths DESC LIMIT 2 * :SUSPECTS_MAX FOR UPDATE OF c SKIP LOCKED
    ), picked AS (
        SELECT place FROM free WHERE deaths = (SELECT max(deaths) FROM free)
        ORDER BY id LIMIT (SELECT least(coalesce((CAST(:GROUPS AS integer[]))[max(deaths)], 1), :room) FROM free)
    )
    UPDATE command SET tried_by = :master WHERE ctid = ANY(ARRAY(SELECT place FROM picked))
    RETURNING id, deaths
""")
async def try_next(
    connection: FencedTransaction, master: Epoch, room: int, without: Sequence[CommandId] = ()
) -> list[Suspect]:
    """The next group to try, assigned to this master from the commit on: at most `room`, without those in `without`.

    A culprit comes alone.
    """


@statement("""
    UPDATE command SET tried_by = NULL WHERE id = ANY(CAST(:ids AS bigint[])) AND coalesce(tried_by = :master, false)
""")
async def give_back(connection: FencedTransaction, ids: Sequence[CommandId], master: Epoch) -> None:
    """Give back commands that this master had taken to try but has not handled, so that others can try them."""
