"""The value of `${name}` in each task of one instance. Pure.

Precedence, high to low: startup, local, context, global, project, built-in. The instance's row holds project, global
and startup parameters already merged and resolved (`base_parameters`), so every later owner sees the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from master.drive.output_scope import Contexts
from model.definitions.plan import Plan, PlannedTask
from model.errors import Refused
from model.ids import TaskCode, WorkflowInstanceId
from model.parameters.builtin import builtin_parameters
from model.parameters.parameters import parse_parameters
from model.parameters.resolution import resolve
from model.parameters.secret_values import check_sealed, has_sealed, without_foreign
from model.runs.instances import WorkflowInstance
from model.time.zones import zone

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
INSTANCE_ID = "system.workflow.instance.id"
_ITS_ID = f"${{{INSTANCE_ID}}}"


def builtins_of(plan: Plan, id_: WorkflowInstanceId, at: datetime, time_zone: str) -> dict[str, str]:
    """The built-in parameters of an instance; the worker adds those of its tasks."""
    return builtin_parameters(
        at,
        zone(time_zone),
        workflow_name=plan.name,
        workflow_code=plan.workflow_code,
        workflow_instance_id=id_,
        project_name=plan.project,
        project_code=plan.project_code,
    )


def base_parameters(
    plan: Plan,
    *,
    project: Mapping[str, str],
    inherited: Mapping[str, str],
    startup: Mapping[str, str],
    at: datetime,
    time_zone: str,
) -> dict[str, str]:
    """Project, inherited (from the parent workflow), global and startup parameters; each overrides the one before.

    What a parent workflow of another project has sealed is not inherited.

    Raises `Refused` if they grow too large, or if a secret is among them in plain text, or sealed for something else.
    """
    values = _overlaid(plan, project, without_foreign(plan.project, inherited), startup, at, time_zone)
    check_sealed(plan.project, plan.secrets, values)
    return values


def _overlaid(
    plan: Plan,
    project: Mapping[str, str],
    inherited: Mapping[str, str],
    startup: Mapping[str, str],
    at: datetime,
    time_zone: str,
) -> dict[str, str]:
    written = {**project, **plan.spec.params, **startup}
    if not written:
        return dict(inherited)
    if not any("$" in value for value in written.values()):
        return {**project, **inherited, **plan.spec.params, **startup}
    builtins = builtins_of(plan, WorkflowInstanceId(0), at, time_zone)
    del builtins[INSTANCE_ID]  # there is none before the row exists: the text keeps its reference, see `Parameters`
    known = {**builtins, **inherited}
    resolved = resolve(written, known, at, zone(time_zone))
    own = {**plan.spec.params, **startup}
    return {**resolved, **{name: value for name, value in inherited.items() if name not in own}}


class Parameters:
    """The parameters of one workflow instance, as its tasks end."""

    __slots__ = ("_base", "_builtins", "_instance", "_plan", "_startup", "contexts")

    def __init__(self, instance: WorkflowInstance, plan: Plan) -> None:
        self.contexts = Contexts(plan.graph)
        self._instance = instance
        self._plan = plan
        self._base: Mapping[str, str] | None = None
        self._startup: frozenset[str] = frozenset()
        self._builtins: Mapping[str, str] | None = None

    def values(self, code: TaskCode) -> dict[str, str]:
        """All that a task sees, except the built-in ones. Raises `Refused` if they grow too large."""
        base = self._known()
        context = {name: value for name, value in self.contexts.seen_by(code).items() if name not in self._startup}
        values = {**base, **context}
        local = {param.name: param.value for param in self._plan.tasks[code].inputs if param.name not in self._startup}
        if local:
            at, calendar = self._instance.schedule_time or EPOCH, zone(self._instance.time_zone)
            values |= resolve(local, {**self.builtins(), **values}, at, calendar)
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
            self._builtins = builtins_of(self._plan, self._instance.id, at, self._instance.time_zone)
        return self._builtins

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
