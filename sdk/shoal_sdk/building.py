"""A flow while its function is called to build it: the tasks that it has placed so far, and their order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from shoal_sdk.errors import WrongFlow
from shoal_sdk.options import TaskOptions
from shoal_sdk.refs import Origin, Ref, origin_of, refs_in
from shoal_sdk.types_of_values import UNKNOWN, Expression, local_type, plain

_now: ContextVar[Builder | None] = ContextVar("flow that is built", default=None)
_LOCAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(eq=False)
class Step:
    """A task of the flow that is built.

    `outputs` are the names and types of what it gives, None for one that may give anything. `parameters` are those of
    the flow, whose names a reference must not be taken for.
    """

    name: str
    type: str
    parameters: frozenset[str]
    params: dict[str, Any] = field(default_factory=dict)
    local_params: list[dict[str, Any]] = field(default_factory=list)
    after: dict[str, None] = field(default_factory=dict)
    options: TaskOptions = field(default_factory=TaskOptions)
    fields: dict[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Any] | None = None
    result: Any = UNKNOWN
    """Of a Python task: the annotation of what its function returns."""
    child: Any = None
    """Of a subflow: where its result is (`flows.Result`)."""

    def spec(self) -> dict[str, Any]:
        """As `tasks` of a workflow has it."""
        said: dict[str, Any] = {"name": self.name, "type": self.type, "params": self.params}
        if self.local_params:
            said["local_params"] = self.local_params
        if self.after:
            said["after"] = list(self.after)
        return {**said, **self.fields, **self.options.spec()}


class Builder:
    """The tasks of one flow, in the order of their calls."""

    def __init__(self, flow: str, parameters: Mapping[str, Any], project: str | None, defaults: TaskOptions) -> None:
        self.flow, self.project, self.defaults = flow, project, defaults
        self.parameters = frozenset(parameters)
        self.steps: list[Step] = []

    def place(self, name: str, type_: str, params: Mapping[str, Any], *, is_named: bool = True) -> Step:
        """Add a task. If its name is taken and was not chosen for it, a number is added.

        Raises:
            WrongFlow: the name is taken.
        """
        taken = {each.name for each in self.steps}
        if name in taken and is_named:
            raise WrongFlow(f'flow "{self.flow}" has two tasks "{name}"; give each a name of its own')
        free, number = name, 2
        while free in taken:
            free, number = f"{name}_{number}", number + 1
        step = Step(free, type_, self.parameters, dict(params))
        self.steps.append(step)
        return step

    def text_of(self, step: Step, value: Any, what: str) -> Any:
        """A value as `params` of a task has it: references as `${...}`, which it then comes after.

        Raises:
            WrongFlow: it is no JSON, or of another flow.
        """
        if isinstance(value, Ref):
            self.follow(step, [value])
            return origin_of(value).written()
        if isinstance(value, Mapping):
            return {str(name): self.text_of(step, each, what) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.text_of(step, each, what) for each in value]
        return str(value) if isinstance(value, Expression) else plain(value, what)

    def follow(self, step: Step, befores: Iterable[Any]) -> None:
        """Let a task come after those that give these values. Raises `WrongFlow` for values of another flow."""
        for ref in refs_in(list(befores)):
            before = origin_of(ref).step
            if before is None:
                continue
            if before not in self.steps:
                raise WrongFlow(f'task "{before.name}" is not of flow "{self.flow}"; call the task in this flow')
            if before is not step:
                step.after.setdefault(before.name)

    def give(self, step: Step, values: Mapping[str, Any]) -> None:
        """Give a SHELL or SQL task values by name, as its local parameters.

        Raises:
            WrongFlow: a name cannot be used.
        """
        for name, value in values.items():
            if not _LOCAL.fullmatch(name):
                raise WrongFlow(f'task "{step.name}": "{name}" is no name of a parameter; use letters, digits and _')
            if name in self.parameters:
                if isinstance(value, Ref) and origin_of(value).step is None and origin_of(value).base == name:
                    continue  # it is seen anyway
                raise WrongFlow(
                    f'task "{step.name}": "{name}" is a parameter of the flow, whose value at a start would win; give '
                    "the value another name"
                )
            said = self.text_of(step, value, f'task "{step.name}": the value "{name}"')
            type_ = local_type(origin_of(value).annotation if isinstance(value, Ref) else type(value))
            step.local_params.append({"name": name, **({"type": type_} if type_ else {}), "value": said})


def building() -> Builder | None:
    """The flow that is being built; None outside of one."""
    return _now.get()


def needed(what: str) -> Builder:
    """The same for a step that there is only in flows. Raises `WrongFlow` outside of one."""
    if (builder := _now.get()) is None:
        raise WrongFlow(f"{what} places a task in a flow and does nothing outside of one; call it in a @flow function")
    return builder


@contextmanager
def begun(builder: Builder) -> Iterator[None]:
    """For the block, calls of tasks place them in this flow."""
    token = _now.set(builder)
    try:
        yield
    finally:
        _now.reset(token)


def whole(step: Step) -> Ref:
    """What stands for all that a task such as SHELL gives."""
    return Ref(Origin(step, ""))


def steps_of(value: Any, what: str) -> list[Step]:
    """The tasks that one or several results stand for. Raises `WrongFlow` for anything else."""
    listed = value if isinstance(value, list | tuple) else [value]
    found = []
    for each in listed:
        if not isinstance(each, Ref) or (step := origin_of(each).step) is None:
            raise WrongFlow(f"{what} is {each!r}, and must be a task of this flow: what calling one returns")
        found.append(step)
    return found
