"""What an operation that will be removed says with each answer: Deprecation (RFC 9745) and Sunset (RFC 8594)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from email.utils import format_datetime


@dataclass(frozen=True)
class Deprecation:
    """That an operation should no longer be used.

    Args:
        since: the first day.
        ends: the day from which on it may be missing; None: not decided.
        page: the address of a page that says what to use instead; None: there is none.
    """

    since: date
    ends: date | None = None
    page: str | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of each answer."""
        found = {"Deprecation": f"@{int(_midnight(self.since).timestamp())}"}
        if self.ends is not None:
            found["Sunset"] = format_datetime(_midnight(self.ends), usegmt=True)
        if self.page is not None:
            found["Link"] = f'<{self.page}>; rel="deprecation"; type="text/html"'
        return found


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
