"""The settings of a master."""

from __future__ import annotations

from datetime import timedelta

from pydantic import BaseModel, ConfigDict, Field

from model.cluster.load import LoadSettings
from model.cluster.nodes import WhenFenced
from model.cluster.timing import Duration, DurationOrNone
from model.runs.retention_pace import KEPT_DAYS, KEPT_DAYS_MAX


class MasterSettings(BaseModel):
    """Limits and pace of one master."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_running_workflows: int = Field(
        20_000, gt=0, description="most runs with queued or running tasks at once; BUSY when full"
    )
    batch_max: int = Field(500, gt=0, le=10_000, description="most commands or events handled in one transaction")
    look_every: Duration = Field(timedelta(seconds=2), description="how often it polls for work when nobody wakes it")
    sweep_every: Duration = Field(
        timedelta(seconds=10),
        description="how often it searches for work that lost nodes left",
    )
    watch_every: Duration = Field(
        timedelta(seconds=10), description="how often it checks that each of its runs has a reason to wait"
    )
    stuck_after: Duration = Field(
        timedelta(seconds=10),
        description="how long a run may wait without a reason before it counts as stuck",
    )
    steal_after: Duration = Field(
        timedelta(seconds=5), description="waiting time after which any free master takes a command of any slot"
    )
    rebalance_after: DurationOrNone = Field(
        timedelta(seconds=10),
        description="how long streams may be spread unevenly before masters move some; 0 = only `shoal worker "
        "rebalance` does",
    )
    longest_run: Duration | None = Field(
        None, description="longest time that any run may take; longer ones end as FAILURE; none = no limit"
    )
    kept_days: int = Field(
        KEPT_DAYS,
        ge=0,
        le=KEPT_DAYS_MAX,
        description="days to keep ended runs, unless their project says otherwise; 0 = forever",
    )
    id_step: int = Field(1, gt=0, description="stride of the command ids that this database generates")
    when_fenced: WhenFenced = Field(
        WhenFenced.REJOIN, description="after it was fenced: rejoin as a new node, or exit with code 75"
    )
    drain: Duration = Field(
        timedelta(seconds=2), description="time to finish its runs on a graceful stop; the rest is failed over"
    )
    load: LoadSettings = LoadSettings()
