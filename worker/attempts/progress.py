"""The progress that tasks report, by a line `::progress 40/100 text` or in the file named in `SHOAL_PROGRESS`.

Output is scanned on its way to the log, from its end: of a million reports in a piece of output only the last one is
read. Once a second the board collects changes for the worker's writer, which writes them together with the ends of
tasks. A task without reports costs one `stat` a second.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dao.tasks.task_progress import Reported
from model.ids import TaskInstanceId
from model.runs.progress import LINE_BYTES_MAX, TEXT_LENGTH_MAX, Progress, read_progress
from worker.tasks.plugin import TaskLog

VARIABLE = "SHOAL_PROGRESS"
"""The environment variable with the path of the file in which a process may report."""

FILE = ".shoal-progress"
"""Its name in the work folder of the attempt."""

COLLECT_EVERY_S = 1.0

_MARK = b"::progress "
_TRIES = 10
"""How many lines of a piece of output are tried to find a well-formed one."""


class ProgressLog:
    """A `TaskLog` that passes on its input and records the last report in it."""

    def __init__(self, log: TaskLog) -> None:
        self.last: Progress | None = None
        self._log = log
        self._line: bytes | None = b""
        """The last line so far; None: it cannot become a report."""

    def write(self, text: str | bytes) -> None:
        """Pass the text on, and scan it. Raises what the log raises."""
        data = text.encode() if isinstance(text, str) else text
        self._log.write(data)
        end = data.rfind(b"\n")
        if end >= 0:
            self.last = self._last_in(data, end) or self.last
            self._line = b""
        if self._line is not None:
            line = self._line + data[end + 1 : end + 2 + LINE_BYTES_MAX]
            is_open = len(line) <= LINE_BYTES_MAX and (line.startswith(_MARK) or _MARK.startswith(line))
            self._line = line if is_open else None

    def last_line(self) -> str:
        return self._log.last_line()

    def _last_in(self, data: bytes, end: int) -> Progress | None:
        """The last report in the whole lines of `data`, which end at `end`."""
        at = end
        for _ in range(_TRIES):
            at = data.rfind(b"\n" + _MARK, 0, at)
            if at < 0:
                break
            if found := _report(data[at + 1 : data.find(b"\n", at + 1)]):
                return found
        if at >= 0 or self._line is None:
            return None
        return _report(self._line + data[: data.find(b"\n")])


def _report(line: bytes) -> Progress | None:
    return read_progress(line[len(_MARK) :]) if line.startswith(_MARK) else None


class ProgressFile:
    """The file in which a task reports: only its last line counts. Other processes may write anything into it."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._seen: tuple[int, ...] = ()

    def read(self) -> Progress | None:
        """The current report; None if it has not changed or is invalid."""
        try:
            facts = self._path.lstat()
            seen = (facts.st_ino, facts.st_size, facts.st_mtime_ns)
            if seen == self._seen or not stat.S_ISREG(facts.st_mode):
                return None
            fd = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    return None
                data = os.pread(fd, LINE_BYTES_MAX + 1, max(0, facts.st_size - LINE_BYTES_MAX - 1))
            finally:
                os.close(fd)
        except (OSError, ValueError):
            return None
        self._seen = seen
        return read_progress(data.rstrip().rpartition(b"\n")[2])


class ProgressBoard:
    """The reports of all tasks of one worker that the database does not have yet."""

    def __init__(self) -> None:
        self._watched: dict[TaskInstanceId, _Watched] = {}
        self._unwritten: dict[TaskInstanceId, Reported] = {}

    @property
    def has_news(self) -> bool:
        return bool(self._unwritten)

    @contextmanager
    def watching(
        self,
        task: TaskInstanceId,
        attempt: int,
        masked: Callable[[str], str],
        log: TaskLog,
        environment: Mapping[str, str],
    ) -> Iterator[TaskLog]:
        """The log for an attempt's process. Its last report is written with its end."""
        path = environment.get(VARIABLE)
        file = None if path is None else ProgressFile(path)
        watched = self._watched[task] = _Watched(attempt, ProgressLog(log), file, masked)
        try:
            yield watched.log
        finally:
            self._collect(task, watched)
            del self._watched[task]

    async def run(self, wake: Callable[[], None]) -> None:
        """Collect changes forever, and call `wake` when there are any."""
        while True:
            await asyncio.sleep(COLLECT_EVERY_S)
            for task, watched in self._watched.items():
                self._collect(task, watched)
            if self._unwritten:
                wake()

    def take(self) -> dict[TaskInstanceId, Reported]:
        taken, self._unwritten = self._unwritten, {}
        return taken

    def put_back(self, taken: Mapping[TaskInstanceId, Reported]) -> None:
        """Put back what was not written; newer reports take precedence."""
        self._unwritten = {**taken, **self._unwritten}

    def _collect(self, task: TaskInstanceId, watched: _Watched) -> None:
        if (news := watched.news()) is not None:
            text = watched.masked(news.text)[:TEXT_LENGTH_MAX] if news.text else ""
            self._unwritten[task] = Reported(task, watched.attempt, news.done, news.total, text or None)


class _Watched:
    """One attempt with a process."""

    def __init__(self, attempt: int, log: ProgressLog, file: ProgressFile | None, masked: Callable[[str], str]) -> None:
        self.attempt = attempt
        self.log = log
        self.masked = masked
        self._file = file
        self._printed: Progress | None = None
        self._latest: Progress | None = None

    def news(self) -> Progress | None:
        """The report since the last call, if it has changed."""
        latest = self._file.read() if self._file is not None else None
        if self.log.last is not self._printed:
            latest = self._printed = self.log.last
        if latest is None or latest == self._latest:
            return None
        self._latest = latest
        return latest
