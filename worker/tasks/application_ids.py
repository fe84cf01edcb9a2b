"""Finds texts in the output of a command while it is logged: ids of applications, and why it failed.

Bounded: it retains the end of one line, at most `FOUND_MAX` ids and one error line, whatever is printed.
"""

from __future__ import annotations

import re

from worker.tasks.plugin import TaskLog

FOUND_MAX = 100
LINE_BYTES_MAX = 8_192
"""The part of a line beyond this is not scanned."""

_ERROR = re.compile(
    r"(?:Exception in thread \"[^\"]*\" |Caused by: )?(?:[A-Za-z_$][\w$]*\.)*[A-Za-z_$][\w$]*(?:Error|Exception)\b.*"
    r"|Error: .*"
)


class OutputScan:
    """A `TaskLog` that passes everything on and records what `pattern` finds, each text once, in order."""

    def __init__(self, log: TaskLog, pattern: re.Pattern[str]) -> None:
        """`pattern` is searched in each line; its first group is recorded."""
        self.found: list[str] = []
        self._log = log
        self._pattern = pattern
        self._line = b""
        self._error = ""

    def write(self, text: str | bytes) -> None:
        """Append to the log. Raises `OSError` if it cannot be written."""
        data = text.encode() if isinstance(text, str) else text
        self._log.write(data)
        *whole, rest = data.split(b"\n")
        for line in whole:
            self._scan(self._line + line)
            self._line = b""
        self._line = (self._line + rest)[:LINE_BYTES_MAX]

    def last_line(self) -> str:
        """The last line of the log, secrets masked."""
        return self._log.last_line()

    def finish(self) -> None:
        """Scan a last line without an end. Call it only after the output has ended: half an id may be another's."""
        self._scan(self._line)
        self._line = b""

    def reason(self, code: int) -> str:
        """Why the command failed: its exit code and its last error, or else its last line.

        Java programs and Spark print much after the error that ended them. The error is returned whole, so that its
        secrets can be masked together with the reason.
        """
        self.finish()
        last = self._error or self._log.last_line()
        return f"exit code {code}" + (f": {last}" if last else "")

    def _scan(self, line: bytes) -> None:
        text = line[:LINE_BYTES_MAX].decode(errors="replace").strip()
        match = self._pattern.search(text)
        if match is not None and match[1] not in self.found and len(self.found) < FOUND_MAX:
            self.found.append(match[1])
        error = _ERROR.match(text)
        if error is not None:
            self._error = "".join(filter(str.isprintable, error[0]))
