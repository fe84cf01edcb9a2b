"""A crontab as workflows: each line becomes a SHELL task with a schedule.

    CRON_TZ=Europe/Berlin
    30 2 * * 1-5  /opt/jobs/load.sh --day yesterday

A line runs by `/bin/sh` in the home folder, with the variables that stand above it, and what follows an unescaped % is
its standard input; so it is with the script of its task.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from shlex import quote, split
from typing import Any

from importers import documents
from importers.catalog import Names
from importers.imported import Imported, Origin, finished
from importers.passwords import Hidden, Passwords
from importers.report import About, Report
from model.choices import Misfire, ReleaseState
from model.definitions.names import fault_of_workflow_name
from model.errors import Refused
from model.time.cron import Cron
from model.time.zones import zone
from service.workflows.workflow_file import TaskTypes

FORM = "crontab"
_VARIABLE = re.compile(r"([A-Za-z_]\w*)\s*=\s*(.*)")
_LINE = re.compile(r"(@\w+|(?:\S+\s+){4}\S+)\s+(.+)")
_OF_CRON = ("MAILTO", "MAILFROM", "CRON_TZ", "TZ", "SHELL", "HOME", "LOGNAME", "RANDOM_DELAY")
NAME_LENGTH_MAX = 60


@dataclass(frozen=True)
class Form:
    """What a person says of crontabs: whether a user stands before each command, as in /etc/crontab; whether the
    schedules are to be ONLINE; and the project of the workflows."""

    is_system: bool = False
    online: bool = False
    project: str = documents.DEFAULT_PROJECT


class _Import:
    """One crontab on its way."""

    def __init__(self, file: str, form: Form, report: Report, passwords: Passwords) -> None:
        self.file = file
        self.form = form
        self.report = report
        self.passwords = passwords
        self.variables: dict[str, str] = {}
        self.contents: list[tuple[str, dict[str, Any]]] = []

    def read(self, text: str, taken: set[str]) -> None:
        """Read the lines of a crontab; `taken` are the names that workflows have."""
        about = self.report.about(self.file)
        self.report.forms[self.file] = FORM
        for number, line in enumerate(text.splitlines(), 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            if variable := _VARIABLE.fullmatch(line):
                self.variables[variable[1]] = variable[2].strip().strip("\"'")
            elif (found := _LINE.fullmatch(line)) is None:
                about.todo(f"line {number}", f"line {number} is neither a variable nor a time with a command")
            else:
                self._add(number, found[1], found[2], taken)
        if self.contents and not {"CRON_TZ", "TZ"} & self.variables.keys():
            about.changed(
                "CRON_TZ", "it names no time zone: it ran in that of the machine, and is in UTC; set time_zone"
            )
        if self.contents and not self.form.online:
            sentence = "schedules are OFFLINE, since cron still fires: `shoal schedule on`, or an import with --online"
            about.changed("schedules", sentence)
        if receiver := self.variables.get("MAILTO"):
            about.changed(
                "MAILTO", f"what a command prints went to {receiver}; it is in the log, and alerts tell of failures"
            )

    def _add(self, number: int, when: str, command: str, taken: set[str]) -> None:
        user = ""
        if self.form.is_system:
            user, _, command = command.partition(" ")
        name = _name(command, taken)
        about = self.report.about(self.file, name)
        about.begin(f"line {number}")
        state = {} if self.form.online else {"state": str(ReleaseState.OFFLINE)}
        schedule = {"cron": when, "misfire": str(Misfire.SKIP), **state}
        if not self._is_time(when, about):
            schedule = {}
        hidden = Hidden(self.passwords)
        script = hidden.text_without(self._script(command.strip()))
        secrets = sorted(set(hidden.names.values()))
        for each in secrets:
            about.todo("params", f'a password was found, and is not written: give it as the secret "{each}"')
        content: dict[str, Any] = {
            **documents.head_of(name, self.form.project),
            "description": f"line {number} of {PurePosixPath(self.file).name}",
            **({"tenant": user} if user else {}),
            **self._zone(about),
            **({"params": {each: {"type": "SECRET"} for each in secrets}} if secrets else {}),
            **({"schedules": [schedule]} if schedule else {}),
            "tasks": [{"name": "run", "type": "SHELL", "params": {"script": script}}],
        }
        self.contents.append((name, content))

    def _script(self, command: str) -> str:
        """The command in the home folder, with its variables and its standard input."""
        parts = [part.replace("\\%", "%") for part in re.split(r"(?<!\\)%", command)]
        home = self.variables.get("HOME")
        lines = [f"cd {quote(home) if home else '~'} || exit"]
        lines += [f"export {name}={quote(value)}" for name, value in self.variables.items() if name not in _OF_CRON]
        shell = self.variables.get("SHELL", "/bin/sh")
        text = "\n".join(parts[1:])
        given = f" <<< {quote(text)}" if text else ""
        return "\n".join([*lines, f"{quote(shell)} -c {quote(parts[0].strip())}{given}"]) + "\n"

    def _is_time(self, when: str, about: About) -> bool:
        if when == "@reboot":
            about.todo("@reboot", "it ran at the start of the machine; start it by hand, or give it a schedule")
            return False
        try:
            Cron.parse(when)
        except Refused as error:
            about.todo("cron", f'"{when}" cannot be read: {error}')
            return False
        return True

    def _zone(self, about: About) -> dict[str, str]:
        name = self.variables.get("CRON_TZ") or self.variables.get("TZ")
        if name is None:
            return {}
        try:
            return {"time_zone": zone(name).key}
        except Refused as error:
            about.todo("CRON_TZ", str(error))
            return {}


def import_crontabs(files: Sequence[tuple[str, bytes]], types: TaskTypes, form: Form) -> Imported:
    """Import crontabs.

    Args:
        files: name and content of each.
        types: the task types that there are.
        form: what a person says of them.
    """
    report, passwords = Report(), Passwords()
    report.mask = passwords.masked
    texts = [(file, data.decode("utf-8-sig", "replace")) for file, data in files]
    for _, text in texts:
        passwords.learn(text)
    taken: set[str] = set()
    written: dict[str, str] = {}
    work = [_Import(file, form, report, passwords) for file, _ in texts]
    for each, (_, text) in zip(work, texts, strict=True):
        each.read(text, taken)
    made = [(each.file, name, content) for each in work for name, content in each.contents]
    paths = documents.file_names(name for _, name, _ in made)
    for path, (file, name, content) in zip(paths, made, strict=True):
        checked = documents.reported(content, types, report.about(file, name))
        written[path] = documents.written(content, checked, report.todos(file, name))
    origins = {path: Origin(form.project, name, file, name) for path, (file, name, _) in zip(paths, made, strict=True)}
    return finished(written, report, Names({}), origins)


def _name(command: str, taken: set[str]) -> str:
    """A name made of the program and its arguments that are no options."""
    command = re.split(r"(?<!\\)%|[|&;<>]", command)[0]
    try:
        words = split(command)
    except ValueError:
        words = command.split()
    base = "_".join(PurePosixPath(word).name for word in words[:3] if word and not word.startswith("-"))
    base = re.sub(r"[^\w.]+", "_", base).strip("_.")[:NAME_LENGTH_MAX] or "job"
    base = f"job_{base}" if fault_of_workflow_name(base) else base
    name, number = base, 2
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    taken.add(name)
    return name
