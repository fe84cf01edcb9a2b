"""Runs the examples on a `shoal up` of their own, and checks that each prints what its header shows.

    make examples                                  all of them
    .venv/bin/python examples/run.py switch retry  some

The header of an example is a session in bash: lines that begin with `$` are typed, what follows one is how its output
begins, `...` stands for anything. All lines of an example go to one bash, in the order in which they stand there; each
must end with exit code 0. Database, logs and data lie in a temporary folder that is removed afterwards.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
PROGRAMS = Path(sys.executable).parent
READY = b"Ready in"
UP_WITHIN_S = 60.0
EXAMPLE_WITHIN_S = 120.0
AT_ONCE = 2
_TYPED = re.compile(r"#     \$ (.*)")
_SHOWN = re.compile(r"#     (.*)")
_END = "\x1e"


@dataclass(frozen=True)
class Step:
    """A line that a person types, and how what it prints begins."""

    typed: str
    shown: str


@dataclass(frozen=True)
class Result:
    """What became of an example; `fault` is empty if all was as it says."""

    name: str
    title: str
    steps: int
    took_s: float
    fault: str


def names() -> list[str]:
    """All examples that can be run so; recipes/ needs programs that a machine may lack."""
    alone, in_folders = FOLDER.glob("*.yaml"), FOLDER.glob("*/*.yaml")
    return sorted(path.stem for path in (*alone, *(path for path in in_folders if path.stem == path.parent.name)))


def file_of(name: str) -> Path:
    """The file of an example, or of recipes/NAME; one that has others beside it is in a folder of its own."""
    return next(path for path in (FOLDER / f"{name}.yaml", FOLDER / name / f"{name}.yaml") if path.exists())


def steps(name: str) -> list[Step]:
    """What the header of an example says."""
    found: list[tuple[str, list[str]]] = []
    for line in file_of(name).read_text("utf-8").splitlines():
        if typed := _TYPED.fullmatch(line):
            found.append((typed[1], []))
        elif found and (shown := _SHOWN.fullmatch(line)):
            found[-1][1].append(shown[1])
        elif not line.startswith("#"):
            break
    return [Step(typed, "\n".join(shown)) for typed, shown in found]


def title(name: str) -> str:
    """What an example is about: the first line of its file."""
    with file_of(name).open(encoding="utf-8") as file:
        return file.readline().removeprefix("#").strip().rstrip(".")


class Shell:
    """Runs examples with the environment that reaches one running `shoal up`; `programs` is the folder of `shoal`."""

    def __init__(self, data: Path, programs: Path) -> None:
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")},
            "SHOAL_FOLDER": str(data),
            "SHOAL_WORKER__LOCAL_FILES": "true",
            "COLUMNS": "200",
            "TMPDIR": str(data.parent),
            "PATH": f"{programs}:{PROGRAMS}:{os.environ['PATH']}",
        }

    async def run(self, name: str) -> Result:
        """Type all that the header of an example says, and compare."""
        began_s = time.monotonic()
        expected = steps(name)
        fault = f"{name}.yaml has no lines to type in its header" if not expected else ""
        if expected:
            try:
                async with asyncio.timeout(EXAMPLE_WITHIN_S):
                    fault = _fault(expected, await self._printed(expected))
            except TimeoutError:
                fault = f"it was not over after {EXAMPLE_WITHIN_S:.0f} s"
        return Result(name, title(name), len(expected), time.monotonic() - began_s, fault)

    async def _printed(self, expected: list[Step]) -> str:
        script = "".join(f"{step.typed}\nprintf '{_END}%d{_END}' $?\n" for step in expected)
        bash = await asyncio.create_subprocess_exec(
            *("bash", "-c", script),
            env=self.environment,
            cwd=ROOT,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            start_new_session=True,
        )
        try:
            out, _ = await bash.communicate()
        finally:
            if bash.returncode is None:
                os.killpg(bash.pid, signal.SIGKILL)
        return out.decode(errors="replace")


def _fault(expected: list[Step], printed: str) -> str:
    """The first step that did not come out as it should, with both texts; empty if there is none."""
    parts = printed.split(_END)
    for number, step in enumerate(expected):
        out, code = parts[2 * number], parts[2 * number + 1]
        if code != "0" or (step.shown and not _begins_with(step.shown, out)):
            shown = f"should print\n{step.shown}\n\nand printed" if step.shown else "printed"
            return f"$ {step.typed}\n\nended with {code}, {shown}\n{out}"
    return ""


def _begins_with(shown: str, out: str) -> bool:
    """Whether it does, at the end of a line, whatever stands for `...` and however columns are aligned."""
    pattern = ".*?".join(re.escape(part) for part in _spaced(shown).split("..."))
    return re.match(rf"{pattern}(?:\n|\Z)", _spaced(out), re.DOTALL) is not None


def _spaced(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


@asynccontextmanager
async def running(programs: Path = PROGRAMS) -> AsyncIterator[Shell]:
    """A `shoal up` in a temporary folder, until the end of the block; the `shoal` of `programs` is what is typed."""
    with tempfile.TemporaryDirectory(prefix="shoal-examples-") as folder:
        data = Path(folder) / "data"
        shell = Shell(data, programs)
        up = await asyncio.create_subprocess_exec(
            *(sys.executable, "-u", "-m", "shoal", "up", "--masters", "2", "--workers", "1", "--folder", str(data)),
            env=shell.environment,
            cwd=ROOT,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
        )
        reading: asyncio.Task[None] | None = None
        try:
            await _ready(up)
            reading = asyncio.create_task(_read_on(up))
            yield shell
        finally:
            if up.returncode is None:
                up.send_signal(signal.SIGINT)
            await up.wait()
            if reading is not None:
                await reading


async def _ready(up: Process) -> None:
    assert up.stdout is not None
    said = b""
    async with asyncio.timeout(UP_WITHIN_S):
        while READY not in said:
            line = await up.stdout.readline()
            if not line:
                raise RuntimeError(f"`shoal up` ended: {said.decode()}")
            said += line


async def _read_on(up: Process) -> None:
    """What it says from now on; unread it would stand still once the pipe is full."""
    assert up.stdout is not None
    while await up.stdout.read(65536):
        pass


async def run_all(chosen: list[str]) -> list[Result]:
    """Run these examples, a few side by side, and print a line for each as it ends."""
    places = asyncio.Semaphore(AT_ONCE)

    async def run(shell: Shell, name: str) -> Result:
        async with places:
            result = await shell.run(name)
        mark = "✗" if result.fault else "✓"
        print(f"{mark} {name:<20} {result.steps:>2} steps {result.took_s:5.1f} s   {result.title}", flush=True)
        return result

    async with running() as shell:
        return await asyncio.gather(*(run(shell, name) for name in chosen))


def main() -> int:
    """Exit code 0 if all came out as they say."""
    chosen = sys.argv[1:] or names()
    if unknown := set(chosen) - set(names()):
        print(f"there is no example {', '.join(sorted(unknown))}; there are: {', '.join(names())}", file=sys.stderr)
        return 2
    began_s = time.monotonic()
    results = asyncio.run(run_all(chosen))
    wrong = [result for result in results if result.fault]
    for result in wrong:
        print(f"\n{result.name}: {result.fault}")
    fine = len(results) - len(wrong)
    print(f"\n{fine} of {len(results)} examples do what they say; it took {time.monotonic() - began_s:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
