"""The certificate of a server, which may be replaced while the server works."""

from __future__ import annotations

import ssl
from pathlib import Path

import structlog

from model.errors import InvalidSettings

log = structlog.get_logger()

_Stamp = tuple[tuple[int, int, int], ...]


class Certificate:
    """The files of a certificate and its key.

    Args:
        certificate: in PEM; may contain the key too.
        private_key: the key in PEM, if it is a file of its own.
        what: is served, in words.
        settings: how the names of both settings begin.

    Raises `InvalidSettings` if they cannot be read.
    """

    def __init__(self, certificate: Path, private_key: Path | None, *, what: str, settings: str) -> None:
        self._certificate, self._private_key = certificate, private_key
        self._what = what
        self._seen = self._stamp()
        try:
            self._context = self._load()
        except OSError as error:
            raise InvalidSettings(
                f"{what} cannot be served by TLS with {settings}certificate {certificate}: {error}; it must contain a "
                f"certificate in PEM, and {settings}private_key its key"
            ) from None

    @classmethod
    def named(
        cls, certificate: Path | None, private_key: Path | None, *, what: str, settings: str
    ) -> Certificate | None:
        """That which the settings name; None without one. Raises `InvalidSettings`."""
        return None if certificate is None else cls(certificate, private_key, what=what, settings=settings)

    def context(self) -> ssl.SSLContext:
        """For the next connection: of the files as they are now, or as they were while they do not fit together."""
        if (stamp := self._stamp()) != self._seen:
            self._seen = stamp
            try:
                self._context = self._load()
            except OSError as error:
                log.warning(
                    "certificate_not_read",
                    file=str(self._certificate),
                    error=str(error),
                    so=f"{self._what} is served with the former one; correct the file",
                )
            else:
                log.info("certificate_read", file=str(self._certificate))
        return self._context

    def _load(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self._certificate, self._private_key)
        return context

    def _stamp(self) -> _Stamp:
        """Changes whenever one of the files does."""
        stamps = []
        for path in (self._certificate, self._private_key):
            try:
                found = path.stat() if path is not None else None
            except OSError:
                found = None
            stamps.append((found.st_ino, found.st_mtime_ns, found.st_size) if found is not None else (0, 0, 0))
        return tuple(stamps)
