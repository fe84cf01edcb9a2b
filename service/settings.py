"""The settings that the use cases need; those of a process have them (`shoal/config/settings.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from logstore.settings import LogStoreSettings
from model.cluster.master_settings import MasterSettings
from model.cluster.timing import Timing
from service.secrets.key_settings import SecretSettings


@dataclass(frozen=True)
class Setting:
    """One setting. `name` is as in the TOML file, `timing.kill_grace`; values are texts, secrets masked."""

    name: str
    value: str
    default: str
    description: str

    @property
    def variable(self) -> str:
        return "SHOAL_" + self.name.upper().replace(".", "__")


class ServiceSettings(Protocol):
    """Which cluster it is, and what its nodes and keys are set to."""

    @property
    def timing(self) -> Timing:
        """The periods of the nodes; the cluster's, if they are recorded there, come first."""

    @property
    def master(self) -> MasterSettings:
        """Limits and pace of the masters."""

    @property
    def secrets(self) -> SecretSettings:
        """Where the keys for stored secrets are."""

    @property
    def log_ca(self) -> Path | None:
        """The CA of workers that serve their logs by TLS; None = the system's."""

    @property
    def log_store(self) -> LogStoreSettings:
        """Where copies of logs are stored."""

    @property
    def reach(self) -> Sequence[str]:
        """Inside hosts and networks to which the API may connect on behalf of its users."""

    def in_force(self) -> Sequence[Setting]:
        """All settings of this process, secrets masked."""

    def database(self) -> str:
        """The database's URL. Raises `Refused` if it is not set."""

    def named_registry(self) -> str | None:
        """The registry's URL, if it is set; else the cluster's recorded registry is used."""
