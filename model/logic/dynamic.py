"""DYNAMIC: one child instance of another workflow for each tuple of the product of lists.

As in DolphinScheduler: values in `filter` are left out, the last list varies fastest, and only the first
`max_instances` tuples are used. The number of dropped tuples is reported by the task.

The same parameters give the same tuples in the same order: after a failover the new master continues at the number at
which the previous one stopped. Tuples are computed on demand, as 10,000 at once would block the loop.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from model.errors import Refused
from model.fields import Name
from model.logic.fields import LogicParams, Part, Workflow
from model.parameters.parameters import replace_references
from model.parameters.text import ParameterValue

OUTPUT = "dynamic.out"
"""The parameter with the outputs of all children."""
LISTS_MAX = 20
INSTANCES_MAX = 10_000
INSTANCES_DEFAULT = 1_024
LISTS_LENGTH_MAX = 1_048_576
"""In characters, over all lists, after their references are replaced."""


def own_output(task_name: str) -> str:
    """The parameter with the outputs of this task's children, whichever other DYNAMIC tasks follow."""
    return f"{OUTPUT}.{re.sub('[^A-Za-z0-9_.]', '_', task_name)}"


class DynamicList(Part):
    """A name and its values: a text split at `separator`, or a JSON list; both may contain `${name}` and `$[...]`."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.]{0,199}$")]
    value: ParameterValue
    separator: Annotated[str, Field(min_length=1, max_length=10)] = ","


def _cut(value: Any) -> Any:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


class DynamicParams(LogicParams):
    """The child workflow, its lists, how many children run in parallel, and how many there are at most.

    `filter` are the values that are removed from every list: a list, or a comma-separated text.
    """

    workflow: Workflow
    project: Name | None = None
    lists: tuple[DynamicList, ...] = Field(min_length=1, max_length=LISTS_MAX)
    filter: Annotated[tuple[ParameterValue, ...], BeforeValidator(_cut), Field(max_length=1_000)] = ()
    parallelism: int = Field(1, ge=1, le=INSTANCES_MAX)
    max_instances: int = Field(INSTANCES_DEFAULT, ge=1, le=INSTANCES_MAX)

    def problems(self) -> list[str]:
        names = [each.name for each in self.lists]
        twice = dict.fromkeys(name for name in names if names.count(name) > 1)
        return [f'two lists are named "{name}"; give each a different name' for name in twice]


@dataclass(frozen=True)
class Tuples:
    """The children's parameters: `number` -> name -> value. `left_out` is the number of tuples beyond the maximum."""

    lists: tuple[tuple[str, tuple[str, ...]], ...]
    count: int
    left_out: int

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> dict[str, str]:
        """The tuple with this number, from 0. Raises `IndexError`."""
        if not 0 <= number < self.count:
            raise IndexError(number)
        chosen = {}
        for name, values in reversed(self.lists):
            number, place = divmod(number, len(values))
            chosen[name] = values[place]
        return {name: chosen[name] for name, _ in self.lists}

    def __iter__(self) -> Iterator[dict[str, str]]:
        return (self[number] for number in range(self.count))

    def said(self) -> str:
        children = "1 child" if self.count == 1 else f"{self.count:,} children"
        if not self.left_out:
            return f"{children}, one for each tuple of the lists"
        return f"{children}; {self.left_out:,} more tuples were left out, raise max_instances to have them"


def tuples(params: DynamicParams, values: Mapping[str, str], in_time: Callable[[str], str] = str) -> Tuples:
    """The children to start; none if a list is empty.

    A reference in a JSON list stays within its element, whatever its value. Elsewhere the value is inserted before the
    text is split, since it may be the whole list; it becomes parameters of a child, never code.

    Args:
        params: validated when they were saved.
        values: name -> value of every parameter that the task sees. An unknown `${name}` stays as it is.
        in_time: replaces the `$[...]` of a text that is written down.
    Raises:
        Refused: a list is too long, or is enclosed in brackets like a JSON list but is not valid JSON.
    """
    room = LISTS_LENGTH_MAX
    excluded = frozenset(params.filter)
    lists = []
    for each in params.lists:
        found = _values_of(each, in_time(each.value), values)
        room -= sum(len(value) + 1 for value in found)
        if room < 0:
            raise Refused(f"the lists have more than {LISTS_LENGTH_MAX:,} characters together; make them shorter")
        lists.append((each.name, tuple(value for value in found if value not in excluded)))
    total = prod(len(found) for _, found in lists)
    count = min(total, params.max_instances)
    return Tuples(tuple(lists), count, total - count)


def _values_of(each: DynamicList, given: str, values: Mapping[str, str]) -> list[str]:
    def inserted(text: str) -> str:
        return replace_references(text, values, lambda _, value: value)

    if len(given) + sum(map(len, _used(given, values))) > LISTS_LENGTH_MAX:
        raise Refused(f'list "{each.name}" has more than {LISTS_LENGTH_MAX:,} characters; make it shorter')
    written = _json_list(given)
    if written is not None:
        return [inserted(value) for value in written]
    text = inserted(given)
    listed = _json_list(text)
    if listed is not None:
        return listed
    if text.strip().startswith("[") and text.strip().endswith("]"):
        raise Refused(f'list "{each.name}" looks like a JSON list and is none; write ["a", "b"], or a, b without [ ]')
    return [part.strip() for part in text.split(each.separator) if part.strip()]


def _used(text: str, values: Mapping[str, str]) -> list[str]:
    used: list[str] = []

    def noted(_: str, value: str) -> str:
        used.append(value)
        return ""

    replace_references(text, values, noted)
    return used


def _json_list(text: str) -> list[str] | None:
    """The elements, numbers as written, a list or an object as JSON; or None if it is not a JSON list."""
    if not text.lstrip().startswith("["):
        return None
    try:
        found = json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    if any(isinstance(value, list | dict) for value in found):
        found = [one if isinstance(one, str) else whole for one, whole in zip(found, json.loads(text), strict=True)]
    texts = (value if isinstance(value, str | None) else json.dumps(value, ensure_ascii=False) for value in found)
    return ["" if value is None else value for value in texts]
