"""One test for all of its cases: `every` in place of `pytest.mark.parametrize`.

An item of pytest costs 10 ms of processor in the processes of a run, and what its fixtures make is ten times that. A
case that leaves nothing behind, such as a wrong request, needs neither an item nor a database of its own.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import pytest

SHOWN = 10
"""How many failed cases are named."""
SHOWN_CHARACTERS = 200
"""For each value."""
Test = Callable[..., Awaitable[None] | None]


def every(names: str | Sequence[str], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Call a test with each case, even after a failure; the error names the failed cases.

    As with `parametrize`: one name takes a case as it is, several take its elements, and two of these above each other
    take each case of one with each of the other. Other arguments are fixtures, the same for all cases. It is an error
    if there is no case.
    """
    wanted = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    given = [dict(zip(wanted, [case] if len(wanted) == 1 else case, strict=True)) for case in cases]
    if not given:
        raise ValueError(f"there is no case of {', '.join(wanted)}")

    def decorated(test: Test) -> Test:
        is_outer = hasattr(test, "__wrapped__")

        def with_each(**others: Any) -> None:
            failed: list[BaseException] = []
            for case in given:
                try:
                    test(**case, **others)
                except _FAILURES as error:
                    failed.append(_noted(error, case, is_outer))
            _raise(failed, len(given))

        async def with_each_in_turn(**others: Any) -> None:
            failed: list[BaseException] = []
            for case in given:
                try:
                    await test(**case, **others)  # type: ignore[misc]
                except _FAILURES as error:
                    failed.append(_noted(error, case, is_outer))
            _raise(failed, len(given))

        made = functools.wraps(test)(with_each_in_turn if inspect.iscoroutinefunction(test) else with_each)
        fixtures = [each for each in inspect.signature(test).parameters.values() if each.name not in wanted]
        made.__signature__ = inspect.Signature(fixtures)  # type: ignore[attr-defined]  # pytest looks for these only
        return made

    return decorated


_FAILURES = (Exception, BaseExceptionGroup, pytest.fail.Exception)


def _noted(error: BaseException, case: dict[str, Any], is_outer: bool) -> BaseException:
    told = ", ".join(f"{name}={repr(value)[:SHOWN_CHARACTERS]}" for name, value in case.items())
    if is_outer and hasattr(error, "__notes__"):
        error.__notes__[-1] += f", {told}"
    else:
        error.add_note(f"with {told}")
    return error


def _raise(failed: list[BaseException], count: int) -> None:
    if len(failed) == 1:
        raise failed[0]
    if failed:
        named = "; ".join(getattr(each, "__notes__", [str(each)])[-1] for each in failed[:SHOWN])
        raise BaseExceptionGroup(f"{len(failed)} of {count} cases failed: {named}", failed[:SHOWN])
