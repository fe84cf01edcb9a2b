"""The results of the elements of an `each` task: a list for each name, kept elsewhere if too large for a row. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from master.drive.parameters import Parameters
from model.definitions.plan import Plan, PlannedTask
from model.parameters.json_values import looks_like_json
from model.parameters.large_values import has_large
from model.parameters.outputs import OutParameters, is_text
from model.parameters.parameters import PARAMETERS_BYTES_MAX
from model.parameters.values_to_keep import ToKeep, kept

ROOM = PARAMETERS_BYTES_MAX - 1_000


class ElementResults:
    """The results of one task in one run.

    Args:
        named: the names of values that other tasks use, in case the list is empty.
    """

    __slots__ = ("_named", "_parameters", "_plan", "_task")

    def __init__(self, plan: Plan, task: PlannedTask, parameters: Parameters, named: Iterable[str] = ()) -> None:
        self._plan = plan
        self._task = task
        self._parameters = parameters
        self._named = tuple(named)

    def lists(self, printed: Mapping[int, str], count: int) -> tuple[str | None, str]:
        """The values of each name in the order of the elements, null for none, as a JSON object of texts; and a
        sentence about values lost without a log store, which the lists contain too.

        Args:
            printed: index -> outputs of an element, as its row has them.
            count: the number of elements.
        Raises:
            ValueUnkept: a list is too large for a row, and must be kept first.
            Refused: it could not be kept.
        """
        outputs, lost, room = {}, [], ROOM
        for name, listed in self._listed(printed, count).items():
            text = f"[{', '.join(listed)}]"
            apart = has_large(text) or len(text) > room
            if not apart:
                size = len(json.dumps({name: text}, ensure_ascii=False).encode())
                apart = size > room
            if apart:
                large = kept(ToKeep(self._plan.workflow_code, self._parameters.run, self._task.name, name, text))
                size, text = len(large.written), large.written
                lost += [f'"{name}" ({large.size:,} bytes)'] if large.is_lost else []
            outputs[name] = text
            room -= size
        said = f"too large to be passed on: {', '.join(lost)}" if lost else ""
        return json.dumps(outputs, ensure_ascii=False) if outputs else None, said

    def _listed(self, printed: Mapping[int, str], count: int) -> dict[str, list[str]]:
        types = OutParameters.recorded_in(self._task.parameter_types).types
        lists: dict[str, list[str]] = {name: ["null"] * count for name in (*(self._task.outputs or ()), *self._named)}
        for index in range(count):
            for name, value in self._parameters.given_by(self._task, printed.get(index)).items():
                if name not in lists:
                    lists[name] = ["null"] * count
                is_json = looks_like_json(value) and not is_text(types.get(name), value)
                lists[name][index] = value if is_json else json.dumps(value, ensure_ascii=False)
        return lists
