"""The values of `${load.rows}` and `${files[0].name}` in one task: of other tasks, and parts of JSON values. Pure.

The outputs of a task are those of its latest attempt in the database: they are read after a failover, a rerun or a
restore, like those under their own names (`output_scope.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from model.definitions.plan import Plan, PlannedTask
from model.definitions.result_references import ResultReference
from model.errors import Refused
from model.files import handed_files
from model.ids import TaskCode
from model.near import SHOWN_MAX, nearest
from model.parameters.outputs import is_text
from model.parameters.parameters import PARAMETERS_BYTES_MAX, Room
from model.parameters.results import find, names_task_by_quotes, said_of, written


@dataclass
class Results:
    """What a task sees by such references. `json` names the JSON values."""

    values: dict[str, str] = field(default_factory=dict)
    json: set[str] = field(default_factory=set)


class Reader:
    """Reads the values that one task names.

    Args:
        given_by: the outputs of a task; empty if it has not succeeded.
        said_of: why a task has no results; None if it succeeded.
    """

    def __init__(
        self,
        plan: Plan,
        given_by: Callable[[TaskCode], Mapping[str, str]],
        said_of: Callable[[TaskCode], str | None],
    ) -> None:
        self._plan = plan
        self._given_by = given_by
        self._said_of = said_of
        self._room = Room("the values that it names", PARAMETERS_BYTES_MAX)
        self.found = Results()

    def add(self, reference: ResultReference, task: TaskCode) -> None:
        """Add a value of another task. Raises `Refused` if that has none."""
        found = find(self._outputs(self._plan.tasks[task]), reference.rest)
        if found is None or found.text is None:
            raise Refused(f"${{{reference.name}}} has no value: {self._why(reference, task)}")
        is_json = found.is_json and not is_text(reference.type, found.text)
        self._take(reference.name, found.text, is_json=is_json)

    def add_part(self, reference: ResultReference, values: Mapping[str, str]) -> None:
        """Add a part of a parameter. If it does not exist, the text is no reference.

        Raises `Refused` if the text can only mean a task: no task before this one has that name.
        """
        found = find(values, reference.name)
        if found is None and names_task_by_quotes(reference.name):
            raise Refused(f"${{{reference.name}}} has no value: there is no such task before it, or it names no value")
        if found is not None and found.text is not None and reference.of is None:
            self._take(reference.name, found.text, is_json=found.is_json)

    def _take(self, name: str, text: str, *, is_json: bool) -> None:
        self.found.values[name] = self._room.take(name, text)
        if is_json:
            self.found.json.add(name)

    def _outputs(self, task: PlannedTask) -> Mapping[str, str]:
        """The outputs of a task; the defaults of its OUT parameters if it gave none."""
        given = self._given_by(task.code)
        return given or {name: value for name, value in (task.outputs or {}).items() if value}

    def _why(self, reference: ResultReference, task: TaskCode) -> str:
        name, out = self._plan.tasks[task].name, reference.rest.partition("[")[0]
        given = self._given_by(task)
        if not given and (how := self._said_of(task)) is not None:
            if out in handed_files.recorded_in(self._plan.tasks[task].parameter_types):
                return f'task "{name}" {how}, so it hands no file on'
            default = f"{out}: {{direct: OUT, value: 0}}"
            return f'task "{name}" {how}; declare a default for it in "{name}", such as {default}'
        if found := find(given, reference.rest):
            return f'"{found.base}" of task "{name}" is no JSON that has {said_of(found.steps)}'
        near = nearest(out, given)
        cure = f"did you mean {written(name, near)}?" if near else f"it gave {', '.join(sorted(given)[:SHOWN_MAX])}"
        return f'task "{name}" gave no "{out}"; {cure if given else "it gave nothing"}'
