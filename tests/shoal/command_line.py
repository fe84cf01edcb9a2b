"""`shoal` as a person runs it: a process, its output, its exit code."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOTHING = Path("/nonexistent")


@dataclass(frozen=True)
class Answer:
    """What a verb said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The document that `--json` printed; fails with the error if there is none."""
        assert self.out, self.err
        return json.loads(self.out)

    @property
    def sentence(self) -> str:
        """The error's one sentence. Anything else on standard error, a traceback above all, fails."""
        assert self.err.startswith("shoal: "), self.err
        assert "Traceback" not in self.err
        return self.err.removeprefix("shoal: ").strip()


@dataclass(frozen=True)
class CommandLine:
    """Runs verbs with a clean environment: no SHOAL_ variable of ours, no running `shoal up` of this user."""

    environment: Mapping[str, str]

    @classmethod
    def at(cls, database_url: str | None = None, **more: str) -> CommandLine:
        """For one database (None: none is named); `more` are further variables."""
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

    async def __call__(self, *arguments: str, within_s: float = 60) -> Answer:
        """Run a verb to its end."""
        process = await self.start(*arguments)
        try:
            out, err = await asyncio.wait_for(process.communicate(), within_s)
        finally:
            if process.returncode is None:
                process.kill()
        return Answer(process.returncode or 0, out.decode(), err.decode())

    async def each(self, *calls: str) -> list[Answer]:
        """Run several verbs, each given as one line, one after the other in one process, which saves their imports."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.shoal.many_verbs"),
            env=dict(self.environment),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        wanted = json.dumps([shlex.split(call) for call in calls]).encode()
        try:
            out, err = await asyncio.wait_for(process.communicate(wanted), 60)
        finally:
            if process.returncode is None:
                process.kill()
        assert process.returncode == 0, err.decode()
        return [Answer(*answer) for answer in json.loads(out)]
