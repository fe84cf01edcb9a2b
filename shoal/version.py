"""The version of Shoal."""

from __future__ import annotations


def shoal_version() -> str:
    """The installed version; `unknown` when it runs from a folder that was never installed."""
    from importlib.metadata import PackageNotFoundError, version  # here: only `--version` needs it

    try:
        return version("shoal")
    except PackageNotFoundError:
        return "unknown"
