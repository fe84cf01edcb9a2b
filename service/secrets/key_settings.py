"""The keys for stored secrets: from the settings, and a key file that only its owner may read.

A key file has one key per line, first the one that encrypts; `#` begins a comment. `shoal up` creates its own.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr
from pydantic_settings import NoDecode

from model.errors import InvalidSettings, Refused

if TYPE_CHECKING:
    from dao.secrets.vault import Vault

FILE_NAME = "secret-keys"
"""The key file in the data folder of `shoal up`."""

FILE_BYTES_MAX = 100_000


def _split(given: Any) -> Any:
    """An environment variable contains the keys as one text, `new,old`."""
    return tuple(part.strip() for part in given.split(",")) if isinstance(given, str) else given


Keys = Annotated[tuple[SecretStr, ...], NoDecode, BeforeValidator(_split)]


class SecretSettings(BaseModel):
    """Where the keys come from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    keys: Keys = Field((), description="keys for stored secrets; the first encrypts, all decrypt")
    key_file: Path | None = Field(
        None, description="further keys, one per line, in a file that only its owner may read (chmod 600)"
    )


def open_vault(settings: SecretSettings) -> Vault:
    """The vault with all keys of the settings, those of the file last; empty if there are none. It reads the file again
    when it meets a key that it lacks.

    Raises:
        InvalidSettings: the file cannot be read, or other users can read it too; or a text is no key.
    """
    from dao.secrets.vault import Vault  # here, since cryptography loads slowly, and the settings need this module

    def keys() -> list[str]:
        listed = [key.get_secret_value() for key in settings.keys]
        return [*listed, *(read_key_file(settings.key_file) if settings.key_file else ())]

    return Vault(keys(), keys)


def read_key_file(path: Path) -> list[str]:
    """The keys of a file. Raises `InvalidSettings`: it cannot be read, or is accessible to other users."""
    cure = "fix secrets.key_file, or make one with `shoal secret add-key FILE`"
    try:
        with path.open("rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise InvalidSettings(f"the key file {path} is no file; {cure}")
            if facts.st_mode & 0o077:
                raise InvalidSettings(
                    f"the key file {path} can be read by others than its owner; close it with chmod 600"
                )
            lines = file.read(FILE_BYTES_MAX).decode(errors="replace").splitlines()
    except OSError as error:
        raise InvalidSettings(f"the key file {path} cannot be read ({error.strerror}); {cure}") from None
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
