"""A worker's executor on a real launcher, and tasks as if claimed: a worker without a database."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dao.postgres.database import Database
from dao.secrets.vault import Vault
from dao.tasks.task_claims import ClaimedTask, Report
from model.ids import Epoch, TaskCode, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.logs.name import LogName
from model.runs.states import TaskState
from node.overload import Overload
from worker.attempts.executor import Executor
from worker.launcher.client import Launcher
from worker.logs.task_log import read_log
from worker.secrets.named import NamedSecrets
from worker.settings import WorkerSettings

DAY = "20220826"
NOWHERE = "postgresql://nobody@127.0.0.1:1/none"
"""Tasks that name no data source and no environment query no database."""


def claimed(
    type_: str = "SHELL", *, params: dict[str, Any], values: dict[str, str] | None = None, **fields: Any
) -> ClaimedTask:
    """A task as a claim gives it, for 2022-08-26 05:00 UTC."""
    given: dict[str, Any] = {
        "id": TaskInstanceId(5),
        "workflow_instance_id": WorkflowInstanceId(8),
        "workflow_code": WorkflowCode(1001),
        "code": TaskCode(2),
        "attempt": 1,
        "name": "load it",
        "type": type_,
        "state": TaskState.RUNNING_EXECUTION,
        "params": json.dumps(params),
        "parameter_values": json.dumps(values or {}),
        "day": DAY,
        "schedule_time": datetime(2022, 8, 26, 5, tzinfo=UTC),
        "time_zone": "UTC",
    }
    return ClaimedTask(**{**given, **fields})


@dataclass
class Errands:
    """Runs tasks in a folder of its own."""

    launcher: Launcher
    folder: Path
    settings: dict[str, Any] = field(default_factory=dict)
    lacked_means: int = 0
    """How often a worker would have doubted its capacity."""

    async def run(self, task: ClaimedTask) -> Report:
        """Run one to its end."""
        settings = WorkerSettings(folder=self.folder, **self.settings)
        secrets = NamedSecrets(Database(NOWHERE, application_name="shoal-test"), Vault([]))
        overload = Overload(settings.load, so="takes no new tasks")
        report = await Executor(settings, self.launcher, Epoch(44), secrets, overload).run(task)
        self.lacked_means += overload.takes_nothing
        return report

    async def shell(self, script: str, **fields: Any) -> Report:
        """Run a SHELL task."""
        return await self.run(claimed(params={"script": script}, **fields))

    def start(self, script: str, **fields: Any) -> asyncio.Task[Report]:
        """Start without waiting."""
        return asyncio.create_task(self.shell(script, **fields))

    @property
    def log_file(self) -> Path:
        """The log of task 5."""
        return self.folder / "logs" / DAY / "1001" / "8" / "5.log"

    @property
    def log(self) -> str:
        """The content of the log; empty if there is none."""
        if not self.log_file.exists():
            return ""
        name = LogName(DAY, WorkflowCode(1001), WorkflowInstanceId(8), TaskInstanceId(5))
        return read_log(self.folder / "logs", name, 0, 1 << 24).data.decode(errors="replace")
