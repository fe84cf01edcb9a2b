"""The fixed words of definitions and commands, as they are stored, written and shown."""

from __future__ import annotations

from enum import StrEnum


class Priority(StrEnum):
    """How urgent; of a workflow first, of a task within its workflow second."""

    HIGHEST = "HIGHEST"
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"
    LOWEST = "LOWEST"


class FailureStrategy(StrEnum):
    """What a task's failure for good means to the rest of its workflow."""

    CONTINUE = "CONTINUE"
    """Independent branches run to their end, then FAILURE."""
    END = "END"
    """Nothing new starts, running tasks are killed, then FAILURE."""


class OnWorkerLoss(StrEnum):
    """What happens to a task whose worker vanished: it may have had side effects."""

    RETRY = "retry"
    FAIL = "fail"


class TimeoutStrategy(StrEnum):
    """What happens to an attempt, or a run, that takes longer than its timeout."""

    WARN = "WARN"
    """It goes on; its worker, or master, logs a warning."""
    FAILED = "FAILED"
    """It is killed and has failed; a retry of an attempt may follow."""
    WARNFAILED = "WARNFAILED"
    """Both."""


class ReleaseState(StrEnum):
    """Only ONLINE can be started."""

    ONLINE = "ONLINE"
    OFFLINE = "OFFLINE"


class ExecutionType(StrEnum):
    """What happens when a workflow is started while a run of it, of whichever version, has not ended."""

    PARALLEL = "PARALLEL"
    """They run beside each other."""
    SERIAL_WAIT = "SERIAL_WAIT"
    """The new run waits until all earlier ones have ended."""
    SERIAL_DISCARD = "SERIAL_DISCARD"
    """The new run ends at once as STOP."""
    SERIAL_PRIORITY = "SERIAL_PRIORITY"
    """The new run wins: the running one is stopped, those that wait end as STOP."""


class Flag(StrEnum):
    """Whether a task counts: NO = forbidden, passed over as if it were not there."""

    YES = "YES"
    NO = "NO"


class WarningType(StrEnum):
    """Which ends of a run are told to its alert group."""

    NONE = "NONE"
    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"
    ALL = "ALL"


class Misfire(StrEnum):
    """What becomes of the fire times of a schedule that are missed: later than its grace."""

    FIRE_ALL = "FIRE_ALL"
    """A command for each."""
    FIRE_ONCE = "FIRE_ONCE"
    """One command, for the latest of them."""
    SKIP = "SKIP"
    """None."""


class TaskDependType(StrEnum):
    """Which tasks run beside those that are named."""

    TASK_ONLY = "TASK_ONLY"
    """None."""
    TASK_PRE = "TASK_PRE"
    """All before them."""
    TASK_POST = "TASK_POST"
    """All after them."""


class Direct(StrEnum):
    """Which way a parameter goes."""

    IN = "IN"
    OUT = "OUT"


class ParameterType(StrEnum):
    """What the text of a parameter stands for."""

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
    FILE = "FILE"
    SECRET = "SECRET"  # noqa: S105 - it is a type
    """A text that is stored sealed, and opened for the task alone that uses it."""
