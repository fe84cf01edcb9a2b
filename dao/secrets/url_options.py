"""Which options of a URL are secret. Apart from the URLs of data sources, whose reader takes long to load."""

from __future__ import annotations

import re

_SECRET = re.compile(r"pass|pwd|secret|token|key", re.IGNORECASE)
_SHOWN = {"sslkey", "ssl_key", "sslrootcert", "keepalives"}


def is_secret_option(option: str) -> bool:
    """Whether the value of this option of a URL must not be shown."""
    return _SECRET.search(option) is not None and option not in _SHOWN
