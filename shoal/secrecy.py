"""What a role keeps from the tasks that run as its user: its memory, its environment, its passwords."""

from __future__ import annotations

import os

from worker.launcher.prctl import hide_from_own_user

_SECRET = ("SHOAL_DATABASE_URL", "SHOAL_REGISTRY_URL")
_KEYS = "SHOAL_SECRETS__"


def hide() -> None:
    """Keep other processes of the same user out of our environment and memory (/proc); no core dumps."""
    hide_from_own_user()


def forget_keys() -> None:
    """Drop the keys for stored secrets from the environment: a role that opens none does not get them."""
    for name in [name for name in os.environ if name.upper().startswith(_KEYS)]:
        del os.environ[name]


def forget_all() -> None:
    """Drop every secret from the environment, once the settings are read: no child shall inherit one."""
    forget_keys()
    for name in [name for name in os.environ if name.upper() in _SECRET]:
        del os.environ[name]


def without_keys(environment: dict[str, str]) -> dict[str, str]:
    """An environment for a child that opens no stored secret."""
    return {name: value for name, value in environment.items() if not name.upper().startswith(_KEYS)}
