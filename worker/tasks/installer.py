"""Installs the requirements of PYTHON tasks in virtual environments that later tasks use again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from worker.tasks import in_environment
from worker.tasks.exports import write_file


@dataclass(frozen=True)
class UvInstaller:
    """Installs by `uv`, and keeps a limited number of environments in the folder of the task's user."""

    uv: Path
    kept: int
    make_folder: Callable[[], Path]

    def command(self, interpreter: str, requirements: Sequence[str], work_folder: Path) -> list[str]:
        """The command to which the path of a script is appended; `interpreter` is the Python of its environment.

        Raises `OSError`.
        """
        program = write_file(work_folder, "in_environment.py", Path(in_environment.__file__).read_text("utf-8"), 0o600)
        folder = self.make_folder()
        return [interpreter, "-I", str(program), str(self.uv), str(folder), str(self.kept), json.dumps(requirements)]
