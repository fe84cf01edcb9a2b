"""The settings of traces."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class TracingSettings(BaseModel):
    """Where masters send the spans of runs; without an endpoint there are none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    endpoint: str | None = Field(
        None,
        pattern=r"^https?://[^\s/]+",
        description="URL of a receiver of traces, OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces; needs "
        "shoal[otel]",
    )
    headers: SecretStr | None = Field(None, description="headers for it, as NAME=VALUE,NAME=VALUE")
    service: str = Field("shoal", min_length=1, description="the name of the service in its traces")
