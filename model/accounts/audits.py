"""What stands in the audit: who, what, on which object, before and after; never a secret.

Callers give only what changed, by its public form. Masking is the last line of defence: fields whose names say that
they contain a secret, parameters that are SECRET, and sealed values, wherever they stand.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any

from model.choices import ParameterType
from model.parameters.secret_values import MASK, without_sealed

_SECRET_FIELD = re.compile(
    r"url|script|key|(.*[_.-])?(password|passwd|secret|token|authorization|cookie|credentials?)(_hash)?", re.IGNORECASE
)
"""Fields masked because of their names. Of a data source only `shown_url` may be shown, of an environment nothing."""


class ActorKind(StrEnum):
    """Who acted: an operating-system user on the database itself, an account by its session or token, the sender of a
    signed webhook, or a node."""

    SYSTEM_USER = "SYSTEM_USER"
    SESSION = "SESSION"
    TOKEN = "TOKEN"  # noqa: S105 - it is a kind
    WEBHOOK = "WEBHOOK"
    NODE = "NODE"


class Outcome(StrEnum):
    """DENIED: the account lacked a right; nothing changed."""

    DONE = "DONE"
    DENIED = "DENIED"


def masked(value: Any, secrets: Collection[str] = ()) -> Any:
    """Mask the secrets in a JSON value.

    Args:
        secrets: names of SECRET parameters. A definition in `value` that lists its own `secrets` needs none here.
    """
    if isinstance(value, Mapping):
        own = value.get("secrets")
        hidden = {*secrets, *(each for each in own if isinstance(each, str))} if isinstance(own, list) else secrets
        if value.get("type") == ParameterType.SECRET and "value" in value:
            value = {**value, "value": MASK}
        return {
            name: MASK if content and (_SECRET_FIELD.fullmatch(name) or name in hidden) else masked(content, hidden)
            for name, content in value.items()
        }
    if isinstance(value, list | tuple):
        return [masked(each, secrets) for each in value]
    return without_sealed(value) if isinstance(value, str) else value
