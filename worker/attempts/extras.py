"""How to install what some task types need besides Shoal: an extra of its package."""

from __future__ import annotations

import sys
from pathlib import Path

CLONE = Path(__file__).parents[1]


def how_to_install(extra: str) -> str:
    """The command that installs a missing extra for this worker's installation."""
    command = f'pip install "shoal[{extra}]"'
    # The environment that `make setup` makes has no pip, and no registry may know a clone's version.
    if Path(sys.prefix) == CLONE / ".venv" and (CLONE / "Makefile").is_file():
        return f"`make setup EXTRAS={extra}` in {CLONE}, where this worker comes from (elsewhere {command})"
    return f"{command} in the environment of this worker"
