"""SWITCH: the first condition that is true chooses the branch, else the default does; all others are skipped.

What a condition may say stands in `model/logic/expression.py`. One that cannot be judged with the values that are
there stops the choice, even if a later one were true: a master must not guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field

from model.errors import Refused
from model.logic.expression import LENGTH_MAX, TOKENS_MAX, read_condition
from model.logic.fields import Branch, LogicParams, Part

CASES_MAX = 100


class SwitchCase(Part):
    """A condition, and the tasks that come next if it is true and none before it is."""

    when: Annotated[str, Field(min_length=1, max_length=LENGTH_MAX)]
    then: Annotated[Branch, Field(min_length=1)]


class SwitchParams(LogicParams):
    """Cases in their order. Without `default` nothing comes next if no case is true."""

    cases: tuple[SwitchCase, ...] = Field(min_length=1, max_length=CASES_MAX)
    default: Branch = ()

    def branches(self) -> tuple[str, ...]:
        """The tasks that it may choose."""
        return tuple(
            dict.fromkeys(name for names in (*(case.then for case in self.cases), self.default) for name in names)
        )

    def problems(self) -> list[str]:
        """What is wrong in the conditions."""
        return list(_problems(self))


def check(params: SwitchParams) -> None:
    """Raises `Refused`, naming the case, if a condition cannot be read, or all together take too long to read."""
    for sentence in _problems(params):
        raise Refused(sentence)


def choose(params: SwitchParams, values: Mapping[str, str]) -> tuple[str, ...]:
    """The tasks of the branch that is taken.

    Takes less than 5 ms: all that holds it up is bounded.

    Args:
        params: as checked when they were saved; rows written by SQL are checked again here.
        values: name -> value of every parameter that the task sees.
    Raises:
        Refused: a condition cannot be read or judged; the sentence names the case and no value.
    Source: docs/tasks/switch.md.
    """
    _check_size(params)
    for place, case in enumerate(params.cases, 1):
        try:
            if read_condition(case.when).holds(values):
                return case.then
        except Refused as error:
            raise Refused(_said(place, case, error)) from None
    return params.default


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
