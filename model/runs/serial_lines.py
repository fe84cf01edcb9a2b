"""The lines of serial workflows: each runs one run at a time, or up to `max_active`.

Without `serial_key` a workflow has one line, in the order of its runs. With it, each value has its own line, in the
order of the commands that requested the runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar
from zoneinfo import ZoneInfo

from model.errors import Refused
from model.ids import WorkflowCode
from model.parameters.nested_references import resolve
from model.parameters.parameters import parse_parameters, references
from model.parameters.results import find
from model.time.intervals import Interval

KEY_LENGTH_MAX = 200
"""In characters, of a key's value."""
KEY_WRITTEN_MAX = 1_000
"""In characters, of the `serial_key` in a workflow."""
MAX_ACTIVE_MAX = 1_000
"""The most runs of a line at once. Decisions about a line read all of them."""
KEY = "serial_key"
"""The key of a RECOVER_SERIAL_WAIT's parameters that names the line."""
FIRST_KEY = "serial_from"
"""The key that names the line from which a batch over all lines of a workflow continues."""


_KNOWN_TOO_LATE = frozenset({"system.workflow.instance.id", "system.task.instance.id", "system.task.attempt"})

Run = TypeVar("Run")


class Line(NamedTuple):
    """A line of a workflow; the key is empty for the runs without one."""

    workflow_code: WorkflowCode
    key: str = ""


def with_lines(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Let `max_active` without an execution type imply SERIAL_WAIT."""
    if "max_active" in content and "execution_type" not in content:
        return {**content, "execution_type": "SERIAL_WAIT"}
    return content


def giving_way(older: Sequence[Run], max_active: int) -> Sequence[Run]:
    """The runs that give way to a new run with priority: the newest ones continue, up to `max_active`.

    `older` are the runs before it, the oldest first.
    """
    return older[: max(0, len(older) - max_active + 1)]


def startable_key(written: str) -> str:
    """Return `written`. Raises `ValueError` if no start could produce a valid key from it."""
    if known_too_late := sorted(_KNOWN_TOO_LATE.intersection(references(written))):
        raise ValueError(f"cannot have ${{{known_too_late[0]}}}, which is known only when the run has begun")
    if "$" not in written and not written.strip():
        raise ValueError("must not be blank")
    if "$" not in written and (len(written) > KEY_LENGTH_MAX or not written.isprintable()):
        raise ValueError(f"must be at most {KEY_LENGTH_MAX} printable characters, since it has no parameter")
    return written


def value_of_key(
    written: str, known: Mapping[str, str], at: datetime, zone: ZoneInfo, interval: Interval | None = None
) -> str:
    """The key of a run, from its workflow's `serial_key` and all its parameters.

    Args:
        written: the field, with its references.
        known: all parameters of the run, resolved, including built-in ones.
        at: aware; the time that the run is for.
        zone: the calendar of time expressions.
        interval: that of the run.
    Raises:
        Refused: a name has no value, directly or through another value; a value is secret; or the key is empty, too
            long or not printable.
    """
    value = resolve({"": written}, known, at, zone, interval)[""]
    named = references(written)
    inside = [each for name in named if name in known for each in references(known[name])]
    if missing := [name for name in (*named, *inside) if (found := find(known, name)) is None or found.text is None]:
        raise Refused(
            f'the serial_key "{written}" needs a value of {missing[0]}; give it at the start, or a default in params'
        )
    if not value.strip():
        raise Refused(f'the serial_key "{written}" is empty for this run; give its parameters a value')
    if len(value) > KEY_LENGTH_MAX or not value.isprintable():
        raise Refused(
            f'the serial_key "{written}" must be at most {KEY_LENGTH_MAX} printable characters for each run, and is '
            f"{value[:40]!a}; make it of a shorter parameter"
        )
    return value


def called_by(params: str | None) -> tuple[str | None, str]:
    """The line that a RECOVER_SERIAL_WAIT calls: its key, or None for all lines from the second value on (empty: every
    line of the workflow). Raises `Refused`."""
    given = parse_parameters(params or "{}", "params")
    return given.get(KEY), given.get(FIRST_KEY, "")
