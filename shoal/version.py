"""The version of Shoal."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def shoal_version() -> str:
    """The installed version; `unknown` when it runs from a folder that was never installed."""
    try:
        return version("shoal")
    except PackageNotFoundError:
        return "unknown"
