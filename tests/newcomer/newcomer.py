"""Somebody new: an ordinary user of the machine with a fresh clone, a private home, and no configuration."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.newcomer.comparison import Ids, difference
from tests.newcomer.page import Line, Page
from tests.servers.child import Child, PrivateFolder, as_user
from tests.shoal.test_embedded import python_of_everybody

ROOT = Path(__file__).parents[2]
READY = "In another terminal"
WITHIN_S = 60.0
AGAIN_WITHIN_S = 20.0
_READS = re.compile(
    r"shoal (?:show|runs(?! [a-z])|why|queue(?: errors)?$|(?:master|worker|schedule) list|doctor|log"
    r"|db psql -c .SELECT)"
)
_UP = re.compile(r"(?:\.venv/bin/)?shoal up\b")
_FUTURE = re.compile(r"(--(?:start|end) )\d{4}")
_MAKE = re.compile(r"make\b")
"""Targets take minutes: a dry run shows that the target and its variables exist."""
_CLEAR = (
    "UPDATE workflow_definition SET name = name || code WHERE code > 1001; "
    "DELETE FROM schedule; DELETE FROM error_command"
)
"""Removes what pages before this one left, which its reader does not have."""
_ABROAD = ("/srv", "/etc/shoal")
"""Folders that pages name, and that an ordinary user may not write: they lie in the home instead."""


@dataclass(frozen=True)
class Printed:
    """The output of a line, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """The text that the line is about: its output, or the reason of a refusal."""
        return self.out or self.err


class Newcomer:
    """Types what pages say, in one clone; the cluster of one `shoal up` at a time. Use it as a context."""

    def __init__(self) -> None:
        self._user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self._folder = PrivateFolder("shoal-new-", owner=self._user, runs_programs=True)
        self.clone = self._folder.path / "shoal"
        self._home = self._folder.path
        self._up: Child | None = None
        self._ups = 0
        self._clone()
        self._warm = self._start_warm()

    def __enter__(self) -> Newcomer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_up()
        self._warm.kill()
        self._folder.close()

    def faults_of(self, page: Page) -> list[str]:
        """Type a page from its first line to its last; what did not come out as it says."""
        ids = Ids()
        self._write(page)
        if self.runs_up:
            self.type(f'shoal db psql -c "{_CLEAR}"')
        faults = []
        if page.workflows and page.lines:
            saved = self.type(f"shoal workflow apply {' '.join(self._workflow_files(page))}")
            faults += [f"{page.name}: its workflows are not saved: {saved.text}"] if saved.code else []
        for line in page.lines:
            for command in line.before:
                printed = self.type(ids.typed(command))
                ids.learn((), printed.out)
                if printed.code:
                    faults.append(f"{line.place}: before it\n$ {command}\n{printed.out}{printed.err}")
            if fault := self._fault(line, ids):
                faults.append(f"{line.place}\n$ {line.typed}\n{fault}")
        return faults

    def type(self, typed: str) -> Printed:
        """Type a line in the clone, and wait for its end."""
        bash = ["timeout", "-s", "KILL", str(WITHIN_S), "bash", "-c", self._here(typed)]
        done = subprocess.run(
            [*as_user(self._user), "--pdeathsig", "KILL", "--", *bash],
            cwd=self.clone, env=self._environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        return Printed(done.returncode, self._abroad(done.stdout), self._abroad(done.stderr))

    def start_up(self, line: Line) -> str:
        """Type `shoal up` in a new home, and leave it running; what it does not print as the page says."""
        self.stop_up()
        self._ups += 1
        self._home = self._folder.path / f"home-{self._ups}"
        self._make(self._home)
        log = self._home / "up.log"
        self._up = Child.of(
            ["bash", "-c", f"exec {line.typed}"],
            cwd=self.clone,
            log=log,
            user=self._user,
            environment={**self._environment(), "PATH": self._path(self.clone / ".venv/bin"), "PYTHONUNBUFFERED": "1"},
        )
        self._up.wait_until(lambda: READY in log.read_text(), WITHIN_S)
        printed = self._abroad(log.read_text())
        last = next((number for number, shown in enumerate(line.shown) if READY in shown), -1)
        return difference(line.shown[: last + 1], printed) if line.shown else ""

    @property
    def runs_up(self) -> bool:
        """Whether a `shoal up` runs."""
        return self._up is not None

    def stop_up(self) -> str:
        """Ctrl-C in the terminal of `shoal up`: all that it has printed by then. Nothing if there is none."""
        if self._up is None:
            return ""
        self._up.end(signal.SIGINT, timeout_s=WITHIN_S)
        code, self._up = self._up.exit_code, None
        printed = self._abroad((self._home / "up.log").read_text())
        assert code == 0, f"`shoal up` ended with {code}\n{printed}"
        return printed

    def _fault(self, line: Line, ids: Ids) -> str:
        if _UP.match(line.typed):
            return self.start_up(line) if line.shown or not self.runs_up else ""
        deadline = time.monotonic() + AGAIN_WITHIN_S
        while True:
            printed = self.type(ids.typed(line.typed))
            fault = _fault(line.shown, printed)
            if not fault or not _READS.match(line.typed) or time.monotonic() > deadline:
                break
            time.sleep(0.2)
        ids.learn(line.shown, printed.text)
        return f"{fault}\n{printed.out}{printed.err}" if fault else ""

    # ------------------------------------------------------------------------------------------- what there is

    def _clone(self) -> None:
        """Clone the tree, with what is not committed yet, and give it the libraries of ours: installing takes long."""
        git = ["git", "-c", "safe.directory=*"]
        self._make(self.clone)
        listed = subprocess.run(
            [*git, "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, capture_output=True, text=True, check=True,
        ).stdout.splitlines()  # fmt: skip
        for name in listed:
            if (ROOT / name).is_file():
                (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.clone / name)
        python = python_of_everybody()[0] if self._user is not None else sys.executable
        self._make_venv(self.clone / ".venv", Path(python).resolve())
        if self._user is not None:
            subprocess.run(["chown", "-hR", f"{self._user.pw_uid}:{self._user.pw_gid}", self.clone], check=True)

    def _make_venv(self, venv: Path, python: Path) -> None:
        """Make what `make setup` makes, except the libraries: they are those of the test environment."""
        libraries = [path for path in sys.path if path.endswith("-packages")]
        packages = venv / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
        packages.mkdir(parents=True)
        (venv / "bin").mkdir()
        (venv / "pyvenv.cfg").write_text(f"home = {python.parent}\ninclude-system-site-packages = false\n")
        (venv / "bin/python").symlink_to(python)
        (packages / "shoal.pth").write_text("\n".join([str(self.clone), *libraries, ""]))
        self._program(
            venv / "bin/shoal", f"#!{venv}/bin/python\nimport sys\nfrom shoal.cli import main\nsys.exit(main())"
        )

    def _start_warm(self) -> Child:
        place = self._folder.path / "warm"
        program = self.clone / "tests/newcomer/warm_shoal.py"
        python = self.clone / ".venv/bin/python"
        self._make(self._folder.path / "bin")
        self._program(self._folder.path / "bin/shoal", f'#!/bin/sh\nexec {python} -IS {program} call {place} "$@"')
        child = Child.of(
            [str(python), str(program), "serve", str(place)],
            cwd=self.clone, log=self._folder.path / "warm.log", user=self._user, environment=self._environment(),
        )  # fmt: skip
        child.wait_until(place.exists, WITHIN_S)
        return child

    def _environment(self) -> dict[str, str]:
        return {
            "HOME": str(self._home),
            "USER": self._user.pw_name if self._user else os.environ.get("USER", "somebody"),
            "PATH": self._path(self._folder.path / "bin"),
            "LANG": "C.UTF-8",
        }

    @staticmethod
    def _path(first: Path) -> str:
        return f"{first}:{os.environ['PATH']}"

    def _write(self, page: Page) -> None:
        for name, content in page.files.items():
            self._text(self.clone / name, content)
        for name, content in zip(self._workflow_files(page), page.workflows, strict=True):
            self._text(self.clone / name, content)

    @staticmethod
    def _workflow_files(page: Page) -> Sequence[str]:
        return [f"{Path(page.name).stem}-{number}.yaml" for number in range(len(page.workflows))]

    def _here(self, text: str) -> str:
        text = _MAKE.sub("make -n", text, count=1) if _MAKE.match(text) else text
        text = _FUTURE.sub(rf"\g<1>{datetime.now(UTC).year + 1}", text)
        for folder in _ABROAD:
            text = re.sub(rf"(?<![\w.]){folder}(?=/)", f"{self._home}{folder}", text)
        return text

    def _abroad(self, text: str) -> str:
        for folder in _ABROAD:
            text = text.replace(f"{self._home}{folder}", folder)
        return text.replace(str(self._home), "~")

    def _make(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._own(folder)

    def _text(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        self._own(path)

    def _program(self, path: Path, script: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._text(path, f"{script}\n")
        path.chmod(0o755)

    def _own(self, path: Path) -> None:
        if self._user is not None:
            os.chown(path, self._user.pw_uid, self._user.pw_gid)


def _fault(shown: Sequence[str], printed: Printed) -> str:
    """The difference from the page. The exit codes are those of docs/reference/cli.md."""
    text = "\n".join(shown)
    if text.startswith("shoal: "):
        expected = {1, 2, 3, 5}
    else:
        expected = {1} if re.search(r"^Run .*: (?:FAILURE|STOP)|^✗", text, re.MULTILINE) else {0}
    if printed.code not in expected:
        return f"ended with {printed.code}, should end with {' or '.join(map(str, sorted(expected)))}"
    return difference(shown, printed.text) if shown else ""
