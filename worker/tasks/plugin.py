"""What a task type is: a class with a parameter model and one coroutine, found by entry point `shoal.tasks`.

    class Hello(Task):
        class Params(TaskParams):
            name: str

        params: Params

        async def run(self, context: TaskContext) -> TaskResult:
            context.log.write(f"hello {self.params.name}\\n")
            return TaskResult.success()

The worker makes one object for each attempt. `run` returns its result; an exception is a FAILURE with its text as the
reason; cancellation means that the task is to be killed: clean up (processes first) and let it through.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Protocol

from pydantic import BaseModel, ConfigDict

from model.choices import ParameterType
from model.ids import TaskInstanceId, WorkflowInstanceId
from model.parameters.large_values import INLINE_BYTES_MAX
from model.runs.looks import Again
from model.runs.states import TaskState


class TaskParams(BaseModel):
    """The base of every task type's parameters: unknown fields are refused, values are immutable."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class TaskLog(Protocol):
    """The one log file of a task instance; made when the first byte is written."""

    def write(self, text: str | bytes) -> None:
        """Append; text is encoded as UTF-8. Beyond the worker's limit only the last bytes are retained.

        Raises:
            OSError: the disk is full or broken; let it through, the attempt fails with that reason.
        """
        ...

    def last_line(self) -> str:
        """The last line written that is not blank, secrets masked; empty if there is none or it is long."""
        ...


class ProcessRunner(Protocol):
    """Runs one command in a process tree of its own (`worker/launcher`)."""

    async def run(self, argv: list[str], *, env: Mapping[str, str], cwd: Path, log: TaskLog) -> int:
        """Run to its end with both outputs into `log`, and return the exit code (128 + n for signal n).

        When it returns or is cancelled, no process of the tree is left: TERM, a grace, KILL.
        """
        ...


class Installer(Protocol):
    """Makes virtual environments for PYTHON tasks (`worker/tasks/installer.py`)."""

    def command(self, interpreter: str, requirements: Sequence[str], work_folder: Path) -> list[str]:
        """The command to which the path of a script is appended, for it to run with these requirements."""
        ...


@dataclass
class TaskContext:
    """What a task receives besides its parameters.

    `attempt` counts from 1. `values` has the value of each `${name}`; they are already inserted into the parameters.
    `types` has the types of those that are not VARCHAR. `data_source` returns the URL of a named data source, with its
    password. `exports` returns the bash script of the task's environment; None without one. `may_go_on` must be called
    before each effect of a task below a keeper: it raises `Fenced` once others may run the task. `local_files` is the
    worker's setting of that name. `masked` removes the secrets of the task from a text; call it before you cut a text,
    since half a secret would not be found. `skip_exit_codes` are those of `failed`. `local_time` returns the schedule
    time of its run in the run's zone; None below a keeper. `value_bytes_max` limits the size of an output. `installer`
    installs requirements, if the worker does that.
    """

    workflow_instance_id: WorkflowInstanceId
    task_instance_id: TaskInstanceId
    task_name: str
    attempt: int
    values: Mapping[str, str]
    log: TaskLog
    processes: ProcessRunner
    make_folder: Callable[[], Path]
    make_environment: Callable[[], Mapping[str, str]]
    types: Mapping[str, ParameterType] = field(default_factory=dict)
    data_source: Callable[[str], Awaitable[str]] | None = None
    exports: Callable[[], Awaitable[str]] | None = None
    may_go_on: Callable[[], None] = lambda: None
    masked: Callable[[str], str] = lambda text: text
    local_files: bool = False
    skip_exit_codes: Collection[int] = ()
    local_time: Callable[[], datetime] | None = None
    value_bytes_max: int = INLINE_BYTES_MAX
    installer: Installer | None = None

    def failed(self, reason: str, exit_code: int | None) -> TaskResult:
        """The result of a program that did not end with 0: SKIPPED if its exit code is among the task's
        `skip_exit_codes`, else a FAILURE."""
        if exit_code in self.skip_exit_codes:
            return TaskResult.skipped(reason, exit_code)
        return TaskResult.failure(reason, exit_code)

    @cached_property
    def folder(self) -> Path:
        """A private work folder, made at the first access and removed when the attempt has ended."""
        return self.make_folder()

    @cached_property
    def environment(self) -> Mapping[str, str]:
        """The whole environment for a process, built from an allow-list, never the worker's own."""
        return self.make_environment()


SENT_CHARACTERS_MAX = 1_000
"""The longest text in an alert. Texts are cut only after masking, since half a secret would not be found."""


@dataclass(frozen=True)
class ResultAlert:
    """A table that is sent to an alert group when the attempt has succeeded; `rows` has some of its `total` rows."""

    group: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | None]]
    total: int

    def changed(self, change: Callable[[str], str]) -> ResultAlert:
        """Change each of its texts, for example mask it, and then cut it to its maximum length."""

        def cut(text: str) -> str:
            return change(text)[:SENT_CHARACTERS_MAX]

        rows = [[None if cell is None else cut(cell) for cell in row] for row in self.rows]
        columns = [cut(each) for each in self.columns]
        return replace(self, title=cut(self.title), columns=columns, rows=rows)


@dataclass(frozen=True)
class TaskResult:
    """How an attempt ended: SUCCESS with values for later tasks, or FAILURE or SKIPPED with a reason in one sentence. A
    type that waits (`Task.again`) may also return DELAY_EXECUTION: it found nothing."""

    state: TaskState
    reason: str = ""
    exit_code: int | None = None
    outputs: Mapping[str, str] = field(default_factory=dict)
    alert: ResultAlert | None = None
    again: Again | None = None

    @classmethod
    def success(cls, outputs: Mapping[str, str] | None = None, exit_code: int | None = None) -> TaskResult:
        return cls(TaskState.SUCCESS, "", exit_code, outputs or {})

    @classmethod
    def failure(cls, reason: str, exit_code: int | None = None) -> TaskResult:
        return cls(TaskState.FAILURE, reason, exit_code)

    @classmethod
    def skipped(cls, reason: str = "", exit_code: int | None = None) -> TaskResult:
        """The attempt had nothing to do: it is not retried, and counts as skipped for the tasks after it."""
        return cls(TaskState.SKIPPED, reason, exit_code)

    @classmethod
    def in_vain(cls, said: str) -> TaskResult:
        """The attempt did not find what it waits for; `said` is what it saw, as a clause."""
        return cls(TaskState.DELAY_EXECUTION, said)


class Task(ABC):
    """One attempt of a task of some type."""

    Params: ClassVar[type[TaskParams]]
    """The parameters that a definition gives this type."""

    params: TaskParams
    """The parameters of this attempt; a subclass declares them as its own `Params`."""

    starts_processes: ClassVar[bool] = True
    """Whether it runs anything by `context.processes`. A type that does not, and does not run below a keeper, has no
    process to run as another user: a tenant has no effect on it."""

    below_keeper: ClassVar[bool] = False
    """Whether `run` itself runs in a process of its own, as the tenant; that process ends with the attempt, with its
    worker and at the worker's horizon. True for each type whose `run` has effects outside of its log: a frozen `run` in
    the worker's process could still have them later. There `context.processes` runs nothing."""

    @property
    def only_looks(self) -> bool:
        """For a type below a keeper: whether this attempt changes nothing anywhere, and waits only in threads of its
        own (`worker/statements/thread.py`). Without a tenant the worker then runs it in its own process, without a
        keeper, unless too many such threads hang."""
        return False

    runs_one_process: ClassVar[bool] = False
    """Whether each attempt is one `context.processes.run`, after which nothing is awaited. Once that process has ended
    by itself, a later cancellation changes nothing: a worker that was frozen receives both at once."""

    ends_as_its_process: ClassVar[bool] = False
    """Whether, in addition, that process's exit code and the values that it prints by `setValue` are the whole result,
    so that the end of an attempt can be reported after its worker's death."""

    grace_s: ClassVar[float] = 0
    """For a type below a keeper: the time that it needs to clean up when it is killed, if longer than `kill_grace`."""

    @classmethod  # noqa: B027 - for those who override it
    def prepare(cls) -> None:
        """For a type below a keeper: load what its attempts need, such as drivers. Called once, in the process that is
        forked for each attempt: start no thread and open no connection."""

    def data_source(self, values: Mapping[str, str]) -> str | None:  # noqa: ARG002 - for those who override it
        """For a type below a keeper: the name of the data source that it will request from its context, if any."""
        return None

    def __init__(self, params: TaskParams) -> None:
        self.params = params

    @classmethod
    def of(cls, params: TaskParams) -> Task:
        """The attempt for these parameters, which may select a subclass."""
        return cls(params)

    @property
    def again(self) -> Again | None:
        """When an attempt that found nothing looks again; None for a type that does not wait."""
        return None

    @classmethod
    def insert(cls, name: str, value: str) -> str:  # noqa: ARG003 - for those who override it
        """The text that replaces `${name}` in this type's parameters. By default the value unchanged.

        A type whose texts are code overrides this, so that a value can never become code. Raises `Refused` for a value
        that cannot be inserted safely.
        """
        return value

    @abstractmethod
    async def run(self, context: TaskContext) -> TaskResult:
        """Do the work of this attempt."""
