"""What a process prints for Shoal: OUT values by `${setValue(name=value)}` or `#{setValue(name=value)}`.

One or several stand on a line without other text. A line with only `${setSkipped(reason)}` or `#{setSkipped(reason)}`
makes the task SKIPPED; the last such line counts.

The scanner sits between the process and its log and lets everything through. It retains at most one line that may still
become a value, so a stream of any kind (binary, without newlines, cut anywhere) needs no memory. A value may contain
anything but a newline. One that exceeds the limits fails the task: otherwise later tasks would run with a missing or
truncated value. A line that only looks like one is ignored, and the log says so: one with a name that no `${name}` can
have at once, one with other text around it or without its end only if that name got no value by another line. See
docs/reference/parameters.md.
"""

from __future__ import annotations

import json
import re

from model.errors import Refused
from model.parameters.large_values import INLINE_BYTES_MAX
from model.parameters.local import NAME
from model.parameters.parameters import is_storable
from worker.tasks.plugin import TaskLog

VALUES_BYTES_MAX = 262_144
"""The maximum size of all values of one attempt as they are stored in a row: each later task gets them, up to 1 MiB in
total. Larger values are kept elsewhere (`model/parameters/large_values.py`)."""

VALUES_MAX = 1_000
LINES_MAX = 20_000
"""The maximum number of lines with either, repeated names included: each costs time on the worker's event loop."""

NAME_LENGTH_MAX = 200
NOTES_MAX = 10
"""The most log lines about lines that gave no value, so that a program that prints such lines cannot double the log."""

_MARK = b"{set"
_SKIP_MARK = b"{setSkipped("
_BEGINNINGS = tuple(sign + mark for sign in (b"$", b"#") for mark in (b"{setValue(", _SKIP_MARK))
_BEGINNING_BYTES = 64
_ODD_BYTES_MAX = NAME_LENGTH_MAX + 50
_LINE_BYTES_MORE = NAME_LENGTH_MAX + 100
"""What a line may have besides its value."""
_LINE = re.compile(rb"[ \t]*[$#]\{setValue\((.*)\)\}[ \t\r]*")
_SKIP_LINE = re.compile(rb"[ \t]*[$#]\{setSkipped\((.*)\)\}[ \t\r]*")
_ANYWHERE = re.compile(rb"[$#]\{set(?:Value|Skipped)\(")
_NEXT = re.compile(rb"\)\}[ \t]*[$#]\{setValue\(")
"""The separator of two values on one line."""
_WITH_NAME = re.compile(rb"[$#]\{setValue\([ \t]*([A-Za-z_][A-Za-z0-9_.]*)[ \t]*=")
_NAME = re.compile(NAME)
_CURE = "print a file's name, or have a larger worker.value_bytes_max and a log store"


class PrintedValues:
    """A `TaskLog` that passes on its input and reads the values in it, each of at most `value_bytes_max` bytes. Larger
    data belongs into a file, whose name is the value."""

    def __init__(self, log: TaskLog, value_bytes_max: int = INLINE_BYTES_MAX) -> None:
        self._log = log
        self._value_bytes_max = value_bytes_max
        self._values_bytes_max = max(VALUES_BYTES_MAX, value_bytes_max)
        self._values: dict[str, str] = {}
        self._size = 0
        self._unread = bytearray()
        """The end of what was read: the line that may still become a value."""
        self._skips = False
        self._skipped = b""
        self._odd: dict[str, None] = {}
        self._notes = 0
        self._lines = 0
        self._fault = ""
        self._has_odd_skip = False
        self.skip: str | None = None
        """Why the task is SKIPPED; None: it is not. Final once `outputs` was called."""

    def write(self, text: str | bytes) -> None:
        """Pass the text on, and scan it. Raises what the log raises."""
        data = text.encode() if isinstance(text, str) else text
        self._log.write(data)
        self._read(data)

    def last_line(self) -> str:
        return self._log.last_line()

    def outputs(self) -> dict[str, str]:
        """The values, the last one of each name; call it at the end of the stream.

        Raises:
            Refused: a value was too large, or there were too many; the sentence names the limit.
        """
        self._take_lines(bytes(self._unread))
        self._unread.clear()
        if self._fault:
            raise Refused(self._fault)
        self._end_line()
        for name in self._odd:
            if name not in self._values:
                own_line = f"print ${{setValue({name}=...)}} on a line of its own, with no newline in the value"
                self._log.write(f"\n[shoal] a line with setValue({name}=...) gave no value: {own_line}\n")
        if self._has_odd_skip and self.skip is None:
            own_line = "print ${setSkipped(reason)} on a line of its own"
            self._log.write(f"\n[shoal] a line with setSkipped skipped nothing: {own_line}\n")
        return self._values

    def _read(self, data: bytes) -> None:
        if self._fault:
            return
        if self._skips:
            skipped, newline, data = data.partition(b"\n")
            self._skip(skipped)
            if not newline:
                return
            self._end_line()
        rest_from = data.rfind(b"\n") + 1
        if rest_from:  # a large value comes in many pieces: no more of it is copied than what is new
            self._take_lines(bytes(self._unread) + data[:rest_from])
            self._unread.clear()
        self._unread += data[rest_from:]
        if not _may_become_one(self._unread):
            self._drop_line()
        elif len(self._unread) > self._value_bytes_max + _LINE_BYTES_MORE:
            if _MARK in self._unread:  # else the line began with too many blanks
                by = "setSkipped" if _SKIP_MARK in self._unread else "setValue"
                self._fail(f"it printed a value of more than {self._value_bytes_max} bytes by {by}; {_CURE}")
            self._drop_line()

    def _drop_line(self) -> None:
        self._skip(bytes(self._unread))
        self._unread.clear()
        self._skips = True

    def _skip(self, part: bytes) -> None:
        """Skip a part of a line that is no value, but keep a possible beginning of a value within it."""
        data = self._skipped + part
        found = _ANYWHERE.search(data)
        self._skipped = data[-len(_SKIP_MARK) :] if found is None else data[found.start() :][:_ODD_BYTES_MAX]

    def _end_line(self) -> None:
        self._note_odd(self._skipped)
        self._skipped = b""
        self._skips = False

    def _note_odd(self, text: bytes) -> None:
        self._has_odd_skip |= _SKIP_MARK in text
        found = _WITH_NAME.search(text)
        if found is not None and len(self._odd) < NOTES_MAX:
            self._odd[found[1].decode()[:NAME_LENGTH_MAX]] = None

    def _take_lines(self, data: bytes) -> None:
        if _MARK not in data:  # a fast search, and true of nearly all data
            return
        end = 0
        for mark in _ANYWHERE.finditer(data):
            if mark.start() < end:
                continue
            begin, end = data.rfind(b"\n", 0, mark.start()) + 1, data.find(b"\n", mark.start())
            end = len(data) if end < 0 else end
            line = _LINE.fullmatch(data, begin, end)
            skip = _SKIP_LINE.fullmatch(data, begin, end)
            if line is None and skip is None:
                self._note_odd(data[mark.start() : mark.start() + _ODD_BYTES_MAX])
                continue
            self._lines += 1
            if self._lines > LINES_MAX:
                self._fail(f"it printed more than {LINES_MAX} lines with setValue; print each value once")
            if self._fault:
                return
            if skip is not None:
                self.skip = skip.group(1).decode(errors="replace").strip()
            for assignment in _NEXT.split(line.group(1)) if line is not None else ():
                self._take(assignment)

    def _take(self, assignment: bytes) -> None:
        name_bytes, sign, value_bytes = assignment.partition(b"=")
        name = name_bytes.decode(errors="replace").strip()
        if not sign:
            self._note("there is no = in it")
        elif len(name) > NAME_LENGTH_MAX or not _NAME.fullmatch(name):
            self._note(f"its name is not made of at most {NAME_LENGTH_MAX} letters, digits, _ and .")
        else:
            self._add(name, value_bytes)

    def _add(self, name: str, value_bytes: bytes) -> None:
        try:
            value = value_bytes.decode()
        except UnicodeDecodeError:
            self._fail(f'the value of "{name}" that it printed is not UTF-8; encode it, for instance by base64')
            return
        if not is_storable(value):
            self._fail(f'the value of "{name}" that it printed contains a NUL, which no process takes; remove it')
        elif len(value_bytes) > self._value_bytes_max:
            self._fail(f'the value of "{name}" that it printed has more than {self._value_bytes_max} bytes; {_CURE}')
        elif name not in self._values and len(self._values) >= VALUES_MAX:
            self._fail(f"it printed more than {VALUES_MAX} values; put them into one, or into a file")
        else:
            self._size += _stored_size(name, value) - _stored_size(name, self._values.get(name))
            self._values[name] = value
            if self._size > self._values_bytes_max:
                self._fail(f"its printed values have more than {self._values_bytes_max} bytes together; {_CURE}")

    def _fail(self, sentence: str) -> None:
        self._fault = sentence
        self._values.clear()
        self._unread.clear()

    def _note(self, why: str) -> None:
        self._notes += 1
        if self._notes <= NOTES_MAX:
            more = "; further such lines are not reported" if self._notes == NOTES_MAX else ""
            self._log.write(f"\n[shoal] a line with setValue gave no value: {why}{more}\n")


def _may_become_one(line: bytearray) -> bool:
    start = line[:_BEGINNING_BYTES].lstrip(b" \t")
    if not start:
        return not line.strip(b" \t") or _may_become_one(line.lstrip(b" \t"))
    return any(start.startswith(beginning) or beginning.startswith(start) for beginning in _BEGINNINGS)


def _stored_size(name: str, value: str | None) -> int:
    return 0 if value is None else len(json.dumps({name: value}, ensure_ascii=False).encode())
