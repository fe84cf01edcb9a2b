"""The ends that keepers recorded: `<folder>/ends/<epoch>/<task instance>`, each until its life has reported it.

The next life in the folder reads them and reports them in the name of the former life, as long as that one is not
fenced (`worker/results/former_lives.py`).

The result of an order is its answer. That of a process is its exit code and what it printed by `setValue` and
`setSkipped`: in its log, and in the unread rest that its keeper recorded. If that is uncertain (the log has a line of
the worker's own, for example that it was full), or a value is large enough for the log store, nothing is reported, and
the task runs again.
"""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import structlog
from pydantic import TypeAdapter

from dao.cluster.nodes import Me
from dao.tasks.task_claims import ClaimedTask, Report
from model.errors import NotFound, Refused
from model.ids import TaskInstanceId
from model.logs.name import LogName
from model.parameters import skip_codes
from model.parameters.large_values import INLINE_BYTES_MAX
from model.parameters.outputs import OutParameters
from model.runs.states import TaskState
from worker.attempts.last_line import last_line_of, tail_of
from worker.attempts.order import result_of
from worker.attempts.outputs import with_all_outputs
from worker.attempts.report import report_of
from worker.launcher.last_word import Facts, LastWord, facts_in
from worker.logs.task_log import LogFile, read_log
from worker.private_folder import make_private
from worker.tasks.plugin import TaskResult
from worker.tasks.process import ended_well, exit_reason
from worker.tasks.set_value_lines import PrintedValues

log = structlog.get_logger()

OWN_LINE = b"[shoal] "
_KNOWN = (TaskState.SUCCESS, TaskState.FAILURE, TaskState.SKIPPED)
PIECE_BYTES = 1_000_000


class _About(NamedTuple):
    me: Me
    id: TaskInstanceId
    attempt: int
    log: LogName
    outs: OutParameters
    skip_codes: frozenset[int] = frozenset()  # one that a former version left has none
    value_bytes_max: int = INLINE_BYTES_MAX


_ABOUT = TypeAdapter(_About)


def log_name(task: ClaimedTask) -> LogName:
    return LogName(task.day, task.workflow_code, task.workflow_instance_id, task.id)


class LastWords:
    """The recorded ends of one life."""

    def __init__(self, folder: Path, me: Me, value_bytes_max: int = INLINE_BYTES_MAX) -> None:
        """`folder` holds a folder for each life; `value_bytes_max` limits the size of a value."""
        self._value_bytes_max = value_bytes_max
        self._folder = folder / str(me.epoch)
        self._me = me
        self._given: set[TaskInstanceId] = set()

    def of(self, task: ClaimedTask) -> LastWord | None:
        """The file for the keeper of this attempt; None without disk space, which costs only this protection."""
        if not self._given:
            try:
                make_private(self._folder)
            except OSError as error:
                log.warning(
                    "ends_not_recorded", error=str(error), so="a task that ends as its worker is killed runs again"
                )
                return None
        self._given.add(task.id)
        outs = OutParameters.recorded_in(task.parameter_types)
        codes = skip_codes.recorded_in(task.parameter_types)
        facts = _About(self._me, task.id, task.attempt, log_name(task), outs, codes, self._value_bytes_max)
        about = _ABOUT.dump_json(facts).decode()
        return LastWord(str(self._folder / f"{task.id:d}"), about)

    def reported(self, id_: TaskInstanceId) -> None:
        """Remove a record that the database or the worker's disk has, or the database does not want."""
        if id_ in self._given:
            self._given.discard(id_)
            with suppress(OSError):  # one that stays is reported again, which changes nothing
                (self._folder / f"{id_:d}").unlink(missing_ok=True)


class LeftWords:
    """The ends that keepers of a former life recorded."""

    NAME = "left_ends"
    """Its name in log lines."""

    def __init__(self, folder: Path, me: Me, reports: list[Report]) -> None:
        self.me = me
        self.reports = reports
        self._folder = folder

    def remove(self) -> None:
        """Remove the records: they are reported, or no longer needed."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def close(self) -> None:
        """Nothing to release."""


def left_words(folder: Path, logs: Path) -> list[LeftWords]:
    """The ends in the folder, by epoch. Call it before a life begins, when all their lives are over. Blocks on the
    disk.

    Raises `OSError`. Unreadable records are logged and left out.
    """
    found = []
    for life in folder.iterdir() if folder.is_dir() else ():
        ends = [end for path in life.iterdir() if not path.suffix and (end := _end_in(path, logs)) is not None]
        if ends:
            found.append(LeftWords(life, ends[0][0], [report for _, report in ends if report is not None]))
        else:
            shutil.rmtree(life, ignore_errors=True)
    return sorted(found, key=lambda left: left.me.epoch)


def _end_in(path: Path, logs: Path) -> tuple[Me, Report | None] | None:
    try:
        facts = facts_in(path.read_bytes())
        about = _ABOUT.validate_json(facts.about)
        result = _result(facts, logs, about)
        if result is not None and any(len(value.encode()) > INLINE_BYTES_MAX for value in result.outputs.values()):
            result = None  # nobody has kept it in the log store
        if result is not None:
            result = with_all_outputs(result, about.outs, _Later(logs, about.log))
    except (OSError, ValueError, TypeError, Refused) as error:
        log.warning("end_unreadable", file=str(path), error=str(error), so="its task may run again")
        return None
    return about.me, None if result is None else report_of(about.id, about.attempt, result)


def _result(facts: Facts, logs: Path, about: _About) -> TaskResult | None:
    """The result; None when it cannot be known."""
    if facts.answer is not None:
        result = result_of(facts.answer)
        return result if result is not None and result.state in _KNOWN else None
    tail = _Tail()
    printed = PrintedValues(tail, about.value_bytes_max)
    is_certain = _read(logs, about.log, printed)
    printed.write(facts.rest)
    if facts.exit_code != 0:
        ended = TaskResult.skipped if facts.exit_code in about.skip_codes else TaskResult.failure
        return ended(exit_reason(facts.exit_code, tail.last_line()), facts.exit_code)
    try:
        return ended_well(printed) if is_certain and not tail.has_own_line else None
    except Refused as error:
        return TaskResult.failure(str(error))


def _read(logs: Path, name: LogName, into: PrintedValues) -> bool:
    """Pass the log on; False if it does not exist, or its beginning is missing."""
    try:
        begin = offset = read_log(logs, name, 0, 0).first
        while data := read_log(logs, name, offset, PIECE_BYTES).data:
            into.write(data)
            offset += len(data)
    except NotFound:
        return False
    return begin == 0


class _Later:
    """Appends to the log of an ended attempt."""

    def __init__(self, logs: Path, name: LogName) -> None:
        self._logs = logs
        self._name = name

    def write(self, text: str | bytes) -> None:
        file = LogFile(self._logs, self._name, sys.maxsize)
        try:
            file.write(text)
        finally:
            file.close()


class _Tail:
    """A `TaskLog` that keeps the end of the log, and whether the worker wrote a line of its own."""

    def __init__(self) -> None:
        self.has_own_line = False
        self._tail = b""

    def write(self, text: str | bytes) -> None:
        data = text.encode() if isinstance(text, str) else text
        self.has_own_line |= OWN_LINE in self._tail + data
        self._tail = tail_of(self._tail, data)

    def last_line(self) -> str:
        return last_line_of(self._tail)
