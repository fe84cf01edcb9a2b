"""Whole lists, and pages that begin after the last id of the one before: page 1,000 costs as much as page 1."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import Field

from model.errors import Refused
from service.fields import ID_MAX, Answer, Asked, Id

T = TypeVar("T")
S = TypeVar("S")
HowCounted = Annotated[
    Literal["exact", "estimate"] | None,
    Field(description="also say how many fit: exactly up to 10,000, or as the database estimates"),
]
LIMIT_MAX = 1000


class ItemsOf(Answer, Generic[T]):
    """A list that is short enough to be answered whole."""

    items: Sequence[T]


class PageOf(Answer, Generic[T]):
    """A page. `next_cursor` begins the next one; it is left out of the last.

    `read_down_to` is the last id that was read, if the page ends there before it is full: whether older ones fit is
    not known yet, and the next page goes on there. `count` is how many fit in all, if it was asked for; if it is
    `count_capped`, at least so many.
    """

    items: list[T]
    next_cursor: str | None = None
    has_more: bool = False
    read_down_to: Id | None = None
    count: int | None = None
    count_capped: bool | None = None


class _Page(Asked):
    """Which page."""

    limit: Annotated[int, Field(ge=1, le=LIMIT_MAX, description="at most this many")] = 50
    cursor: Annotated[str | None, Field(max_length=2_400, description="`next_cursor` of the page before")] = None

    def _last(self, word: str, separator: str = " ") -> str | None:
        """What the cursor has after this word. Raises `Refused` for a cursor that no page gave."""
        if self.cursor is None:
            return None
        begin, found, last = _decoded(self.cursor).partition(separator)
        if begin != word or not found or "\x00" in last:
            raise _unknown_cursor()
        return last


class PageQuery(_Page):
    """Which page."""

    @property
    def after(self) -> int | None:
        """The last id of the page before. Raises `Refused` for a cursor that no page gave."""
        if (last := self._last("after")) is None:
            return None
        if last.isascii() and last.isdecimal() and len(last) <= 19 and int(last) <= ID_MAX:
            return int(last)
        raise _unknown_cursor()


class NamedPageQuery(_Page):
    """Which page of a list that is sorted by name."""

    @property
    def after(self) -> str | None:
        """The last name of the page before. Raises `Refused` for a cursor that no page gave."""
        return self._last("name")


class PairPageQuery(_Page):
    """Which page of a list that is sorted by two names."""

    @property
    def after(self) -> tuple[str, str] | None:
        """The last names of the page before. Raises `Refused` for a cursor that no page gave."""
        if (last := self._last("pair", "\n")) is None:
            return None
        first, newline, second = last.partition("\n")
        if not newline or "\n" in second:
            raise _unknown_cursor()
        return first, second


def page_of(
    found: Sequence[S],
    limit: int,
    item: Callable[[S], T],
    key_of: Callable[[S], int | str | tuple[str, str]],
    *,
    walked_to: int | None = None,
) -> PageOf[T]:
    """The page of what was found with a limit of one more than the page's; `key_of`: by what the list is sorted.

    `walked_to`: the last id that was read, if what is after it was not; the next page begins there.
    """
    shown = found[:limit]
    last = key_of(shown[-1]) if len(found) > limit else walked_to
    return PageOf[T](
        items=[item(each) for each in shown],
        next_cursor=cursor_of(last),
        has_more=last is not None,
        read_down_to=walked_to if len(found) <= limit else None,
    )


def cursor_of(last: int | str | tuple[str, str] | None) -> str | None:
    """The cursor of the page after this id, name or pair of names; None: there is none."""
    if last is None:
        return None
    if isinstance(last, tuple):
        text = "\n".join(("pair", *last))
    else:
        text = f"name {last}" if isinstance(last, str) else f"after {last}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decoded(cursor: str) -> str:
    try:
        return base64.b64decode(f"{cursor}{'=' * (-len(cursor) % 4)}", b"-_", validate=True).decode()
    except ValueError:
        raise _unknown_cursor() from None


def _unknown_cursor() -> Refused:
    return Refused("the cursor is not one that a page gave; begin without one")
