"""The value of `${name}` in each task of one instance, as its tasks end, by `model/parameters/precedence.py`. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from master.drive.output_scope import Contexts
from model.definitions.plan import Plan, PlannedTask
from model.errors import Refused
from model.ids import TaskCode
from model.parameters.builtin import IS_LATEST, check_interval_names
from model.parameters.nested_references import resolve
from model.parameters.parameters import parse_parameters
from model.parameters.precedence import INSTANCE_ID, builtins_of
from model.parameters.secret_values import has_sealed
from model.runs.instances import WorkflowInstance
from model.time.zones import zone

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ITS_ID = f"${{{INSTANCE_ID}}}"


class Parameters:
    """The parameters of one workflow instance, as its tasks end."""

    __slots__ = ("_base", "_builtins", "_instance", "_plan", "_startup", "contexts", "is_latest")

    def __init__(self, instance: WorkflowInstance, plan: Plan) -> None:
        self.contexts = Contexts(plan.graph)
        self._instance = instance
        self._plan = plan
        self._base: Mapping[str, str] | None = None
        self._startup: frozenset[str] = frozenset()
        self._builtins: Mapping[str, str] | None = None
        self.is_latest: bool | None = None
        """Whether the run is the latest of its schedule; None if no task asks."""

    def values(self, code: TaskCode) -> dict[str, str]:
        """All that a task sees, except the built-in ones.

        Raises `Refused` if they grow too large, or if the task needs an interval that its run does not have.
        """
        base = self._known()
        context = {name: value for name, value in self.contexts.seen_by(code).items() if name not in self._startup}
        values = {**base, **context}
        local = {param.name: param.value for param in self._plan.tasks[code].inputs if param.name not in self._startup}
        if local:
            at, calendar = self._instance.schedule_time or EPOCH, zone(self._instance.time_zone)
            known = {**self.builtins(), **values}
            values |= resolve(local, known, at, calendar, self._instance.interval)
        if self._instance.interval is None and self._plan.tasks[code].uses_builtins:
            check_interval_names(self._plan.tasks[code].params, values)
        return values

    def as_text(self, code: TaskCode) -> str:
        """The same as a JSON object; if the task adds nothing, the instance's own text without parsing it."""
        task = self._plan.tasks[code]
        adds = task.inputs or task.uses_builtins or _ITS_ID in self._instance.params
        if not adds and not self.contexts.seen_by(code):
            return self._instance.params
        values = self.values(code)
        if task.uses_builtins:
            values = {**self.builtins(), **values}
        return json.dumps(values, ensure_ascii=False)

    def builtins(self) -> Mapping[str, str]:
        """The built-in parameters of the instance."""
        if self._builtins is None:
            at = self._instance.schedule_time or EPOCH
            self._builtins = builtins_of(
                self._plan, self._instance.id, at, self._instance.time_zone, self._instance.interval
            )
        if self.is_latest is None:
            return self._builtins
        return {**self._builtins, IS_LATEST: json.dumps(self.is_latest)}

    def given_by(self, task: PlannedTask, outputs: str | None) -> Mapping[str, str]:
        """What a task that printed these outputs passes on: its OUT parameters if it declares any, else all of them."""
        given = parse_parameters(outputs, "its outputs") if outputs else {}
        given = {n: v for n, v in given.items() if n not in self._plan.secrets and not has_sealed(v)}
        if task.outputs is None:
            return given
        return {name: given.get(name, default) for name, default in task.outputs.items() if name in given or default}

    def at_the_end(self) -> str | None:
        """What the instance passes to its parent workflow, as a JSON object; None if it declares nothing."""
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
