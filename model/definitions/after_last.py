"""The task that `after_last` adds: it waits for the run of the date before, and all others come after it.

It is a DEPENDENT task on the workflow itself, so that it waits, is woken, paused, stopped, explained and failed over as
any other. It is in plans only, never in a definition. Its code is the same in each version.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from model.ids import WorkflowCode
from model.logic.date_offsets import LAST

GATE = "after_last"
"""Its name."""
GATE_CODE_MAX = 2**63 - 1


def gate(workflow: WorkflowCode, taken: Collection[int | None]) -> dict[str, Any]:
    """The task, as a definition would have it. A failed run before may be repeated, so it waits without a limit.

    Args:
        taken: the codes of the other tasks.
    """
    code = next(code for code in range(GATE_CODE_MAX, 0, -1) if code not in taken)
    item = {"workflow": int(workflow), "at": LAST}
    params = {"groups": [{"items": [item]}], "on_failure": "WAIT", "on_absence": "WAIT"}
    return {"name": GATE, "type": "DEPENDENT", "code": code, "params": params}
