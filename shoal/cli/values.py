"""Arguments that several verbs have: the name of a workflow and its project, and `--param name=value`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import typer

from model.errors import Refused

WorkflowName = Annotated[str, typer.Argument(metavar="NAME", help="The workflow's name, or its code.")]
Project = Annotated[str, typer.Option(help="The project that the workflow belongs to.")]
AnyProject = Annotated[
    str | None, typer.Option("--project", help="The project of the workflow, where several have one of that name.")
]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


def read_values(given: Sequence[str], option: str = "--param") -> dict[str, str]:
    """Values by name; of a name that is given twice the last. Raises `Refused`, naming the `option`."""
    values: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise Refused(f'{option} "{each}" has no value; write it as name=value')
        if not _NAME.fullmatch(name):
            allowed = 'it begins with a letter or "_", and has letters, digits, "_" and "." only'
            raise Refused(f'{option} "{each}": "{name}" cannot be the name of a parameter; {allowed}')
        values[name] = value
    return values
