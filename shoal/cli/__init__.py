"""The command line: `shoal VERB`.

A module for each verb or group of verbs, loaded when one of them is called (`shoal/cli/on_demand.py`). Its imports run
when they are used (`shoal/cli/late_modules.py`), so that help and completion answer at once. This module turns every
error into one sentence and an exit code (`shoal/cli/exit_codes.py`).
"""

from __future__ import annotations

import gc
import os
import sys
from typing import Annotated

import typer

from model.errors import ShoalError
from shoal import hangups
from shoal.cli import encoding, exit_codes, late_modules
from shoal.cli.on_demand import Verbs
from shoal.version import shoal_version

app = typer.Typer(
    cls=Verbs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Shoal: a workflow scheduler without a leader. `shoal up` starts everything on this machine.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"shoal {shoal_version()}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. An error becomes one sentence on standard error, and its kind decides the exit code."""
    hangups.bear()
    gc.disable()  # a tenth of the time that imports take; what they make is no garbage
    try:
        encoding.begin()
        with late_modules.imported_late():
            app()
    except BrokenPipeError:
        # `shoal runs | head`: the reader is gone. Python would report it again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        sys.exit(exit_codes.INTERRUPTED)
    except (ShoalError, BaseExceptionGroup) as raised:
        error = _sentence_in(raised)
        if error is None:
            raise
        sys.stderr.write(f"shoal: {error}\n")
        sys.exit(exit_codes.of_error(error))
    finally:
        gc.freeze()  # the end of the interpreter collects; what is left is given back with the process
        gc.enable()


def _sentence_in(raised: BaseException) -> ShoalError | None:
    """The first error with a message for people; a task group wraps the errors of its members."""
    if isinstance(raised, BaseExceptionGroup):
        return next(filter(None, map(_sentence_in, raised.exceptions)), None)
    return raised if isinstance(raised, ShoalError) else None
