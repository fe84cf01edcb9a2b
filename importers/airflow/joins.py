"""Where what follows a skipped task differs from Airflow: said of each such task, and not changed."""

from __future__ import annotations

import re
from typing import Any

from importers.airflow.flow import Flow
from importers.airflow.values import Dotted, Operator

Origins = dict[Operator, frozenset[Operator]]
_ALL = ("all_success", "all_done_setup_success")
_ONE = ("none_failed_min_one_success", "none_failed_or_skipped", "one_success")
_AFTER_FAILURES = ("all_done", "one_success", "one_failed", "all_failed", "always")
_STARTS_UNCHOSEN = ("none_failed", "all_done", "always")
"""The start rules by which a task starts after a SWITCH that chose others."""
_CIRCUITS = ("ShortCircuitOperator", "@task.short_circuit")
_SKIPS = re.compile(r"\bexit\s+99\b|\bAirflowSkipException\b")
"""A script that may skip its task."""


def say(flow: Flow) -> None:
    """Say where a task that follows a skipped one runs here, and would be skipped there."""
    for operator in flow.dag.tasks:
        if _chooses(flow, operator):
            _unchosen(flow, operator)
    if any(draft.fields.get("start_when") in _AFTER_FAILURES for draft in flow.drafts.values()):
        sentence = "a run in which a task fails is FAILURE here, whatever follows that; there its last tasks decide"
        flow.about.changed("trigger_rule", sentence)
    origins = _origins(flow)
    for operator in flow.dag.tasks:
        if _rule(flow, operator) == "all_success" and len(set(_before(flow, operator, origins))) > 1:
            flow.drafts[operator].about.changed(
                "trigger_rule", "there it is skipped if one task before it is; here it runs if another one succeeded"
            )
        if operator.over and _skips_itself(flow, operator) and flow.after(operator):
            sentence = "if one of its elements is skipped, what comes after it is too, there; here only if all are"
            flow.drafts[operator].about.changed("expand", sentence)
    for operator in flow.dag.tasks:
        if operator.kind in _CIRCUITS and _given(flow, operator, "ignore_downstream_trigger_rules") is not False:
            _circuit(flow, operator)


def _unchosen(flow: Flow, chooser: Operator) -> None:
    """There a task directly after one that chooses is skipped if it is not chosen, whatever its trigger rule is, unless
    it comes after the chosen one too."""
    after = flow.after(chooser)
    for each in after:
        others = [other for other in after if other is not each]
        draft = flow.drafts[each]
        rule = draft.fields.get("start_when")
        is_reached = not _is_whole(chooser) and others and all(each in flow.later(other) for other in others)
        if rule not in _STARTS_UNCHOSEN or is_reached:
            continue
        if each.before == [chooser]:
            del draft.fields["start_when"]
            each.given["trigger_rule"] = "all_success"
            sentence = f'it starts only if "{chooser.id}" chooses it; there, {rule}, also if that is skipped or fails'
        else:
            sentence = f'there it is skipped if "{chooser.id}" does not choose it; here {rule} counts, and it starts'
        draft.about.changed("trigger_rule", sentence)


def _circuit(flow: Flow, chooser: Operator) -> None:
    """There a short circuit skips all tasks after it, whatever their trigger rule is."""
    for each in flow.later(chooser):
        if _rule(flow, each) not in _ALL and each not in flow.after(chooser):
            sentence = f'there it is skipped with all tasks after "{chooser.id}"; here its start rule counts'
            flow.drafts[each].about.changed("trigger_rule", sentence)


def _origins(flow: Flow) -> Origins:
    """Tasks that may be skipped -> what decides it: the chosen task of a branch, or what chooses all or nothing."""
    found: Origins = {}
    for _ in flow.dag.tasks:
        more = {each: _inherited(flow, each, found) for each in flow.dag.tasks}
        if more == found:
            break
        found = more
    return found


def _before(flow: Flow, operator: Operator, found: Origins) -> list[frozenset[Operator]]:
    """For each task before one: what decides whether it, or the arrow from it, is skipped."""
    return [
        found.get(each, frozenset())
        | ({operator} if _chooses(flow, each) and not _is_whole(each) else set())
        | ({each} if _is_whole(each) or _skips_itself(flow, each) else set())
        for each in operator.before
    ]


def _skips_itself(flow: Flow, operator: Operator) -> bool:
    """Whether a task may end as skipped, also if all before it succeeded."""
    draft = flow.drafts[operator]
    is_asked = bool(draft.fields.get("skip_exit_codes")) and _given(flow, operator, "skip_on_exit_code") is not None
    text = str(draft.params.get("script", ""))
    return is_asked or draft.params.get("on_timeout") == "SKIP" or _SKIPS.search(text) is not None


def _chooses(flow: Flow, operator: Operator) -> bool:
    return operator in flow.gates or flow.drafts[operator].type == "SWITCH"


def _is_whole(operator: Operator) -> bool:
    return operator.kind in (*_CIRCUITS, "LatestOnlyOperator")


def _inherited(flow: Flow, operator: Operator, found: Origins) -> frozenset[Operator]:
    before = _before(flow, operator, found)
    rule = _rule(flow, operator)
    if rule in _ALL or (rule in _ONE and all(before)):
        return frozenset().union(*before)
    return frozenset()


def _rule(flow: Flow, operator: Operator) -> str:
    unsaid = "all_done_setup_success" if operator.is_teardown else "all_success"
    rule = _given(flow, operator, "trigger_rule") or unsaid
    return rule.name.lower() if isinstance(rule, Dotted) else str(rule)


def _given(flow: Flow, operator: Operator, name: str) -> Any:
    defaults = flow.dag.given.get("default_args")
    return operator.given.get(name, defaults.get(name) if isinstance(defaults, dict) else None)
