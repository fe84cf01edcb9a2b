"""What the nodes of a cluster do per second, from the counters in their beats.

A beat is seconds old when it is read, and nodes beat at different paces. So a rate covers two beats of one node, and
holds until its next beat.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from model.cluster.nodes import Counted
from model.ids import Epoch

_BEATS_APART_S_MIN = 0.2
"""A beat that follows sooner is skipped: a rate over so short a time says little."""


@dataclass(frozen=True, slots=True)
class Beat:
    """The last beat of a node: its arrival, in seconds of any clock, and the node's counters."""

    at_s: float
    counted: Counted


@dataclass(frozen=True, slots=True)
class Rates:
    """Work per second. `lag_s`: mean seconds from a task's end to its successor's start; None while no task starts."""

    commands: float
    started: float
    ended: float
    lag_s: float | None


@dataclass(frozen=True, slots=True)
class NodeRate:
    """The last beat of a node, and its rates per second before it; None at its first beat."""

    beat: Beat
    before_s: float | None
    did: Counted | None


def following(before: Mapping[Epoch, NodeRate], beats: Mapping[Epoch, Beat]) -> dict[Epoch, NodeRate]:
    """Update the rates of the nodes that beat now."""
    found: dict[Epoch, NodeRate] = {}
    for epoch, beat in beats.items():
        known = before.get(epoch)
        if known is None or beat.at_s < known.beat.at_s:  # the clock was set back
            found[epoch] = NodeRate(beat, None, None)
        elif beat.at_s - known.beat.at_s < _BEATS_APART_S_MIN:
            found[epoch] = known
        else:
            found[epoch] = NodeRate(beat, beat.at_s - known.beat.at_s, _difference(known.beat.counted, beat.counted))
    return found


def rates_of(nodes: Iterable[NodeRate]) -> Rates | None:
    """The sum over all nodes; None while no node has beaten twice."""
    known = [(node.did, node.before_s) for node in nodes if node.did is not None and node.before_s is not None]
    if not known:
        return None
    ends, ends_s = sum(did.ends for did, _ in known), sum(did.ends_s for did, _ in known)
    waits, waits_s = sum(did.waits for did, _ in known), sum(did.waits_s for did, _ in known)
    return Rates(
        commands=sum(did.commands / span_s for did, span_s in known),
        started=sum(did.started / span_s for did, span_s in known),
        ended=sum(did.ended / span_s for did, span_s in known),
        lag_s=waits_s / waits + (ends_s / ends if ends else 0.0) if waits else None,
    )


def _difference(before: Counted, now: Counted) -> Counted:
    then = before.model_dump()
    return Counted(**{name: max(0, value - then[name]) for name, value in now.model_dump().items()})
