"""WAIT: looks whether something exists, and looks again later. Between two looks the task is in the database only.

Each kind has a class. A look for a file, or by a request that changes nothing, runs in the worker's process, or below a
keeper if it has a tenant. A look by SQL or by another request always runs below a keeper, and a script like that of a
SHELL task. A moment needs no look: the database's clock decides when it has come (`dao/tasks/looks.py`).
"""

from __future__ import annotations

import asyncio
import glob
import re
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from dao.secrets.data_source_url import STORAGE, parse_data_source_url
from model.cluster.means import is_passing
from model.errors import Refused, Unavailable
from model.fields import Minutes
from model.runs.looks import Again
from model.runs.states import TaskState
from worker.statements.binding import reference
from worker.statements.thread import run_in_thread, run_on_own_loop
from worker.tasks.bucket_look import found_in
from worker.tasks.http import HttpTask
from worker.tasks.inserted import mark, plain, put_in
from worker.tasks.plugin import Task, TaskContext, TaskParams, TaskResult
from worker.tasks.shell import ShellTask
from worker.tasks.sql import SqlTask
from worker.tasks.wait_thing import NOT_ABSOLUTE, ObjectLook, Thing, moment_of

NOT_YET_CODE = 1
"""The exit code of a script that found nothing, as of `test` and `grep -q`."""
SHORTEST_PAUSE_S = 1
ANSWER_BYTES_MAX = 1_048_576
"""The longest answer that a look reads in the worker's process; the default of an HTTP task."""
CLOSING_S_MAX = 1.0
"""How long a cancelled look waits for its connection to be closed."""
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_MAGIC = re.compile(r"[*?\[]")


class OnTimeout(StrEnum):
    """What happens to a task that has found nothing at its timeout."""

    FAIL = "FAIL"
    SKIP = "SKIP"


class WaitTask(Task):
    """One look of a WAIT task."""

    class Params(TaskParams):
        """The task looks every `every`; each pause is `backoff` times as long as the one before it, up to `max_every`.
        It waits at most `timeout` (0: forever), and one look takes at most `look_timeout`."""

        for_: Thing = Field(alias="for")
        every: Minutes = 0.5
        backoff: float = Field(default=1, ge=1, le=10)
        max_every: Minutes = 60
        timeout: Minutes = 0
        on_timeout: OnTimeout = OnTimeout.FAIL
        look_timeout: Minutes = 1

        @model_validator(mode="after")
        def _has_pauses(self) -> Self:
            for name in ("every", "look_timeout"):
                if getattr(self, name) * 60 < SHORTEST_PAUSE_S:
                    raise ValueError(f"{name} must be at least {SHORTEST_PAUSE_S} s; write it as 30s or 5m")
            return self

    params: Params

    @classmethod
    def of(cls, params: TaskParams) -> Task:
        """The look for the kind of thing that it waits for."""
        assert isinstance(params, cls.Params)
        (kind,) = params.for_.model_fields_set
        return _OF_KIND[kind](params)

    insert = staticmethod(mark)  # what is safe differs between a script, a request and a path

    @property
    def again(self) -> Again:
        params = self.params
        return Again(
            params.every * 60,
            params.backoff,
            max(params.max_every, params.every) * 60,
            params.timeout * 60 or None,
            TaskState.SKIPPED if params.on_timeout is OnTimeout.SKIP else TaskState.FAILURE,
            self.at_s,
        )

    at_s: float | None = None
    """The moment that it waits for, in seconds since 1970, once its look knows it; None for other kinds."""

    async def run(self, context: TaskContext) -> TaskResult:
        """Look once. A look that takes too long is a failure: the next one would take as long."""
        limit_s = self.params.look_timeout * 60
        try:
            async with asyncio.timeout(limit_s) as limit:
                result = await self.look(context)
        except TimeoutError:
            if not limit.expired():
                raise
            return TaskResult.failure(f"a look took longer than its look_timeout of {limit_s:g} s")
        if result.state is TaskState.DELAY_EXECUTION:
            context.log.write(f"[shoal] {_now()} not yet: {context.masked(result.reason)}\n")
        else:
            context.log.write(f"[shoal] {_now()} looked: {result.state}\n")
        return result

    @abstractmethod
    async def look(self, context: TaskContext) -> TaskResult:
        """Look once, without a time limit."""


class FileWait(WaitTask):
    """A look for a file or folder, on the worker, as the task's tenant. Its output is the path: `file`."""

    below_keeper = True
    starts_processes = False

    @property
    def only_looks(self) -> bool:
        """False if its pattern may search many folders: nothing in the worker's process could end such a search."""
        folder, _, _ = put_in(self.params.for_.file or "", lambda _name, value: _MAGIC.sub("", value)).rpartition("/")
        return _MAGIC.search(folder) is None

    async def look(self, context: TaskContext) -> TaskResult:
        """Look for the path, or for the pattern if its author wrote one."""
        marked = self.params.for_.file or ""
        path = plain(marked)
        shown = context.masked(path)
        if not path.startswith("/"):
            raise Refused(f"for.file: {shown} {NOT_ABSOLUTE}")
        if "\0" in path:
            raise Refused(f"for.file: {shown} contains a NUL")
        pattern = _pattern_in(marked)
        # In a thread: a file system of the network may hang, and the limit of a look must be kept all the same.
        found = await run_in_thread(lambda: _found(path, pattern, shown), lambda: None, 0)
        if found is None:
            return TaskResult.in_vain(f"file {shown}: no such file")
        return TaskResult.success({"file": found})


class ObjectWait(WaitTask):
    """A look for an object in S3-compatible storage. Its output is the address: `file`."""

    below_keeper = True
    starts_processes = False

    @classmethod
    def prepare(cls) -> None:
        with suppress(ImportError):  # a look says so
            import obstore  # noqa: F401

    def _given(self) -> ObjectLook:
        assert self.params.for_.s3 is not None
        return self.params.for_.s3

    def data_source(self, values: Mapping[str, str]) -> str:  # noqa: ARG002 - they are in it
        return plain(self._given().datasource)

    async def look(self, context: TaskContext) -> TaskResult:
        """Look for the key, or for the pattern if its author wrote one."""
        assert context.data_source is not None, "the worker gives it"
        marked, name = self._given().key, self.data_source({})
        key, pattern = plain(marked), _pattern_in(marked)
        url = parse_data_source_url(await context.data_source(name))
        if url.get_backend_name() != STORAGE:
            raise Refused(f"for.s3: data source {context.masked(name)} is no S3-compatible storage, but a database")
        if key.startswith("/"):
            raise Refused(f"for.s3: the key {context.masked(key)} must not begin with /")
        try:
            found = await run_in_thread(lambda: found_in(url, key, pattern, context.masked(name)), lambda: None, 0)
        except Unavailable as error:
            return TaskResult.in_vain(str(error))
        if found is None:
            return TaskResult.in_vain(f"s3://{url.database}/{context.masked(key)}: no such object")
        return TaskResult.success({"file": f"s3://{url.database}/{found}"})


class HttpWait(WaitTask):
    """A look by a request. Its outputs are those of the HTTP task."""

    below_keeper = True
    starts_processes = False

    @property
    def only_looks(self) -> bool:
        """Whether it uses a safe method, for an answer that takes the worker little memory and time."""
        request = self.params.for_.http
        return request is not None and request.method in _SAFE and request.response_bytes_max <= ANSWER_BYTES_MAX

    @classmethod
    def prepare(cls) -> None:
        HttpTask.prepare()

    async def look(self, context: TaskContext) -> TaskResult:
        """Whether the answer is as expected; without an answer, it is not."""
        assert self.params.for_.http is not None
        task = HttpTask(self.params.for_.http)
        # In a thread: a name server may not answer, and an answer of a megabyte is read without a pause.
        result = await run_on_own_loop(lambda: task.run(context), CLOSING_S_MAX)
        return result if result.state is TaskState.SUCCESS else TaskResult.in_vain(result.reason)


class SqlWait(WaitTask):
    """A look by a query. Its outputs are the columns of its first row."""

    below_keeper = True
    starts_processes = False

    @classmethod
    def prepare(cls) -> None:
        SqlTask.prepare()

    def _task(self) -> SqlTask:
        """The SQL task, whose statements take marks of another kind."""
        given = self.params.for_.sql
        assert given is not None

        def referring(text: str) -> str:
            return put_in(text, lambda name, _value: reference(name))

        sql = referring(given.sql) if isinstance(given.sql, str) else [referring(each) for each in given.sql]
        return SqlTask(SqlTask.Params(datasource=referring(given.datasource), sql=sql, limit=1))

    def data_source(self, values: Mapping[str, str]) -> str:
        return self._task().data_source(values)

    async def look(self, context: TaskContext) -> TaskResult:
        """Whether the query finds it; an unreachable data source only means "not yet"."""
        given = self.params.for_.sql
        assert given is not None
        where = f"data source {context.masked(plain(given.datasource))}"
        try:
            result = await self._task().run(context)
        except Unavailable as error:
            return TaskResult.in_vain(str(error))
        if not result.outputs:
            return TaskResult.in_vain(f"{where}: the query gave no row")
        first = next(iter(result.outputs.values()))
        return result if _is_true(first) else TaskResult.in_vain(f"{where}: the query gave {first[:100] or 'nothing'}")


class ScriptWait(WaitTask):
    """A look by a bash script: exit code 0 = found, 1 = not yet, other = failure. `setValue` gives its outputs."""

    runs_one_process = True

    async def look(self, context: TaskContext) -> TaskResult:
        result = await ShellTask(ShellTask.Params(script=self.params.for_.script or "")).run(context)
        if result.state is TaskState.FAILURE and result.exit_code == NOT_YET_CODE:
            said = context.log.last_line()
            return TaskResult.in_vain("the script ended with exit code 1" + (f": {said}" if said else ""))
        return result


class TimeWait(WaitTask):
    """Waits for a moment, which it determines."""

    starts_processes = False

    async def look(self, context: TaskContext) -> TaskResult:
        """Return the moment that it waits for; the database decides whether it has come."""
        assert context.local_time is not None, "the worker gives it"
        at = moment_of(plain(self.params.for_.time or ""), context.local_time())
        self.at_s = at.timestamp()
        return TaskResult.in_vain(f"it is not {at.isoformat(' ')} yet")


_OF_KIND: Mapping[str, type[WaitTask]] = {
    "file": FileWait,
    "s3": ObjectWait,
    "http": HttpWait,
    "sql": SqlWait,
    "script": ScriptWait,
    "time": TimeWait,
}


def _pattern_in(marked: str) -> str | None:
    """The text as a pattern in which values stand for themselves; None if its author wrote no pattern."""
    if _MAGIC.search(put_in(marked, lambda _name, _value: "")) is None:
        return None
    return put_in(marked, lambda _name, value: glob.escape(value))


def _found(path: str, pattern: str | None, shown: str) -> str | None:
    if pattern is not None:
        return min(glob.iglob(pattern), default=None)  # noqa: PTH207 - pathlib takes no absolute pattern
    try:
        Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if is_passing(error):
            raise
        raise Refused(f"file {shown}: {error.strerror}") from None
    return path


def _is_true(text: str) -> bool:
    if text.strip().lower() in ("", "false"):
        return False
    with suppress(ValueError):
        return float(text) != 0
    return True


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%SZ")
