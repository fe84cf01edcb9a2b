"""The journal that SHELL tasks write: a line at start, now and then, and at the end, in order of writing.

The one witness that Shoal has no hand in: a line of an old attempt after a new one began means that both ran at once,
whatever the tables say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TICK_S = 0.2


@dataclass(frozen=True, slots=True)
class Line:
    """`what` is start, tick or end; `key` is `instance.task code`; `worker` is the epoch of the worker."""

    what: str
    key: str
    attempt: int
    worker: int

    @property
    def instance(self) -> int:
        """The run of the task."""
        return int(self.key.partition(".")[0])


class Journal:
    """A file that all tasks append to; each line is one write."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def script(self, ticks: int = 1, work: str = ":") -> str:
        """A script that does some work and then lives for `ticks` ticks. Its exit codes are those of `work`."""
        say = """say() { printf '%s %s %s %s\\n' "$1" "$SHOAL_TASK_KEY" "$SHOAL_ATTEMPT" "$SHOAL_FENCE" """
        return (
            f"{say}>> '{self.path}'; }}\nsay start\n{work}\n"
            f"for tick in $(seq {ticks}); do sleep {TICK_S}; say tick; done\nsay end\n"
        )

    def lines(self) -> list[Line]:
        """All of it."""
        return list(self._read())

    def _read(self) -> Iterator[Line]:
        for line in self.path.read_text().splitlines() if self.path.exists() else ():
            what, key, attempt, worker = line.split()
            yield Line(what, key, int(attempt), int(worker))


def twice_at_once(lines: list[Line]) -> list[str]:
    """Attempts that were started twice, and signs of life of an attempt after a later one began."""
    begun: dict[tuple[str, int], int] = {}
    latest: dict[str, int] = {}
    found = []
    for line in lines:
        newest = latest.get(line.key, 0)
        if line.what == "start":
            if (line.key, line.attempt) in begun:
                first = begun[line.key, line.attempt]
                found.append(f"{line.key} attempt {line.attempt} was started by worker {first} and by {line.worker}")
            begun[line.key, line.attempt] = line.worker
            latest[line.key] = max(newest, line.attempt)
        if line.attempt < newest:
            found.append(f"{line.key} attempt {line.attempt} ({line.what}) lived on while attempt {newest} ran")
    return found


def not_alone(lines: list[Line], alone: set[int]) -> list[str]:
    """Attempts of runs of one workflow, `alone`, that lived on after another of its runs showed a sign of life.

    Which run is the older says nothing: any ended run may be asked to go on.
    """
    seen: set[tuple[str, int]] = set()
    last: Line | None = None
    found = []
    for line in lines:
        if line.instance not in alone:
            continue
        attempt = line.key, line.attempt
        if last is not None and last.instance != line.instance and attempt in seen:
            found.append(
                f"run {line.instance} ({line.what}) lived on while run {last.instance} of the same workflow ran"
            )
        last = line
        seen.add(attempt)
    return found


def started_again(lines: list[Line], once: set[int]) -> list[str]:
    """Tasks of runs that may be started only `once`, and were more often."""
    starts: dict[str, int] = defaultdict(int)
    for line in lines:
        if line.what == "start" and line.instance in once:
            starts[line.key] += 1
    return [f"{key} must not run twice and was started {count} times" for key, count in starts.items() if count > 1]
