"""Tests of flows without a server: `simulate` lets a flow run by Shoal's own rules, with results that the test gives.

The rules are those of the package `shoal`, or of `shoal-model`, which has them alone; one must be installed beside this
one: what begins, what is skipped, which branch is chosen, what each task sees and how the run ends are decided by the
very code that a master runs. No task is executed, no time passes.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from shoal_sdk.building import Step
from shoal_sdk.errors import SdkError, WrongFlow
from shoal_sdk.flows import Built, Flow
from shoal_sdk.runs import read_result
from shoal_sdk.types_of_values import UNKNOWN, is_text, plain

_HEAD = ("name", "project", "schedules", "kind", "release_state")


class _Failed:
    """Stands for a failure."""

    def __repr__(self) -> str:
        return "failed"


failed = _Failed()
"""As a result: the task fails, also when it is retried."""


@dataclass
class Simulated:
    """A run that was simulated. `state` is how it ended, `reason` why, `result` what the flow returned."""

    state: str
    reason: str
    result: Any
    _states: dict[str, str] = field(default_factory=dict)
    _values: dict[str, dict[str, str]] = field(default_factory=dict)
    _reasons: dict[str, str] = field(default_factory=dict)

    def states(self) -> dict[str, str]:
        """How each task ended, by name; SKIPPED for one that was passed over, NEVER for one that failures kept back."""
        return dict(self._states)

    def values(self, task: str) -> dict[str, str]:
        """What a task saw: its arguments and named values, by name, as texts. Raises `KeyError`: it did not begin."""
        return dict(self._values[task])

    def why(self, task: str) -> str:
        """Why a task failed before it began; empty if it did not."""
        return self._reasons.get(task, "")


def simulate(
    flow: Flow[..., Any], *, at: str | datetime, results: Mapping[str, Any] | None = None, **params: Any
) -> Simulated:
    """Let a flow run by Shoal's rules.

    Args:
        at: the schedule time; without an offset in the zone of its schedule, else of the flow.
        results: what tasks give, by name: what the function returns, a dict of outputs for `shell`, `sql` and `http`, a
            list for a task with `each`, or `failed`. Tasks that are not named succeed with an empty result; if the flow
            returns one of these, it is None.
        params: of the start.
    Raises:
        WrongFlow: the flow is wrong, or a result is of no task of it.
        SdkError: neither `shoal` nor `shoal-model` is installed, or Shoal refuses the flow or the start.
    """
    built = flow.built()
    return _Simulation(built, flow.given(**params).params, results or {}).run(at, flow.hints.get("return", UNKNOWN))


class _Simulation:
    def __init__(self, built: Built, params: Mapping[str, str], results: Mapping[str, Any]) -> None:
        self._built, self._results = built, results
        known = {each["name"] for each in built.spec["tasks"]}
        if unknown := sorted(set(results) - known):
            raise WrongFlow(f'simulate: there is no task "{unknown[0]}"; there are {", ".join(sorted(known))}')
        self._startup = dict(params)
        self._steps = {each.name: each for each in built.steps}
        self._refused: type[Exception] = _engine("model.errors").ShoalError

    def run(self, at: str | datetime, annotation: Any) -> Simulated:
        """Play it to its end."""
        try:
            return self._played(at, annotation)
        except self._refused as error:
            raise SdkError(f'flow "{self._built.spec["name"]}": {error}') from None

    def _played(self, at: str | datetime, annotation: Any) -> Simulated:
        spec, plans = self._built.spec, _engine("model.definitions.plan")
        definition = _engine("model.definitions.workflow").WorkflowSpec.parse(_without_secrets(spec))
        plan = plans.Plan.of(1, 1, definition, name=spec["name"], project=spec.get("project", "default"))
        zone = (spec.get("schedules") or [{}])[0].get("time_zone") or definition.time_zone
        moment = datetime.fromisoformat(at) if isinstance(at, str) else at
        moment = (moment if moment.tzinfo is not None else moment.replace(tzinfo=ZoneInfo(zone))).astimezone(UTC)
        interval = _interval(spec, moment, zone)
        time = _engine("model.time.run_time").RunTime(moment, zone, interval)
        values = _engine("model.parameters.precedence").base_parameters(
            plan, project={}, inherited={}, startup=self._startup, time=time
        )
        instance = _engine("model.runs.instances").WorkflowInstance(
            1, 1, 1, definition.failure_strategy, definition.priority, "default", json.dumps(values),
            startup_names=json.dumps(sorted(self._startup)), schedule_time=moment, time_zone=zone, interval=interval,
        )  # fmt: skip
        return self._driven(plan, _engine("master.drive.runnable").WorkflowRunnable(instance, plan), annotation)

    def _driven(self, plan: Any, runnable: Any, annotation: Any) -> Simulated:
        events, instances = _engine("master.drive.events"), _engine("model.runs.instances")
        states = _engine("model.runs.states").TaskState
        run = Simulated("", "", None)
        given: dict[str, Mapping[str, str]] = {}
        effects = list(runnable.handle(events.Started()))
        while effects:
            effect = effects.pop(0)
            match type(effect).__name__:
                case "TaskAttempt":
                    name, index = _named(plan, effect.code)
                    if index is None:
                        run._values[name] = _seen(effect.values)
                    if effect.reason:
                        run._reasons[name] = effect.reason
                    if effect.state.is_final or (index is None and plan.tasks[effect.code].each is not None):
                        _end(run, name, index, str(effect.state))
                        continue
                    if self._steps[name].type == "SUB_PROCESS":
                        continue  # its child ends it
                    outputs = self._outputs(name, index)
                    state = states.FAILURE if outputs is None else states.SUCCESS
                    _end(run, name, index, str(state))
                    if outputs is not None and index is None:
                        given[name] = outputs
                    said = json.dumps(outputs, ensure_ascii=False) if outputs else None
                    effects += runnable.handle(instances.AttemptEnd(effect.code, effect.attempt, state, said))
                case "AttemptEnd":
                    name, index = _named(plan, effect.code)
                    _end(run, name, index, str(effect.state))
                    if effect.outputs and index is None:
                        given[name] = json.loads(effect.outputs)
                case "StartChild":
                    name, _ = _named(plan, effect.code)
                    outputs = self._outputs(name, None)
                    end = _engine("model.runs.states").WorkflowState["FAILURE" if outputs is None else "SUCCESS"]
                    said = json.dumps(outputs) if outputs else None
                    child = instances.ChildState(effect.code, effect.attempt, effect.index, end, said)
                    effects += runnable.handle(child)
                case "Close":
                    effects += runnable.handle(events.Closes())
                case "Finish":
                    run.state, run.reason = str(effect.state), effect.reason
        _complete(plan, runnable, run)
        result = self._built.result
        if result is None or result.task not in self._results:
            return run
        if run.state == "SUCCESS" and result.out in given.get(result.task, {}):
            run.result = read_result(given[result.task][result.out], result, annotation)
        return run

    def _outputs(self, name: str, index: int | None) -> Mapping[str, str] | None:
        """What a task gives, as texts; None: it fails."""
        step: Step = self._steps[name]
        given = self._results.get(name)
        if given is failed:
            return None
        if index is not None and isinstance(given, list):
            given = given[index] if index < len(given) else None
            if given is failed:
                return None
        if step.child is not None and step.child.is_json:
            value: Any = plain(given, f'the result of "{name}"')
            for part in reversed(step.child.path):
                value = {part: value}
            return {step.child.name: json.dumps(value, ensure_ascii=False)}
        if step.type != "PYTHON":
            said = given or {}
            if not isinstance(said, Mapping):
                raise WrongFlow(f'simulate: the result of "{name}" is {given!r}; give its outputs as a dict')
            return {each: _text(plain(value, f'output "{each}"')) for each, value in said.items()}
        value = plain(given, f'the result of "{name}"', files=True)
        written = json.dumps({"text": value} if is_text(step.result) else value, ensure_ascii=False)
        return {each["name"]: written for each in step.local_params if each.get("direct") == "OUT"}


def _end(run: Simulated, name: str, index: int | None, state: str) -> None:
    if index is None:
        run._states[name] = state


def _complete(plan: Any, runnable: Any, run: Simulated) -> None:
    """Say of tasks that did not begin whether they were skipped."""
    skipped = runnable._progress.skipped  # it tells nobody else, since nothing is written of them
    states = {name: "SKIPPED" if code in skipped else "NEVER" for name, code in plan.codes.items()}
    run._states = {**states, **run._states}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _seen(values: str) -> dict[str, str]:
    """What is of the task among all that it sees: arguments under their own names."""
    found = json.loads(values)
    return {
        name.removeprefix("arg."): str(value) for name, value in found.items() if "." not in name or name[:4] == "arg."
    }


def _named(plan: Any, code: Any) -> tuple[str, int | None]:
    elements = _engine("model.runs.elements")
    if elements.is_element(code):
        return plan.tasks[elements.task_of(code)].name, int(elements.index_of(code))
    return plan.tasks[code].name, None


def _without_secrets(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The definition alone; a secret has asterisks as its value."""
    params = {
        name: "******" if isinstance(value, Mapping) and value.get("type") == "SECRET" else value
        for name, value in spec.get("params", {}).items()
    }
    return {**{name: value for name, value in spec.items() if name not in _HEAD}, "params": params}


def _interval(spec: Mapping[str, Any], moment: datetime, zone: str) -> Any:
    for schedule in spec.get("schedules", ())[:1]:
        intervals = _engine("model.time.intervals")
        return intervals.interval_at(intervals.FireRule(schedule["cron"], zone), moment)
    return None


def _engine(module: str) -> Any:
    """A module of Shoal: below `shoal` where that is installed, beside it in its repository, or of `shoal-model`.

    Raises:
        SdkError: none of them is installed.
    """
    for home in ("shoal.", "", "shoal_model."):
        try:
            importlib.import_module(home.rstrip(".") or "shoal")
            return importlib.import_module(home + module)
        except ModuleNotFoundError:
            continue
    raise SdkError("simulate runs by Shoal's own rules, and they are not installed here; pip install shoal-model")
