"""The lines of serial workflows: in each of them one run at a time goes on, or as many as `max_active` says.

A workflow without `serial_key` has one line, in the order of its runs. With one it has a line for each value of it, in
the order of the commands that asked for the runs.
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
"""Of the value of a key, in characters."""
KEY_WRITTEN_MAX = 1_000
"""Of the text in a workflow of which it is made."""
MAX_ACTIVE_MAX = 1_000
"""How many runs of a line may go on at once. What decides about a line reads all of them."""
KEY = "serial_key"
"""The key in the parameters of a RECOVER_SERIAL_WAIT under which the line is named."""
FIRST_KEY = "serial_from"
"""The key under which one of many that call all lines of a workflow names the line from which it goes on."""


_KNOWN_TOO_LATE = frozenset({"system.workflow.instance.id", "system.task.instance.id", "system.task.attempt"})

Run = TypeVar("Run")


class Line(NamedTuple):
    """A line of a workflow; the key is empty for the runs without one."""

    workflow_code: WorkflowCode
    key: str = ""


def with_lines(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """A definition with `max_active` and no execution type is one whose runs wait."""
    if "max_active" in content and "execution_type" not in content:
        return {**content, "execution_type": "SERIAL_WAIT"}
    return content


def giving_way(older: Sequence[Run], max_active: int) -> Sequence[Run]:
    """Which runs give way to a new one that has priority: the newest of all go on, as many as may at once.

    `older` are those that are before it, the oldest first.
    """
    return older[: max(0, len(older) - max_active + 1)]


def startable_key(written: str) -> str:
    """`written`. Raises `ValueError` if each start would be refused for it, whatever the parameters of the run are."""
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
    """The key of a run, from the `serial_key` of its workflow and all its parameters.

    Args:
        written: the field, with its references.
        known: all parameters of the run, resolved, the built-in ones too.
        at: aware; the time that the run is for.
        zone: the calendar of time expressions.
        interval: that of the run.
    Raises:
        Refused: a name has no value, also one to which a value refers, a value is secret, or the key is empty, too
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
    """What a RECOVER_SERIAL_WAIT calls, from its parameters: the key of a line, or None for all lines from the one of
    the second value on, which is empty for all of the workflow. Raises `Refused`."""
    given = parse_parameters(params or "{}", "params")
    return given.get(KEY), given.get(FIRST_KEY, "")
