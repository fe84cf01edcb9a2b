"""Which parameter wins. Pure.

Precedence, high to low: startup, local, context, global, project, built-in. The instance's row holds project, global
and startup parameters already merged and resolved (`base_parameters`), so every later owner sees the same; its master
adds local parameters and context (`master/drive/parameters.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from model.definitions.plan import Plan
from model.definitions.triggers import EVENT
from model.ids import WorkflowInstanceId
from model.parameters.builtin import builtin_parameters
from model.parameters.declared import check_declared
from model.parameters.nested_references import resolve
from model.parameters.secret_values import check_sealed, without_foreign
from model.time.run_time import RunTime

INSTANCE_ID = "system.workflow.instance.id"


def builtins_of(plan: Plan, id_: WorkflowInstanceId, time: RunTime) -> dict[str, str]:
    """The built-in parameters of an instance; the worker adds those of its tasks."""
    return builtin_parameters(
        time,
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
    time: RunTime,
    are_made: bool = False,
) -> dict[str, str]:
    """Merge project, inherited (from the parent workflow), global and startup parameters; each overrides the one
    before.

    References and times in them are replaced here, once. Startup parameters that `are_made` (by a task of another run,
    or by a former version of this run) were replaced before. An event's data may come from any sender, so nothing in it
    is replaced. A value sealed for another project is not inherited.

    Raises `Refused` if the values grow too large, contain a secret in plain text or sealed for something else, refer to
    a missing interval, or do not fit the workflow's declarations.
    """
    values = _overlaid(plan, project, without_foreign(plan.project, inherited), startup, time, are_made)
    check_sealed(plan.project, plan.secrets, values)
    if plan.spec.declared:
        check_declared(plan.spec.declared, values, plan.secrets)
    return values


def _overlaid(
    plan: Plan,
    project: Mapping[str, str],
    inherited: Mapping[str, str],
    startup: Mapping[str, str],
    time: RunTime,
    are_made: bool,
) -> dict[str, str]:
    data = {name: value for name, value in startup.items() if are_made or name == EVENT}
    written = {**project, **plan.spec.params, **startup}
    if not written:
        return dict(inherited)
    if not any("$" in value for value in written.values()):
        return {**project, **inherited, **plan.spec.params, **startup}
    builtins = builtins_of(plan, WorkflowInstanceId(0), time)
    del builtins[INSTANCE_ID]  # there is none before the row exists: the text keeps its reference, see `Parameters`
    known = {**builtins, **inherited, **data}
    written = {name: value for name, value in written.items() if name not in data}
    resolved = {**resolve(written, known, time.at, time.zone, time.interval), **data}
    own = {**plan.spec.params, **startup}
    return {**resolved, **{name: value for name, value in inherited.items() if name not in own}}
