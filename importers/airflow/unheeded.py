"""Arguments of tasks that nothing here follows, and what is said of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SENTENCES = {
    "email": "mail after a failure is an alert rule: shoal alert rule set",
    "email_on_failure": "mail after a failure is an alert rule: shoal alert rule set",
    "email_on_retry": "there is no mail about a retry",
    "sla": "an SLA is an alert rule of the workflow: `late`, or `takes longer than`",
    "on_failure_callback": "its callback is not called; an alert rule may tell of the failure",
    "on_success_callback": "its callback is not called; a task after it may do the same",
    "on_retry_callback": "its callback is not called",
    "on_execute_callback": "its callback is not called",
    "on_skipped_callback": "its callback is not called",
    "pre_execute": "its hook is not called",
    "post_execute": "its hook is not called",
    "run_as_user": "it runs as the user of the worker; a `tenant` of the workflow is another one",
    "task_concurrency": "how many of it run at once in several runs is not limited; give it a pool",
    "max_active_tis_per_dag": "how many of it run at once in several runs is not limited; give it a pool",
    "executor_config": "what its executor_config says of pods and containers is not followed",
    "resources": "how much of a machine it needs is not followed",
    "start_date": "its own start_date is not followed; it runs in each run",
    "end_date": "its own end_date is not followed; it runs in each run",
}
OF_PEOPLE = ("owner", "ui_color", "ui_fgcolor", "weight_rule", "inlets", "params", "executor",
             "template_fields", "ignore_first_depends_on_past", "map_index_template", "allow_nested_operators",
             "logger_name", "multiple_outputs", "default_args", "provide_context",
             "task_id", "group_id", "dag", "teardown")  # fmt: skip
"""These say nothing of what a task does here."""
_OF_ALERTS = ("email_on_failure", "email_on_retry", "email", "sla")
_OF_DAG = ("start_date", "end_date")
"""In `default_args` these are the DAG's own."""


def is_mailed(given: Mapping[str, Any]) -> bool:
    """Whether a failure or a retry is told by mail."""
    return given.get("email_on_failure") is not False or given.get("email_on_retry") is not False


def of_defaults(name: str, value: Any, is_mailed: bool) -> str | None:
    """What is said of an argument in `default_args`: once, and not of each task."""
    if value in (None, False, [], {}) or name in (*_OF_DAG, "email_on_retry") or (name == "email" and not is_mailed):
        return None
    if name in _OF_ALERTS or name.endswith("_callback"):
        return f"{name} of all its tasks: alert rules tell of failures and late runs"
    return f"of all its tasks: {SENTENCES[name]}" if name in SENTENCES else None
