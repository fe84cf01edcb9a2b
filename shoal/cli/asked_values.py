"""Asks at a terminal for required values that a start lacks."""

from __future__ import annotations

import sys

import typer

from model.choices import ParameterType
from model.errors import Refused
from model.parameters.declared import Declaration, WrongParameters, is_open, lacking, misfit_of
from service.runs import command_asked, control, requests
from service.workflows import content
from shoal.cli.invocation import Invocation
from shoal.clients.client import Client


async def start(call: Invocation, client: Client, code: int, request: requests.StartRun) -> command_asked.CommandAsked:
    """Request a start; if it is refused for a missing value, ask the person for it first.

    Raises `Refused` as the operation does; at once if nobody can answer.
    """
    try:
        return await client.ask(control.start_run, code, request, requests.WaitQuery())
    except Refused as error:
        if type(error) not in (Refused, WrongParameters) or call.as_json or not sys.stdin.isatty():
            raise
        if not (more := await _asked(client, code, request)):
            raise
    whole = request.model_copy(update={"params": {**request.params, **more}})
    return await client.ask(control.start_run, code, whole, requests.WaitQuery())


async def _asked(client: Client, code: int, request: requests.StartRun) -> dict[str, str]:
    """The values that the person gives; empty if something else is wrong."""
    saved = await (
        client.ask(content.get_workflow, code)
        if request.version is None
        else client.ask(content.get_workflow_version, code, request.version)
    )
    declared = saved.spec.declared
    for name, value in request.params.items():
        if name in declared and value and not is_open(value, given=True) and misfit_of(name, declared[name], value):
            return {}
    missing = lacking(declared, {**saved.spec.params, **request.params})
    return {name: ask(name, declared[name]) for name in missing}


def ask(name: str, declared: Declaration) -> str:
    """Ask until the given value is valid."""
    if declared.description:
        typer.echo(declared.description, err=True)
    is_secret = declared.type is ParameterType.SECRET
    while True:
        value = str(typer.prompt(f"{name} ({declared.allowed()})", hide_input=is_secret, err=True))
        if is_open(value, given=True) or not (sentence := misfit_of(name, declared, value)):
            return value
        typer.echo(sentence, err=True)
