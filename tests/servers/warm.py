"""Processes of `shoal` that begin where their imports end: forked from one that has imported everything.

Each is a process of its own, like one that a person starts, but for the second or two of processor time that Python
and its libraries need to start. With hundreds of masters and workers in the tests that is most of what they take.

The fork server is that of `multiprocessing`. It ends with the process of the tests, and its children with it.
"""

from __future__ import annotations

import ctypes
import io
import json
import multiprocessing
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import api
import dao
import master
import model
import registry
import shoal
import worker

_PACKAGES = (model, dao, registry, master, worker, api, shoal)
_LIBRARIES = (
    *("tzdata", "uvicorn.lifespan.off", "concurrent.futures.thread"),
    *("anyio._backends._asyncio", "cryptography.fernet", "encodings.idna", "encodings.utf_8_sig", "httpcore"),
    *("pydantic.v1", "sql", "typer._adapters"),
)
"""Modules that libraries import at their first use."""
_READ_AT_START = (
    "PYTHON",
    "LD_",
    "LC_",
    "LANG",
    "TYPER_",
    "FORCE_COLOR",
    "PY_COLORS",
    "GITHUB_ACTIONS",
    "TERMINAL_WIDTH",
)
"""Prefixes of variables that Python, or a library at its import, reads before `main` runs."""
_PR_SET_PDEATHSIG = 1

_forks = multiprocessing.get_context("forkserver")


def can_begin_warm(environment: Mapping[str, str]) -> bool:
    """Whether a process with this environment may be forked: the imports would have gone no other way."""

    def read_at_start(variables: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in variables.items() if name.startswith(_READ_AT_START)}

    return read_at_start(environment) == read_at_start(os.environ)


class WarmProcess:
    """A verb of `shoal` in a process of its own session; to its caller it is like a `subprocess.Popen`.

    Args:
        arguments: what a person types after `shoal`.
        environment: the whole environment of the process.
        cwd: the folder that it runs in.
        out, err: the files that get its output, appended; both may be the same.
    """

    def __init__(
        self, arguments: Sequence[str], *, environment: Mapping[str, str], cwd: Path, out: Path, err: Path
    ) -> None:
        # Given before each start: the fork server takes it when it is started, at the first one.
        _forks.set_forkserver_preload(_modules())
        self._process: ForkServerProcess = _forks.Process(
            target=_run, args=(list(arguments), dict(environment), str(cwd), str(out), str(err)), daemon=False
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit code once it has ended; minus the signal's number if killed by one."""
        return self.poll()

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises `subprocess.TimeoutExpired` after `timeout` seconds."""
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired("shoal", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, if it has not ended."""
        with suppress(ProcessLookupError):  # its parent, the fork server, saw its end before it told us
            if self.poll() is None:
                os.kill(self.pid, number)


@dataclass(frozen=True)
class Answer:
    """The answer of a verb."""

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


def run_verb(
    arguments: Sequence[str], environment: Mapping[str, str], *, cwd: Path | None = None, within_s: float = 150
) -> Answer:
    """Run a verb of `shoal` to its end, with nothing to read on its standard input.

    Raises:
        subprocess.TimeoutExpired: it took longer than `within_s` seconds, and has been killed.
    """
    cwd = cwd or Path.cwd()
    if not can_begin_warm(environment):
        done = subprocess.run(
            [sys.executable, "-m", "shoal", *arguments],
            env=dict(environment),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=within_s,
        )
        return Answer(done.returncode, done.stdout, done.stderr)
    with tempfile.TemporaryDirectory(prefix="shoal-verb-") as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        process = WarmProcess(arguments, environment=environment, cwd=cwd, out=out, err=err)
        try:
            code = process.wait(within_s)
        finally:
            process.send_signal(signal.SIGKILL)
        return Answer(code, out.read_text(), err.read_text())


@cache
def _modules() -> list[str]:
    """What the fork server imports; `built` changes Typer, so only there."""
    found = [
        module.name
        for package in _PACKAGES
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not module.name.endswith("__main__")
    ]
    return [*found, *_LIBRARIES, "tests.servers.built", __name__]


def _run(arguments: list[str], environment: dict[str, str], cwd: str, out: str, err: str) -> None:
    from shoal.cli import main

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    for descriptor, path in ((1, out), (2, err)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(file, descriptor)
        os.close(file)
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), "utf-8", write_through=True)
    sys.argv = ["shoal", *arguments]
    main()
