"""The browser of the tests: Chromium without a window."""

from __future__ import annotations

import shutil

from tests.servers.child import ServerFailed


def chromium() -> str:
    """The path of the windowless build, which takes half of the other's processor time.

    Raises:
        ServerFailed: there is none on this machine.
    """
    found = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if found is None:
        raise ServerFailed("there is no Chromium on this machine; run tests/servers/install")
    return found
