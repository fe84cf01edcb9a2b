"""`@task`: a Python function that is a task of flows, and outside of them what it was."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from shoal_sdk.building import Builder, Step, building
from shoal_sdk.code import Call
from shoal_sdk.errors import WrongFlow
from shoal_sdk.options import Priority, TaskOptions, Time, options_of
from shoal_sdk.refs import Origin, Ref, origin_of
from shoal_sdk.types_of_values import (
    UNKNOWN,
    Expression,
    check_arrival,
    check_names,
    has_files,
    hints_of,
    is_text,
    out_type,
    plain,
)

P = ParamSpec("P")
R = TypeVar("R")
RESULT = "result"
"""The name under which a Python task gives what its function returned."""


class Task(Generic[P, R]):
    """A function with options; made by `@task`."""

    def __init__(self, function: Callable[P, R], options: TaskOptions, name: str | None = None) -> None:
        self.function, self.options = function, options
        self.name = name or function.__name__
        self.is_named = name is not None
        update_wrapper(self, function)
        self._signature = inspect.signature(function)
        check_names(f'task "{self.name}"', self._signature)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Outside of a flow the function itself; in one, place a task, and return what stands for its result."""
        if (builder := building()) is None:
            return self.function(*args, **kwargs)
        return cast(R, self.placed(builder, self.bound(*args, **kwargs)))

    def with_options(self, **options: Any) -> Task[P, R]:
        """The same task with other options, and with another `name`; see `TaskOptions`."""
        name = options.pop("name", self.name if self.is_named else None)
        return Task(self.function, options_of(options, f'task "{self.name}"').over(self.options), name)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The annotation of each parameter of the function, by name."""
        hints = hints_of(self.function)
        return {name: hints.get(name, UNKNOWN) for name in self._signature.parameters}

    def placed(self, builder: Builder, given: Mapping[str, Any]) -> Ref:
        """Place the task with these arguments, as `bound` has them. Raises `WrongFlow` for one that cannot travel."""
        step = builder.place(self.name, "PYTHON", {}, is_named=self.is_named)
        step.options = self.options
        step.result = hints_of(self.function).get("return", UNKNOWN)
        for name, value in given.items():
            if is_data(value):
                what = f'task "{step.name}": the argument "{name}"'
                check_arrival(value, self.parameters[name], what)
        arguments = {name: self._argument(builder, step, name, value) for name, value in given.items()}
        step.local_params.append({"name": RESULT, "direct": "OUT", "type": out_type(step.result)})
        step.params["script"] = Call(
            self.function, arguments, is_text=is_text(step.result), has_files=has_files(step.result)
        )
        options = self.options.over(builder.defaults)
        if options.interpreter is not None:
            step.params["interpreter"] = options.interpreter
        if options.requirements:
            step.params["requirements"] = list(options.requirements)
        path = ("text",) if is_text(step.result) else ()
        return Ref(Origin(step, RESULT, path, step.result, is_exact=True))

    def bound(self, *args: Any, **kwargs: Any) -> Mapping[str, Any]:
        """Arguments by name. Raises `WrongFlow` for too few or too many."""
        try:
            return self._signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise WrongFlow(f'task "{self.name}": {error}; it takes {self._signature}') from None

    def _argument(self, builder: Builder, step: Step, name: str, value: Any) -> str:
        """The expression by which a script has an argument; what only the run knows becomes a local parameter."""
        if isinstance(value, list | tuple):
            inner = [self._argument(builder, step, f"{name}.{place}", each) for place, each in enumerate(value)]
            return f"[{', '.join(inner)}]"
        if isinstance(value, Mapping):
            inner = [
                f"{str(key)!r}: {self._argument(builder, step, f'{name}.{place}', each)}"
                for place, (key, each) in enumerate(value.items())
            ]
            return f"{{{', '.join(inner)}}}"
        local = f"arg.{name}"
        if isinstance(value, Expression):
            step.local_params.append({"name": local, "type": "TEXT", "value": str(value)})
            return f"_shoal.text({local!r})"
        if not isinstance(value, Ref):
            return repr(plain(value, f'task "{step.name}": the argument "{name}"'))
        origin = origin_of(value)
        builder.follow(step, [value])
        if origin.is_secret:
            return f"_shoal.secret('SHOAL_PARAM_{origin.base}')"
        if origin.step is not None and not origin.base:
            raise WrongFlow(
                f'task "{step.name}": the argument "{name}" is all of task "{origin.step.name}"; name one of its '
                "outputs, as in counted.rows, or order them by depends_on"
            )
        if has_files(origin.annotation) or has_files(self.parameters.get(name.partition(".")[0])):
            step.local_params.append({"name": local, "type": "JSON", "value": origin.written()})
            return f"_shoal.value({local!r})"
        if not origin.is_exact:
            step.local_params.append({"name": local, "type": "TEXT", "value": origin.written()})
            return f"_shoal.{'text' if is_text(origin.annotation) else 'written'}({local!r})"
        # The whole result travels, and the script goes along the path: so each part keeps its type.
        whole = Origin(origin.step, origin.base)
        step.local_params.append({"name": local, "type": "TEXT", "value": whole.written()})
        path = "".join(f", {each!r}" for each in origin.path)
        return f"_shoal.{'texts' if origin.of_texts else 'value'}({local!r}{path})"


def is_data(value: Any) -> bool:
    """Whether a value is known before the run: there is no result, parameter or expression in it."""
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(is_data, value))
    if isinstance(value, Mapping):
        return all(map(is_data, value.values()))
    return not isinstance(value, Ref | Expression)


@overload
def task(function: Callable[P, R], /) -> Task[P, R]: ...
@overload
def task(
    *,
    name: str | None = None,
    retries: int | None = None,
    retry_every: Time | None = None,
    timeout: Time | None = None,
    pool: Mapping[str, int] | None = None,
    priority: Priority | None = None,
    cache: bool | None = None,
    worker_group: str | None = None,
    environment: str | None = None,
    skip_exit_codes: tuple[int, ...] | None = None,
    description: str | None = None,
    group: str | None = None,
    interpreter: str | None = None,
    requirements: list[str] | tuple[str, ...] | None = None,
    fields: Mapping[str, Any] | None = None,
) -> Callable[[Callable[P, R]], Task[P, R]]: ...
def task(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a function a task of flows; with options or without.

    The result is sent as JSON: models of pydantic, dataclasses, dates and plain data. Annotate what the function
    returns: later tasks get it with its type.

    Args:
        name: of the task in a flow; else that of the function.
        options: those of `TaskOptions`.
    Raises:
        WrongFlow: an option that there is not, or a function whose parameters cannot be given by name.
    """
    if function is not None:
        return Task(function, TaskOptions())
    name = options.pop("name", None)
    given = {each: value for each, value in options.items() if value is not None}
    return lambda decorated: Task(decorated, options_of(given, f'task "{decorated.__name__}"'), name)
