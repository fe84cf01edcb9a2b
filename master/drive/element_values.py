"""The parameters of an `each` task's elements: what all see, and what each one adds. Pure.

They are computed once, when the task begins, and stored in its row, so that a later owner, which knows of further ends,
computes the same values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from master.drive.parameters import Parameters, Seen
from model.definitions.each import EACH, EACH_INDEX, elements_of, is_of_element, listed, read_stored, stored
from model.definitions.plan import PlannedTask
from model.errors import Refused
from model.parameters.json_values import JsonPath, Missing, part_of, text_of
from model.parameters.large_values import WHOLE_BYTES_MAX, LargeValue, is_known, large_value, part_in
from model.parameters.parameters import parameter_variable, references
from model.parameters.results import bases

CHARACTERS_MAX = 256_000_000
"""The limit for the values of all elements of one task together: each row has its own copy."""


class ElementValues:
    """The values of one task's elements, made by `of`, or from the task's row by `restored`."""

    __slots__ = (
        "_base",
        "_json",
        "_local",
        "_parameters",
        "_parts",
        "_reads",
        "_shared",
        "_task",
        "elements",
        "stored",
    )

    def __init__(
        self, task: PlannedTask, parameters: Parameters, text: str, shared: Mapping[str, str], json_names: Sequence[str]
    ) -> None:
        self._task = task
        self._parameters = parameters
        self._shared = shared
        self._json = json_names
        self._base = json.dumps(shared, ensure_ascii=False)
        self._parts = _parts_named_in(task)
        self._local = _uses_element(task)
        self._reads = bool(self._parts) or _uses_part(task)
        self.elements: list[Any] = elements_of(text)
        self.stored = stored(text, len(self.elements), shared, json_names)
        """The `each` content of the task's row."""
        if len(self._base) * len(self.elements) > CHARACTERS_MAX:
            raise Refused(
                f"each of the {len(self.elements):,} elements would get values of {len(self._base):,} characters, and "
                f"all together at most {CHARACTERS_MAX:,}; make the parameters smaller, or the list shorter"
            )

    @classmethod
    def of(cls, task: PlannedTask, parameters: Parameters) -> ElementValues:
        """For a task that begins now. Raises `Refused`."""
        assert task.each is not None, "it has no elements"
        values, names = parameters.with_json(task.code, local=not _uses_element(task))
        if task.uses_builtins:
            values = {**parameters.builtins(), **values}
        text = listed(task.each, values)
        shared = {name: value for name, value in values.items() if value != text or _is_named(name, task)}
        return cls(task, parameters, text, shared, sorted(name for name in names if name in shared))

    @classmethod
    def restored(cls, task: PlannedTask, parameters: Parameters, row: str) -> ElementValues:
        """For a task that has begun, from its row. Raises `Refused`."""
        return cls(task, parameters, *read_stored(row))

    def text(self, index: int) -> str:
        """The value of one element as text."""
        return text_of(self.elements[index])

    def missing_from(self, first: int, count: int) -> list[LargeValue]:
        """The large values to read before the first of these elements begins, as many as may be read at once. Empty if
        it can begin: its task takes the value as a whole, or it is known."""
        if not self._reads or (large := self._large(first)) is None or is_known(large):
            return []
        missing, room = list[LargeValue](), WHOLE_BYTES_MAX
        for index in range(first, min(first + count, len(self.elements))):
            if (large := self._large(index)) is not None and not is_known(large):
                room -= large.size
                if missing and room < 0:
                    break
                missing.append(large)
        return missing

    def _large(self, index: int) -> LargeValue | None:
        element = self.elements[index]
        return large_value(element) if isinstance(element, str) else None

    def seen(self, index: int) -> Seen:
        """Everything that one element sees. Raises `Refused` if it lacks a part that the task names."""
        element, large = self.elements[index], self._large(index)
        own = {EACH: text_of(element), EACH_INDEX: str(index)}
        names = [] if isinstance(element, str) and (large is None or not large.is_json) else [EACH]
        for name, steps in self._parts:
            try:
                part = part_of(element, steps) if large is None else part_in(large, steps)
            except Missing:
                raise Refused(f"${{{name}}} has no value: this element has no such part") from None
            own[name] = text_of(part)
            if not isinstance(part, str):
                names.append(name)
        if self._local:
            own = {**self._parameters.local(self._task, {**self._shared, **own}), **own}
        if self._shared:
            text = f"{self._base[:-1]}, {json.dumps(own, ensure_ascii=False)[1:]}"
        else:
            text = json.dumps(own, ensure_ascii=False)
        return Seen(text, (*self._json, *names))


def _parts_named_in(task: PlannedTask) -> list[tuple[str, JsonPath]]:
    """The parts of its element that a task names outside its local parameters, each with its path."""
    return [
        (reference.name, steps)
        for reference in task.references
        if reference.task is None and reference.of is None
        for base, steps in bases(reference.name)
        if base == EACH
    ]


def _uses_element(task: PlannedTask) -> bool:
    """Whether a local parameter uses the element, so that all must be computed for each."""
    return any(f"${{{EACH}" in param.value for param in task.inputs)


def _uses_part(task: PlannedTask) -> bool:
    """Whether a local parameter uses a part of the element."""
    names = [name for param in task.inputs for name in references(param.value)]
    return any(is_of_element(name) and name not in (EACH, EACH_INDEX) for name in names)


def _is_named(name: str, task: PlannedTask) -> bool:
    """Whether a task uses a value that is its own list; otherwise elements omit it, since each would have a copy."""
    text = "".join((task.params, *(param.value for param in task.inputs)))
    return parameter_variable(name) in text or any(base == name for each in references(text) for base, _ in bases(each))
