"""The protections of Shoal, each with a switch that exists only here.

With any of them off, some seed must find a violation (`test_switches.py`): otherwise either the protection or the
simulation would be worth nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True)
class Protections:
    """All on, as in Shoal."""

    licence: bool = True
    """Masters look at their node row in every transaction that writes, and hold it (`nodes.hold_alive`)."""
    share: bool = True
    """They hold it FOR SHARE; without, it is a plain check before the write (`nodes.hold_alive`)."""
    fencing: bool = True
    """The licence, and also every `master_id = :master` of the statements by which an owner writes."""
    claim: bool = True
    """A command is locked with SKIP LOCKED, deleted and recorded in one transaction (`commands.claim`)."""
    attempt: bool = True
    """A worker's writes name worker and attempt, and hit only what has not ended (`task_claims`); they too hold the
    licence of their epoch."""
    fire_compare: bool = True
    """A fire is a compare-and-set on `next_fire_at` and `updated_at` (`schedules.fire`)."""
    fire_once: bool = True
    """The compare-and-set, and the unique index on the fires of a schedule behind it."""
    recover: bool = True
    """At most one open RECOVER command of a run (`command_one_recover` and the NOT EXISTS before it)."""
    failover: bool = True
    """Only what belongs to a master that is gone is failed over (`workflow_instances.claim_failover`)."""
    takeovers: bool = True
    """Takeovers are counted, and an instance whose masters die of it ends (`workflow_instances`, TAKEOVERS_MAX)."""
    deaths: bool = True
    """Commands that a master may have died of are counted and tried apart (`suspect_commands`)."""
    barrier: bool = True
    """After a COMMIT of unknown outcome its end is waited for before rows are read (`nodes.barrier`)."""
    horizon: bool = True
    """A worker that is cut off ends what it runs before others may run it: itself and its launcher
    (`worker/beats.py`)."""
    deadline: bool = True
    """The launcher minds the horizon too, so that a worker that sleeps loses its tasks."""
    terminate: bool = True
    """A fencing node ends the sessions of the fenced one first (`nodes.fence`), and the server idle ones."""
    observed: bool = True
    """Death is observed: a beat that stands still in one's own reads; without, timestamps are compared
    (`master/membership/failure_detector.py`)."""
    stated: bool = True
    """A node is judged by how long it says itself that it may be silent, not by the judge's times
    (`master/membership/failure_detector.py`)."""
    swept: bool = True
    """A node that fences a worker of its own machine first ends what that left there (`node/left_tasks.py`)."""
    searched: bool = True
    """It waits until that has been found and killed, however long it takes (`node/left_tasks.py`)."""
    unbroken: bool = True
    """Absence from a registry counts only once it has been connected for as long as a session lasts
    (`master/membership/membership.py`)."""
    judged: bool = True
    """Only a node whose beat is still the one that was judged is fenced (`nodes.fence`)."""
    room: bool = True
    """A run that only waits takes up no room (`master/drive/run_limit.py`)."""
    steal: bool = True
    """Commands that have waited too long are taken by any master, in any slot (`commands.steal`)."""
    periodic: bool = True
    """The registry is read now and then without being told (`master/membership/membership.py`)."""
    answer_deadline: bool = True
    """A client gives up a connection that does not answer in time (`dao/postgres/connection.py`)."""

    obeyed: bool = True
    """What returns to the queue obeys the requests about its run (`requeue.put_back`)."""

    line: bool = True
    """A batch decides about a line with what it has done itself (`master/claim/serial.py`)."""

    older: bool = True
    """A run with a key waits for older commands of its key that are still in the table
    (`dao/commands/older_starts.py`)."""

    shares: bool = True
    """A worker takes only its share of the streams that wait (`worker/claims/streams.py`)."""

    dealt: bool = True
    """Nor more than its share of those whose resources are there (`worker/claims/leased_streams.py`)."""

    troubled: bool = True
    """A worker on which streams fail gets none of others (`stream_claims.troubled`)."""

    rebalance: bool = True
    """Masters move streams where they are spread unevenly (`master/streams.py`)."""

    handover: bool = True
    """A worker that no longer takes anything hands over its streams (`worker/claims/writer.py`)."""
    duty: bool = True
    """A duty is taken under the lock of its row, and its step recorded only for who took it (`duties.take`)."""

    family: bool = True
    """A run is deleted after the one above it, and not above an unfinished one (`old_runs.find`)."""

    continued: bool = True
    """A run that was continued since it was found is not deleted (`old_runs.delete`)."""

    superseded: bool = True
    """A new attempt takes the place of those before it (the trigger `task_instance_supersedes`)."""

    pools_held: bool = True
    """A claim holds the pools out of which it gives, and takes only what is free (`dao/pools/pool_claims.py`)."""

    lease: bool = True
    """A lease lasts as long as its worker's life, and not until a time that passes (`dao/pools/pool_leases.py`)."""

    timed_again: bool = True
    """A run whose time is over before its takeover is committed is checked again (`master/drive/driver.py`)."""

    reserved: bool = True
    """The first that is short of a pool reserves what there is (`model/pools/turns.py`)."""

    def without(self, name: str) -> Protections:
        """One of them off."""
        off = {name: False}
        if name == "fire_once":
            off["fire_compare"] = False
        return replace(self, **off)


NAMES = tuple(field.name for field in fields(Protections))
