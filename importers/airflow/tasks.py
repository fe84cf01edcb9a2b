"""What every task of Airflow has: order, start rule, retries, limits, pools, mapped elements."""

from __future__ import annotations

from typing import Any

from importers.airflow import answers, dags, operators, python_tasks, responses, unheeded
from importers.airflow.flow import Args, Flow, minutes, shown
from importers.airflow.templates import parameter_name
from importers.airflow.values import Dataset, Dotted, Operator, Output, Parameter, Unknown
from importers.draft import Draft
from model.errors import Refused
from model.logic.catalog import LOGIC_TYPES, NOT_OF_LOGIC
from model.runs.looks import NOT_OF_WAITS

_RULES = {
    "all_success": None,
    "all_failed": "all_failed",
    "all_done": "all_done",
    "all_done_setup_success": "all_done",
    "one_failed": "one_failed",
    "one_success": "one_success",
    "none_failed": "none_failed",
    "none_failed_min_one_success": None,
    "none_failed_or_skipped": None,
    "always": "always",
    "dummy": "always",
}
RETRY_DELAY_S = 300.0
"""Of Airflow, where no delay is given."""
OF_NONE = "of an empty list it is skipped there, with what comes after it; here it succeeds"


def convert(operator: Operator, flow: Flow) -> None:
    draft = flow.drafts[operator]
    draft.about.begin(operator.kind)
    defaults = flow.dag.given.get("default_args")
    given = {**(defaults if isinstance(defaults, dict) else {}), **operator.given}
    if operator.function is not None:
        given |= {**operator.function.given, **operator.given}
    args = Args(operator, flow, draft, given)
    draft.after = [flow.names[each] for each in operator.before]
    _common(args)
    operators.convert(args)
    _own_params(args, args.given.get("params"))
    _mapped(args)
    for note in flow.templates.notes:
        draft.about.changed("", note)
    flow.templates.notes.clear()
    _fitting(args)
    _results(args)
    for name, value in args.rest().items():
        if _is_default(args, name):
            flow.unread.setdefault(name, {})[operator] = value
        elif name.startswith("**"):
            draft.about.todo(name, f"line {operator.line}: what {name} gives is not known")
        else:
            draft.about.lost(name, f"line {operator.line}: {name} = {value} has no counterpart")


def unread(flow: Flow) -> None:
    """Report what `default_args` give and none of the tasks reads; Airflow gives it to those that take it."""
    for name, values in flow.unread.items():
        if len(values) == len(flow.dag.tasks):
            flow.about.lost(name, f"default_args: {name} = {next(iter(values.values()))} has no counterpart")


def gated(flow: Flow) -> None:
    """What came directly after a task that chooses comes after its SWITCH."""
    for operator, gate in flow.gates.items():
        for each in flow.after(operator):
            after = flow.drafts[each].after
            after[after.index(flow.names[operator])] = gate


def roots(flow: Flow) -> None:
    """A task that comes after none has no start rule: it starts at once, there too."""
    for draft in flow.drafts.values():
        if not draft.after:
            draft.fields.pop("start_when", None)


def _common(args: Args) -> None:
    fields, about = args.draft.fields, args.draft.about
    if args.operator.group:
        fields["group"] = args.operator.group
    for name in ("doc_md", "doc", "doc_rst", "task_display_name"):
        if args.has(name) and isinstance(value := args.raw(name), str):
            fields.setdefault("description", value.strip()[:1000])
    _starts(args)
    if (retries := args.number("retries")) is not None and retries > 0:
        fields["retry_times"] = int(retries)
        fields["retry_interval"] = minutes(args.number("retry_delay", RETRY_DELAY_S) or 0)
    args.irrelevant("retry_delay")
    if args.flag("retry_exponential_backoff"):
        about.changed("retry_exponential_backoff", "each pause between two attempts is the same")
    args.irrelevant("max_retry_delay")
    if (limit := args.number("execution_timeout")) is not None:
        fields["timeout"] = minutes(limit)
    if args.has("pool") and (pool := args.text("pool")) not in ("", "default_pool"):
        slots = int(args.number("pool_slots", 1) or 1)
        fields["resources"] = {pool: slots}
        args.flow.pools[pool] = max(slots, args.flow.pools.get(pool, 1))
        about.changed("pool", f'how many places the pool "{pool}" has is not in the file; pools.yaml has what it needs')
    args.irrelevant("pool_slots")
    if args.has("queue") and (queue := args.text("queue")) not in ("", "default"):
        fields["worker_group"] = queue
    if (weight := args.number("priority_weight")) not in (None, 1):
        about.changed("priority_weight", f"its weight of {weight:g} is no priority; set `priority` if it matters")
    for name in ("depends_on_past", "wait_for_downstream"):
        if args.flag(name) and not _is_default(args, name):
            about.changed(name, "its whole run waits for the one before it, by after_last")
            args.flow.fields["after_last"] = "succeeded"
    _updates(args)
    for name, sentence in unheeded.SENTENCES.items():
        value = args.raw(name)
        is_heeded = value not in (None, False, [], {}) and not _is_default(args, name)
        if is_heeded and (name != "email" or unheeded.is_mailed(args.given)):
            about.changed(name, sentence)
    args.irrelevant(*unheeded.OF_PEOPLE)
    if args.operator.is_teardown:
        _cleans_up(args)
    args.irrelevant("max_active_tis_per_dagrun")  # of the elements of a mapped task


def _updates(args: Args) -> None:
    """The datasets that its success updates. Those behind an alias are what its function adds to it."""
    outlets = _listed(args.raw("outlets", []))
    known = [each for each in outlets if isinstance(each, Dataset)]
    if len(known) < len(outlets):
        args.draft.about.lost("outlets", f"not all of what it updates is known: {shown(outlets)}")
    if any(each.is_alias for each in known):
        try:
            known += python_tasks.added_datasets(args)
        except Refused as error:
            args.todo("outlets", str(error))
            known = [each for each in known if not each.is_alias]
    if known:
        args.draft.fields["updates"] = list(dict.fromkeys(each.name for each in known))


def _cleans_up(args: Args) -> None:
    """A teardown, for which nothing waits here."""
    flow, about = args.flow, args.draft.about
    if all(each.is_teardown for each in flow.later(args.operator)):
        args.draft.fields["teardown"] = True
        others = {each for each in flow.dag.tasks if not each.is_teardown}
        if others - flow.before(args.operator):
            about.changed("teardown", "it runs when all other tasks are over; there when those before it are")
    else:
        args.draft.fields["start_when"] = "all_done"
        about.changed(
            "teardown",
            "tasks come after it, so it is no teardown here: it runs however its setup ended, and its failure counts",
        )


def _fitting(args: Args) -> None:
    """Leave out what tasks of this type do not have, such as the retries of all tasks in `default_args`."""
    draft = args.draft
    if draft.type == "WAIT":
        refused, why = set(NOT_OF_WAITS), "waits without a place on a worker"
    elif draft.type in LOGIC_TYPES:
        refused, why = set(NOT_OF_LOGIC) - ({"timeout"} if draft.type == "DEPENDENT" else set()), "runs in the master"
    else:
        return
    if left_out := [name for name in draft.fields if name in refused]:
        if "retry_times" in left_out:
            draft.fields.pop("retry_interval", None)
        for name in left_out:
            del draft.fields[name]
        draft.about.changed("", f"{_a(draft.type)} task {why}, and has no {', no '.join(left_out)}")


def _results(args: Args) -> None:
    """A task whose results others use, and that gives none."""
    keys = {key for task, key in args.flow.pulled if task == args.operator.id}
    if python_tasks.is_of_python(args.operator):
        return
    if args.draft.type == "PYTHON":  # it may push others
        keys &= {"return_value"}
    is_given = args.operator.kind in {"BashOperator", "@task.bash", *answers.ASKING}
    is_given = is_given or responses.path_of(args.operator) is not None
    keys -= {"return_value"} if is_given else set()
    for key in sorted(keys):
        more = ": the columns of its first row are results, by their names" if args.draft.type == "SQL" else ""
        sentence = f"its result {key} is used, and {_a(args.draft.type)} task gives none of that name{more}"
        args.todo("xcom_pull", sentence)


def _a(type_: str) -> str:
    return f"{'an' if type_.startswith('A') else 'a'} {type_}"


def _own_params(args: Args, given: Any) -> None:
    if isinstance(given, dict) and given:
        own = {parameter_name(str(name)): _own_param(args, name, value) for name, value in given.items()}
        args.draft.fields["local_params"] = {**own, **args.draft.fields.get("local_params", {})}
        args.flow.templates.params -= own.keys() - args.flow.params.keys()


def _own_param(args: Args, name: Any, value: Any) -> Any:
    default = value.default if isinstance(value, Parameter) else value
    plain = isinstance(default, bool | dict | list | tuple)
    return dags.declared_of(default) if plain else args.written(f"params.{name}", shown(default))


def _is_default(args: Args, name: str) -> bool:
    """Whether it comes from `default_args`, of which is spoken once."""
    return name not in args.operator.given


def _starts(args: Args) -> None:
    rule = args.raw("trigger_rule", "all_success")
    name = rule.name.lower() if isinstance(rule, Dotted) else str(shown(rule))
    if name not in _RULES:
        args.todo("trigger_rule", f"no start_when does what {name} does")
    elif (found := _RULES[name]) is not None and not args.operator.is_teardown:
        args.draft.fields["start_when"] = found


def _mapped(args: Args) -> None:
    over, flow = args.operator.over, args.flow
    if not over or (args.draft.type == "SHELL" and "TODO" in str(args.draft.params.get("script", ""))):
        return
    if args.draft.type in LOGIC_TYPES:
        sentence = f"{_a(args.draft.type)} task is not mapped over a list here; write a DYNAMIC"
        args.todo("expand", f"{sentence}")
        return
    lists = list(over.values())
    if len(over) > 1:
        if not all(isinstance(each, list | tuple) for each in lists):
            args.todo("expand", "write the list of all combinations of its arguments as `each`")
            return
        made: Any = [{}]
        for name, values in over.items():
            made = [{**before, name: shown(value)} for before in made for value in values]
    elif python_tasks.is_of_python(args.operator) and (source := python_tasks.listed(lists[0])) is not None:
        made = f"${{{flow.names[source]}.return_value_{'json' if source.over else 'each'}}}"
    elif isinstance(lists[0], Output | Operator):
        made = flow.output(lists[0] if isinstance(lists[0], Output) else Output(lists[0]))
    elif isinstance(lists[0], list | tuple):
        made = [_element(args, each) for each in lists[0]]
    elif isinstance(lists[0], Unknown):
        args.todo("expand", f"the list {lists[0].text} is not known")
        return
    else:
        made = args.written("expand", lists[0])
    if not isinstance(lists[0], list | tuple):
        args.changed("expand", OF_NONE)
    limit = args.number("max_active_tis_per_dagrun")
    args.draft.fields["each"] = {"over": made, "parallel": int(limit)} if limit else made


def _element(args: Args, value: Any) -> Any:
    return args.written("expand", value) if isinstance(value, str) else shown(value)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def drafts_of(flow: Flow, passwords: Any) -> None:
    for operator in flow.dag.tasks:
        name = flow.names[operator]
        flow.drafts[operator] = Draft(name, flow.about.of_task(name), passwords)
