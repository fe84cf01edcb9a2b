"""Secrets at rest: encrypted with keys that are in the settings, never in the database.

There can be several keys, for rotation: the first encrypts, all decrypt. Each row names its key by a fingerprint, so
that a missing key can be named too. The purpose of a secret is encrypted with it: a user who can write to the database
cannot relabel the password of a data source as an environment, whose script a task would run and print in an error.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dao.secrets.kept import Kept
from model.errors import InvalidSettings, Refused

if TYPE_CHECKING:
    from cryptography.fernet import Fernet  # else imported where it is used: lists of names need no encryption

KeysById = Mapping[str, "Fernet"]
KEY_ID_LENGTH = 12
WHERE_TO_PUT = "put it into secrets.keys (SHOAL_SECRETS__KEYS) or into the file that secrets.key_file names"


@dataclass(frozen=True, slots=True)
class Sealed:
    """An encrypted secret, and the fingerprint of its key."""

    data: bytes
    key_id: str


def new_key() -> str:
    """A new random key, 44 characters of URL-safe base64."""
    from cryptography.fernet import Fernet

    return Fernet.generate_key().decode()


def key_id_of(key: str) -> str:
    """The fingerprint of a key: it distinguishes keys and reveals nothing about them."""
    return hashlib.sha256(b"shoal key " + key.encode()).hexdigest()[:KEY_ID_LENGTH]


class Vault:
    """Encrypts and decrypts with the keys of this process; without any key it refuses both.

    Args:
        keys: those of files, or as `new_key` makes them, the one that encrypts first.

    Raises as `opened`.
    """

    def __init__(self, keys: Kept[KeysById] | Sequence[str]) -> None:
        self._kept = keys if isinstance(keys, Kept) else Kept((), lambda: opened(keys), what="keys of secrets")

    @property
    def _keys(self) -> KeysById:
        return self._kept.value

    def __repr__(self) -> str:
        return f"Vault({', '.join(self._keys)})"

    @property
    def key_ids(self) -> tuple[str, ...]:
        """The fingerprints of its keys; that of the encrypting key comes first."""
        return tuple(self._keys)

    def seal(self, text: str, purpose: str) -> Sealed:
        """Encrypt with the first key. `purpose` says what it is, such as `data source shop`. Raises `Refused`."""
        keys = self._keys
        if not keys:
            raise Refused(
                f"there is no key to encrypt the {purpose}; `shoal config add-key FILE` makes one: {WHERE_TO_PUT}"
            )
        key_id, first = next(iter(keys.items()))
        return Sealed(first.encrypt(f"{purpose}\0{text}".encode()), key_id)

    def open(self, sealed: Sealed, purpose: str) -> str:
        """Decrypt what was sealed for the same purpose. Raises `Refused` if the key is missing or the data damaged."""
        from cryptography.fernet import InvalidToken

        if sealed.key_id not in self._keys:
            self._kept.now()
        key = self._keys.get(sealed.key_id)
        if key is None:
            raise Refused(
                f"the {purpose} is encrypted with key {sealed.key_id}, which this process lacks; {WHERE_TO_PUT}"
            )
        try:
            found, _, text = key.decrypt(sealed.data).decode().partition("\0")
        except InvalidToken:
            raise Refused(
                f"the {purpose} cannot be decrypted with key {sealed.key_id}: its row was changed; set it again"
            ) from None
        if found != purpose:
            raise Refused(f"what is stored as {purpose} was encrypted as something else; set it again")
        return text


def opened(keys: Sequence[str]) -> KeysById:
    """Keys by their fingerprints, in this order.

    Raises `InvalidSettings` for a text that is not a key; the message names it by its position, never its text.
    """
    from cryptography.fernet import Fernet

    found = {}
    for number, key in enumerate(keys, 1):
        try:
            found[key_id_of(key)] = Fernet(key)
        except ValueError:
            raise InvalidSettings(
                f"key {number} of {len(keys)} for secrets is not a key (44 characters of URL-safe base64); "
                f"`shoal config add-key FILE` makes one"
            ) from None
    return found
