"""Opens the web page in the browser of this machine."""

from __future__ import annotations

import os
import sys
import webbrowser
from contextlib import suppress


def open_page(url: str) -> bool:
    """Open the URL; return whether there is a graphical browser. A terminal browser would hide our output."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    with suppress(webbrowser.Error):
        return webbrowser.open(url)
    return False
