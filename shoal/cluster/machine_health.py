"""Checks this machine, its disks and how it ends processes; for other machines, reports what their nodes publish."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from dao.cluster.node_rows import NodeRow
from model.cluster.load import Limit, Measure
from model.cluster.nodes import NodeKind
from node import prctl
from node.left_tasks import sees_all_processes
from node.meter import Meter
from registry.process import is_here
from service.checks.check_result import Result, Verdict, passed, result_of
from shoal.config.settings import Settings

GIB = 1 << 30
_DISK = (Measure.DISK, Measure.FREE_DISK, Measure.FREE_FILES)


def machine_results(settings: Settings, nodes: Sequence[NodeRow]) -> list[Result]:
    folders = {settings.data_folder, settings.worker_settings().place}
    limits = settings.worker.load.limits()
    here = [row for row in nodes if row.kind is NodeKind.WORKER and is_here(row.process)]
    return [disk_result(folders, limits, nodes), process_result(bool(here), process_faults())]


def disk_result(folders: Collection[Path], limits: Sequence[Limit], nodes: Sequence[NodeRow]) -> Result:
    """Whether the disks have room: those of local `folders` by `limits`, others as their nodes publish."""
    details, faults = [], []
    for folder in sorted(folders):
        values = Meter(_DISK, folder).measure()
        if values:
            details.append(f"{values[Measure.FREE_DISK] / GIB:.1f} GiB free for {folder}")
        faults += [
            f"{folder}: {limit.words(values[limit.measure])}"
            for limit in limits
            if limit.measure in values and limit.is_passed(values[limit.measure], was_passed=False)
        ]
    faults += [
        f"{row} takes nothing: {row.heartbeat.because}"
        for row in nodes
        if row.heartbeat is not None and any(str(measure) in row.heartbeat.because for measure in _DISK)
    ]
    return result_of(
        "disks",
        "the disks of the data folders have room",
        faults,
        "Make room there, or change worker.load.disk_free_min and worker.load.disk_max; a worker without room is BUSY.",
        "; ".join(details) or "no folder of Shoal is on this machine; each worker watches its own",
    )


def process_faults() -> list[str]:
    """What this machine lacks to end a task with all its processes."""
    faults = []
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError as error:
        faults.append(f"there are no pidfds ({error.strerror}): a signal could hit a process that got a task's old pid")
    if not prctl.can_become_subreaper():
        faults.append("prctl cannot make a subreaper: a process that leaves its task's tree would not be ended with it")
    return faults


def process_result(has_worker: bool, faults: Sequence[str]) -> Result:
    """How processes are ended here; relevant only if a worker runs here. Other machines cannot be checked."""
    condition = "this machine can end all processes of a task"
    if faults:
        bad = Verdict.FAILED if has_worker else Verdict.NOTE
        return result_of(
            "processes", condition, faults, "Use Linux 5.3 or newer, and a container that allows both.", bad=bad
        )
    if not sees_all_processes():
        hidden = (
            "/proc hides the processes of others (hidepid): a worker that was killed counts as dead by its silence only"
        )
        return result_of("processes", condition, [hidden], "Mount /proc without hidepid.", bad=Verdict.NOTE)
    return passed("processes", condition, "by pidfd and subreaper; other machines are not checked")
