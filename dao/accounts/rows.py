"""Accounts, and what belongs to them, as answers show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from model.ids import AccountId, LoginSessionId, TokenId


@dataclass(frozen=True)
class Account:
    """An account; times are aware UTC, database time."""

    id: AccountId
    name: str
    is_admin: bool
    has_password: bool
    version: int
    created_at: datetime
    disabled_at: datetime | None
    issuer: str | None
    """Of the identity with which it logs in at a provider; None: it has none."""


@dataclass(frozen=True)
class SessionRow:
    """A session for its owner to see; times are aware UTC, database time."""

    id: LoginSessionId
    created_at: datetime
    expires_at: datetime
    last_seen_at: datetime
    address: str
    user_agent: str


@dataclass(frozen=True)
class TokenRow:
    """A token for its owner to see; times are aware UTC, database time."""

    id: TokenId
    name: str
    scopes: tuple[str, ...]
    projects: tuple[str, ...] | None
    by_session: bool
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None
    last_used_from: str | None
    revoked_at: datetime | None


@dataclass(frozen=True)
class SavedView:
    """A view. `project` None: only `person`, the key of a caller, sees it. `revision` rises with each change."""

    id: int
    person: str
    project: str | None
    list: str
    name: str
    query: Mapping[str, Any]
    revision: int
    created_by: str
    created_at: datetime
    updated_at: datetime
