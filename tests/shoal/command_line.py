"""`shoal` as a person runs it: a process, its output, its exit code."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.servers.warm import Answer as Answer
from tests.servers.warm import run_verb

NOTHING = Path("/nonexistent")


@dataclass(frozen=True)
class CommandLine:
    """Runs verbs with a clean environment: no SHOAL_ variable of ours, no running `shoal up` of this user."""

    environment: Mapping[str, str]

    @classmethod
    def at(cls, database_url: str | None = None, **more: str) -> CommandLine:
        """A command line for one database (None: no database is named); `more` are further variables."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}
        own = {"SHOAL_FOLDER": str(NOTHING), **({"SHOAL_DATABASE_URL": database_url} if database_url else {})}
        return cls({**clean, "COLUMNS": "200", **own, **more})

    async def start(
        self, *arguments: str, cwd: Path | None = None, stdin: int = asyncio.subprocess.DEVNULL
    ) -> asyncio.subprocess.Process:
        """Start a verb."""
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "shoal", *arguments),
            env=dict(self.environment),
            cwd=cwd,
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def __call__(self, *arguments: str, within_s: float = 150) -> Answer:
        """Run a verb to its end."""
        return await asyncio.to_thread(run_verb, arguments, self.environment, within_s=within_s)

    async def each(self, *calls: str) -> list[Answer]:
        """Run several verbs, each given as one line, one after the other."""
        return [await self(*shlex.split(call)) for call in calls]
