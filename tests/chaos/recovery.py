"""Measures from the tables when the cluster has recovered from a fault.

Recovered means: the lives that the fault ended are fenced or have left, no dead node owns anything, and work continues:
canary commands inserted after the fault struck, two for each slot, have run to their end.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass

import psycopg

from tests.chaos.fault import Fault
from tests.chaos.load import ask
from tests.chaos.site import Site
from tests.chaos.workflows import CANARY, EDITED

LOOK_EVERY_S = 0.05
GIVE_UP_S = 90.0

_STATE = """
SELECT (SELECT count(*) FROM node WHERE id = ANY(%s) AND state IN ('ALIVE', 'LEAVING')),
       (SELECT count(*) FROM workflow_instance i JOIN node n ON n.id = i.master_id
        WHERE i.ended_at IS NULL AND i.workflow_code <> %s AND n.state IN ('FENCED', 'LEFT')),
       (SELECT count(*) FROM task_instance t JOIN node n ON n.id = t.worker_id
        JOIN workflow_instance i ON i.id = t.workflow_instance_id AND i.workflow_code <> %s
        WHERE t.state IN ('DISPATCH', 'RUNNING_EXECUTION') AND n.state IN ('FENCED', 'LEFT')),
       (SELECT count(*) FROM unnest(%s::bigint[]) AS c(id) WHERE NOT EXISTS (
            SELECT FROM workflow_instance i WHERE i.command_id = c.id AND i.ended_at IS NOT NULL))
"""


@dataclass(frozen=True)
class Struck:
    """A fault that was struck. `recovered_s` counts from its begin, `after_end_s` from its end, 0 = was before that;
    both are None when the cluster did not recover in time."""

    kind: str
    what: str
    at_s: float
    lasted_s: float
    recovered_s: float | None
    after_end_s: float | None
    waits_for: str = ""


class Recovery:
    """Strikes faults and waits for the recovery."""

    def __init__(self, site: Site) -> None:
        self.canaries: list[int] = []
        self.doomed: set[int] = set()
        """The lives that faults ended; who else was fenced was cut off, or too slow."""
        self._site = site
        self._began_s = time.monotonic()
        self._waits_for = ""

    async def strike(self, fault: Fault) -> Struck:
        """Begin it, end it when its time is over, and wait until the cluster has recovered from it."""
        at_s = time.monotonic()
        self._waits_for = "its begin"
        doomed = await fault.begin()
        self.doomed |= doomed
        watch = asyncio.create_task(self._recovered(doomed))
        await asyncio.sleep(fault.lasts_s)  # after the begin, however long that took
        await fault.end()
        # Who woke before anybody could judge it, since the database was away too, lives on by right.
        doomed -= {member.epoch for member in self._site.members if member.lives and member.epoch is not None}
        ended_s = time.monotonic()
        recovered_s = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GIVE_UP_S):
                recovered_s = await watch
        return Struck(
            fault.kind,
            fault.what,
            round(at_s - self._began_s, 1),
            round(ended_s - at_s, 2),
            None if recovered_s is None else round(recovered_s - at_s, 2),
            None if recovered_s is None else round(max(0.0, recovered_s - ended_s), 2),
            self._waits_for,
        )

    async def _recovered(self, doomed: set[int]) -> float:
        """When it was. Looks from a thread: a server that does not answer must not keep us from waking it."""
        canaries: list[int] = []
        while True:
            self._waits_for = await asyncio.to_thread(self._look, doomed, canaries)
            if not self._waits_for:
                return time.monotonic()
            await asyncio.sleep(LOOK_EVERY_S)

    def _look(self, doomed: set[int], canaries: list[int]) -> str:
        """What the recovery still waits for; empty once it is complete."""
        cluster = self._site.watch_connection
        try:
            while len(canaries) < 2 * len(self._site.masters):
                canaries.append(ask(cluster, "START_PROCESS", CANARY))
                self.canaries.append(canaries[-1])
            counts = cluster.rows(_STATE, list(doomed), EDITED, EDITED, canaries)[0]
        except psycopg.OperationalError as error:
            return f"the database: {error}"
        names = ("living dead", "runs of dead masters", "tasks of dead workers", "canaries")
        return ", ".join(f"{count} {name}" for count, name in zip(counts, names, strict=True) if count)
