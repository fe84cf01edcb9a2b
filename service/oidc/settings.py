"""The settings of logins by an OpenID Connect provider."""

from __future__ import annotations

from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from model.accounts.group_roles import GroupRole
from model.listed import Names

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class OidcSettings(BaseModel):
    """Who says who somebody is, and what its groups may do here; without an issuer nobody."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: str | None = Field(None, description="URL of the OpenID Connect provider; needs shoal[oidc]")
    client_id: str = Field("", description="who Shoal is there")
    client_secret_file: Path | None = Field(
        None, description="file with the secret for that, read at each login; not given: a client without one"
    )
    url: str = Field("", description="public URL of Shoal; the provider sends browsers to URL/login/oidc/callback")
    name: str = Field("", max_length=60, description="name on the button; not given: the issuer's host")
    scopes: Names = Field(("openid", "profile", "email"), description="what is asked for; often also groups")
    name_claim: str = Field("preferred_username", min_length=1, description="claim with the account's name")
    groups_claim: str = Field("groups", min_length=1, description="claim with the groups, such as realm_access.roles")
    groups: Names = Field((), description="groups that may log in; none: everybody")
    roles: Names = Field((), description="roles of groups in projects, such as data-team=etl:EDITOR")
    admins: Names = Field((), description="groups of admins")
    create_accounts: bool = Field(True, description="whether a first login makes an account")

    @field_validator("issuer", "url")
    @classmethod
    def _is_an_address(cls, url: str | None) -> str | None:
        if not url:
            return url
        if urlsplit(checked_url(url)).query:
            raise ValueError("it must have no query")
        return url

    @field_validator("url")
    @classmethod
    def _ends_without_a_slash(cls, url: str) -> str:
        return url.rstrip("/")

    @field_validator("roles")
    @classmethod
    def _are_roles(cls, roles: tuple[str, ...]) -> tuple[str, ...]:
        for each in roles:
            GroupRole.parse(each)
        return roles

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        missing = [name for name in ("client_id", "url") if not getattr(self, name)]
        if self.issuer and missing:
            raise ValueError(f"with an issuer, {' and '.join(missing)} must be set too")
        if "openid" not in self.scopes:
            raise ValueError("scopes must contain openid")
        return self

    @property
    def label(self) -> str | None:
        """The provider for people; None: there is none."""
        return (self.name or urlsplit(self.issuer).hostname) if self.issuer else None

    @property
    def uses_groups(self) -> bool:
        """Whether groups decide anything."""
        return bool(self.groups or self.roles or self.admins)

    @property
    def group_roles(self) -> list[GroupRole]:
        return [GroupRole.parse(each) for each in self.roles]


def checked_url(url: str) -> str:
    """Return `url` if secrets may be sent there: https, or this machine. Raises `ValueError`."""
    parts = urlsplit(url)
    is_here = parts.scheme == "http" and parts.hostname in LOOPBACK
    if not parts.hostname or not (parts.scheme == "https" or is_here):
        raise ValueError("it must be https://HOST; http only for loopback")
    if parts.username is not None or parts.fragment:
        raise ValueError("it must have no user or fragment")
    return url
