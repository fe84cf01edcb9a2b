"""The certificate of a server, which may be replaced while the server works."""

from __future__ import annotations

import ssl
from pathlib import Path

from dao.secrets.kept import Kept
from model.errors import InvalidSettings


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
        def read() -> ssl.SSLContext:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            try:
                context.load_cert_chain(certificate, private_key)
            except OSError as error:
                raise InvalidSettings(
                    f"{what} cannot be served by TLS with {settings}certificate {certificate}: {error}; it must "
                    f"contain a certificate in PEM, and {settings}private_key its key"
                ) from None
            return context

        paths = [path for path in (certificate, private_key) if path is not None]
        self._context = Kept(paths, read, what=f"the certificate of {what}")

    @classmethod
    def named(
        cls, certificate: Path | None, private_key: Path | None, *, what: str, settings: str
    ) -> Certificate | None:
        """That which the settings name; None without one. Raises `InvalidSettings`."""
        return None if certificate is None else cls(certificate, private_key, what=what, settings=settings)

    def __call__(self) -> ssl.SSLContext:
        """For the next connection."""
        return self._context.now()
