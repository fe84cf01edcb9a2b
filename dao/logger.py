"""The log of modules that verbs of the command line import: structlog is imported with the first line that is logged.

It brings what draws tracebacks, 60 ms of a verb, and few verbs log anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger


class _Logger:
    def __getattr__(self, method: str) -> Any:
        import structlog

        return getattr(structlog.get_logger(), method)


def logger() -> FilteringBoundLogger:
    """What `structlog.get_logger` gives, made with the first line."""
    return cast("FilteringBoundLogger", _Logger())
