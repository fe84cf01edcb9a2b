"""The log configuration: one event per line, readable on a terminal, JSON elsewhere."""

from __future__ import annotations

import logging
from typing import TextIO, cast

import structlog

from shoal.config.log_output import LogOutput, RotatingOutput
from shoal.config.settings import Settings


def configure_role_logging(settings: Settings) -> None:
    """Set up the log of a role by its settings. Raises `Refused` if its file cannot be opened."""
    if settings.log_file is None:
        configure_logging(settings.log_format)
        return
    output = RotatingOutput(settings.log_file, settings.log_file_bytes_max, settings.log_files_max)
    configure_logging(settings.log_format, output)


def configure_logging(log_format: str, output: LogOutput | None = None) -> None:
    """Set up structlog. Logs go to standard error, unless there is another output.

    Args:
        log_format: `text`, `json`, or `auto`: text on a terminal, else JSON. `quiet`: warnings and errors only, as
            text; for verbs whose output is a result and not a log.
    """
    output = output or LogOutput()
    quiet = log_format == "quiet"
    as_text = quiet or log_format == "text" or (log_format == "auto" and output.isatty())
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(colors=output.isatty(), exception_formatter=structlog.dev.plain_traceback)
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
        logger_factory=structlog.PrintLoggerFactory(file=cast(TextIO, output)),
        cache_logger_on_first_use=True,
    )
