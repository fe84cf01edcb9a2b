"""The certificates of a client of PostgreSQL, which may be replaced while the process works.

libpq reads them from their paths for each connection. It gets copies in memory instead, of the last files that fitted
together.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from weakref import finalize

from dao.secrets.kept import Kept
from dao.secrets.secret_file import BYTES_MAX
from model.errors import InvalidSettings

NAMES = ("sslcert", "sslkey", "sslrootcert")


class ClientFiles:
    """Those that the arguments of a connection name, if they are there; of others libpq says what is wrong."""

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._paths = {name: Path(arguments[name]) for name in NAMES if arguments.get(name)}
        self._password = arguments.get("sslpassword", "")
        self._kept: Kept[_Copies] | None = None

    def now(self) -> Mapping[str, str]:
        """The arguments that name the copies. Raises `InvalidSettings`: the files do not fit together at first."""
        if self._kept is None:
            if not self._paths or not all(path.is_file() for path in self._paths.values()):
                return {}
            self._kept = Kept([*self._paths.values()], self._read, what="the certificate for the database")
        return self._kept.now().names

    def _read(self) -> _Copies:
        try:
            copies = _Copies(self._paths)
            context, names = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), copies.names
            if "sslcert" in names:
                context.load_cert_chain(names["sslcert"], names.get("sslkey"), self._password)
            if "sslrootcert" in names:
                context.load_verify_locations(names["sslrootcert"])
        except OSError as error:
            which = ", ".join(dict.fromkeys(map(str, self._paths.values())))
            raise InvalidSettings(f"{which} cannot be used for the database: {error}; they must fit together") from None
        return copies


class _Copies:
    """Files in memory with the content of others, and their paths by the names of libpq."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self.names: dict[str, str] = {}
        for name, path in paths.items():
            copy = os.memfd_create(name, os.MFD_CLOEXEC)
            finalize(self, os.close, copy)
            os.fchmod(copy, 0o600)
            os.write(copy, path.read_bytes()[:BYTES_MAX])
            self.names[name] = f"/proc/self/fd/{copy}"
