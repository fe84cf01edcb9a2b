"""What Shoal is protected by, each with a switch that exists only here.

With any of them off, some seed must find a violation (`test_simulation.py`): else either the protection or the
simulation would be worth nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True)
class Protections:
    """All on, as in the statements of `dao/`."""

    licence: bool = True
    """Masters hold their node row FOR SHARE, ALIVE, in every transaction that writes (`nodes.hold_alive`)."""
    fencing: bool = True
    """The same, and also every `master_id = :master` of the statements by which an owner writes."""
    claim: bool = True
    """A command is locked with SKIP LOCKED, deleted and recorded in one transaction (`commands.claim`)."""
    attempt: bool = True
    """A worker's writes name worker and attempt, and hit only what has not ended (`task_claims`); they too hold the
    licence of their epoch."""
    fire: bool = True
    """A fire compares `next_fire_at` and `updated_at`, and the unique index stands behind it (`schedules.fire`)."""
    recover: bool = True
    """At most one open RECOVER command of an instance (`command_one_recover` and the NOT EXISTS before it)."""
    takeover: bool = True
    """Only what belongs to a master that is gone is taken over (`workflow_instances.take_over`)."""
    barrier: bool = True
    """After a COMMIT of unknown outcome its end is waited for before rows are read (`nodes.barrier`)."""
    horizon: bool = True
    """A worker that is cut off ends what it runs before others may run it (`worker/pulse.py` and its launcher)."""
    terminate: bool = True
    """Who fences ends the sessions of the fenced first (`nodes.fence`), and the server those that idle."""

    def without(self, name: str) -> Protections:
        """One of them off."""
        return replace(self, **{name: False})


NAMES = tuple(field.name for field in fields(Protections))
