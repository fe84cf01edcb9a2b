"""The whole import of DAGs: files in, files and a report out; nothing of them is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from importers import documents
from importers.airflow import dags, joins, schedules, tasks
from importers.airflow.flow import Flow, result_of, task_name, workflow_name
from importers.airflow.functions import gives_container
from importers.airflow.inputs import Inputs
from importers.airflow.reader import Reader
from importers.airflow.templates import Templates, is_path
from importers.airflow.values import Dag, Function, Operator, Output, Parameter, Unknown
from importers.catalog import Names
from importers.imported import Imported, Origin, finished
from importers.passwords import Hidden, Passwords
from importers.report import Report
from service.workflows.workflow_file import TaskTypes

_PULL = re.compile(r"xcom_pull\(([^)]*)\)")
_QUOTED = r"['\"]([^'\"]+)['\"]"


@dataclass(frozen=True)
class Options:
    """What a person asked for: whether schedules are to fire once they are saved, and the project of the workflows."""

    online: bool = False
    project: str = documents.DEFAULT_PROJECT


DEFAULTS = Options()


def import_dags(
    files: Sequence[tuple[str, bytes]],
    types: TaskTypes,
    options: Options = DEFAULTS,
    stored: Sequence[tuple[str, bytes]] = (),
) -> Imported:
    """Import DAGs.

    Args:
        files: name and content of each DAG file.
        types: the task types that there are.
        options: what a person asked for.
        stored: name and content of files with serialized DAGs; of the DAG files they have what is not in these.
    """
    work = Inputs()
    for file, data in files:
        work.read(file, data)
    for file, data in stored:
        work.read_serialized(file, data)
    work.say_empty()
    report, passwords = work.report, work.passwords
    parents = {
        child: dag
        for dag, _, _ in work.found
        for each in dag.tasks
        if isinstance(child := each.given.get("subdag"), Dag)
    }
    flows = [_flow(dag, reader, file, report, passwords, parents) for dag, reader, file in work.found]
    made = [(flow, _content(flow, options)) for flow in flows]
    named: dict[str, int] = {}
    written: dict[str, str] = {}
    pools: dict[str, int] = {}
    paths = documents.file_names(flow.name for flow, _ in made)
    for path, (flow, content) in zip(paths, made, strict=True):
        named[flow.name] = named.get(flow.name, 0) + 1
        if named[flow.name] > 1:
            flow.about.todo("dag_id", f'another DAG has its name "{flow.name}"; rename one of them')
        checked = documents.reported(content, types, flow.about)
        for pool, places in flow.pools.items():
            pools[pool] = max(places, pools.get(pool, 1))
        todos = report.todos(flow.about.file, flow.about.workflow)
        text = documents.written(content, checked, todos)
        written[path] = passwords.masked(text) if passwords.has(text) else text
    if pools:
        written[documents.POOLS] = documents.pools_file(pools)
    origins = {
        path: Origin(options.project, flow.name, flow.about.file, flow.about.workflow)
        for path, flow in zip(paths, flows, strict=True)
    }
    return finished(written, report, Names({}), origins)


def _flow(
    dag: Dag, reader: Reader, file: str, report: Report, passwords: Passwords, parents: Mapping[Dag, Dag]
) -> Flow:
    name = workflow_name(dag.id or f"dag_of_line_{dag.line}")
    about = report.about(file, dag.id or name)
    about.begin("a workflow")
    if dag.is_named_by_file:
        about.changed("dag_id", f"line {dag.line}: it is named after its file, as it was at the import")
    if not dag.id:
        about.todo("dag_id", f"line {dag.line}: its dag_id is not known; name it")
    elif reader.is_told(dag.id):
        about.todo("dag_id", f"line {dag.line}: its dag_id {dag.id} has a variable in it; name it")
    names: dict[Operator, str] = {}
    for operator in dag.tasks:
        wanted = task_name(operator.id)
        unique, number = wanted, 2
        while unique in names.values():
            unique, number = f"{wanted}_{number}", number + 1
        names[operator] = unique
    if renamed := next((name for task, name in names.items() if name != task.id.replace(".", "_")), None):
        about.changed("task_id", f'its tasks have names that ${{name.result}} can hold, such as "{renamed}": _, not -')
    for operator, unique in names.items():
        for other in [each for each in operator.before if each not in names]:
            operator.before.remove(other)
            sentence = f'line {operator.line}: it comes after "{other.id}", which is a task of another DAG'
            about.of_task(unique).todo("after", sentence)
    top = dag
    while top in parents:
        top = parents[top]
    intervals = schedules.has_intervals(top, is_third=reader.is_third(top))
    if top is not dag:  # only its parent starts it
        dag.given |= dict.fromkeys(schedules.SCHEDULES)
    step, zone = schedules.step_of(top), schedules.zone_of(top)
    templates = Templates(intervals, dag.id, lambda id_, path: result_of(names, id_, path), step, zone)
    templates.gives_container = lambda id_: any(each.id == id_ and gives_container(each) for each in names)
    params = dag.given.get("params")
    listed = params.items() if isinstance(params, dict) else ()
    templates.given = {str(key): each.default if isinstance(each, Parameter) else each for key, each in listed}
    flow = Flow(dag, reader, name, about, templates, passwords, names)
    flow.pulled = set(_pulled(flow))
    tasks.drafts_of(flow, passwords)
    return flow


def _content(flow: Flow, options: Options) -> dict[str, Any]:
    is_third = flow.reader.is_third(flow.dag)
    dags.convert(flow, is_third=is_third, online=options.online)
    for operator in list(flow.dag.tasks):
        tasks.convert(operator, flow)
    tasks.unread(flow)
    _after_what_is_used(flow)
    tasks.gated(flow)
    tasks.roots(flow)
    joins.say(flow)
    if "after_last" in flow.fields and flow.fields.pop("execution_type", None) is not None:
        flow.fields.pop("max_active", None)
        flow.about.changed("max_active_runs", "its dates run one by one, by after_last")
    if not flow.dag.tasks:
        flow.about.todo("", "it has no task that is known")
    if flow.templates.uses_days:
        _say_of_days(flow, is_third)
    _variables(flow)
    if flow.templates.uses_run_type:
        flow.params["run_type"] = "manual"
        for schedule in flow.fields.get("schedules", ()):
            schedule["params"] = {"run_type": "scheduled"}
    hidden = Hidden(flow.passwords)
    listed = [hidden.without(draft.content()) for draft in _in_order(flow)]
    params = hidden.without(flow.params)
    for secret in sorted(set(hidden.names.values())):
        flow.about.todo("params", f'a password was found, and is not written: give it as the secret "{secret}"')
        params[secret] = {"type": "SECRET"}
    fields = flow.fields
    return {
        **documents.head_of(flow.name, options.project),
        **fields,
        **({"params": params} if params else {}),
        "tasks": listed,
    }


def _after_what_is_used(flow: Flow) -> None:
    """A task comes after those whose results it uses: Airflow gives what is there by then, or None."""
    by_name = {name: operator for operator, name in flow.names.items()}
    drafts = [(draft, str((draft.params, draft.fields))) for draft in flow.drafts.values()]
    for name in (each for each in by_name if not is_path(each)):
        for draft in (draft for draft, text in drafts if f"${{{name}." in text):
            draft.about.todo("xcom_pull", f'no ${{...}} can have the name "{name}": give that task one of a-z, 0-9, _')
    for operator in flow.dag.tasks:
        draft = flow.drafts[operator]
        text = str((draft.params, draft.fields))
        for name, other in by_name.items():
            if f"${{{name}." not in text or other is operator or other in flow.before(operator):
                continue
            if operator in flow.before(other):
                draft.about.todo("xcom_pull", f'it uses a result of "{name}", which comes after it')
                continue
            operator.before.append(other)
            draft.after.append(name)
            draft.about.changed("xcom_pull", f'it comes after "{name}" too, since it uses its result')


def _in_order(flow: Flow) -> list[Any]:
    """The drafts: each SWITCH directly after the task that chooses."""
    gates = {draft.after[0]: draft for operator, draft in flow.drafts.items() if operator not in flow.names}
    found = []
    for operator in flow.dag.tasks:
        draft = flow.drafts[operator]
        found += [draft, gates[draft.name]] if draft.name in gates else [draft]
    return found


def _variables(flow: Flow) -> None:
    """The variables that its texts name: parameters that a start or the project must give."""
    text = str([(draft.params, draft.fields) for draft in flow.drafts.values()])
    own = {name: default for name, default in flow.reader.variables.items() if f"${{{name}}}" in text}
    for name in sorted({*own, *flow.templates.variables}):
        if name not in flow.params:
            default = flow.templates.defaults.get(name) if own.get(name) is None else own[name]
            flow.params[name] = {"type": "VARCHAR", "required": True} if default is None else default
            flow.about.changed(
                "Variable",
                f'the variable "{name}" is a parameter; give it to the project: shoal project set {name}=VALUE',
            )
    for name in sorted(flow.templates.params & flow.params.keys() & flow.templates.defaults.keys()):
        declared, default = flow.params[name], flow.templates.defaults[name]
        if str(declared.get("value") if isinstance(declared, dict) else declared) != default:
            sentence = f'where no start gives "{name}", it is what params say, and not the default {default} of get()'
            flow.about.changed("params", sentence)
    for name in sorted(flow.templates.params - flow.params.keys()):
        if (default := flow.templates.defaults.get(name)) is not None:
            flow.params[name] = default
            continue
        flow.params[name] = {"type": "JSON" if name in flow.templates.trees else "VARCHAR", "required": True}
        say = flow.about.todo if flow.dag.is_group else flow.about.changed
        say("params", f'the parameter "{name}" has no default; a start must give it')


def _say_of_days(flow: Flow, is_third: bool) -> None:
    zone = schedules.zone_of(flow.dag)
    if zone != "UTC":
        flow.about.changed("ds", f"days and times of a run are those of {zone}; in Airflow `ds` is the day in UTC")
    if is_third and isinstance(found := schedules.schedule_of(flow.dag), str | timedelta):
        option = f"create_{'cron' if isinstance(found, str) else 'delta'}_data_intervals"
        flow.about.changed("ds", f"`ds` is the day of the run, as in Airflow 3 without {option}")


def _pulled(flow: Flow) -> Iterator[tuple[str, str]]:
    """The tasks and keys of results that somebody uses."""
    for operator in flow.dag.tasks:
        for part in _parts_of([operator.given, operator.over]):
            match part:
                case Output(of, path):
                    yield of.id, re.split(r"[.\[]", path)[0]
                case Operator():
                    yield part.id, "return_value"
        nodes = [operator.function.node] if operator.function is not None else []
        callable_ = operator.given.get("python_callable")
        nodes += [callable_.node] if isinstance(callable_, Function) else []
        parts = list(_parts_of(operator.given))
        texts = [part.text if isinstance(part, Unknown) else part for part in parts if isinstance(part, str | Unknown)]
        texts += [ast.unparse(node) for node in nodes]
        for given in (match[1] for text in texts for match in _PULL.finditer(text)):
            key = re.search(rf"key\s*=\s*{_QUOTED}", given)
            for task in re.findall(_QUOTED, given.replace(key[0], "") if key else given):
                yield task, (key[1] if key else "return_value").partition(".")[0]


def _parts_of(value: Any) -> Iterator[Any]:
    """What is in the lists and mappings of a value, at any depth."""
    match value:
        case dict():
            for each in value.values():
                yield from _parts_of(each)
        case list() | tuple():
            for each in value:
                yield from _parts_of(each)
        case _:
            yield value
