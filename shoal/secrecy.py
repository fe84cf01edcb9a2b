"""Hiding a role's memory, environment and passwords from the tasks that run as its user."""

from __future__ import annotations

import os

from node.prctl import hide_from_own_user

_SECRET = (
    "SHOAL_DATABASE_URL",
    "SHOAL_DATABASE_PASSWORD",
    "SHOAL_REGISTRY_URL",
    "SHOAL_METRICS__TOKEN",
    "SHOAL_TRACING__HEADERS",
)
_KEYS = "SHOAL_SECRETS__"
_STORE = "SHOAL_LOG_STORE__"


def hide() -> None:
    """Make our environment and memory (/proc) unreadable to other processes of the same user; no core dumps."""
    hide_from_own_user()


def clear_keys() -> None:
    """Remove the keys for stored secrets from the environment: a role that opens none does not need them."""
    for name in [name for name in os.environ if name.upper().startswith(_KEYS)]:
        del os.environ[name]


def clear_all() -> None:
    """Remove every secret from the environment, once the settings are read: no child may inherit one."""
    clear_keys()
    for name in [name for name in os.environ if name.upper() in _SECRET or name.upper().startswith(_STORE)]:
        del os.environ[name]


def without_keys(environment: dict[str, str]) -> dict[str, str]:
    """An environment for a child that does not open stored secrets."""
    return {name: value for name, value in environment.items() if not name.upper().startswith(_KEYS)}
