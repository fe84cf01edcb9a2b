"""Steps of flows that are no Python: shell scripts, SQL, requests, other workflows, and waits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

from shoal_sdk.building import Builder, Step, needed, whole
from shoal_sdk.errors import WrongFlow
from shoal_sdk.flows import Flow
from shoal_sdk.options import TaskOptions, Time
from shoal_sdk.refs import Origin, Ref
from shoal_sdk.types_of_values import UNKNOWN, out_type

R = TypeVar("R")
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)")
_REQUEST = frozenset({
    "headers", "user", "password", "query", "body", "timeout_s", "connect_timeout_s", "expected_status", "ca_file",
    "body_contains", "body_not_contains", "output_body_characters", "response_bytes_max", "follow_redirects", "verify",
})  # fmt: skip
"""Fields of an HTTP task that are no parameters of `http`."""
Outputs = Any
"""What stands for the values that a step gives: `counted.rows` is the one called `rows`."""


def shell(
    name: str,
    script: str,
    *,
    outputs: Mapping[str, type] | None = None,
    options: TaskOptions | None = None,
    after: Any = (),
    **values: Any,
) -> Outputs:
    """Run a bash script. It sees parameters of the flow as `${name}`, and so the values that are given by name.

    Args:
        outputs: names and types of the values that it prints by `#{setValue(name=value)}`.
        after: tasks that come before it without giving it anything.
        values: results of other tasks, or anything else.
    Raises:
        WrongFlow: outside of a flow, or for a value that cannot be given.
    """
    return _step("shell", name, "SHELL", {"script": script}, outputs, options, after, values)


def sql(
    name: str,
    datasource: str,
    statements: str | Sequence[str],
    *,
    outputs: Mapping[str, type] | None = None,
    as_list: bool = False,
    options: TaskOptions | None = None,
    after: Any = (),
    **values: Any,
) -> Outputs:
    """Run statements on a data source. Its outputs are the columns of the first row; `${name}` is a bound value.

    Args:
        as_list: each column is the list of its values.
        outputs, after, values: as for `shell`.
    Raises:
        WrongFlow: as for `shell`.
    """
    params: dict[str, Any] = {"datasource": datasource}
    params["sql"] = statements if isinstance(statements, str) else list(statements)
    if as_list:
        params["as_list"] = True
    return _step("sql", name, "SQL", params, outputs, options, after, values)


def http(
    name: str,
    url: str,
    *,
    method: str = "GET",
    outputs: Mapping[str, str] | None = None,
    options: TaskOptions | None = None,
    after: Any = (),
    **request: Any,
) -> Outputs:
    """Send a request. Its outputs are `status`, `body`, and those of `outputs`.

    Args:
        outputs: a name, and the path of its value in the response, such as `$.load.id`.
        request: other fields of an HTTP task: `headers`, `query`, `body`, `expected_status` and so on; results of
            tasks may stand anywhere in them. Another name, which one of its texts has as `${name}`, is a value.
    """
    builder = needed("http()")
    step = builder.place(name, "HTTP", {})
    named = set(_REFERENCE.findall(str([url, *request.values()]))) - _REQUEST
    builder.give(step, {each: value for each, value in request.items() if each in named})
    params = {"url": url, "method": method, **{each: v for each, v in request.items() if each not in named}}
    if outputs:
        params["outputs"] = dict(outputs)
    known = {"status": int, "body": str, **dict.fromkeys(outputs or (), UNKNOWN)}
    step.params = builder.text_of(step, params, f'task "{name}"')
    return _finished(builder, step, known, options, after)


def subflow(flow: Flow[..., R], *, name: str | None = None, after: Any = (), **params: Any) -> R:
    """Run another flow as a step, and wait for its end; what it returns is the result of the step.

    Args:
        params: of its start.
    Raises:
        WrongFlow: it has no such parameter.
    """
    builder = needed("subflow()")
    if not isinstance(flow, Flow):
        raise WrongFlow(f"subflow: {flow!r} is no flow; give a function with @flow")
    step = builder.place(name or flow.name, "SUB_PROCESS", {"workflow": flow.name}, is_named=name is not None)
    if flow.project is not None and flow.project != builder.project:
        step.params["project"] = flow.project
    if unknown := set(params) - set(flow.parameters):
        raise WrongFlow(f'flow "{flow.name}" has no parameter "{min(unknown)}"')
    if params:
        given = {each: value if isinstance(value, Ref) else flow.given(**{each: value}).params[each]
                 for each, value in params.items()}  # fmt: skip
        step.params["params"] = builder.text_of(step, given, f'task "{step.name}"')
    builder.follow(step, after if isinstance(after, list | tuple) else [after])
    result = flow.built().result
    if result is None:
        return cast(R, whole(step))
    if result.rival is not None:
        raise WrongFlow(
            f'flow "{flow.name}" returns "{result.name}" of task "{result.task}", and task "{result.rival}" gives one '
            "too; let the flow return the result of a @task that takes it"
        )
    step.child = result
    annotation = flow.hints.get("return", UNKNOWN)
    return cast(R, Ref(Origin(step, result.name, result.path, annotation, is_exact=result.is_json)))


def wait_for(
    workflow: Flow[..., Any] | str,
    *,
    cycle: str | None = None,
    at: str | None = None,
    project: str | None = None,
    task: str | None = None,
    timeout: Time | None = None,
    name: str | None = None,
    after: Any = (),
) -> Outputs:
    """Wait until a run of another workflow, or a task of it, has succeeded.

    Args:
        cycle: the span of time of its run, such as `today` or `last1Hours`; `today` if `at` is not given either.
        at: or the one time of its run, such as `same`, `-1d` or `yesterday 06:00`.
        timeout: how long it waits at most.
    """
    builder = needed("wait_for()")
    if not isinstance(workflow, str | Flow):
        raise WrongFlow(f"wait_for: {workflow!r} is no flow; give a function with @flow, or a workflow's name")
    other = workflow if isinstance(workflow, str) else workflow.name
    project = project or (None if isinstance(workflow, str) else workflow.project)
    given = {"workflow": other, "project": project, "task": task, "at": at}
    item = {field: value for field, value in given.items() if value is not None}
    if at is None:
        item["cycle"] = cycle or "today"
    step = builder.place(name or f"wait_for_{other}", "DEPENDENT", {"groups": [{"items": [item]}]},
                         is_named=name is not None)  # fmt: skip
    options = None if timeout is None else TaskOptions(timeout=timeout)
    return _finished(builder, step, None, options, after)


def wait_until(
    name: str,
    *,
    every: Time = "30s",
    timeout: Time | None = None,
    on_timeout: Literal["FAIL", "SKIP"] = "FAIL",
    options: TaskOptions | None = None,
    after: Any = (),
    **what: Any,
) -> Outputs:
    """Wait until something is there: exactly one of `file`, `s3`, `http`, `sql`, `script`, `time`.

    Args:
        every: the pause between two looks.
        timeout: how long it waits at most; None: for ever.
        what: as a WAIT task has it under `for`.
    Raises:
        WrongFlow: not exactly one is given.
    """
    if len(what) != 1 or not set(what) <= {"file", "s3", "http", "sql", "script", "time"}:
        raise WrongFlow(f'wait_until "{name}": give exactly one of file, s3, http, sql, script and time')
    builder = needed("wait_until()")
    step = builder.place(name, "WAIT", {})
    params = {"for": what, "every": every, "on_timeout": on_timeout}
    if timeout is not None:
        params["timeout"] = timeout
    step.params = builder.text_of(step, params, f'task "{name}"')
    return _finished(builder, step, None, options, after)


def _step(
    kind: str,
    name: str,
    type_: str,
    params: Mapping[str, Any],
    outputs: Mapping[str, Any] | None,
    options: TaskOptions | None,
    after: Any,
    values: Mapping[str, Any],
) -> Ref:
    builder = needed(f"{kind}()")
    step = builder.place(name, type_, params)
    builder.give(step, values)
    if type_ == "SHELL":
        for out, annotation in (outputs or {}).items():
            said = out_type(annotation)
            typed = {} if annotation is str else {"type": said}
            step.local_params.append({"name": out, "direct": "OUT", **typed})
    return _finished(builder, step, outputs, options, after)


def _finished(
    builder: Builder, step: Step, outputs: Mapping[str, Any] | None, options: TaskOptions | None, after: Any
) -> Ref:
    step.outputs = outputs
    step.options = options or TaskOptions()
    builder.follow(step, after if isinstance(after, list | tuple) else [after])
    return whole(step)
