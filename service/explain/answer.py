"""The answer of `shoal why`, and the parts of which its sentences are made. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote

from model.runs.states import WorkflowState
from service.words import counted, duration

MOVES_WITHIN_S = 10.0
"""A master needs moments for its next step. A run that has not changed for longer is not about to move."""
NAMES_MAX = 5


@dataclass(frozen=True)
class Why:
    """The answer: the cause, and what to do."""

    sentence: str
    do: str


def next_step(what: str, step: str, idle_s: float, do: str, master: str | None = None) -> Why:
    """For what waits for a step of its master alone.

    Args:
        what: the thing and its state.
        step: what its master does next, such as "queue it".
        idle_s: seconds since anything of the run changed.
        do: what to do while the step is to be expected.
        master: its address.
    """
    who = f"its master {master or ''}".rstrip()
    if idle_s <= MOVES_WITHIN_S:
        return Why(f"{what}; {who} is about to {step}.", do)
    return Why(
        f"{what}; {who} should {step}, but nothing of the run has changed for {duration(idle_s)}.",
        "Masters check for such runs and drive them again; if it stays so: shoal doctor, and the log of that master",
    )


def going_on(run: int, state: WorkflowState) -> str:
    """The command by which a run at rest goes on."""
    return f"shoal rerun {run} --failed" if state is WorkflowState.FAILURE else f"shoal resume {run}"


def dates_waiting(count: int) -> str:
    """How many dates of a backfill wait for a run."""
    return f"{counted(count, 'date')} of its backfill wait{'s' * (count == 1)} for it"


def task_named(run: int, task: str) -> str:
    """A task of a run as an argument of a command."""
    return quote(f"{run}/{task}")


def drained_only(nodes: Sequence[str], kind: str, of: str = "") -> tuple[str, str]:
    """What keeps work waiting if all that could take it are drained, as a clause and the next step."""
    only = f"the only {kind}{of} is" if len(nodes) == 1 else f"the only {kind}s{of} are"
    undrain = f"shoal {kind} undrain {quote(nodes[0])}"
    return f"{only} draining: {names_of(nodes)}", f"Let it take work again: {undrain}; or start another: shoal {kind}"


def names_of(names: Sequence[str], between: str = ", ") -> str:
    """The first names, and the number of the others."""
    shown = between.join(names[:NAMES_MAX])
    return shown if len(names) <= NAMES_MAX else f"{shown} and {len(names) - NAMES_MAX} more"
