"""The task that `after_last` adds: it waits for the run of the date before, and all others come after it.

It is a DEPENDENT task on the workflow itself, so it is woken, paused, stopped, explained and failed over like any
other. It occurs in plans only, never in a definition. Its code is the same in each version.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from model.ids import WorkflowCode
from model.logic.date_offsets import LAST

GATE = "after_last"
GATE_CODE_MAX = 2**63 - 1


def gate(workflow: WorkflowCode, taken: Collection[int | None]) -> dict[str, Any]:
    """The task in the form of a definition. It waits without a limit, because a failed earlier run may be repeated.

    Args:
        taken: the codes of the other tasks.
    """
    code = next(code for code in range(GATE_CODE_MAX, 0, -1) if code not in taken)
    item = {"workflow": int(workflow), "at": LAST}
    params = {"groups": [{"items": [item]}], "on_failure": "WAIT", "on_absence": "WAIT"}
    return {"name": GATE, "type": "DEPENDENT", "code": code, "params": params}
