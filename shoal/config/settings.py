"""All settings of a process, from flags, SHOAL_* environment variables and a TOML file, in that order.

The file is the one named by SHOAL_CONFIG or --config, else ./shoal.toml if it is there. Nested settings are written
SHOAL_MASTER__DRAIN=5 or [master] drain = 5; times are seconds or ISO 8601 durations. Unknown names are refused.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from alert.settings import AlertSettings
from api.settings import ApiSettings
from dao.postgres import address
from dao.secrets.kept import FileSecret
from logstore.settings import LogStoreSettings
from metrics.settings import MetricsSettings
from model.cluster.master_settings import MasterSettings
from model.cluster.timing import Timing
from model.cluster.tracing_settings import TracingSettings
from model.errors import InvalidSettings
from model.near import nearest
from node.joining import Joining
from service.secrets.key_settings import SecretSettings
from service.settings import Setting
from shoal.config.secret_files import with_secrets
from shoal.config.settings_list import settings_of
from shoal.config.whereabouts import default_folder, unreadable_whereabouts
from worker.settings import WorkerSettings

DEFAULT_FILE = "shoal.toml"
NEAR = 0.7
"""The least similarity of a suggested name."""
_OTHER_FILE = "fix that, or name another by --config or SHOAL_CONFIG"


class Settings(BaseSettings):
    """Everything that can be set; `docs/reference/settings.md` lists it."""

    model_config = SettingsConfigDict(
        env_prefix="SHOAL_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        toml_file=None,
    )

    database_url: SecretStr | None = Field(None, description="postgresql+psycopg://user:password@host/name")
    database_password: SecretStr | None = Field(None, description="password of its user, in place of one in the URL")
    database_password_file: Path | None = Field(None, description="file with it, which may change")
    registry_url: SecretStr | None = Field(
        None,
        description="zookeeper://host:2181,host2:2181/shoal, or a database URL; not given: as recorded, at first the "
        "database",
    )
    server: str | None = Field(
        None, description="API that verbs ask instead of the database, such as https://shoal.example.org"
    )
    token: SecretStr | None = Field(None, description="of a user, for the API; `shoal login` stores one")
    connect_timeout_s: float = Field(30, gt=0, description="seconds to retry at the start")
    name: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.:@-]{0,127}$",
        description="name of this node, unique among living ones of its kind; not given: the host's name, with a "
        "master's port or an id in a worker's folder",
    )
    host: str = Field(
        "127.0.0.1",
        description="name or address at which others reach this node beyond loopback",
    )
    port: int = Field(
        0, ge=0, le=65535, description="a master's port, which no other on its machine has; 0 = any free one"
    )
    folder: Path | None = Field(
        None,
        description="data of `shoal up`, and of workers without their own folder; not given: ~/.local/share/shoal, "
        "for root /var/lib/shoal",
    )
    log_format: str = Field("auto", pattern="^(auto|text|json)$", description="auto: text on a terminal, else JSON")
    log_file: Path | None = Field(
        None, description="file for the log of a master, worker or API, its own for each; not given: standard error"
    )
    log_file_bytes_max: int = Field(
        10_000_000, ge=10_000, description="size at which that file is renamed to NAME.1, and so on"
    )
    log_files_max: int = Field(5, ge=1, le=1000, description="such files kept, with the current one")
    timing: Timing = Timing()
    master: MasterSettings = MasterSettings()
    worker: WorkerSettings = WorkerSettings()
    api: ApiSettings = ApiSettings()
    metrics: MetricsSettings = MetricsSettings()
    alert: AlertSettings = AlertSettings()
    tracing: TracingSettings = TracingSettings()
    secrets: SecretSettings = SecretSettings()
    log_store: LogStoreSettings = LogStoreSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: EnvSettingsSource,  # type: ignore[override]  # what pydantic passes
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the signature is pydantic's
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags, then environment, then the file."""
        env_settings.env_vars = with_secrets(settings_cls, env_settings.env_vars)
        file = _config_file()
        sources: list[PydanticBaseSettingsSource] = [init_settings, env_settings]
        if file is not None:
            sources.append(TomlConfigSettingsSource(settings_cls, toml_file=file))
        return tuple(sources)

    def database(self) -> str:
        """The database's URL, with the password or its place. Raises `InvalidSettings` if it is unusable."""
        if self.database_url is None:
            why = unreadable_whereabouts(self.data_folder)
            said = "no database is named; give --database-url or SHOAL_DATABASE_URL, or use `shoal up`"
            raise InvalidSettings(f"{said} ({why})" if why else said)
        url = _url_of(self.database_url)
        if self.database_password_file is not None:
            if self.database_password is not None:
                raise InvalidSettings(
                    "database_password and database_password_file are both set; leave one of them out"
                )
            found = address.with_argument(url, address.PASSWORD_FILE, str(self.database_password_file.absolute()))
            address.Address.of(found).current()  # else each connection would fail, unless the file was right before
            return found
        if self.database_password is not None:
            return address.with_argument(url, "password", self.database_password.get_secret_value())
        return url

    @property
    def data_folder(self) -> Path:
        """Where `shoal up` stores its data: as set, else the user's data folder, for root the system's."""
        return self.folder or default_folder()

    def worker_settings(self) -> WorkerSettings:
        """The settings of a worker, with its folder: as set, else one for its name in the data folder."""
        if self.worker.folder is not None:
            return self.worker
        folder = self.data_folder / "workers" / (self.name or "default")
        return self.worker.model_copy(update={"folder": folder})

    @property
    def log_ca(self) -> Path | None:
        return self.worker.log_ca

    @property
    def reach(self) -> tuple[str, ...]:
        return self.api.reach

    def in_force(self) -> list[Setting]:
        return settings_of(self)

    def named_registry(self) -> str | None:
        return _url_of(self.registry_url) if self.registry_url else None

    def joining(self) -> Joining:
        """How a master or worker of this process joins."""
        host = self.host if "host" in self.model_fields_set else None
        return Joining(self.database(), self.named_registry(), self.timing, self.connect_timeout_s, self.name, host)


def load_settings(flags: dict[str, Any] | None = None) -> Settings:
    """Settings with `flags` (nested, None = not given) on top. Raises `InvalidSettings`, a sentence for each fault."""
    try:
        return Settings(**_given(flags or {}))
    except ValidationError as error:
        raise InvalidSettings("; ".join(_sentence(part) for part in error.errors())) from None
    except SettingsError as error:
        raise InvalidSettings(
            f"an environment variable cannot be read: {error}; see docs/reference/settings.md"
        ) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InvalidSettings(
            f"the settings file {_config_file()} is not UTF-8 (byte 0x{error.object[error.start]:02x} in line {line}); "
            "save it as UTF-8"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidSettings(f"the settings file {_config_file()} is not valid TOML: {error}; fix it there") from None
    except OSError as error:
        raise InvalidSettings(
            f"the settings file {_config_file()} cannot be read ({error.strerror}); {_OTHER_FILE}"
        ) from None


def _config_file() -> Path | None:
    """The settings file that is named, or lies in the current folder. Raises `InvalidSettings` if it is unreadable."""
    named = os.environ.get("SHOAL_CONFIG")
    path = Path(named or DEFAULT_FILE)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        if named or path.is_symlink():
            raise InvalidSettings(f"the settings file {path} does not exist; fix --config or SHOAL_CONFIG") from None
        return None
    except OSError as error:
        raise InvalidSettings(f"the settings file {path} cannot be read ({error.strerror}); {_OTHER_FILE}") from None
    if not stat.S_ISREG(mode):
        raise InvalidSettings(
            f"the settings file {path} is {'a folder' if stat.S_ISDIR(mode) else 'no file'}; {_OTHER_FILE}"
        )
    return path


def _url_of(secret: SecretStr) -> str:
    """A secret URL; one read from a file keeps that file's path, which each connection reads again."""
    url = secret.get_secret_value()
    if isinstance(secret, FileSecret) and url.startswith("postgres"):
        return address.with_argument(url, address.URL_FILE, str(secret.path))
    return url


def _meant(name: str) -> str | None:
    """The setting that an unknown name may mean: a similar one of its group, one with this word, or one elsewhere."""
    known = list(_names_of(Settings))
    group, _, word = name.rpartition(".")
    beside = {last: each for each in known for of, _, last in [each.rpartition(".")] if of == group}
    if (near := nearest(word, list(beside), cutoff=NEAR)) is not None:
        return beside[near]
    with_word = (each for last, each in beside.items() if word in last.split("_"))
    return next(with_word, next((each for each in known if each.rpartition(".")[2] == word), None))


def _names_of(settings: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """The names of all settings, such as `worker.groups`."""
    for name, field in settings.model_fields.items():
        yield f"{prefix}{name}"
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _names_of(field.annotation, f"{prefix}{name}.")


def _given(flags: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in flags.items():
        if isinstance(value, dict):
            inner = _given(value)
            if inner:
                found[name] = inner
        elif value is not None:
            found[name] = value.model_dump() if isinstance(value, BaseModel) else value
    return found


def _sentence(part: Any) -> str:
    where = ".".join(str(step) for step in part["loc"])
    message = str(part["msg"]).removeprefix("Value error, ").replace("a valid tuple", 'a list, such as ["a", "b"]')
    if part["type"] == "extra_forbidden":
        near = _meant(where)
        cure = f'did you mean "{near}"? See' if near else "see"
        return f'there is no setting "{where}"; {cure} docs/reference/settings.md'
    if part["type"] in ("model_type", "model_attributes_type"):
        return (
            f'"{where}" is a group of settings; write [{where}], and below it NAME = VALUE; '
            "see docs/reference/settings.md"
        )
    return f'setting "{where}": {message}; see docs/reference/settings.md' if where else message
