"""The table of `model/runs/command_moves.py` in Markdown, for `docs/reference/states.md`; a test compares the two."""

from __future__ import annotations

from model.runs.command_moves import COMMAND_MOVES, CommandType
from model.runs.states import WorkflowState

REFUSED = "refused"


def command_drawing() -> str:
    """A Markdown table: a row for each state of an instance, a column for each command that changes one."""
    types = [type_ for type_ in CommandType if type_ in COMMAND_MOVES]
    moves = [[state, *(COMMAND_MOVES[type_].get(state, REFUSED) for type_ in types)] for state in WorkflowState]
    rows = [["state", *types], ["---"] * (len(types) + 1), *moves]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
