"""The rules for an account's name and password."""

from __future__ import annotations

import re

from model.errors import Refused

NAME_CHARACTERS_MAX = 100
PASSWORD_CHARACTERS_MIN = 10
PASSWORD_BYTES_MAX = 1_000
"""Limits the hashing time that a stranger can cause."""

_NAME = re.compile(f"[A-Za-z0-9][A-Za-z0-9._@+-]{{0,{NAME_CHARACTERS_MAX - 1}}}")


def check_account_name(name: str) -> str:
    """Return `name` if an account may have it. Raises `Refused`."""
    if _NAME.fullmatch(name) is None:
        raise Refused(
            f"{name[:200]!r} is not a name for an account; use up to {NAME_CHARACTERS_MAX} ASCII letters, digits and "
            ". _ @ + -, a letter or digit first"
        )
    return name


def sent_name(name: str) -> str:
    """Clean a name that a stranger sent, for lookups, counters and logs. An invalid name still matches no account."""
    return name[: NAME_CHARACTERS_MAX + 1].encode(errors="replace").decode().replace("\0", "?")


def check_password(password: str) -> str:
    """Return `password` if it can be one. Raises `Refused`; the message does not contain it."""
    if len(password) < PASSWORD_CHARACTERS_MIN:
        raise Refused(
            f"the password has fewer than {PASSWORD_CHARACTERS_MIN} characters; choose a longer one, "
            "there is no other rule for its characters"
        )
    if not fits(password):
        raise Refused(f"the password has more than {PASSWORD_BYTES_MAX:,} bytes, or no text; choose another one")
    return password


def fits(password: str) -> bool:
    """Whether a password can be hashed: valid Unicode, and not too long."""
    try:
        return len(password.encode()) <= PASSWORD_BYTES_MAX
    except UnicodeEncodeError:  # half of a surrogate pair, from JSON
        return False
