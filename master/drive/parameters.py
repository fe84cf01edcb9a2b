"""The value of `${name}` in each task of one run, as its tasks end, by `model/parameters/precedence.py`. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from master.drive.output_scope import Contexts
from master.drive.results import Reader, Results
from model.definitions.plan import Plan, PlannedTask
from model.errors import Refused
from model.ids import TaskCode, WorkflowInstanceId
from model.parameters.builtin import IS_LATEST, check_interval_names, closing_parameters
from model.parameters.nested_references import resolve
from model.parameters.parameters import parse_parameters
from model.parameters.precedence import INSTANCE_ID, builtins_of
from model.parameters.secret_values import has_sealed
from model.runs.instances import WorkflowInstance
from model.runs.states import WorkflowState
from model.time.run_time import RunTime
from model.time.zones import zone

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ITS_ID = f"${{{INSTANCE_ID}}}"


class Seen(NamedTuple):
    """The values that a task sees, as a JSON object, and the names of JSON values (`results.py`)."""

    text: str
    json: Collection[str] = ()


class Parameters:
    """The parameters of one run, as its tasks end.

    `said_of` says why a task has no results; None for one that succeeded.
    """

    __slots__ = ("_base", "_builtins", "_instance", "_plan", "_said_of", "_startup", "contexts", "is_latest")

    def __init__(
        self, instance: WorkflowInstance, plan: Plan, said_of: Callable[[TaskCode], str | None] = lambda _: None
    ) -> None:
        self.contexts = Contexts(plan.graph)
        self._instance = instance
        self._plan = plan
        self._said_of = said_of
        self._base: Mapping[str, str] | None = None
        self._startup: frozenset[str] = frozenset()
        self._builtins: Mapping[str, str] | None = None
        self.is_latest: bool | None = None
        """Whether the run is the latest of its schedule; None if no task uses it."""

    def values(self, code: TaskCode) -> dict[str, str]:
        """Everything that a task sees, except built-in values. Raises as `with_json` does."""
        return self.with_json(code)[0]

    def with_json(self, code: TaskCode, *, local: bool = True) -> tuple[dict[str, str], Collection[str]]:
        """The values, with or without the `local` ones, and the names of JSON values.

        Raises `Refused` if they grow too large, if the task needs an interval that its run does not have, or names a
        value that another task did not give.
        """
        base, task = self._known(), self._plan.tasks[code]
        context = {name: value for name, value in self.contexts.seen_by(code).items() if name not in self._startup}
        values = {**base, **context}
        own = self._local(task)
        reader = self._named(task, {**values, **own}) if task.references else None
        if own and local:
            values |= self.local(task, {**(reader.found.values if reader else {}), **values})
        if self._instance.interval is None and task.uses_builtins:
            check_interval_names(task.params, values)
        if reader is None:
            return values, ()
        found = self._with_parts(reader, task, values)
        # Parameters whose own name has this form come last, as in the environment.
        return {**found.values, **values}, found.json

    def local(self, task: PlannedTask, known: Mapping[str, str]) -> dict[str, str]:
        """The local parameters of a task, computed from `known` and the built-in values. Raises `Refused`."""
        at, calendar = self._instance.schedule_time or EPOCH, zone(self._instance.time_zone)
        return resolve(self._local(task), {**self.builtins(), **known}, at, calendar, self._instance.interval)

    def _local(self, task: PlannedTask) -> dict[str, str]:
        self._known()
        return {param.name: param.value for param in task.inputs if param.name not in self._startup}

    def _named(self, task: PlannedTask, flat: Mapping[str, str]) -> Reader:
        """The values of other tasks that a task names. Raises `Refused` if one is missing."""
        reader = Reader(self._plan, self.contexts.given_by, self._said_of)
        for each in task.references:
            if each.task is not None and each.name not in flat and each.of not in self._startup:
                reader.add(each, each.task)
        return reader

    def _with_parts(self, reader: Reader, task: PlannedTask, flat: Mapping[str, str]) -> Results:
        """Add the parts of parameters that it names. Raises `Refused` for a task that is not before it."""
        for each in task.references:
            if each.task is None and each.name not in flat and each.of not in self._startup:
                reader.add_part(each, flat)
        return reader.found

    def as_text(self, code: TaskCode) -> str:
        """Everything that a task sees, as a JSON object."""
        return self.seen(code).text

    def seen(self, code: TaskCode) -> Seen:
        """As `with_json`, as text; if the task adds nothing, the run's own text, unparsed."""
        task = self._plan.tasks[code]
        adds = task.inputs or task.uses_builtins or task.references or _ITS_ID in self._instance.params
        if not adds and not self.contexts.seen_by(code):
            return Seen(self._instance.params)
        values, names = self.with_json(code)
        if task.uses_builtins:
            values = {**self.builtins(), **values}
        return Seen(json.dumps(values, ensure_ascii=False), names)

    @property
    def run(self) -> WorkflowInstanceId:
        return self._instance.id

    @property
    def time(self) -> RunTime:
        """The time that the run is for."""
        instance = self._instance
        return RunTime(instance.schedule_time or EPOCH, instance.time_zone, instance.interval)

    def builtins(self) -> Mapping[str, str]:
        """The built-in parameters of the run."""
        if self._builtins is None:
            self._builtins = builtins_of(self._plan, self._instance.id, self.time)
        if self.is_latest is None:
            return self._builtins
        return {**self._builtins, IS_LATEST: json.dumps(self.is_latest)}

    def close(self, state: WorkflowState, failed: Sequence[str]) -> None:
        """Show the cleanup tasks the state in which the run ends, and the failed tasks."""
        self._builtins = {**self.builtins(), **closing_parameters(state, failed)}

    def given_by(self, task: PlannedTask, outputs: str | None) -> Mapping[str, str]:
        """What a task with these outputs passes on: its OUT parameters if it declares any, else everything."""
        if task.outputs is None and not outputs:
            return {}
        given = parse_parameters(outputs, "its outputs") if outputs else {}
        given = {n: v for n, v in given.items() if n not in self._plan.secrets and not has_sealed(v)}
        if task.outputs is None:
            return given
        return {name: given.get(name, default) for name, default in task.outputs.items() if name in given or default}

    def at_the_end(self) -> str | None:
        """What the run passes to its parent workflow, as a JSON object; None if it declares nothing."""
        names = self._plan.spec.outputs
        if not names:
            return None
        values = {**self._known(), **self.contexts.at_the_end()}
        given = {name: values[name] for name in names if name in values and not has_sealed(values[name])}
        return json.dumps(given, ensure_ascii=False)

    def _known(self) -> Mapping[str, str]:
        if self._base is None:
            base = parse_parameters(self._instance.params, "its parameters")
            own_id = str(self._instance.id)
            self._base = {name: value.replace(_ITS_ID, own_id) for name, value in base.items()}
            self._startup = _names(self._instance.startup_names)
        return self._base


def _names(text: str) -> frozenset[str]:
    try:
        return frozenset(json.loads(text))
    except (ValueError, TypeError, RecursionError):
        raise Refused("the names of its startup parameters, as the database has them, are no JSON list") from None
