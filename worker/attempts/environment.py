"""The environment of a task: a short list of what it needs from the machine, its identity, and its parameters.

It is an allow-list, because the worker's own environment contains the database's password and whatever the operator's
shell had; a deny-list would always miss a name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from model.errors import Refused
from model.ids import Epoch, TaskCode, TaskInstanceId, WorkflowInstanceId

PASSED_ON = frozenset(
    {"PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL"}
    | {"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"}  # the address of the cluster in which the worker runs
)
PASSED_ON_PREFIX = "LC_"


def passed_on(own: Mapping[str, str]) -> dict[str, str]:
    """What every process that a worker starts has of the worker's environment `own`."""
    found = {name: value for name, value in own.items() if name in PASSED_ON or name.startswith(PASSED_ON_PREFIX)}
    return {"PATH": os.defpath, **found}


def task_environment(
    own: Mapping[str, str],
    *,
    workflow_instance_id: WorkflowInstanceId,
    task_code: TaskCode,
    task_instance_id: TaskInstanceId,
    attempt: int,
    fence: Epoch,
    extra: Mapping[str, str],
) -> dict[str, str]:
    """The whole environment of the task's process.

    Args:
        own: the worker's environment; only the listed names are taken.
        fence: the worker's epoch. It rises from worker to worker, so an external resource can refuse an older one.
        attempt: from 1. `SHOAL_TASK_KEY` is the same for all attempts: an idempotency key.
        extra: parameters; they may replace what comes from the machine (PATH), never a `SHOAL_` name.

    Raises:
        Refused: a name or value in `extra` that no environment can contain.
    """
    for name, value in extra.items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise Refused(f"the variable {name!r} cannot be put into an environment: it has a wrong character")
    return {
        **passed_on(own),
        **extra,
        "SHOAL_TASK_KEY": f"{workflow_instance_id}.{task_code}",
        "SHOAL_ATTEMPT": str(attempt),
        "SHOAL_FENCE": str(fence),
        "SHOAL_TASK_INSTANCE": str(task_instance_id),
        "SHOAL_WORKFLOW_INSTANCE": str(workflow_instance_id),
    }
