"""A `shoal up` for the tests of a file, and programs that ask it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from tests.servers.child import command_line
from tests.servers.warm import run_verb
from tests.test_repository import ROOT

READY_S_MAX = 240.0
STOP_S_MAX = 120.0


class RunningShoal:
    """Address, login link, and the command line of a `shoal up`."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self.process = process
        self.folder = folder
        self.said = ""
        self._ready = threading.Event()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        assert self._ready.wait(READY_S_MAX), self.said
        assert process.poll() is None, self.said
        self.url = self._found(r"api a1 +(http://127\.0\.0\.1:\d+)")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line
            if "Ready in" in line:
                self._ready.set()
        self._ready.set()

    def _found(self, what: str) -> str:
        found = re.search(what, self.said)
        assert found, self.said
        return found[1]

    @property
    def login_link(self) -> str:
        """It logs in once."""
        return self._found(r"first login +(\S+)")

    def family(self, role: str) -> list[psutil.Process]:
        """Its processes of a role: master, worker, api."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        return [each for each in children if command_line(each)[1:5] == ["-P", "-m", "shoal", role]]

    def shoal(self, *words: str, given: str | None = None) -> str:
        """What a verb prints that reads `given`; it must succeed."""
        environment = {**os.environ, "SHOAL_FOLDER": str(self.folder)}
        if given is None:
            answer = run_verb(words, environment, cwd=ROOT)
            assert answer.code == 0, answer.err or answer.out
            return answer.out
        command = [sys.executable, "-m", "shoal", *words]
        ended = subprocess.run(
            command, cwd=ROOT, env=environment, input=given, capture_output=True, text=True, timeout=150
        )
        assert ended.returncode == 0, ended.stderr or ended.stdout
        return ended.stdout

    def json(self, *words: str) -> Any:
        """What a verb prints with --json."""
        return json.loads(self.shoal(*words, "--json"))

    def apply(self, name: str, content: str) -> None:
        """Save workflows, as a file of this name."""
        file = self.folder.parent / name
        file.write_text(content, "utf-8")
        self.shoal("workflow", "apply", str(file))


@contextmanager
def running_shoal(folder: Path, masters: int = 2, workers: int = 1) -> Iterator[RunningShoal]:
    """A `shoal up` in `folder`; it is stopped at the end, and must then be gone."""
    command = [sys.executable, "-m", "shoal", "up", "--masters", str(masters), "--workers", str(workers)]
    process = subprocess.Popen(
        [*command, "--folder", str(folder / "data"), "--port", "0"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        yield RunningShoal(process, folder / "data")
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
