"""The environment of a task: a short list of what it needs from the machine, and its identity.

It is an allow-list, because the worker's own environment contains the database's password and whatever the operator's
shell had; a deny-list would always miss a name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from dao.tasks.task_claims import ClaimedTask
from model.ids import Epoch
from model.parameters.builtin import INTERVAL_END, INTERVAL_START, interval_parameters
from model.time.zones import zone

PASSED_ON = frozenset(
    {"PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL"}
    | {"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"}  # the address of the cluster in which the worker runs
)
PASSED_ON_PREFIX = "LC_"
_INTERVAL = {INTERVAL_START: "SHOAL_INTERVAL_START", INTERVAL_END: "SHOAL_INTERVAL_END"}


def passed_on(own: Mapping[str, str]) -> dict[str, str]:
    """The part of the worker's environment `own` that every process gets."""
    found = {name: value for name, value in own.items() if name in PASSED_ON or name.startswith(PASSED_ON_PREFIX)}
    return {"PATH": os.defpath, **found}


def task_environment(own: Mapping[str, str], task: ClaimedTask, fence: Epoch) -> dict[str, str]:
    """The environment of an attempt's processes, derived from the worker's `own`, and their identity.

    `SHOAL_TASK_KEY` is the same for all attempts of a task: an idempotency key. `fence`, the worker's epoch, rises from
    worker to worker, so an external resource can refuse an older one. The interval is the run's, if it has one.
    """
    interval = interval_parameters(task.interval, zone(task.time_zone))
    return {
        **passed_on(own),
        **{variable: interval[name] for name, variable in _INTERVAL.items() if name in interval},
        "SHOAL_TASK_KEY": f"{task.workflow_instance_id}.{task.code}",
        "SHOAL_ATTEMPT": str(task.attempt),
        "SHOAL_FENCE": str(fence),
        "SHOAL_TASK_INSTANCE": str(task.id),
        "SHOAL_WORKFLOW_INSTANCE": str(task.workflow_instance_id),
    }
