"""The events of a run, a line each; formatted only when somebody reads them."""

from __future__ import annotations

import traceback
from hashlib import blake2b
from typing import Any

from master.watcher import NOT_OURS, UNKNOWN
from tests.simulation.loop import PROCESS, VirtualLoop

_NOT_FORESEEN = {"life_crashed", "workflow_abandoned", "report_dropped", "schedule_stopped"}
"""Log events that only a bug brings about, since nothing in a simulated table is damaged."""
_MUST_NOT_BE = {"workflow_instance_stuck", "task_runs_without_its_row", "task_does_not_run"}
"""Repairs that must not be needed here: nobody changes rows by hand."""
_WHILE_COMMITS_ARE_UNKNOWN = {UNKNOWN, NOT_OURS}
"""What a master may find while it cannot learn the outcome of a COMMIT."""

_JOINING = {"joined": True, "cannot_join_yet": False, "left": False}
"""Whether the process that says it is a member now."""


class Trace:
    """The trace of one seed."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.lines: list[tuple[float, str, str]] = []
        self.violations: list[str] = []
        self.is_calm = False
        """Set a while after all faults have ended."""
        self.is_closed = False
        """Set when the run is over: ending what is left is no part of it."""
        self._loop = loop

    def violation(self, what: str) -> None:
        """Record a violation: the run ends when time continues, and nothing else is recorded."""
        if not self.is_closed:
            self.violations.append(what)
            self.lines.append((self._loop.now, "VIOLATION", what))

    def add(self, who: str, what: str) -> None:
        if not self.is_closed and not self.violations:
            self.lines.append((self._loop.now, who, what))

    def text(self) -> str:
        return "\n".join(f"{when:9.4f}  {who:<9} {what}" for when, who, what in self.lines)

    def digest(self) -> str:
        """Equal for equal runs."""
        return blake2b(self.text().encode(), digest_size=8).hexdigest()


class TracedLog:
    """Stands for the structlog logger of a module."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def info(self, event: str, **values: Any) -> None:
        process = PROCESS.get()
        if process is not None and event in _JOINING:
            process.has_joined = _JOINING[event]
        told = "".join(f" {name}={value}" for name, value in values.items() if name not in ("so", "took_ms"))
        self._trace.add(process.name if process else "world", event + told)

    def warning(self, event: str, **values: Any) -> None:
        self.info(event, **values)
        if event in _MUST_NOT_BE and (self._trace.is_calm or values.get("missing") not in _WHILE_COMMITS_ARE_UNKNOWN):
            self._trace.violation(f"I3: memory and rows have parted: {event} {values}")

    def error(self, event: str, **values: Any) -> None:
        self.info(event, **values)
        if event in _NOT_FORESEEN:
            error = values.get("exc_info")
            told = "".join(traceback.format_exception(error)) if isinstance(error, BaseException) else str(values)
            self._trace.violation(f"logged as an error: {event} {told}")

    def exception(self, event: str, **values: Any) -> None:
        self.info(event, **values)
        self._trace.violation(f"an exception that nobody foresaw: {event} {values}: {traceback.format_exc()}")
