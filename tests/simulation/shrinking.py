"""A failing seed made smaller: whatever can be left out, and the same invariant still fails, is left out."""

from __future__ import annotations

from tests.simulation.protections import Protections
from tests.simulation.run import Verdict, run

_ROUNDS_MAX = 4


def shrunk(failing: Verdict, protections: Protections | None = None) -> tuple[Verdict, frozenset[str]]:
    """The smallest run that was found, and what is left out of it: faults first, then what is asked for, then nodes."""
    left_out: frozenset[str] = frozenset()
    for _ in range(_ROUNDS_MAX):
        before = left_out
        for name in sorted(failing.arranged, key=_order):
            verdict = run(failing.seed, protections, left_out | {name})
            if verdict.invariant == failing.invariant:
                failing, left_out = verdict, left_out | {name}
        if left_out == before:
            break
    return failing, left_out


def _order(name: str) -> tuple[bool, bool, str]:
    return (name.startswith(("master", "worker")), name.startswith(("start ", "move ", "schedule ")), name)
