"""The settings of the log store: where copies of logs outlive their workers."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from model.cluster.timing import Duration

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", re.ASCII)
_PREFIX = re.compile(r"[A-Za-z0-9!_.*'()/-]{0,500}", re.ASCII)
_FORMS = "file:///FOLDER or s3://BUCKET/PREFIX"


class LogStoreSettings(BaseModel):
    """Where copies of logs are stored, and how it is reached. The same for all nodes and verbs of a cluster."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    url: str | None = Field(
        None,
        description="for logs, large values and files of tasks: a shared folder, file:///mnt/shoal-logs, or "
        "S3-compatible storage, s3://bucket/prefix; not given: none",
    )
    endpoint: str | None = Field(
        None, description="address of S3-compatible storage, such as https://minio.example.org; not given: Amazon's"
    )
    region: str | None = Field(
        None, pattern="^[a-z0-9-]{1,40}$", description="its region; not given: AWS_REGION, else us-east-1"
    )
    access_key_id: SecretStr | None = Field(
        None, description="who we are there; not given: as Amazon's own tools find it, such as AWS_ACCESS_KEY_ID"
    )
    secret_access_key: SecretStr | None = Field(None, description="the secret of that key; better in the environment")
    timeout: Duration = Field(
        timedelta(seconds=10), description="time without progress after which a request to the store has failed"
    )

    @field_validator("url")
    @classmethod
    def _is_a_place(cls, url: str | None) -> str | None:
        if url is not None:
            folder_or_bucket(url)
        return url

    @field_validator("endpoint")
    @classmethod
    def _is_an_address(cls, endpoint: str | None) -> str | None:
        if endpoint is None:
            return None
        parts = urlsplit(endpoint)
        if parts.username is not None or parts.password is not None:
            raise ValueError("it must not contain a password; set log_store.access_key_id and secret_access_key")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("it must be http://HOST:PORT or https://HOST:PORT")
        return endpoint.rstrip("/")

    @model_validator(mode="after")
    def _has_both_parts_of_a_key(self) -> LogStoreSettings:
        if (self.access_key_id is None) != (self.secret_access_key is None):
            raise ValueError(
                "log_store.access_key_id and log_store.secret_access_key belong together; give both or none"
            )
        if self.timeout < timedelta(seconds=0.1):
            raise ValueError("log_store.timeout must be at least 0.1 s")
        return self


def folder_or_bucket(url: str) -> PurePosixPath | tuple[str, str]:
    """The folder that a URL names, or bucket and prefix. Raises `ValueError`, without the URL: it may have a secret."""
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise ValueError("it must not contain a password; set log_store.access_key_id and secret_access_key")
    if parts.query or parts.fragment:
        raise ValueError(f"it must be {_FORMS}, without ? and #")
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        folder = PurePosixPath(unquote(parts.path))
        if not folder.is_absolute() or ".." in folder.parts or "\0" in str(folder):
            raise ValueError("its folder must be absolute and without ..: file:///mnt/shoal-logs")
        return folder
    if parts.scheme == "s3":
        prefix = parts.path.strip("/")
        if not _BUCKET.fullmatch(parts.netloc):
            raise ValueError("its bucket must have 3 to 63 lower case letters, digits, dots and hyphens")
        if not _PREFIX.fullmatch(prefix) or any(part in ("", ".", "..") for part in prefix.split("/") if prefix):
            raise ValueError("its prefix must have letters, digits and !_.*'()- between single slashes")
        return parts.netloc, prefix
    raise ValueError(f"it must be {_FORMS}")
