"""Personal tokens, `shoal_<random><checksum>`: easy to find where one leaked, and refused when mistyped.

The random part is 24 bytes as 33 characters of base 62; the checksum is the CRC-32 of all that precedes it, as 6
characters. It proves nothing: it lets a scanner distinguish a token from other text, and saves a query for a typing
error.
"""

from __future__ import annotations

import hashlib
import re
import string
import zlib
from dataclasses import dataclass, field
from enum import StrEnum

from model.errors import Refused

PREFIX = "shoal_"
RANDOM_BYTES = 24
_RANDOM_CHARACTERS = 33
_CHECKSUM_CHARACTERS = 6
_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_FORM = re.compile(f"{PREFIX}[0-9A-Za-z]{{{_RANDOM_CHARACTERS + _CHECKSUM_CHARACTERS}}}")


class TokensEnd(StrEnum):
    """Which tokens of an account end when its password changes."""

    MADE_BY_SESSIONS = "MADE_BY_SESSIONS"
    ALL = "ALL"
    NONE = "NONE"


@dataclass(frozen=True, slots=True)
class Token:
    """A well-formed token; only the database knows whether an account has it."""

    text: str = field(repr=False)

    @property
    def hash(self) -> bytes:
        """What the database stores."""
        return hash_of(self.text)


def hash_of(secret: str) -> bytes:
    """SHA-256 of a random secret. Not for passwords, which can be guessed."""
    return hashlib.sha256(secret.encode(errors="replace")).digest()


def make(chance: bytes) -> Token:
    """The token of these `RANDOM_BYTES` random bytes."""
    assert len(chance) == RANDOM_BYTES
    body = PREFIX + _base62(int.from_bytes(chance), _RANDOM_CHARACTERS)
    return Token(body + _checksum(body))


def parse(text: str) -> Token:
    """Raises `Refused` for a text that is no token or was changed; the message does not contain it."""
    if _FORM.fullmatch(text) is None:
        raise Refused(
            f"this is not a token; one begins with {PREFIX} and has {_RANDOM_CHARACTERS + _CHECKSUM_CHARACTERS}"
            " more letters and digits: copy it as a whole"
        )
    body, checksum = text[:-_CHECKSUM_CHARACTERS], text[-_CHECKSUM_CHARACTERS:]
    if _checksum(body) != checksum:
        raise Refused("this token has a wrong letter or digit; copy it as a whole")
    return Token(text)


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), _CHECKSUM_CHARACTERS)


def _base62(number: int, characters: int) -> str:
    written = ""
    for _ in range(characters):
        number, digit = divmod(number, len(_DIGITS))
        written = _DIGITS[digit] + written
    assert number == 0
    return written
