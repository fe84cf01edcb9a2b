"""The settings of the endpoint for Prometheus."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, SecretStr

LOOPBACK = ("127.0.0.1", "::1", "localhost")


class MetricsSettings(BaseModel):
    """Where `/metrics` is served, and who may read it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = Field(True, description="whether it serves metrics")
    host: str = Field("127.0.0.1", description="address on which /metrics is served; beyond loopback it needs a token")
    port: int = Field(0, ge=0, le=65535, description="port for the same; 0 = any free one, which its log names")
    token: SecretStr | None = Field(
        None, min_length=16, description="what a scrape must send as `Authorization: Bearer TOKEN`"
    )
    token_file: Path | None = Field(None, description="file with this token")
    certificate: Path | None = Field(None, description="PEM file: serves /metrics over TLS")
    private_key: Path | None = Field(None, description="PEM file of its key, if another")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in LOOPBACK or self.host.startswith("127.")
