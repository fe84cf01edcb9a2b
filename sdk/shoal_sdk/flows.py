"""`@flow`: a function that says which tasks a workflow has, by calling them. It runs on the author's machine."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, overload

from pydantic import SecretStr

from shoal_sdk.building import Builder, Step, begun, building
from shoal_sdk.code import Bundle, Call, Code, address_of, bundle_of
from shoal_sdk.definition_text import yaml_of
from shoal_sdk.errors import WrongFlow
from shoal_sdk.notebook import graph_of, svg
from shoal_sdk.options import TaskOptions, Time
from shoal_sdk.refs import Origin, Path, Ref, origin_of
from shoal_sdk.times import Cron
from shoal_sdk.types_of_values import UNKNOWN, as_text, check_names, declared, hints_of

P = ParamSpec("P")
R = TypeVar("R")
RETURNED = "returned"
"""The name under which the run of a flow gives what its function returns."""


@dataclass(frozen=True)
class Result:
    """Where the result of a flow is: the value `out` of the task `task`, and the path into its JSON. `name` is the
    value of the run for a flow above; `rival` is another task that gives a value of that name."""

    task: str
    out: str
    path: Path
    name: str
    is_json: bool
    of_texts: bool = False
    rival: str | None = None


@dataclass(frozen=True)
class Built:
    """A flow as a definition."""

    spec: dict[str, Any]
    files: Mapping[str, bytes]
    """What it needs of its project, by path."""
    result: Result | None
    steps: Sequence[Step]


@dataclass(frozen=True)
class Start(Generic[R]):
    """A flow with arguments, ready to be started; made by `Flow.given`."""

    flow: Flow[..., R]
    params: Mapping[str, str]


class Flow(Generic[P, R]):
    """A workflow; made by `@flow`."""

    def __init__(self, function: Callable[P, R], name: str | None, code: Code, head: Mapping[str, Any]) -> None:
        self.function, self.code = function, code
        self.name = name or function.__name__
        self.project: str | None = head.get("project")
        self._defaults: TaskOptions = head.get("defaults") or TaskOptions()
        self._head = head
        update_wrapper(self, function)
        self._signature = inspect.signature(function)
        check_names(f'flow "{self.name}"', self._signature)
        self.parameters = tuple(self._signature.parameters)
        self.hints = hints_of(function)
        self._is_building = False

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function: its Python tasks run here, one after the other, as plain functions."""
        if building() is not None:
            raise WrongFlow(f"a flow is no task; write subflow({self.name}, ...) to run it as a step")
        return self.function(*args, **kwargs)

    def given(self, *args: P.args, **kwargs: P.kwargs) -> Start[R]:
        """The flow with arguments, for `Client.run`. Those left out are as the definition says.

        Raises:
            WrongFlow: an argument does not fit.
        """
        try:
            bound = self._signature.bind_partial(*args, **kwargs).arguments
        except TypeError as error:
            raise WrongFlow(f'flow "{self.name}": {error}; it takes {self._signature}') from None
        said = {
            name: as_text(value, self.hints.get(name, UNKNOWN), f'flow "{self.name}": the argument "{name}"')
            for name, value in bound.items()
        }
        return Start(self, said)

    def spec(self, project: str | None = None) -> dict[str, Any]:
        """The definition, as the API takes it: JSON with the fields of a workflow's file.

        Args:
            project: for a flow that names none.
        Raises:
            WrongFlow: something in it is wrong.
        """
        return self.built(project).spec

    def yaml(self, project: str | None = None) -> str:
        """The same as a file for `shoal workflow apply`; the same flow always gives the same bytes."""
        return yaml_of(self.spec(project))

    def _repr_svg_(self) -> str:
        """What a notebook shows: the graph. Raises `WrongFlow`."""
        return svg(graph_of(self.spec()))

    def built(self, project: str | None = None) -> Built:
        """The definition with the files that it needs, and where its result is. Raises `WrongFlow`."""
        if self._is_building:
            raise WrongFlow(f'flow "{self.name}" contains itself; a workflow cannot be a step of itself')
        project = self.project or project
        builder = Builder(self.name, self._signature.parameters, project, self._defaults)
        self._is_building = True
        try:
            with begun(builder):
                returned = self.function(**self._parameters())  # type: ignore[call-arg]
        finally:
            self._is_building = False
        if not builder.steps:
            raise WrongFlow(f'flow "{self.name}" calls no task; call one in its function')
        result = self._result(builder, returned)
        self._check_names(builder)
        bundle = bundle_of(self.code, self.function)
        content = bundle.files() if bundle is not None else {}
        folder = f"sdk/{address_of(content)}" if bundle is not None else None
        tasks = []
        for step in builder.steps:
            if isinstance(call := step.params.get("script"), Call):
                step.params["script"] = call.script(self.code, bundle, folder)
                if folder is not None:
                    step.fields["files"] = [f"{folder}/"]
            tasks.append(step.spec())
        files = {f"{folder}/{path}": each for path, each in content.items()}
        return Built({**self._written_head(project), **_outputs(result), "tasks": tasks}, files, result, builder.steps)

    def _check_names(self, builder: Builder) -> None:
        """What a task gives would be seen in place of a parameter of the same name."""
        for step in builder.steps:
            if taken := sorted(_given_by(step) & set(self.parameters)):
                raise WrongFlow(
                    f'flow "{self.name}": its parameter "{taken[0]}" has the name of what task "{step.name}" gives; '
                    "rename the parameter"
                )

    def _parameters(self) -> dict[str, Any]:
        given = {}
        for name in self._signature.parameters:
            hint = self.hints.get(name, UNKNOWN)
            is_secret = isinstance(hint, type) and issubclass(hint, SecretStr)
            given[name] = Ref(Origin(None, name, (), hint, is_secret=is_secret))
        return given

    def _written_head(self, project: str | None) -> dict[str, Any]:
        head = self._head
        said: dict[str, Any] = {"name": self.name}
        if project is not None:
            said["project"] = project
        if text := inspect.getdoc(self.function):
            said["description"] = text
        schedules = head.get("schedule")
        if schedules is not None:
            listed = [schedules] if isinstance(schedules, Cron) else schedules
            said["schedules"] = [each.spec() for each in listed]
        if tags := list(head.get("tags") or ()):
            said["tags"] = tags
        if head.get("serial"):
            said["execution_type"] = "SERIAL_WAIT"
        if head.get("time_zone"):
            said["time_zone"] = head["time_zone"]
        if head.get("timeout") is not None:
            said |= {"timeout_minutes": head["timeout"], "timeout_strategy": "FAILED"}
        if defaults := self._defaults.spec():
            said["defaults"] = defaults
        params = {
            each.name: declared(each.name, self.hints.get(each.name, UNKNOWN), each.default)
            for each in self._signature.parameters.values()
        }
        if params:
            said["params"] = params
        return {**said, **(head.get("fields") or {})}

    def _result(self, builder: Builder, returned: Any) -> Result | None:
        """Where the result is: what the function returns must come from one task."""
        if returned is None:
            return None
        origin = origin_of(returned) if isinstance(returned, Ref) else None
        if origin is not None and origin.step is not None and not origin.base:
            raise WrongFlow(
                f'flow "{self.name}" returns all of task "{origin.step.name}"; return one of its outputs, as in '
                "counted.rows"
            )
        if origin is None or origin.step is None or not origin.base or origin.step not in builder.steps:
            raise WrongFlow(
                f'flow "{self.name}" returns {returned!r}; return the result of one of its tasks, or nothing'
            )
        step, others = origin.step, [each for each in builder.steps if each is not origin.step]
        if not origin.is_exact or step.child is not None:  # such as a column of sql()
            rival = next((each.name for each in others if origin.base in _given_by(each)), None)
            return Result(step.name, origin.base, origin.path, origin.base, origin.is_exact, rival=rival)
        taken = {name for each in others for name in _given_by(each)}
        name = next(each for each in _returned_names() if each not in taken)
        call = step.params["script"]
        call.names = (*call.names, name)
        out = next(each for each in step.local_params if each.get("direct") == "OUT")
        step.local_params.append({**out, "name": name})
        return Result(step.name, origin.base, origin.path, name, is_json=True, of_texts=origin.of_texts)


def _given_by(step: Step) -> set[str]:
    """The names of what a task gives, as far as the flow says."""
    named = {each["name"] for each in step.local_params if each.get("direct") == "OUT"} | set(step.outputs or ())
    return named | ({step.child.name} if step.child is not None else set())


def _returned_names() -> Iterator[str]:
    """`returned`, and others for a flow whose subflows give that too: its run would give one of these values."""
    yield RETURNED
    yield from (f"{RETURNED}_{number}" for number in itertools.count(2))


def _outputs(result: Result | None) -> dict[str, Any]:
    return {} if result is None else {"outputs": [result.name]}


@overload
def flow(function: Callable[P, R], /) -> Flow[P, R]: ...
@overload
def flow(
    *,
    name: str | None = None,
    project: str | None = None,
    schedule: Cron | Sequence[Cron] | None = None,
    serial: bool = False,
    time_zone: str | None = None,
    timeout: Time | None = None,
    tags: Sequence[str] = (),
    defaults: TaskOptions | None = None,
    code: Code = "inline",
    fields: Mapping[str, Any] | None = None,
) -> Callable[[Callable[P, R]], Flow[P, R]]: ...
def flow(function: Callable[..., Any] | None = None, /, *, name: str | None = None, **head: Any) -> Any:
    """Make a function a workflow: the tasks that it calls are its tasks, its parameters those of a start.

    Args:
        name: of the workflow; else that of the function.
        project: else that of the deployment.
        schedule: when it starts; see `cron`.
        serial: whether one run waits for the end of the one before.
        timeout: how long a run may take; then it fails.
        defaults: options of its tasks that say nothing else.
        code: how its Python reaches the workers: `inline`, its file stands in the scripts; `bundle`, the modules
            beside it travel with it, or those that `bundle()` names; `installed`, they have it.
        fields: any other field of a workflow of Shoal, by its name there.
    """
    code = head.pop("code", "inline")
    if not isinstance(code, Bundle) and code not in ("inline", "bundle", "installed"):
        raise WrongFlow(f'flow: code is {code!r}; it is "inline", "bundle", "installed" or what bundle() returns')
    if function is not None:
        return Flow(function, name, code, head)
    return lambda decorated: Flow(decorated, name, code, head)
