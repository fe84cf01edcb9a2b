"""The duty `alert_rules`: applies the rules of alerts, and writes the alerts that no other transaction writes.

A step consumes ends of runs and refused commands, and writes what follows. Rules that depend on the time read the rows,
and their alerts have keys, so that each is written once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dao.alerts import alerts, refused_commands, rules
from dao.alerts.refused_commands import RefusedCommands
from dao.alerts.rules import Expected, LongRule, StoredRule
from dao.postgres.database import FencedTransaction
from dao.runs import dependencies
from model.alerts.alerts import AlertKind, NewAlert, Severity
from model.alerts.rule_ends import Mark, Raised, RunEnd, Window, at_end, failures_after, is_late, last_window, too_long
from model.alerts.rules import Late, Rule, TakesLonger, parse_rule
from model.cluster.duties import Step
from model.errors import Refused
from model.ids import WorkflowCode
from model.runs.states import WorkflowState

BATCH = 500
COMMANDS_AT_ONCE = 10_000
"""The most refused commands handled in one step; they become one alert for each workflow at most."""
LATE_BY = timedelta(seconds=10)
"""How long after its deadline a rule is checked: the transaction of an end in time has committed by then."""


@dataclass(frozen=True, slots=True)
class _Applied:
    """A valid rule. `code` is that of its workflow, None = any of its project."""

    stored: StoredRule
    rule: Rule
    code: WorkflowCode | None


async def apply_rules(connection: FencedTransaction, progress: Mapping[str, Any]) -> Step:
    """Write alerts for what has happened since the last step."""
    pending = await alerts.pending(connection)
    applied = await _read_rules(connection) if pending.rules else []
    ends = await rules.consume_ends(connection, BATCH) if pending.ends else []
    new = await _at_ends(connection, applied, ends)
    new += await _of_long_runs(connection, applied)
    new += await _of_late_runs(connection, applied)
    refused = await refused_commands.take(connection, COMMANDS_AT_ONCE) if pending.refused else []
    new += map(_of_refused, refused)
    await alerts.insert(connection, new)
    warned = await alerts.tasks_take_too_long(connection, BATCH) if pending.late_tasks else 0
    lost = await alerts.nodes_were_lost(connection) if pending.lost_nodes else 0
    written = _counted(progress) + len(new) + warned + lost
    is_over = len(ends) < BATCH and warned < BATCH and sum(each.count for each in refused) < COMMANDS_AT_ONCE
    return Step(f"wrote {written} alerts by {len(applied)} rules", is_over=is_over, progress={"written": written})


def _counted(progress: Mapping[str, Any]) -> int:
    written = progress.get("written")
    return written if isinstance(written, int) and not isinstance(written, bool) else 0


async def _read_rules(connection: FencedTransaction) -> list[_Applied]:
    """The valid rules; records why the others are not."""
    stored = await rules.enabled(connection)
    problems: dict[int, str] = {}
    parsed: dict[int, Rule] = {}
    for each in stored:
        try:
            parsed[each.id] = parse_rule(each.text)
        except Refused as error:
            problems[each.id] = str(error)
    named = {
        (each.project, rule.workflow)
        for each in stored
        if (rule := parsed.get(each.id)) is not None and rule.workflow is not None
    }
    codes = await dependencies.codes(connection, named) if named else {}
    applied = []
    for each in stored:
        if (rule := parsed.get(each.id)) is not None:
            code = None if rule.workflow is None else codes.get((each.project, rule.workflow))
            if rule.workflow is None or code is not None:
                applied.append(_Applied(each, rule, code))
            else:
                problems[each.id] = f'there is no workflow "{rule.workflow}" in project "{each.project}"'
    for each in stored:
        if each.problem != problems.get(each.id):
            await rules.set_problem(connection, each, problems.get(each.id))
    return applied


async def _at_ends(
    connection: FencedTransaction, applied: Sequence[_Applied], ends: Sequence[RunEnd]
) -> list[NewAlert]:
    of_workflow: dict[WorkflowCode, list[_Applied]] = defaultdict(list)
    of_project: dict[str | None, list[_Applied]] = defaultdict(list)
    for each in applied:
        if each.code is not None:
            of_workflow[each.code].append(each)
        else:
            of_project[each.stored.project].append(each)
    pairs = [
        (each, end)
        for end in ends
        if end.project is not None and end.state in (WorkflowState.SUCCESS, WorkflowState.FAILURE)
        # A child run only counts for rules that name its workflow: its project is alerted of the run above.
        for each in (*of_workflow[end.workflow_code], *([] if end.is_child else of_project[end.project]))
    ]
    if not pairs:
        return []
    ids, codes = {each.stored.id for each, _ in pairs}, {end.workflow_code for _, end in pairs}
    before = await rules.failures(connection, ids, codes)
    counts = dict(before)
    new = []
    for each, end in pairs:
        key = each.stored.id, end.workflow_code
        raised = at_end(each.rule.condition, end, counts.get(key, 0))
        counts[key] = failures_after(counts.get(key, 0), end.state)
        if raised is not None:
            facts = {"state": end.state, "reason": end.reason, "took_s": end.took_s, "failures": counts[key]}
            mark = end.ended_mark if raised.mark is Mark.END else end.running_mark
            new.append(_alert(each, raised, end.workflow, end.run, mark, facts))
    changed = {key: count for key, count in counts.items() if count != before.get(key, 0)}
    if changed:
        await rules.set_failures(connection, changed)
    return new


async def _of_long_runs(connection: FencedTransaction, applied: Sequence[_Applied]) -> list[NewAlert]:
    longest = {each.stored.id: each for each in applied if isinstance(each.rule.condition, TakesLonger)}
    if not longest:
        return []
    wanted = [
        LongRule(id_, each.stored.project, each.code, each.rule.condition.than.total_seconds())
        for id_, each in longest.items()
        if isinstance(each.rule.condition, TakesLonger)
    ]
    new = []
    for run in await rules.long_runs(connection, wanted, BATCH):
        each = longest[run.rule_id]
        if isinstance(each.rule.condition, TakesLonger):
            raised = too_long(run.run, run.workflow, each.rule.condition.than)
            new.append(_alert(each, raised, run.workflow, run.run, run.running_mark, {}))
    return new


async def _of_late_runs(connection: FencedTransaction, applied: Sequence[_Applied]) -> list[NewAlert]:
    late = [each for each in applied if isinstance(each.rule.condition, Late)]
    if not late:
        return []
    at = await rules.now(connection) - LATE_BY
    checked = await rules.deadlines(connection, [each.stored.id for each in late])
    expected: dict[int, tuple[_Applied, Late, Expected]] = {}
    for each in late:
        condition = each.rule.condition
        if isinstance(condition, Late) and each.code is not None:
            window = last_window(condition, at)
            before = checked.get((each.stored.id, each.code), each.stored.updated_at)
            if window.deadline > max(before, each.stored.updated_at):
                wanted = Expected(each.stored.id, each.code, window.since, window.deadline, condition.succeeded)
                expected[each.stored.id] = each, condition, wanted
    if not expected:
        return []
    wants = [wanted for _, _, wanted in expected.values()]
    met = await rules.met(connection, wants)
    await rules.set_deadlines(connection, wants)
    new = []
    for id_, (each, condition, wanted) in expected.items():
        if id_ not in met:
            workflow = each.rule.workflow or ""
            raised = is_late(workflow, condition, Window(wanted.since, wanted.deadline))
            facts = {"since": wanted.since.isoformat(), "deadline": wanted.deadline.isoformat()}
            new.append(_alert(each, raised, workflow, None, wanted.deadline.isoformat(), facts))
    return new


def _alert(
    each: _Applied, raised: Raised, workflow: str, run: int | None, mark: str, facts: Mapping[str, object]
) -> NewAlert:
    stored = each.stored
    said = {"rule": stored.name, "text": stored.text, "run": run, "workflow": workflow, **facts}
    return NewAlert(
        raised.kind,
        raised.severity,
        raised.subject,
        {name: value for name, value in said.items() if value is not None},
        each.rule.group,
        stored.project,
        workflow,
        run,
        unique_key=f"rule:{stored.id}:{raised.mark}:{run or ''}:{mark}",
    )


def _of_refused(refused: RefusedCommands) -> NewAlert:
    of = "" if refused.workflow is None else f' of workflow "{refused.workflow}"'
    if refused.count == 1:
        subject = f"command {refused.first}{of} was refused: {refused.reason}"
    else:
        subject = f"{refused.count} commands{of} were refused; the first, command {refused.first}: {refused.reason}"
    return NewAlert(
        AlertKind.ERROR_COMMANDS,
        Severity.WARNING,
        subject,
        {"commands": refused.count, "first_command": refused.first, "reason": refused.reason},
        refused.alert_group,
        refused.project,
        refused.workflow,
    )
