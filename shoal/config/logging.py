"""The log configuration: one event per line, readable on a terminal, JSON elsewhere."""

from __future__ import annotations

import logging
import sys

import structlog


def configure_logging(log_format: str) -> None:
    """Set up structlog. Logs go to standard error.

    Args:
        log_format: `text`, `json`, or `auto`: text on a terminal, else JSON. `quiet`: warnings and errors only, as
            text; for verbs whose output is a result and not a log.
    """
    quiet = log_format == "quiet"
    as_text = quiet or log_format == "text" or (log_format == "auto" and sys.stderr.isatty())
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
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING if quiet else logging.NOTSET),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
