"""The keys for stored secrets: from the settings, and a key file that only its owner may read.

A key file has one key per line, first the one that encrypts; `#` begins a comment. `shoal up` creates its own.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from dao.secrets.kept import FileSecret, Kept
from dao.secrets.secret_file import OTHERS, read_closed
from model.errors import Refused
from model.listed import LISTED

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

    from dao.secrets.vault import KeysById, Vault

FILE_NAME = "secret-keys"
"""The key file in the data folder of `shoal up`."""


Keys = Annotated[tuple[SecretStr, ...], *LISTED]


class SecretSettings(BaseModel):
    """Where the keys come from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    keys: Keys = Field((), description="keys for stored secrets; the first encrypts, all decrypt")
    key_file: Path | None = Field(
        None, description="further keys, one per line, in a file that only its owner may read (chmod 600)"
    )


def open_vault(settings: SecretSettings) -> Vault:
    """The vault with all keys of the settings, those of the file last; empty if there are none. It reads files again on
    SIGHUP, and when it meets a key that it lacks.

    Raises:
        InvalidSettings: the file cannot be read, or other users can read it too; or a text is no key.
    """
    from dao.secrets.vault import Vault, opened  # here, since cryptography loads slowly, and the settings need this

    held: dict[str, Fernet] = {}

    def keys() -> KeysById:
        """Those that are gone come last: they still decrypt."""
        listed = [each.strip() for key in settings.keys for each in key.get_secret_value().split(",")]
        now = opened([*listed, *(read_key_file(settings.key_file) if settings.key_file else ())])
        held.update(now)
        return {**now, **held}

    files = [key.path for key in settings.keys if isinstance(key, FileSecret)]
    files += [settings.key_file] if settings.key_file else []
    return Vault(Kept(files, keys, what="keys of secrets"))


def read_key_file(path: Path) -> list[str]:
    """The keys of a file. Raises `InvalidSettings`: it cannot be read, or is accessible to other users."""
    cure = "fix secrets.key_file, or make one with `shoal config add-key FILE`"
    lines = read_closed(path, "the key file", OTHERS, cure).splitlines()
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def add_key(path: Path) -> str:
    """Add a new key at the beginning of a key file, which is created (0600) if needed; returns the new key's id.

    The file is replaced atomically, so that no reader ever sees half of it. Raises `Refused`.
    """
    from dao.secrets.vault import key_id_of, new_key

    older = read_key_file(path) if os.path.lexists(path) else []
    key = new_key()
    beside = path.with_name(f"{path.name}.new-{os.getpid()}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write("".join(f"{each}\n" for each in (key, *older)))
            file.flush()
            os.fsync(descriptor)
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise Refused(f"the key file {path} cannot be written ({error.strerror}); choose another place") from None
    return key_id_of(key)


def own_key_file(folder: Path) -> Path:
    """The key file in the data folder of `shoal up`, created if it does not exist. Raises `Refused`."""
    path = folder / FILE_NAME
    if not path.exists():
        add_key(path)
    return path
