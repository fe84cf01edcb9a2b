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


class PageQuery(Asked):
    """Which page."""

    limit: Annotated[int, Field(ge=1, le=LIMIT_MAX, description="at most this many")] = 50
    cursor: Annotated[str | None, Field(max_length=100, description="`next_cursor` of the page before")] = None

    @property
    def after(self) -> int | None:
        """The last id of the page before. Raises `Refused` for a cursor that no page gave."""
        return None if self.cursor is None else _id_of(self.cursor)


class NamedPageQuery(Asked):
    """Which page of a list that is sorted by name."""

    limit: Annotated[int, Field(ge=1, le=LIMIT_MAX, description="at most this many")] = 50
    cursor: Annotated[str | None, Field(max_length=1_200, description="`next_cursor` of the page before")] = None

    @property
    def after(self) -> str | None:
        """The last name of the page before. Raises `Refused` for a cursor that no page gave."""
        if self.cursor is None:
            return None
        word, space, name = _decoded(self.cursor).partition(" ")
        if word != "name" or not space or "\x00" in name:
            raise _unknown_cursor()
        return name


class PairPageQuery(Asked):
    """Which page of a list that is sorted by two names."""

    limit: Annotated[int, Field(ge=1, le=LIMIT_MAX, description="at most this many")] = 50
    cursor: Annotated[str | None, Field(max_length=2_400, description="`next_cursor` of the page before")] = None

    @property
    def after(self) -> tuple[str, str] | None:
        """The last names of the page before. Raises `Refused` for a cursor that no page gave."""
        if self.cursor is None:
            return None
        word, *names = _decoded(self.cursor).split("\n")
        if word != "pair" or len(names) != 2 or any("\x00" in name for name in names):
            raise _unknown_cursor()
        return names[0], names[1]


def pair_page_of(
    found: Sequence[S], limit: int, item: Callable[[S], T], names_of: Callable[[S], tuple[str, str]]
) -> PageOf[T]:
    """The page of what was found with a limit of one more than the page's, in a list that is sorted by two names."""
    shown = found[:limit]
    cursor = _encoded("\n".join(("pair", *names_of(shown[-1])))) if len(found) > limit else None
    return PageOf[T](items=[item(each) for each in shown], next_cursor=cursor, has_more=cursor is not None)


def page_of(
    found: Sequence[S],
    limit: int,
    item: Callable[[S], T],
    id_of: Callable[[S], int | str],
    *,
    walked_to: int | None = None,
) -> PageOf[T]:
    """The page of what was found with a limit of one more than the page's; `id_of`: the id, or the name.

    `walked_to`: the last id that was read, if what is after it was not; the next page begins there.
    """
    shown = found[:limit]
    last = id_of(shown[-1]) if len(found) > limit else walked_to
    cursor = None if last is None else _cursor(last)
    return PageOf[T](
        items=[item(each) for each in shown],
        next_cursor=cursor,
        has_more=last is not None,
        read_down_to=walked_to if len(found) <= limit else None,
    )


def cursor_of(last: int | None) -> str | None:
    """The cursor of the page after this id; None: there is none."""
    return None if last is None else _cursor(last)


def _cursor(last: int | str) -> str:
    text = f"name {last}" if isinstance(last, str) else f"after {last}"
    return _encoded(text)


def _encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _id_of(cursor: str) -> int:
    word, _, number = _decoded(cursor).partition(" ")
    if word == "after" and number.isascii() and number.isdecimal() and len(number) <= 19 and int(number) <= ID_MAX:
        return int(number)
    raise _unknown_cursor()


def _decoded(cursor: str) -> str:
    try:
        return base64.b64decode(f"{cursor}{'=' * (-len(cursor) % 4)}", b"-_", validate=True).decode()
    except ValueError:
        raise _unknown_cursor() from None


def _unknown_cursor() -> Refused:
    return Refused("the cursor is not one that a page gave; begin without one")
