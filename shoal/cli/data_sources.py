"""`shoal datasources`, `shoal datasource set/test/remove`: databases for SQL and PROCEDURE tasks."""

from __future__ import annotations

from dataclasses import asdict
from shlex import quote
from typing import Annotated

import typer

from shoal.cli.invocation import Invocation
from shoal.cli.verbs import verb

Name = Annotated[str, typer.Argument(help="The data source's name.")]


def add_to(app: typer.Typer) -> None:
    """Add the group `datasource`, and `datasources`."""
    group = typer.Typer(no_args_is_help=True, help="Databases for SQL and PROCEDURE tasks.")
    verb(group, "shoal datasource set shop < url.txt", "shoal datasource set files duckdb:////srv/shop.db", name="set")(
        put
    )
    verb(group, "shoal datasource test shop")(test)
    verb(group, "shoal datasource remove shop")(remove)
    app.add_typer(group, name="datasource")
    verb(app, "shoal datasources")(datasources)


async def put(
    call: Invocation,
    name: Name,
    url: Annotated[
        str, typer.Argument(help="Such as postgresql://ada:secret@db/shop; - or none: from standard input.")
    ] = "-",
) -> None:
    """Save or replace a data source. A URL with a password comes from standard input or a prompt."""
    from dao.secrets import data_sources
    from dao.secrets.data_source_url import parse_data_source_url, secrets_of
    from model.errors import Refused
    from service.secret_keys import open_vault
    from shoal.cli.output import print_result
    from shoal.cli.secrets import read_secret

    if url != "-" and secrets_of(parse_data_source_url(url)):
        raise Refused(
            "the URL contains a password, and everybody on this machine can read the arguments of a command: "
            f"say `shoal datasource set {quote(name)}` and give it on standard input"
        )
    given = read_secret("URL") if url == "-" else url
    async with call.reading() as reading, reading.database.writing() as connection:
        shown = await data_sources.put(connection, name, given.strip(), open_vault(call.settings.secrets))
    said = f'Data source "{name}" is saved: {shown}'
    print_result(call, {"name": name, "url": shown}, said, f"Try it: shoal datasource test {quote(name)}")


async def test(call: Invocation, name: Name) -> None:
    """Connect to a data source from this machine and run a test query. A worker may be elsewhere in the network."""
    from dao.secrets import data_sources
    from service.secret_keys import open_vault
    from shoal.cli.output import print_result
    from worker.statements.session import in_session

    async with call.reading() as reading:
        url = await data_sources.url_of(reading.connection, name, open_vault(call.settings.secrets))
    kind = await in_session(name, url, lambda session: session.ask_for_one())
    print_result(call, {"name": name, "answers": True}, f'Data source "{name}" answers ({kind}).')


async def remove(call: Invocation, name: Name) -> None:
    """Delete a data source. Tasks that use it fail from then on."""
    from dao.secrets import data_sources
    from shoal.cli.output import print_result

    async with call.reading() as reading, reading.database.writing() as connection:
        await data_sources.remove(connection, name)
    print_result(call, {"name": name}, f'Data source "{name}" is removed.')


async def datasources(call: Invocation) -> None:
    """List the data sources, without their passwords, each with the key that encrypts it."""
    from dao.secrets import data_sources
    from service.words import when
    from shoal.cli.output import Column, hint, json_fields, print_result, table

    async with call.reading() as reading:
        found = await data_sources.all_data_sources(reading.connection)
    if call.as_json or not found:
        fields = [json_fields(asdict(each)) for each in found]
        print_result(call, fields, "There is no data source yet.", "Save one: shoal datasource set NAME")
        return
    table(
        Column("DATA SOURCE", [each.name for each in found]),
        Column("URL", [each.url for each in found]),
        Column("KEY", [each.key_id for each in found], keep=0),
        Column("CHANGED", [when(each.updated_at, reading.now, utc=call.utc) for each in found], keep=1, right=True),
    )
    hint(f"Try one: shoal datasource test {quote(found[0].name)}")
