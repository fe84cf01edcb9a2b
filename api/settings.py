"""The settings of an API process."""

from __future__ import annotations

from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

from model.listed import Names
from service.oidc.settings import OidcSettings

DEFAULT_PORT = 7465
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class ApiSettings(BaseModel):
    """Where an API listens, and whom it trusts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = Field("127.0.0.1", description="address on which the API listens")
    port: int = Field(DEFAULT_PORT, ge=0, le=65535, description="port for the same; 0 = any free one")
    hosts: Names = Field(
        (),
        description="names of the API, such as shoal.example.org, besides localhost and its address; requests for "
        "others are refused",
    )
    proxies: Names = Field((), description="proxies whose X-Forwarded-For and X-Forwarded-Proto are believed")
    reach: Names = Field(
        (),
        description="inside hosts and networks, such as db.example.org or 10.1.0.0/16, in which the API may test "
        "data sources; else only public addresses",
    )
    root_path: str = Field("", pattern="^(/[A-Za-z0-9._~-]+)*$", description="path below which a proxy serves the API")
    certificate: Path | None = Field(None, description="PEM file: serves the API over TLS")
    private_key: Path | None = Field(None, description="PEM file of its key, if another")
    connections_max: int = Field(1000, gt=0, description="open connections; further ones get 503")
    streams_max: int = Field(500, gt=0, description="open streams of events and followed logs; further ones get 429")
    account_streams_max: int = Field(20, gt=0, description="the same for one account")
    address_requests_per_s: int = Field(
        3000,
        ge=0,
        description="requests a second from one address or IPv6 network of 64 bits; further ones get 429; "
        "0 = any number",
    )
    account_requests_per_s: int = Field(2000, ge=0, description="the same of one account; 0 = any number")
    request_cpu_s: int = Field(30, gt=0, description="processor seconds of one large request; then it is answered 413")
    database_connections: int = Field(8, gt=0, le=100, description="connections to the database")
    drill_socket: Path | None = Field(
        None, description="set by `shoal up`: where its API asks for the death of a master"
    )

    oidc: OidcSettings = OidcSettings()

    @model_validator(mode="after")
    def _comes_back_below_its_path(self) -> Self:
        if self.oidc.issuer and urlsplit(self.oidc.url).path != self.root_path:
            raise ValueError("the path of oidc.url must be root_path")
        return self

    @property
    def names(self) -> set[str]:
        """Those that requests may name; none = any. Beyond loopback without any it is behind a proxy."""
        if not self.hosts and self.host not in LOOPBACK and self.host != "::1":
            return set()
        return {*LOOPBACK, self.host.lower(), *(host.lower() for host in self.hosts)}

    def url(self, port: int) -> str:
        """The address for people, where it listens on this port."""
        host = self.host
        shown = "127.0.0.1" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host  # noqa: S104
        return f"{'https' if self.certificate else 'http'}://{shown}:{port}{self.root_path}"
