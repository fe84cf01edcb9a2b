"""Registers functions as verbs of the command line.

Each verb takes an `Invocation` first, made from the options that all verbs have (which database, which output format),
and then its own options. A parameter whose type is a dataclass stands for one option for each of its fields. The help
begins with the examples.
"""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, get_type_hints

import typer

from model.errors import Refused
from shoal.cli.invocation import Invocation
from shoal.cli.late_modules import run_all
from shoal.cli.on_demand import group_of

P = ParamSpec("P")
Verb = Callable[Concatenate[Invocation, P], Coroutine[Any, Any, None]]

_CONNECTION = "Where to ask"
_CONTEXT = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)


def _shared(
    database_url: Annotated[
        str | None,
        typer.Option(
            help="PostgreSQL; else SHOAL_DATABASE_URL, else a running `shoal up`.",
            rich_help_panel=_CONNECTION,
            metavar="URL",
        ),
    ] = None,
    registry_url: Annotated[
        str | None,
        typer.Option(
            help="ZooKeeper or PostgreSQL; else SHOAL_REGISTRY_URL, else the database.",
            rich_help_panel=_CONNECTION,
            metavar="URL",
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            help="An API instead of the database; else SHOAL_SERVER.", rich_help_panel=_CONNECTION, metavar="URL"
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="Settings file; else SHOAL_CONFIG, else ./shoal.toml.", rich_help_panel=_CONNECTION, metavar="FILE"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    utc: Annotated[bool, typer.Option("--utc", help="Exact times in UTC instead of relative ones.")] = False,
) -> Invocation:
    return Invocation(database_url, registry_url, server, config, as_json=as_json, utc=utc)


def new_group(above: typer.Typer, name: str, about: str) -> typer.Typer:
    """A group of verbs, which does nothing by itself."""
    group = typer.Typer(no_args_is_help=True, help=about)
    above.add_typer(group, name=name)
    return group


def verb(
    app: typer.Typer,
    *examples: str,
    name: str | None = None,
    passes_on: bool = False,
    local: bool = False,
    process: bool = False,
) -> Callable[[Verb[P]], Verb[P]]:
    """Register a coroutine function as a verb of `app`.

    Args:
        app: the command or group that it belongs to.
        examples: whole command lines, shown first in the help.
        name: if it differs from the function's.
        passes_on: whether unknown options are arguments for another program.
        local: whether it works on this machine or on the database itself, not through an API.
        process: whether it is one of Shoal's processes, which run on this machine until they are stopped.
    """

    def register(run: Verb[P]) -> Verb[P]:
        long, short = _help(run, examples)
        app.command(
            name or run.__name__.replace("_", "-"),
            help=long,
            short_help=short,
            context_settings={"ignore_unknown_options": True} if passes_on else None,
        )(_command(run, local=local, process=process))
        return run

    return register


def default_verb(
    above: typer.Typer, *examples: str, beside: Mapping[str, str], add: str = "add_to", process: bool = False
) -> Callable[[Verb[P]], Verb[P]]:
    """Register a group of verbs, and what it does without one of them. See `verb` for the other arguments.

    Args:
        above: the command that it belongs to.
        beside: verb -> the module that adds it when it is called; the group itself needs none of them.
        add: the function of these modules that does it.
    """

    def register(run: Verb[P]) -> Verb[P]:
        command = _command(run, process=process)
        parameters = list(inspect.signature(command).parameters.values())

        def unless_verb(**given: Any) -> None:
            if (called := given.pop("context").invoked_subcommand) is None:
                command(**given)
            elif any(given[each.name] != each.default for each in parameters):
                raise Refused(f"give the options after the verb: {examples[0]} {called} ...")

        _declare(unless_verb, [*parameters, _CONTEXT])
        long, short = _help(run, examples)
        group = typer.Typer(cls=group_of(beside, add))
        group.callback(invoke_without_command=True, help=long, short_help=short)(unless_verb)
        above.add_typer(group, name=run.__name__)
        return run

    return register


def _command(run: Verb[P], *, local: bool = False, process: bool = False) -> Callable[..., None]:
    """The function that is called with all options of a verb, its own and the shared ones."""
    taken = list(inspect.signature(run, eval_str=True).parameters.values())[1:]
    groups = {each.name: _options(each.annotation) for each in taken if dataclasses.is_dataclass(each.annotation)}
    own = [option for each in taken for option in groups.get(each.name, [each])]
    shared = list(inspect.signature(_shared, eval_str=True).parameters.values())

    def command(**given: Any) -> None:
        call = _shared(**{each.name: given.pop(each.name) for each in shared})
        if (local or process) and call.server is not None:
            raise Refused(
                "this verb works on this machine or on the database itself, not on an API; leave out --server"
            )
        if process:
            run_all()
        for each in taken:
            if each.name in groups:
                values = {option.name: given.pop(option.name) for option in groups[each.name]}
                given[each.name] = each.annotation(**values)
        asyncio.run(_collecting(run(call, **given)))  # type: ignore[call-arg]

    _declare(command, [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*own, *shared)])
    return command


def _declare(command: Callable[..., None], parameters: list[inspect.Parameter]) -> None:
    command.__dict__["__signature__"] = inspect.Signature(parameters)
    command.__annotations__ = {each.name: each.annotation for each in parameters}


def _help(run: Verb[P], examples: Sequence[str]) -> tuple[str, str]:
    """The whole help of a verb, and its first sentence."""
    shown = "\n".join(f"  {example}" for example in examples)
    about = inspect.getdoc(run) or ""
    return f"\b\n{shown}\n\n{about}", about.split(".")[0] + "."


def _options(group: Any) -> list[inspect.Parameter]:
    types = get_type_hints(group, include_extras=True)  # also of fields that come from another module's class
    return [each.replace(annotation=types[each.name]) for each in inspect.signature(group).parameters.values()]


_COLLECTED_AFTER = (10_000, 10, 50)
"""A master's objects for its runs are not garbage, and reference counts free them. With Python's own limits (700, 10,
10) the collector took two fifths of a master's time while it started runs."""


async def _collecting(verb: Coroutine[Any, Any, None]) -> None:
    """Run a verb; the garbage collector, which `main` disabled, is enabled when the verb first waits."""
    asyncio.get_running_loop().call_soon(_collect_what_follows)
    await verb


def _collect_what_follows() -> None:
    """Enable the garbage collector for objects created from now on.

    Objects of imports stay to the end. Walking them would take a quarter of a short verb's time.
    """
    gc.freeze()
    gc.set_threshold(*_COLLECTED_AFTER)
    gc.enable()
