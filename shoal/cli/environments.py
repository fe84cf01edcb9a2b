"""`shoal environment list/set/delete`: scripts of exports for SHELL and PYTHON tasks.

There is no verb that shows a script: it may contain secrets. Keep its source where you keep other secrets.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from model.errors import Refused
from service.secrets import environments as stored_environments
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.output import print_result
from shoal.cli.secrets import read_secret
from shoal.cli.verbs import new_group, verb

Name = Annotated[str, typer.Argument(help="The environment's name.")]
ENVIRONMENTS: Listing[stored_environments.EnvironmentAnswer] = Listing(
    (
        Field("ENVIRONMENT", lambda each: each.name),
        Field("KEY", lambda each: each.key_id, keep=0),
        Field("CHANGED", lambda each: each.updated_at, keep=1, right=True),
    ),
    none="There is no environment yet.",
    first="Save one: shoal environment set NAME FILE",
    then="Use one in a task: environment: NAME",
)


def add_to(app: typer.Typer) -> None:
    group = new_group(app, "environment", "Scripts of exports, run before SHELL and PYTHON tasks.")
    verb(group, "shoal environment list", name="list")(list_all)
    verb(group, "shoal environment set spark spark.sh", "shoal environment set spark < spark.sh", name="set")(put)
    verb(group, "shoal environment delete spark")(delete)


async def put(
    call: Invocation,
    name: Name,
    file: Annotated[Path, typer.Argument(help="A bash script; - or none: from standard input.")] = Path("-"),
) -> None:
    """Save or replace an environment: a bash script of exports."""
    try:
        script = read_secret("script") if str(file) == "-" else file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"the script {file} cannot be read as UTF-8 text ({error.__class__.__name__})") from None
    saved = await call.ask(
        stored_environments.save_environment, name, stored_environments.EnvironmentScript.read(script=script)
    )
    for sentence in saved.warnings:
        typer.echo(f"shoal: warning: {sentence}", err=True)
    print_result(call, {"name": name}, f'Environment "{name}" is saved.', f"Use it in a task: environment: {name}")


async def delete(call: Invocation, name: Name) -> None:
    """Delete an environment. Tasks that use it fail from then on."""
    await call.ask(stored_environments.delete_environment, name)
    print_result(call, {"name": name}, f'Environment "{name}" is deleted.')


async def list_all(call: Invocation) -> None:
    """List the environments, each with the key that encrypts it; their scripts are never shown."""
    async with call.client() as client:
        await ENVIRONMENTS.show(call, client, (await client.ask(stored_environments.list_environments)).items)
