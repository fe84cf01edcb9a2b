"""The sensors of Airflow: WAIT tasks, and DEPENDENT ones for other DAGs."""

from __future__ import annotations

import re
from calendar import day_name
from datetime import UTC, datetime, timedelta
from typing import Any

from importers.airflow import branches, python_tasks
from importers.airflow.flow import Args, in_quotes, minutes, span, task_name, workflow_name
from importers.airflow.templates import TEXT_OF_TIME
from importers.airflow.values import Unknown
from model.errors import Refused

_NO_PATTERN = re.compile(r"[*?]|(?<!\$)\[")
"""What a key would be a pattern by; `$[` is a time expression."""
_SAMPLE = datetime(2026, 1, 15, 12, tzinfo=UTC)


def external_task(args: Args) -> None:
    """Another DAG: a DEPENDENT task."""
    item: dict[str, Any] = {"workflow": workflow_name(args.text("external_dag_id"))}
    one = [each for each in args.texts("external_task_id") if each]
    tasks = args.texts("external_task_ids") or one
    delta = args.known("execution_delta")
    item["at"] = "same"
    if isinstance(delta, timedelta):
        item["at"] = _offset(delta)
    elif args.has("execution_date_fn"):
        moment = python_tasks.moment_of(args, "execution_date_fn", _SAMPLE)
        if isinstance(moment, datetime):
            item["at"] = _offset(_SAMPLE - moment)
        else:
            args.todo("execution_date_fn", "say by `at` or `cycle` which run is meant")
    items = [{**item, "task": task_name(task)} for task in tasks] or [item]
    args.draft.type = "DEPENDENT"
    args.draft.params = {"groups": [{"items": items}]}
    failed = args.texts("failed_states")
    if not failed:
        args.draft.params["on_failure"] = "WAIT"
    args.draft.fields.pop("timeout", None)
    if (limit := args.number("timeout", args.number("execution_timeout"))) is not None:
        args.draft.fields["timeout"] = minutes(limit)
        if args.flag("soft_fail"):
            args.changed("soft_fail", "after its timeout it fails, and is not skipped")
    _states(args)
    if group := args.text("external_task_group_id"):
        args.todo("external_task_group_id", f'name the tasks of the group "{group}" as items')
    args.irrelevant("check_existence", "poke_interval", "mode", "soft_fail", "deferrable", "poll_interval",
                    "exponential_backoff")  # fmt: skip


def _states(args: Args) -> None:
    """The states that it waits for: here a success."""
    allowed = {each.lower() for each in args.texts("allowed_states")} - {"success"}
    skipped = {each.lower() for each in args.texts("skipped_states")}
    if allowed and "success" not in {each.lower() for each in args.texts("allowed_states")}:
        args.todo("allowed_states", f"it waits for {', '.join(sorted(allowed))}, and here for a success")
    elif allowed:
        args.changed("allowed_states", f"there {', '.join(sorted(allowed))} is enough, here only a success")
    if skipped:
        args.changed("skipped_states", "it is not skipped when the other one is")


def _offset(delta: timedelta) -> str:
    seconds = int(delta.total_seconds())
    if seconds == 0:
        return "same"
    sign, seconds = ("-" if seconds > 0 else "+"), abs(seconds)
    parts = [f"{seconds // size}{unit}" for size, unit in ((3600, "h"), (60, "m"), (1, "s")) if seconds % size == 0][:1]
    return sign + parts[0]


def waits(args: Args, what: dict[str, Any], default_s: float = 60) -> None:
    """The task waits for this; what sensors have in common is read here."""
    args.draft.type = "WAIT"
    args.draft.params = {"for": what, "every": span(args.number("poke_interval", default_s) or default_s)}
    if args.flag("exponential_backoff"):
        args.draft.params["backoff"] = 2
    limit = args.number("timeout", 7 * 24 * 3600)
    if limit:
        args.draft.params["timeout"] = span(limit)
    if args.flag("soft_fail"):
        args.draft.params["on_timeout"] = "SKIP"
    args.irrelevant("mode", "deferrable", "soft_fail", "silent_fail", "max_wait")


def file(args: Args) -> None:
    path = args.text("filepath")
    if not path.startswith(("/", "$")):
        connection = args.connection(args.text("fs_conn_id", "fs_default"), "path")
        args.changed("fs_conn_id", f'the folder of the connection is the parameter "{connection}"')
        path = f"${{{connection}}}/{path}"
    args.irrelevant("fs_conn_id", "recursive")
    waits(args, {"file": path})


def sql(args: Args) -> None:
    for name in ("success", "failure", "selector", "parameters"):
        if args.has(name):
            args.todo(name, f"{name} is to be a part of the statement")
            args.irrelevant(name)
    waits(args, {"sql": {"datasource": args.text("conn_id"), "sql": args.text("sql")}})
    args.irrelevant("fail_on_empty", "hook_params")


def bash(args: Args) -> None:
    args.irrelevant("retry_exit_code", "output_encoding")
    command = args.text("bash_command").rstrip("\n")
    waits(args, {"script": f"(\n{command}\n) || exit 1\n"})


def python(args: Args) -> None:
    """A function of the file that returns something true."""
    script, values = python_tasks.sensor(args)
    if "${" in script or "$[" in script:
        args.todo("python_callable", "its script takes values; export them before it, and read os.environ")
    lines = [f'export {name}="{in_quotes(text)}"' for name, text in values.items()]
    lines += ["python3 - <<'END_OF_PYTHON'", script.rstrip("\n"), "END_OF_PYTHON"]
    lines += [f"code=$?; test $code = {python_tasks.NOT_YET} && exit 1; test $code = 0 || exit 2", ""]
    waits(args, {"script": "\n".join(lines)})


def s3_key(args: Args) -> None:
    """An object in the bucket of a data source, which has the keys of the connection too."""
    if args.flag("use_regex"):
        raise Refused("it looks for a regular expression; write a WAIT for s3 with a pattern")
    if args.has("check_fn"):
        args.todo("check_fn", "nothing looks at what is there; do so in a task after it")
    key, *more = args.texts("bucket_key")
    if more:
        args.todo("bucket_key", "it waits for one key here; write a task for each of the others")
    bucket, _, path = key.removeprefix("s3://").partition("/") if key.startswith("s3://") else ("", "", key)
    bucket = bucket or args.text("bucket_name")
    is_none = "aws_conn_id" in args.given and not args.has("aws_conn_id")
    connection = "" if is_none else args.text("aws_conn_id", "aws_default")
    source = f"{connection}_{bucket}"
    if not connection or not bucket or "$" in source:
        args.todo("aws_conn_id", "name a data source with the bucket, and keys that may read it")
    else:
        args.changed("aws_conn_id", f'the data source "{source}" has the bucket and the keys of the connection')
    if not args.flag("wildcard_match"):
        path = _NO_PATTERN.sub(r"[\g<0>]", path)
    elif "*" in path:
        args.changed("wildcard_match", "there * reaches beyond a slash, and here it does not")
    args.irrelevant("bucket_name", "aws_conn_id", "verify", "check_fn")
    waits(args, {"s3": {"datasource": source, "key": path}})


def time(args: Args) -> None:
    value = args.known("target_time")
    if value is None and not isinstance(args.raw("target_time"), Unknown):
        args.todo("target_time", "it has no target_time; write it")
    args.changed("target_time", "it is on the day that the run is for, there on the day when it runs")
    waits(args, {"time": f"{value:%H:%M:%S}".removesuffix(":00") if hasattr(value, "hour") else "00:00"})


def date_time(args: Args) -> None:
    """A moment, as ISO writes it; without an offset it is one of UTC."""
    value = args.known("target_time")
    text = value.isoformat() if isinstance(value, datetime) else args.written("target_time", value or "TODO")
    taken = set(args.flow.templates.notes)
    text = re.sub(r"^(\d{4}-\d\d-\d\d)[ T]?(.*)$", lambda found: f"{found[1]}T{found[2] or '00:00:00'}", text)
    if re.fullmatch(r"[\d:.T-]{11}[\d:.]+", text):
        text += "+00:00"
    if not re.match(r"\d{4}-|\$", text):
        raise Refused("which moment it waits for is not known; write a WAIT with a time")
    args.flow.templates.notes = dict.fromkeys(taken - {TEXT_OF_TIME})
    waits(args, {"time": text})


def day_of_week(args: Args) -> None:
    """One of the days, by the clock of the worker in UTC, or by the logical date."""
    days, day = branches.days_of(args), branches.logical_of(args, "EEEE")
    if not days or not set(days) <= set(day_name):
        raise Refused("which days it waits for is not known; write a WAIT with a script")
    today = f'"{day}"' if day else '"$(LC_ALL=C date -u +%A)"'
    waits(args, {"script": f"case {today} in {'|'.join(sorted(days))}) exit 0 ;; *) exit 1 ;; esac\n"})


def _delta_of(value: Any) -> Any:
    """A span, which a serialized DAG has as text: 1 day, 2:00:00."""
    found = (
        re.fullmatch(r"(?:(-?\d+) days?, )?(\d+):(\d\d):(\d\d)(?:\.\d+)?", value) if isinstance(value, str) else None
    )
    if found is None:
        return value
    days, hours, minutes_, seconds = (int(each or 0) for each in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes_, seconds=seconds)


def time_delta(args: Args) -> None:
    """A span after the end of the interval."""
    delta = _delta_of(args.known("delta"))
    if not isinstance(delta, timedelta):
        args.todo("delta", "write the moment that it waits for")
        delta = timedelta()
    minutes_after, rest = divmod(int(delta.total_seconds()), 60)
    if rest:
        minutes_after += 1
        args.changed("delta", "it waits for whole minutes")
    step = f"{minutes_after:+d}/24/60" if minutes_after else ""
    name = "interval_end" if args.flow.templates.intervals else ""
    day, time = (f"$[{name}({part}{step})]" if name else f"$[{part}{step}]" for part in ("yyyy-MM-dd", "HH:mm:ss"))
    waits(args, {"time": f"{day} {time}"})
