"""One test of a pure function for all of its cases: `every` in place of `pytest.mark.parametrize`.

An item of pytest costs 10 ms of processor in the processes of a run, and its function, if it is pure, a hundredth of
that. What needs a fixture, waits or may be skipped is parametrized as ever.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

SHOWN = 10
"""How many failed cases are named."""
Test = Callable[..., None]


def every(names: str | Sequence[str], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Call a test with each case, also after one that failed; what is raised names the cases that failed.

    As with `parametrize`: one name takes a case as it is, several take its elements, and two of these above each
    other take each case of one with each of the other. It is an error if there is no case.
    """
    wanted = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    given = [dict(zip(wanted, [case] if len(wanted) == 1 else case, strict=True)) for case in cases]
    if not given:
        raise ValueError(f"there is no case of {', '.join(wanted)}")

    def decorated(test: Test) -> Test:
        @functools.wraps(test)
        def with_each(**others: Any) -> None:
            failed: list[BaseException] = []
            for case in given:
                _call(test, {**case, **others}, failed)
            if len(failed) == 1:
                raise failed[0]
            if failed:
                named = "; ".join(getattr(each, "__notes__", [str(each)])[-1] for each in failed[:SHOWN])
                raise BaseExceptionGroup(f"{len(failed)} of {len(given)} cases failed: {named}", failed[:SHOWN])

        with_each.__signature__ = inspect.Signature()  # type: ignore[attr-defined]  # else pytest looks for fixtures
        return with_each

    return decorated


def _call(test: Test, case: dict[str, Any], failed: list[BaseException]) -> None:
    try:
        test(**case)
    except (Exception, BaseExceptionGroup, pytest.fail.Exception) as error:  # noqa: BLE001
        if not hasattr(test, "__wrapped__"):
            error.add_note("with " + ", ".join(f"{name}={value!r}" for name, value in case.items()))
        failed.append(error)
