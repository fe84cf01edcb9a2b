"""How much the nodes of a cluster do in a second, from what their beats have counted.

A beat is a few seconds old when it is read, and some nodes beat more rarely than others read: so a rate is that between
two beats of one node, and stays until its next beat.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from model.cluster.nodes import Counted
from model.ids import Epoch

_BEATS_APART_S_MIN = 0.2
"""A beat that follows sooner is passed over: a rate of so short a time says little."""


@dataclass(frozen=True, slots=True)
class Beat:
    """The last beat of a node: when it arrived, in seconds of any clock, and what the node had counted by then."""

    at_s: float
    counted: Counted


@dataclass(frozen=True, slots=True)
class Rates:
    """How much is done in a second. `lag_s`: the mean seconds from the end of a task to the start of what follows it;
    None while no task starts."""

    commands: float
    started: float
    ended: float
    lag_s: float | None


@dataclass(frozen=True, slots=True)
class NodeRate:
    """The last beat of a node, and what it did in each second before; None: it is its first beat."""

    beat: Beat
    before_s: float | None
    did: Counted | None


def following(before: Mapping[Epoch, NodeRate], beats: Mapping[Epoch, Beat]) -> dict[Epoch, NodeRate]:
    """The rates of the nodes that beat now, given those that were computed before."""
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
    """All nodes together; None while no node has beaten twice."""
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
