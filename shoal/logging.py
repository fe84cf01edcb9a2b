"""How processes log: one event a line, readable on a terminal, JSON elsewhere. Configured once, here."""

from __future__ import annotations

import sys

import structlog


def configure_logging(log_format: str) -> None:
    """Set up structlog; `log_format` is auto, text or json. Logs go to standard error."""
    as_text = log_format == "text" or (log_format == "auto" and sys.stderr.isatty())
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback)
        if as_text
        else structlog.processors.JSONRenderer()
    )
    exceptions: list[structlog.typing.Processor] = [] if as_text else [structlog.processors.format_exc_info]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *exceptions,
            renderer,
        ],
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
