"""Statements that are functions: the text in front, then the signature, which says all that a caller needs.

    @statement("SELECT id, name FROM account WHERE id = :account")
    async def by_id(connection: AsyncConnection, account: AccountId) -> Account | None:
        \"""The account; None: there is none.\"""

In the text, `:account` is the argument of that name, `:account.id` an attribute of it, `:after.0` a part of a tuple,
`:ROWS_MAX` a constant of the module. Of several `rows`, `CAST(:rows.id AS bigint[])` is the array of that attribute,
`:rows.0` that of their first parts; `:rows` of a mapping are its keys, `:rows.values` and `:rows.values.id` are of its
values.

The result is what the signature says: `R` the only row, `R | None` the first one if there is one, `list[R]` all,
`set[R]` too, `dict[K, V]` the first column by the others, `dict[K, list[V]]` all of each first column and an empty list
for what has none; `None` nothing. `int` and `bool` of a statement that returns no rows are how many it wrote, and
whether any. `R` is a dataclass or named tuple of the columns in their order, with an enum, a tuple, a mapping or
another row where a field is one; or the type of the only column.

Above `@statement` may stand what it is if there is no row (`@missing`), what makes an `R` of a row (`@made_by`), and
who hears of it (`@changing`, `@notifying`).
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, wraps
from inspect import Parameter, signature
from types import NoneType, UnionType
from typing import Any, Concatenate, ParamSpec, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from dao.postgres.notify import changed, notify
from dao.postgres.pool import AsyncConnection
from dao.postgres.row_arrays import getter_of, notation_of
from dao.postgres.rows import Row, Rows
from dao.postgres.sql import Sql, parameters_of
from model.changes import Changes
from model.errors import NotFound

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=AsyncConnection)
Function = Callable[Concatenate[C, P], Coroutine[Any, Any, R]]
Given = Mapping[str, Any]
NOTHING = Rows([], 0)
WHOLE = 1_000
"""More columns than any row has."""
_SEVERAL = re.compile(r"(Collection|Sequence|Iterable|Set|set|frozenset|list|Mapping|dict)\b")


def statement(text: str) -> Callable[[Function[C, P, R]], Function[C, P, R]]:
    """Make a function without a body a statement. `sql` of the function is its text."""

    sql = Sql(text)

    def made(function: Function[C, P, R]) -> Function[C, P, R]:
        names, defaults, several = _arguments(function)
        sources = {name.split(".")[0] for name in parameters_of(text)} & several
        module = vars(sys.modules[function.__module__])
        makers = {
            name: make
            for name, array_of in parameters_of(text).items()
            if (make := _made_by(name, array_of, names, several, module)) is not None
        }
        result = cache(lambda: _result(function, vars(call).get("made")))
        announces: list[Callable[[C, Given], Awaitable[None]]] = []

        @wraps(function)
        async def call(connection: C, *args: P.args, **kwargs: P.kwargs) -> R:
            values: dict[str, Any] = {**defaults, **dict(zip(names, args, strict=False)), **kwargs}
            values |= {name: make(values) for name, make in makers.items()}
            is_sent = "unless_empty" not in vars(call) or all(values[each] for each in sources)
            rows = await connection.execute(sql, values) if is_sent else NOTHING
            if not rows.all() and rows.rowcount <= 0 and (raised := vars(call).get("missing")) is not None:
                raise raised(values)
            answer: R = result()(rows)
            for announce in announces if is_sent else ():
                await announce(connection, {**values, "result": answer})
            return answer

        call.announces = announces  # type: ignore[attr-defined]
        call.sql = sql  # type: ignore[attr-defined]
        return cast(Function[C, P, R], call)

    return made


def missing(
    error: str | Callable[..., Exception], kind: Callable[[str], Exception] = NotFound
) -> Callable[[Function[C, P, R]], Function[C, P, R]]:
    """Make a statement raise an error when it gives no row and writes none: one of this kind, whose sentence has the
    statement's arguments in braces, or what a function makes of those that it has too."""

    def raised(values: dict[str, Any]) -> Exception:
        if isinstance(error, str):
            return kind(error.format_map(values))
        return error(**{name: values[name] for name in signature(error).parameters})

    def made(function: Function[C, P, R]) -> Function[C, P, R]:
        vars(function)["missing"] = raised
        return function

    return made


def changing(changes: Callable[..., Changes]) -> Callable[[Function[C, P, R]], Function[C, P, R]]:
    """Make a statement say to those who watch what it changed: what a function makes of those arguments that it has, or
    of the `result`."""
    names = list(signature(changes).parameters)

    async def announce(connection: AsyncConnection, values: Given) -> None:
        await changed(connection, changes(*[values[name] for name in names]))

    return _announcing(announce)


def notifying(channel: str, *, named: bool = False) -> Callable[[Function[C, P, R]], Function[C, P, R]]:
    """Make a statement wake everybody who listens to a channel, or if they are `named` those in its result."""

    async def announce(connection: AsyncConnection, values: Given) -> None:
        if not named or values["result"]:
            await notify(connection, channel, values["result"] if named else ())

    return _announcing(announce)


def _announcing(
    announce: Callable[[AsyncConnection, Given], Awaitable[None]],
) -> Callable[[Function[C, P, R]], Function[C, P, R]]:
    def made(function: Function[C, P, R]) -> Function[C, P, R]:
        vars(function)["announces"].append(announce)
        return function

    return made


def made_by(make: Callable[[Row], Any]) -> Callable[[Function[C, P, R]], Function[C, P, R]]:
    """Have each `R`, or `V`, of a statement made of its row by a function: what is stored differs from what is read."""

    def made(function: Function[C, P, R]) -> Function[C, P, R]:
        vars(function)["made"] = make
        return function

    return made


def unless_empty(function: Function[C, P, R]) -> Function[C, P, R]:
    """Do not send a statement for which one of its arguments is empty: its result is that of no rows."""
    vars(function)["unless_empty"] = True
    return function


def _arguments(function: Callable[..., Any]) -> tuple[Sequence[str], Given, set[str]]:
    """The names of the arguments after the connection, their defaults, and those that are several values."""
    _, *given = signature(function).parameters.values()
    defaults = {each.name: each.default for each in given if each.default is not Parameter.empty}
    return [each.name for each in given], defaults, {each.name for each in given if _SEVERAL.match(each.annotation)}


def _made_by(
    name: str, array_of: str, arguments: Collection[str], several: set[str], module: Given
) -> Callable[[Given], Any] | None:
    """How the value of a parameter is made; None: it is the argument as it is given."""
    first, _, attribute = name.partition(".")
    if first.isupper():
        return (lambda _: list(module[name])) if array_of else lambda _: module[name]
    assert first in arguments, f":{name} is no argument"
    if of_values := first in several and attribute.partition(".")[0] == "values":
        attribute = attribute.partition(".")[2]
    get = getter_of(attribute) if attribute else None
    if first not in several:
        if array_of:
            return lambda given: _listed(get(given[first]) if get else given[first])
        return get and (lambda given: None if given[first] is None else get(given[first]))
    if get is not None:
        notation = notation_of(array_of)
        return lambda given: notation(list(map(get, given[first].values() if of_values else given[first])))
    return lambda given: list(given[first].values()) if of_values else _listed(given[first])


def _listed(values: Collection[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)


def _result(function: Callable[..., Any], make: Callable[[Any], Any] | None) -> Callable[[Rows], Any]:
    """What is made of the rows."""
    reader = reader_of if make is None else lambda _: (make, WHOLE)
    type_ = get_type_hints(function)["return"]
    origin, inner = get_origin(type_), get_args(type_)
    if type_ is NoneType:
        return lambda _: None
    if type_ is bool:
        return lambda rows: bool(rows.scalar()) if any(rows.all()) else rows.rowcount > 0
    if type_ is int:
        return lambda rows: rows.scalar_one() if any(rows.all()) else rows.rowcount
    if origin in (list, set, Sequence):
        kind, (read, _) = (set if origin is set else list), reader(inner[0])
        return lambda rows: kind(map(read, rows))
    if origin in (dict, Mapping):
        several = get_origin(inner[1]) is list
        key, width = reader_of(inner[0])
        read, _ = reader(get_args(inner[1])[0] if several else inner[1])
        value = read if make is not None else lambda row: read(row[width:])
        mapping = _grouped if several else dict
        return lambda rows: mapping((key(row), value(row)) for row in rows)
    read, _ = reader(type_)
    if NoneType in inner:
        # Of a whole row the first column may be NULL.
        whole, width = reader(next(each for each in inner if each is not NoneType))
        found = whole if width > 1 else read
        return lambda rows: found(rows.all()[0]) if rows.all() else None
    return lambda rows: read(rows.one())


def _grouped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = defaultdict(list)
    for key, value in pairs:
        found[key].append(value)
    return found


@cache
def reader_of(type_: Any) -> tuple[Callable[[Sequence[Any]], Any], int]:
    """How a value is read from the first columns of a row, and of how many."""
    origin, inner = get_origin(type_), get_args(type_)
    if origin in (Union, UnionType) and NoneType in inner and len(inner) == 2:
        read, width = reader_of(next(each for each in inner if each is not NoneType))
        return (read if read is _first else lambda row: None if row[0] is None else read(row)), width
    if is_dataclass(type_):
        hints = get_type_hints(type_)
        return _reader(cast(type, type_), [hints[each.name] for each in fields(type_) if each.init])
    if isinstance(type_, type) and hasattr(type_, "_fields"):
        hints = get_type_hints(type_)
        return _reader(type_, [hints[each] for each in type_._fields])
    if origin is tuple and ... not in inner:
        return _reader(lambda *columns: columns, inner)
    if origin in (dict, Mapping):
        read, _ = reader_of(inner[1])
        return lambda row: {key: read((value,)) for key, value in (row[0] or {}).items()}, 1
    if origin in (tuple, frozenset):
        (read, _), kind = reader_of(inner[0]), origin
        return lambda row: kind(read((each,)) for each in row[0] or ()), 1
    if isinstance(type_, type) and issubclass(type_, Enum):
        known = type_._value2member_map_
        return lambda row: known.get(row[0], row[0]), 1  # people write rows by hand: what it has not stays a text
    return _first, 1


def _first(row: Sequence[Any]) -> Any:
    return row[0]


def _reader(make: Callable[..., Any], types: Sequence[Any]) -> tuple[Callable[[Sequence[Any]], Any], int]:
    """How something is made of parts of these types that follow each other."""
    parts, width = [], 0
    for type_ in types:
        read, columns = reader_of(type_)
        parts.append((width, read))
        width += columns
    if all(read is _first for _, read in parts):
        return lambda row: make(*row[:width]), width
    return lambda row: make(*[read(row[place:]) for place, read in parts]), width
