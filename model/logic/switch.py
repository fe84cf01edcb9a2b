"""SWITCH: the first true condition chooses the branch, otherwise the default; all others are skipped.

`model/logic/expression.py` defines the syntax. A condition that cannot be evaluated stops the choice, even if a later
one is true: a master must not guess.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated

from pydantic import Field

from model.errors import Refused
from model.logic.expression import LENGTH_MAX, TOKENS_MAX, read_condition
from model.logic.fields import Branch, LogicParams, Part

CASES_MAX = 100


class SwitchCase(Part):
    """A condition, and the tasks that follow if it is the first true one."""

    when: Annotated[str, Field(min_length=1, max_length=LENGTH_MAX)]
    then: Annotated[Branch, Field(min_length=1)]


class SwitchParams(LogicParams):
    """Cases in their order. Without `default` nothing follows if no case is true."""

    cases: tuple[SwitchCase, ...] = Field(min_length=1, max_length=CASES_MAX)
    default: Branch = ()

    def branches(self) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(name for names in (*(case.then for case in self.cases), self.default) for name in names)
        )

    def problems(self) -> list[str]:
        return list(_problems(self))


def check(params: SwitchParams) -> None:
    """Raises `Refused`, naming the case, if a condition cannot be parsed, or all together take too long to parse."""
    for sentence in _problems(params):
        raise Refused(sentence)


def choose(params: SwitchParams, values: Mapping[str, str], json_names: Collection[str] = ()) -> tuple[str, ...]:
    """The tasks of the chosen branch; arguments and errors as `true_case`."""
    case = true_case(params, values, json_names)
    return params.default if case is None else params.cases[case - 1].then


def true_case(params: SwitchParams, values: Mapping[str, str], json_names: Collection[str] = ()) -> int | None:
    """The number of the first case that is true, from 1; None: the default is chosen.

    Takes less than 5 ms: every input is bounded.

    Args:
        params: validated when they were saved; rows written by SQL are validated again here.
        values: name -> value of every parameter that the task sees.
        json_names: those of values that are JSON.
    Raises:
        Refused: a condition cannot be parsed or evaluated; the sentence names the case and contains no value.
    Source: docs/reference/tasks/switch.md.
    """
    _check_size(params)
    for place, case in enumerate(params.cases, 1):
        try:
            if read_condition(case.when).holds(values, json_names):
                return place
        except Refused as error:
            raise Refused(_said(place, case, error)) from None
    return None


def _problems(params: SwitchParams) -> Iterator[str]:
    try:
        _check_size(params)
    except Refused as error:
        yield str(error)
        return
    for place, case in enumerate(params.cases, 1):
        try:
            read_condition(case.when).check()
        except Refused as error:
            yield _said(place, case, error)


def _check_size(params: SwitchParams) -> None:
    if sum(len(case.when) for case in params.cases) > LENGTH_MAX:
        raise Refused(f"the conditions have more than {LENGTH_MAX:,} characters together; make them shorter")
    tokens = 0
    for place, case in enumerate(params.cases, 1):
        try:
            tokens += read_condition(case.when).tokens
        except Refused as error:
            raise Refused(_said(place, case, error)) from None
    if tokens > TOKENS_MAX:
        raise Refused(f"the conditions have more than {TOKENS_MAX} words and signs together; make them shorter")


def _said(place: int, case: SwitchCase, error: Refused) -> str:
    shown = case.when[:100] if case.when[:100].isprintable() else ascii(case.when[:100])
    return f"case {place}, {shown}: {error}"
