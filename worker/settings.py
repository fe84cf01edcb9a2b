"""The settings of a worker."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from model.cluster.load import WorkerLoadSettings
from model.cluster.nodes import WhenFenced
from model.cluster.timing import Duration
from model.fields import DEFAULT_WORKER_GROUP, GroupName
from model.listed import LISTED


def _each_once(groups: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(groups))


Groups = Annotated[tuple[GroupName, ...], *LISTED, AfterValidator(_each_once)]

TenantName = Annotated[str, Field(pattern=r"^(\*|[A-Za-z_][A-Za-z0-9_.-]{0,31})$")]
OneTenant = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,31}$")]
Tenants = Annotated[tuple[TenantName, ...], *LISTED]


class WorkerSettings(BaseModel):
    """Capacity, groups and folders of one worker."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    groups: Groups = Field((DEFAULT_WORKER_GROUP,), min_length=1, description="worker groups it serves")
    capacity: int = Field(8, gt=0, le=100_000, description="tasks it runs at once")
    folder: Path | None = Field(
        None, description="folder of its logs and its tasks' work folders; not given: workers/NAME in `folder`"
    )
    log_bytes_max: int = Field(
        100 * 1024 * 1024,
        gt=0,
        description="size at which a task's log is cut off, but for its last 64 KiB; a stream's loses its oldest "
        "part instead",
    )
    files_bytes_max: int = Field(
        1024 * 1024 * 1024, ge=0, description="size of all files of projects that it keeps for later tasks"
    )
    uv: Path | None = Field(
        None,
        description="path of uv, which installs `requirements` of PYTHON tasks; not given: they fail here",
    )
    environments_max: int = Field(20, ge=1, description="virtual environments of `requirements` kept for each user")
    value_bytes_max: int = Field(
        16 * 1024 * 1024,
        ge=65_536,
        le=256 * 1024 * 1024,
        description="size of all values that one attempt gives; needs `log_store.url`, without it 64 KiB a value",
    )
    output_files_bytes_max: int = Field(
        1024 * 1024 * 1024, ge=0, description="size of all files that one attempt hands on; needs `log_store.url`"
    )
    log_host: str = Field("127.0.0.1", description="address on which it serves task logs")
    log_port: int = Field(0, ge=0, le=65535, description="port for the same; 0 = any free one")
    log_certificate: Path | None = Field(None, description="PEM file: serves task logs over TLS")
    log_private_key: Path | None = Field(None, description="PEM file of its key, if another")
    log_ca: Path | None = Field(
        None,
        description="PEM file of the CA of workers' certificates, for `shoal log`; not given: the system's",
    )
    tenants: Tenants = Field(
        (), description="operating system users that tasks may run as, or * for all but root; needs root"
    )
    default_tenant: OneTenant | None = Field(
        None, description="operating system user that tasks without a tenant, and checks of pools, run as; needs root"
    )
    local_files: bool = Field(
        False,
        description="whether statements on SQLite and DuckDB may use other files and extensions than the data "
        "source's own; if not, SQLite attaches only files in the task's folder",
    )
    look_every: Duration = Field(timedelta(seconds=2), description="how often it polls for work when nobody wakes it")
    when_fenced: WhenFenced = Field(
        WhenFenced.REJOIN, description="after it was fenced: rejoin as a new node, or exit with code 75"
    )
    drain: Duration = Field(
        timedelta(seconds=30),
        description="time that running tasks get on a graceful stop; then they run elsewhere",
    )
    load: WorkerLoadSettings = WorkerLoadSettings()

    @property
    def place(self) -> Path:
        """The folder, once it is set."""
        assert self.folder is not None
        return self.folder
