"""What the conversion of one DAG knows and fills: the names and drafts of its tasks, its templates, where to report."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from importers.airflow import answers
from importers.airflow.dates import NoText
from importers.airflow.reader import Reader
from importers.airflow.templates import Templates, parameter_name
from importers.airflow.values import Dag, Dotted, Function, Group, Operator, Output, Unknown
from importers.draft import Draft
from importers.passwords import Passwords
from importers.report import About
from model.definitions.names import fault_of_workflow_name


@dataclass
class Flow:
    """One DAG on its way."""

    dag: Dag
    reader: Reader
    name: str
    about: About
    templates: Templates
    passwords: Passwords
    names: dict[Operator, str]
    """The name that each task has here."""
    pulled: set[tuple[str, str]] = field(default_factory=set)
    """Tasks and keys of results that somebody uses: only these are passed on."""
    drafts: dict[Operator, Draft] = field(default_factory=dict)
    gates: dict[Operator, str] = field(default_factory=dict)
    """The SWITCH after a task that chooses: what came after the task comes after that."""
    fields: dict[str, Any] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)
    pools: dict[str, int] = field(default_factory=dict)
    unread: dict[str, dict[Operator, Any]] = field(default_factory=dict)
    """Names in `default_args` -> the tasks that do not read them, and the value."""

    def after(self, operator: Operator) -> list[Operator]:
        return [each for each in self.dag.tasks if operator in each.before]

    def before(self, operator: Operator) -> set[Operator]:
        return _reached(operator, lambda each: each.before)

    def later(self, operator: Operator) -> set[Operator]:
        return _reached(operator, self.after)

    def is_pulled(self, operator: Operator, key: str = "return_value") -> bool:
        return (operator.id, key) in self.pulled

    def output(self, value: Output) -> str:
        """The reference to a result of a task; of what stands for an element of a list, to the path alone."""
        return _reference(self.names, value)


def result_of(names: Mapping[Operator, str], id_: str, path: str) -> str | None:
    """The reference to a result of the task with this id; None if there is no such task."""
    return next((_reference(names, Output(each, path)) for each in names if each.id == id_), None)


def _reference(names: Mapping[Operator, str], value: Output) -> str:
    name = names.get(value.of)
    return f"${{{value.path}}}" if name is None else f"${{{name}.{answers.path_of(value)}}}"


def _reached(operator: Operator, steps: Callable[[Operator], list[Operator]]) -> set[Operator]:
    found: set[Operator] = set()
    todo = list(steps(operator))
    while todo:
        each = todo.pop()
        if each not in found:
            found.add(each)
            todo += steps(each)
    return found


class Args:
    """The arguments of one task, as they are asked for. What nobody asks for is reported."""

    def __init__(self, operator: Operator, flow: Flow, draft: Draft, given: Mapping[str, Any]) -> None:
        self.operator = operator
        self.flow = flow
        self.draft = draft
        self.given = dict(given)
        self._read: set[str] = set()

    def todo(self, field: str, sentence: str, line: int | None = None) -> None:
        """A person has to do something about a line of the file, or else that of the task."""
        self.draft.about.todo(field, f"line {line or self.operator.line}: {sentence}")

    def changed(self, field: str, sentence: str) -> None:
        """It works, and differs."""
        self.draft.about.changed(field, sentence)

    def has(self, name: str) -> bool:
        """Whether it is given, and not None."""
        return self.given.get(name) is not None

    def raw(self, name: str, default: Any = None) -> Any:
        """The value as it was read."""
        self._read.add(name)
        value = self.given.get(name)
        return default if value is None else value

    def known(self, name: str, default: Any = None) -> Any:
        """The value; what is not known is something to do, and the default."""
        value = self.raw(name, default)
        if isinstance(value, Unknown):
            self.todo(name, f"{name} = {value.text} is not known before it runs", value.line)
            return default
        if isinstance(value, Dotted) and value.is_elsewhere:
            self.todo(name, f"{name} = {value.path} is in another file")
            return default
        return value

    def text(self, name: str, default: str = "") -> str:
        """The value as a text, its templates replaced."""
        value = self.known(name, default)
        return self.written(name, value) if value is not default else default

    def written(self, name: str, value: Any) -> str:
        try:
            match value:
                case Output() | Operator():
                    return self.flow.output(value if isinstance(value, Output) else Output(value))
                case Unknown(text, line):
                    self.todo(name, f"{text} is not known before it runs", line)
                    return f"TODO {text}"
                case bool():
                    return str(value).lower()
                case Dotted(path) if value.is_elsewhere:
                    self.todo(name, f"{name} = {path} is in another file")
                    return f"TODO {path}"
                case Dotted():
                    return value.name
            return self.flow.templates.text(str(value))
        except NoText as error:
            self.todo(name, f"{name}: {error}")
            return str(value)

    def mapping(self, name: str) -> dict[str, str]:
        value = self.known(name, {})
        if not isinstance(value, dict):
            self.todo(name, f"{name} is no mapping that is known")
            return {}
        return {str(key): self.written(f"{name}.{key}", each) for key, each in value.items()}

    def texts(self, name: str) -> list[str]:
        """The value as a list of texts; one text is a list of one."""
        value = self.known(name, [])
        listed = list(value) if isinstance(value, list | tuple) else [value]
        return [self.written(name, each) for each in listed]

    def given_texts(self, **names: str) -> dict[str, str]:
        """The texts of those arguments that are given: the name of a parameter here -> that of the argument."""
        return {name: self.text(own) for name, own in names.items() if self.has(own)}

    def number(self, name: str, default: float | None = None) -> float | None:
        """The value as a number; a span of time in seconds."""
        value = self.known(name, default)
        if isinstance(value, timedelta):
            return value.total_seconds()
        if value is None or value is default:
            return default
        try:
            found = float(value if isinstance(value, str) and value.strip().isdecimal() else value + 0)
            if math.isfinite(found):
                return found
        except (OverflowError, TypeError):
            pass
        self._say_odd(name, value, "number")
        return default

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.known(name, default)
        if isinstance(value, bool) or value in (0, 1):
            return bool(value)
        if isinstance(value, str) and "${" not in value:
            self.todo(name, f'{name} is the text "{value}", which Airflow takes for true; write True or False')
        else:
            self._say_odd(name, value, "yes or no")
        return default

    def _say_odd(self, name: str, value: Any, what: str) -> None:
        self.todo(name, f"{name} = {shown(value)} is no {what} that is known")

    def connection(self, name: str, part: str) -> str:
        """The parameter that stands for a part of a connection, which a start or the project gives; its name."""
        made = parameter_name(f"{name}.{part}")
        self.flow.params.setdefault(made, {"type": "VARCHAR", "required": True})
        return made

    def skips(self, default: int | None = None) -> None:
        """It is skipped if it ends with one of these exit codes."""
        code = self.raw("skip_on_exit_code", default)
        listed = code if isinstance(code, list | tuple) else [code]
        if codes := [each for each in listed if isinstance(each, int)]:
            self.draft.fields["skip_exit_codes"] = codes

    def irrelevant(self, *names: str) -> None:
        """These say nothing of what the task does here."""
        self._read.update(names)

    def rest(self) -> dict[str, Any]:
        """What nobody has asked for, as it is shown."""
        found = {
            name: value
            for name, value in self.given.items()
            if name not in self._read and value not in (None, "", [], {})
        }
        self._read.update(found)
        return {name: shown(value) for name, value in found.items()}


def shown(value: Any) -> Any:
    """A value for a report or a comment."""
    match value:
        case Unknown(text):
            return text
        case Output(of, path):
            return f"{of.id}.{path}"
        case Operator():
            return value.id
        case Dotted(path):
            return path
        case dict():
            return {str(key): shown(each) for key, each in value.items()}
        case list() | tuple() | set():
            return [shown(each) for each in value]
        case str() | int() | float() | bool() | None:
            return value
        case Function(node):
            return node.name
        case Group(prefix):
            return f"the group {prefix}".strip()
        case Dag():
            return value.id
    return str(value)


def workflow_name(dag_id: str) -> str:
    """The name of the workflow that a DAG with this id becomes."""
    name = dag_id.replace(".", "_") if fault_of_workflow_name(dag_id) else dag_id
    name = re.sub(r"[^\w.-]+", "_", name) if fault_of_workflow_name(name) else name
    return f"dag_{name}" if fault_of_workflow_name(name) else name


def task_name(task_id: str) -> str:
    """The name of the task with this id: one that `${name.result}` can hold, which takes no - and begins with none of
    the digits."""
    name = re.sub(r"[.-]", "_", task_id)
    return f"_{name}" if name[:1].isdigit() else name


def minutes(seconds: float) -> float | int:
    """Seconds as the minutes of a task's fields."""
    found = seconds / 60
    return int(found) if found == int(found) else round(found, 4)


def span(seconds: float) -> str:
    """Seconds as the spans of a WAIT task, such as 5m."""
    whole = max(1, round(seconds))
    return f"{whole // 60}m" if whole % 60 == 0 else f"{whole}s"


def in_quotes(text: str) -> str:
    """A text as it stands between the double quotes of bash, in which Shoal still replaces `${...}` and `$[...]`."""
    return re.sub(r'[\\"`]|\$(?![{\[])', r"\\\g<0>", text)
