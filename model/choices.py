"""The enumerations of definitions and commands, as they are stored, written and shown."""

from __future__ import annotations

from enum import StrEnum


class Priority(StrEnum):
    """The urgency: first of the workflow, then of a task within its workflow."""

    HIGHEST = "HIGHEST"
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"
    LOWEST = "LOWEST"


class FailureStrategy(StrEnum):
    """How the permanent failure of a task affects the rest of its workflow."""

    CONTINUE = "CONTINUE"
    """Independent branches run to their end, then the run is FAILURE."""
    END = "END"
    """No new task starts, running tasks are killed, then the run is FAILURE."""


class OnWorkerLoss(StrEnum):
    """What happens to a task whose worker was lost: it may have had side effects."""

    RETRY = "retry"
    FAIL = "fail"


class StartWhen(StrEnum):
    """How the tasks before a task must end so that it starts: its start rule."""

    ALL_SUCCESS = "all_success"
    """None failed and at least one succeeded; others may be skipped."""
    ALL_DONE = "all_done"
    """All have ended, in any state."""
    ONE_SUCCESS = "one_success"
    """One succeeded; it does not wait for the others."""
    ONE_FAILED = "one_failed"
    """One failed; it does not wait for the others."""
    ALL_FAILED = "all_failed"
    """All failed."""
    NONE_FAILED = "none_failed"
    """None failed; all may be skipped."""
    ALWAYS = "always"
    """The task starts with its run and waits for no other."""


class OnElementFailure(StrEnum):
    """What the failure of one element of an `each` task means for the others."""

    CONTINUE = "continue"
    """All run to their end, and then the task fails."""
    STOP = "stop"
    """No further element begins; the task fails when the running ones have ended."""


class AfterLast(StrEnum):
    """How the run of the date before must have ended before a run begins its tasks."""

    SUCCEEDED = "succeeded"


class Restart(StrEnum):
    """When a stream that ended by itself is restarted."""

    ALWAYS = "always"
    ON_FAILURE = "on_failure"
    NEVER = "never"


class TimeoutStrategy(StrEnum):
    """What happens to an attempt or a run that takes longer than its timeout."""

    WARN = "WARN"
    """It continues; its worker or master logs a warning."""
    FAILED = "FAILED"
    """It is killed and counts as failed; a retry of an attempt may follow."""
    WARNFAILED = "WARNFAILED"
    """Both."""


class ReleaseState(StrEnum):
    """Whether a workflow can be started: only if it is ONLINE."""

    ONLINE = "ONLINE"
    OFFLINE = "OFFLINE"


class ExecutionType(StrEnum):
    """What happens when a workflow is started while a run of any of its versions has not ended."""

    PARALLEL = "PARALLEL"
    """They run in parallel."""
    SERIAL_WAIT = "SERIAL_WAIT"
    """The new run waits until all earlier ones have ended."""
    SERIAL_DISCARD = "SERIAL_DISCARD"
    """The new run ends at once as STOP."""
    SERIAL_PRIORITY = "SERIAL_PRIORITY"
    """The new run takes precedence: the running one is stopped, and waiting ones end as STOP."""


class Flag(StrEnum):
    """Whether a task is enabled: NO = forbidden, skipped as if it did not exist."""

    YES = "YES"
    NO = "NO"


class WarningType(StrEnum):
    """Which outcomes of a run are reported to its alert group."""

    NONE = "NONE"
    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"
    ALL = "ALL"


class Misfire(StrEnum):
    """What happens to fire times that were missed, because they are later than the schedule's grace."""

    FIRE_ALL = "FIRE_ALL"
    """One command for each missed time."""
    FIRE_ONCE = "FIRE_ONCE"
    """One command, for the latest missed time."""
    SKIP = "SKIP"
    """No command."""


class TaskDependType(StrEnum):
    """Which tasks run in addition to the named ones."""

    TASK_ONLY = "TASK_ONLY"
    """None."""
    TASK_PRE = "TASK_PRE"
    """All before them."""
    TASK_POST = "TASK_POST"
    """All after them."""


class Direct(StrEnum):
    """The direction of a parameter."""

    IN = "IN"
    OUT = "OUT"


class ParameterType(StrEnum):
    """The type of a parameter's text."""

    VARCHAR = "VARCHAR"
    INTEGER = "INTEGER"
    LONG = "LONG"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    DATE = "DATE"
    TIME = "TIME"
    TIMESTAMP = "TIMESTAMP"
    BOOLEAN = "BOOLEAN"
    LIST = "LIST"
    JSON = "JSON"
    FILE = "FILE"
    TEXT = "TEXT"
    """Any text: the author states that the task uses it only as text."""
    SECRET = "SECRET"  # noqa: S105 - it is a type
    """A text that is stored sealed and decrypted only for the task that uses it."""


class TriggeringEnd(StrEnum):
    """The end of a run that may start another workflow."""

    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"
    STOP = "STOP"
