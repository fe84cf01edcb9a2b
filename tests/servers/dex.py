"""One dex of our own: an OpenID Connect provider with one person, whose memory is gone when it ends."""

from __future__ import annotations

import json
import signal
import urllib.request

from tests.servers.child import Child, PrivateFolder, ServerFailed, free_port
from tests.test_repository import ROOT

PROGRAM = ROOT / "build" / "dex" / "dex"
CLIENT, SECRET = "shoal", "known to dex and Shoal"
EMAIL, PASSWORD = "anna@example.org", "password"
_HASH = "$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W"


class DexServer:
    """Starts on construction. Use it as a context or `close` it.

    Args:
        redirect: where it may send browsers.
        groups: those of `EMAIL`.
    """

    def __init__(self, redirect: str, groups: list[str]) -> None:
        if not PROGRAM.exists():
            raise ServerFailed("dex was not built; run tests/servers/build-go dex")
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/dex"
        person = {"email": EMAIL, "hash": _HASH, "username": "anna", "userID": "4711", "groups": groups}
        configuration = {
            "issuer": self.url,
            "storage": {"type": "memory"},
            "web": {"http": f"127.0.0.1:{port}"},
            "oauth2": {"skipApprovalScreen": True},
            "enablePasswordDB": True,
            "staticPasswords": [person],
            "staticClients": [{"id": CLIENT, "secret": SECRET, "name": "Shoal", "redirectURIs": [redirect]}],
        }
        self._folder = PrivateFolder("shoal-dex-")
        try:
            # YAML is a superset of JSON.
            (self._folder.path / "dex.yaml").write_text(json.dumps(configuration))
            command = [str(PROGRAM), "serve", str(self._folder.path / "dex.yaml")]
            self._child = Child.of(command, cwd=self._folder.path, log=self._folder.path / "log")
        except BaseException:
            self._folder.close()
            raise
        try:
            self._child.wait_until(self._is_ready, 30)
        except BaseException:
            self.close()
            raise

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/.well-known/openid-configuration", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def close(self) -> None:
        """Leave nothing behind."""
        self._child.end(signal.SIGTERM, timeout_s=10)
        self._folder.close()

    def __enter__(self) -> DexServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
