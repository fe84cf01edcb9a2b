"""`shoal config add-key/rotate-keys`, `shoal project seal`: keys of stored secrets; and how verbs read a secret."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from dao.secrets import parameters
from model.errors import Refused
from service.secrets import key_rotation, key_settings
from service.words import counted
from shoal.cli.invocation import Invocation
from shoal.cli.output import answer_fields, print_json, print_result
from shoal.cli.verbs import verb


def add_to_config(group: typer.Typer) -> None:
    """Add the verbs about the keys that encrypt data sources, environments and SECRET parameters."""
    verb(group, "shoal config add-key /etc/shoal/keys", "shoal config add-key", local=True)(add_key)
    verb(group, "shoal config rotate-keys")(rotate_keys)


def add_to_projects(group: typer.Typer) -> None:
    verb(group, "shoal project seal password < password.txt", local=True)(seal)


def read_secret(what: str) -> str:
    """Read a secret from standard input, to its end; from a terminal one line, not shown.

    Drops a byte order mark and one final line break, which editors add. Raises `Refused`.
    """
    if sys.stdin.isatty():
        return str(typer.prompt(what, hide_input=True))
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise Refused(f"the {what} on standard input is no UTF-8 text") from None


def read_url(given: str, has_secret: Callable[[str], object], instead: str) -> str:
    """The URL of an argument; `-`: from standard input. Raises `Refused` for an argument that contains a secret.

    Args:
        given: the argument.
        has_secret: whether a URL contains one.
        instead: what to do in that case.
    """
    if given == "-":
        return read_secret("URL").strip()
    if has_secret(given):
        raise Refused(
            "the URL contains what may be a secret, and everybody on this machine can read the arguments of a command: "
            f"{instead} and give it on standard input"
        )
    return given.strip()


async def add_key(
    call: Invocation,
    file: Annotated[Path | None, typer.Argument(help="The key file; none: secrets.key_file of the settings.")] = None,
) -> None:
    """Add a new key at the beginning of a key file, which is created if needed. The key is never shown.

    From then on this key encrypts. Give the file to all workers, APIs and senders, then `shoal config rotate-keys`.
    """
    path = file or call.settings.secrets.key_file
    if path is None:
        raise Refused("no key file is named; say `shoal config add-key FILE`, or set secrets.key_file")
    key_id = key_settings.add_key(path)
    said = f"Key {key_id} is the first in {path} now."
    next_step = "Copy it to the workers and APIs, then: shoal config rotate-keys"
    print_result(call, {"key_id": key_id, "file": str(path)}, said, next_step)


async def rotate_keys(call: Invocation) -> None:
    """Encrypt all that is stored encrypted with the first key; all or none. Older keys are not needed then."""
    found = await call.ask(key_rotation.rotate_secrets)
    parts = [counted(found.data_sources, "data source"), counted(found.environments, "environment")]
    parts += [counted(found.alert_channels, "alert channel")] if found.alert_channels else []
    said = f"{', '.join(parts[:-1])} and {parts[-1]} encrypted again; all are under key {found.key_id}."
    print_result(call, answer_fields(found), said)


async def seal(
    call: Invocation,
    name: Annotated[str, typer.Argument(help="The name of the parameter.")],
    project: Annotated[str, typer.Option("--project", "-P", help="The project in which it is valid.")] = "default",
) -> None:
    """Seal the value of a SECRET parameter, read from standard input; what is printed may be inserted by SQL.

    It is valid for a parameter of this name in this project only. One line break at its end is ignored.
    """
    given = read_secret("value")
    text = parameters.seal(name, given, key_settings.open_vault(call.settings.secrets), project)
    if call.as_json:
        print_json({"name": name, "project": project, "sealed": text})
        return
    sys.stdout.write(f"{text}\n")
