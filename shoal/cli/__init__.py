"""The command line: `shoal VERB`.

One module for each group of verbs; this one puts them together and turns every error into one sentence and an exit
code. What is heavy to import (SQLAlchemy, psycopg, rich, uvicorn ...) is imported inside the verbs, so that
`shoal --version` and the shell's completion answer at once.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from model.errors import NotFound, Refused, ShoalError, Unavailable
from shoal.cli import (
    again,
    backfill,
    cluster,
    config,
    data_sources,
    database,
    doctor,
    environments,
    errors,
    halting,
    next_fires,
    projects,
    queue,
    roles,
    runs,
    schedules,
    secrets,
    why,
    workflows,
)
from shoal.version import shoal_version

EXIT_FAILED = 1
EXIT_REFUSED = 2
EXIT_UNREACHABLE = 3
EXIT_NOT_FOUND = 5
EXIT_INTERRUPTED = 130

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Shoal: a workflow scheduler without a leader. `shoal up` starts everything on this machine.",
)
for module in (
    roles,
    workflows,
    runs,
    halting,
    again,
    backfill,
    why,
    schedules,
    next_fires,
    queue,
    cluster,
    errors,
    projects,
    data_sources,
    environments,
    secrets,
    database,
    doctor,
    config,
):
    module.add_to(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"shoal {shoal_version()}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. An error is one sentence on standard error, and its exit code says what kind it was."""
    try:
        app()
    except BrokenPipeError:
        # `shoal runs | head`: nobody reads on. Python would complain once more when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except (ShoalError, BaseExceptionGroup) as raised:
        error = _sentence_in(raised)
        if error is None:
            raise
        sys.stderr.write(f"shoal: {error}\n")
        sys.exit(exit_code(error))


def exit_code(error: BaseException) -> int:
    """What the caller's shell is told."""
    match error:
        case NotFound():
            return EXIT_NOT_FOUND
        case Refused():
            return EXIT_REFUSED
        case Unavailable():
            return EXIT_UNREACHABLE
        case _:
            return EXIT_FAILED


def _sentence_in(raised: BaseException) -> ShoalError | None:
    """The first error made for people; a group of tasks raises its members' errors wrapped."""
    if isinstance(raised, BaseExceptionGroup):
        return next(filter(None, map(_sentence_in, raised.exceptions)), None)
    return raised if isinstance(raised, ShoalError) else None
