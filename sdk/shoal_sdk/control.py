"""Which tasks of a flow run, how often, and after what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

from shoal_sdk.building import Step, needed, steps_of, whole
from shoal_sdk.errors import WrongFlow
from shoal_sdk.refs import Condition, Origin, Ref, origin_of
from shoal_sdk.tasks import Task
from shoal_sdk.types_of_values import UNKNOWN, is_text

R = TypeVar("R")
T = TypeVar("T")


def branch(condition: Any, *, then: Any, otherwise: Any = (), name: str | None = None) -> None:
    """Let tasks run only if a condition holds, and others only if it does not. The rest is skipped, with all that
    depends only on it. The decision falls when all that these tasks need is there.

    Args:
        condition: a comparison of results such as `loaded.bad > 100`, joined by `&`, `|` and `~`, or `cel(...)`.
        then: the tasks that run if it holds: what calling them returned, one or several.
        otherwise: the tasks that run if it does not.
        name: of the task that decides; else branch, branch_2 and so on.
    Raises:
        WrongFlow: the condition is none, or something else than a task is given.
    """
    builder = needed("branch()")
    if not isinstance(condition, Condition):
        raise WrongFlow(f"branch: {condition!r} is no condition; compare a result, as in loaded.bad > 100")
    chosen, others = steps_of(then, "branch: then"), steps_of(otherwise, "branch: otherwise")
    if not chosen:
        raise WrongFlow("branch: then names no task; give at least one, and write ~(condition) to swap the branches")
    params: dict[str, Any] = {"cases": [{"when": condition.cel, "then": [each.name for each in chosen]}]}
    if others:
        params["default"] = [each.name for each in others]
    switch = builder.place(name or "branch", "SWITCH", params, is_named=name is not None)
    builder.follow(switch, condition.refs)
    gated = [*chosen, *others]
    inside = _with_all_after(builder.steps, gated)
    for step in gated:
        if any(each.type == "SWITCH" and each.name in step.after for each in builder.steps):
            raise WrongFlow(f'branch: "{step.name}" is in another branch already; join the two conditions by &')
        # A task begins as soon as one of those before it succeeded: so none but the decision may be before it.
        for before in [each for each in builder.steps if each.name in step.after and each not in inside]:
            del step.after[before.name]
            builder.follow(switch, [whole(before)])
        builder.follow(step, [whole(switch)])


def _with_all_after(steps: Sequence[Step], first: Sequence[Step]) -> list[Step]:
    """These tasks, and all that come after them, directly or not."""
    found = list(first)
    for step in found:  # grows meanwhile
        found += [each for each in steps if step.name in each.after and each not in found]
    return found


def each(
    task: Task[..., R],
    /,
    *,
    given: Mapping[str, Any] | None = None,
    parallel: int | None = None,
    on_failure: Literal["continue", "stop"] = "continue",
    **over: Any,
) -> list[R]:
    """Run a task once for each element of a list, and return the list of the results.

    Args:
        over: the parameter that gets an element, and the list: a result, a parameter or plain data.
        given: its other arguments, the same for all.
        parallel: how many elements run at once at most; None: 1,000.
        on_failure: whether others still begin after one has failed.
    Raises:
        WrongFlow: not exactly one list is given.
    """
    builder = needed("each()")
    if not isinstance(task, Task):
        raise WrongFlow(f"each: {task!r} is no task; give a function with @task")
    if len(over) != 1:
        raise WrongFlow(f'each: give "{task.name}" exactly one list by name, and its other arguments in given={{...}}')
    ((name, elements),) = over.items()
    if not isinstance(elements, Ref | list | tuple | set | frozenset):
        raise WrongFlow(f'each: "{name}" is {elements!r}, and must be a list, or the result or parameter that has one')
    if name in (given or {}):
        raise WrongFlow(f'each: "{name}" is in given={{...}} too, which has the other arguments; remove it there')
    element = Ref(Origin(None, "each", (), task_hint(task, name)))
    ref = origin_of(task.placed(builder, task.bound(**{name: element}, **(given or {}))))
    step = ref.step
    assert step is not None, "a task was placed"
    said: dict[str, Any] = {"over": builder.text_of(step, elements, f'each: the list "{name}"')}
    if parallel is not None:
        said["parallel"] = parallel
    if on_failure != "continue":
        said["on_failure"] = on_failure
    step.fields["each"] = said
    texts = is_text(step.result)
    whole_list = list if step.result is UNKNOWN else list[step.result]  # type: ignore[name-defined]
    return cast("list[R]", Ref(Origin(step, ref.base, (), whole_list, is_exact=True, of_texts=texts)))


def task_hint(task: Task[..., Any], name: str) -> Any:
    """The annotation of a parameter of a task. Raises `WrongFlow`: it has none of that name."""
    parameters = task.parameters
    if name not in parameters:
        raise WrongFlow(f'each: task "{task.name}" has no parameter "{name}"; it has {", ".join(parameters) or "none"}')
    return parameters[name]


def when_done(*befores: Any, do: T) -> T:
    """Let a task run when others have ended, however they ended: also after failures. Returns it.

    Raises:
        WrongFlow: something else than a task is given, or no task before it.
    """
    builder = needed("when_done()")
    for step in steps_of(do, "when_done: do"):
        builder.follow(step, [whole(before) for before in steps_of(befores, "when_done")])
        if not step.after:
            raise WrongFlow(f'when_done: "{step.name}" comes after no task; name those that must have ended')
        step.fields["start_when"] = "all_done"
    return do


def depends_on(task: T, *befores: Any) -> T:
    """Let a task come after others that give it nothing. Returns it. Raises `WrongFlow` for what is no task."""
    builder = needed("depends_on()")
    for step in steps_of(task, "depends_on"):
        builder.follow(step, [whole(before) for before in steps_of(befores, "depends_on")])
    return task
