"""Tasks that choose what comes after them: a function, and a SWITCH that follows what it returns."""

from __future__ import annotations

import ast
import json
from datetime import UTC, datetime, time
from itertools import combinations
from typing import Any

from importers.airflow import python_tasks
from importers.airflow.flow import Args
from importers.airflow.values import Defined, Dotted, Operator
from importers.draft import Draft
from model.errors import Refused

CHOICES_MAX = 4
"""Of so many tasks each combination is a case of a SWITCH."""


def branch(args: Args) -> None:
    """A function that gives the ids of the tasks that go on: a SWITCH after it follows them."""
    after = args.flow.after(args.operator)
    python_tasks.script(args, lambda result: [
        f"chosen = [{result}] if isinstance({result}, str) else list({result} or [])",
        '_give("branch", ",".join(sorted(chosen)))',
    ])  # fmt: skip
    chosen = _several(args, [each.id for each in after])
    named = args.flow.names
    cases = [[each for each in after if each.id in ids] for ids in chosen]
    cases += [[each] for each in after]
    value = f"${{{args.draft.name}.branch}}"
    gate(args, [
        {"when": f'"{value}" == "{",".join(sorted(each.id for each in case))}"', "then": [named[each] for each in case]}
        for case in cases if case
    ])  # fmt: skip


def short_circuit(args: Args) -> None:
    """A function that says whether what comes after it goes on."""
    python_tasks.script(args, lambda result: [f'_give("goes_on", json.dumps(bool({result})))'])
    names = [args.flow.names[each] for each in args.flow.after(args.operator)]
    if not args.flag("ignore_downstream_trigger_rules", True):
        args.changed("ignore_downstream_trigger_rules", "later tasks follow their own start rules")
    gate(args, [{"when": f"${{{args.draft.name}.goes_on}} == true", "then": names}])


def day_of_week(args: Args) -> None:
    """The day of the run chooses."""
    days, day = days_of(args), logical_of(args, "EEEE")
    _choose(args, f'"${{now}}" in {json.dumps(days)}', day, f"TZ={args.flow.templates.zone} LC_ALL=C date +%A")


def date_time(args: Args) -> None:
    """The logical date or the clock chooses: whether it is in a span of time, or of each day."""
    limits = [args.known(name) for name in ("target_lower", "target_upper")]
    known = [each for each in limits if each is not None]
    kinds = {datetime if isinstance(each, datetime) else time if isinstance(each, time) else None for each in known}
    if len(kinds) != 1 or None in kinds:
        raise Refused("its span of time is not known; write a SWITCH")
    form, pattern = ("%H:%M:%S", "HH:mm:ss") if kinds == {time} else ("%Y-%m-%d %H:%M:%S", "yyyy-MM-dd HH:mm:ss")
    now = logical_of(args, pattern)
    if now and args.flow.templates.zone != "UTC":
        raise Refused("its span of time is in UTC, and days and times are those of another zone here; write a SWITCH")
    lower, upper = (each and _in_utc(each).strftime(form) for each in limits)
    parts = [f'"${{now}}" >= "{lower}"'] if lower else []
    if upper and not (lower and kinds == {time} and upper < lower):  # such a span ends on the next day
        parts.append(f'"${{now}}" <= "{upper}"')
    _choose(args, " && ".join(parts), now, f"date -u '+{form}'")


def _in_utc(moment: Any) -> Any:
    return moment.astimezone(UTC) if isinstance(moment, datetime) and moment.tzinfo is not None else moment


def _choose(args: Args, condition: str, now: str, clock: str) -> None:
    """A SWITCH by a condition on `${now}`, an expression for the logical date, or if that is empty what a command says
    when it runs: the tasks that follow if it is true, and the others."""
    if not now:
        condition = condition.replace("${now}", f"${{{args.draft.name}.now}}")
    cases = [
        {"when": when, "then": after}
        for when, after in zip((condition, f"!({condition})"), followed(args), strict=True)
        if after
    ]
    if not cases:
        raise Refused("which tasks it chooses is not known; write a SWITCH")
    if now:
        args.draft.fields["local_params"] = {"now": now}
        args.draft.type, args.draft.params = "SWITCH", {"cases": cases}
    else:
        args.draft.type, args.draft.params = "SHELL", {"script": f'echo "#{{setValue(now=$({clock}))}}"\n'}
        gate(args, cases)


def followed(args: Args) -> tuple[list[str], list[str]]:
    """The tasks after it that follow if something is true, and those if it is not."""
    after = {each.id: args.flow.names[each] for each in args.flow.after(args.operator)}
    ids = (args.texts(f"follow_task_ids_if_{word}") for word in ("true", "false"))
    yes, no = ([after[each] for each in listed if each in after] for listed in ids)
    return yes, no


def days_of(args: Args) -> list[str]:
    """The days of the week that a task names, such as Monday."""
    given = args.known("week_day", [])
    listed = given if isinstance(given, list | tuple | set) else [given]
    return [(each.name if isinstance(each, Dotted) else str(each)).capitalize() for each in listed]


def logical_of(args: Args, pattern: str) -> str:
    """The expression for the logical date, if a task goes by that; else empty: by the clock."""
    is_logical = args.flag("use_task_logical_date") or args.flag("use_task_execution_day")
    args.irrelevant("use_task_logical_date", "use_task_execution_day")
    return args.flow.templates.logical(pattern) if is_logical else ""


def gate(args: Args, cases: list[dict[str, Any]]) -> None:
    """The SWITCH after a task that chooses; a task without any after it chooses nothing."""
    flow, draft = args.flow, args.draft
    if not flow.after(args.operator):
        return
    taken = {*flow.names.values(), *flow.gates.values()}
    name = f"{draft.name}_switch"
    while name in taken:
        name += "_"
    flow.gates[args.operator] = name
    gate = Draft(name, draft.about, draft.passwords, "SWITCH", {"cases": cases}, {}, [draft.name])
    flow.drafts[Operator(name, "SWITCH", {}, args.operator.line)] = gate
    draft.about.changed("branch", f'a SWITCH "{name}" after it follows what it returns')


def _several(args: Args, after: list[str]) -> list[set[str]]:
    """The lists of ids that a function returns: as they are written, or all that it may make of those after it."""
    found: list[set[str]] = []
    node = python_tasks.function_of(args).node
    if _makes_lists(node):
        if len(after) <= CHOICES_MAX:
            return [set(ids) for size in range(len(after), 1, -1) for ids in combinations(after, size)]
        args.todo("branch", "add a case to the SWITCH for each list that it returns", node.lineno)
    for each in _returned(node):
        if isinstance(each, ast.List | ast.Tuple):
            ids = {one.value for one in each.elts if isinstance(one, ast.Constant) and isinstance(one.value, str)}
            if len(ids) > 1 and len(ids) == len(each.elts) and ids not in found:
                found.append(ids)
            elif len(ids) != len(each.elts):
                args.todo("branch", "add a case to the SWITCH for each list that it returns", each.lineno)
    return found


def _returned(node: Defined) -> list[ast.expr | None]:
    """What a function may return, as it is written."""
    left = [each.value for each in ast.walk(node) if isinstance(each, ast.Return)]
    for each in left:  # grows meanwhile
        if isinstance(each, ast.IfExp | ast.BoolOp):
            left += [each.body, each.orelse] if isinstance(each, ast.IfExp) else each.values
    return [each for each in left if not isinstance(each, ast.IfExp | ast.BoolOp)]


def _makes_lists(node: Defined) -> bool:
    """Whether a function may return a list that is not written where it returns it."""
    returned = _returned(node)
    is_open = any(isinstance(each, ast.Name | ast.ListComp | ast.Call | ast.BinOp | ast.Subscript) for each in returned)
    inside = [each for each in ast.walk(node) if each not in returned]
    return is_open and any(isinstance(each, ast.List | ast.ListComp) for each in (*inside, *returned))
