"""`shoal datasource list/set/test/delete`: databases for SQL and PROCEDURE tasks."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer

from dao.secrets import data_source_url
from model.errors import Refused, Unavailable
from service.cluster import clock
from service.secrets import data_sources
from service.words import when
from shoal.cli.invocation import Invocation
from shoal.cli.output import Column, hint, needs_table, print_result, table
from shoal.cli.secrets import read_secret
from shoal.cli.verbs import verb

Name = Annotated[str, typer.Argument(help="The data source's name.")]


def add_to(app: typer.Typer) -> None:
    """Add the group `datasource`."""
    group = typer.Typer(no_args_is_help=True, help="Databases for SQL and PROCEDURE tasks.")
    verb(group, "shoal datasource list", name="list")(list_all)
    verb(group, "shoal datasource set shop < url.txt", "shoal datasource set files duckdb:////srv/shop.db", name="set")(
        put
    )
    verb(group, "shoal datasource test shop")(test)
    verb(group, "shoal datasource delete shop")(delete)
    app.add_typer(group, name="datasource")


async def put(
    call: Invocation,
    name: Name,
    url: Annotated[
        str, typer.Argument(help="Such as postgresql://ada:secret@db/shop; - or none: from standard input.")
    ] = "-",
) -> None:
    """Save or replace a data source. A URL with a password comes from standard input or a prompt."""
    if url != "-" and data_source_url.secrets_of(data_source_url.parse_data_source_url(url)):
        raise Refused(
            "the URL contains a password, and everybody on this machine can read the arguments of a command: "
            f"say `shoal datasource set {quote(name)}` and give it on standard input"
        )
    given = read_secret("URL") if url == "-" else url
    async with call.client() as client:
        shown = (
            await client.ask(data_sources.save_data_source, name, data_sources.DataSourceUrl.read(url=given.strip()))
        ).url
    said = f'Data source "{name}" is saved: {shown}'
    print_result(call, {"name": name, "url": shown}, said, f"Try it: shoal datasource test {quote(name)}")


async def test(call: Invocation, name: Name) -> None:
    """Connect to a data source and run a test query: from this machine, or with --server from that of the API.

    A worker may be elsewhere in the network.
    """
    async with call.client() as client:
        found = await client.ask(data_sources.check_data_source, name)
    if not found.answers:
        raise (Refused if found.is_reached else Unavailable)(found.reason or "it does not answer")
    print_result(call, {"name": name, "answers": True}, f'Data source "{name}" answers ({found.dialect}).')


async def delete(call: Invocation, name: Name) -> None:
    """Delete a data source. Tasks that use it fail from then on."""
    async with call.client() as client:
        await client.ask(data_sources.delete_data_source, name)
    print_result(call, {"name": name}, f'Data source "{name}" is deleted.')


async def list_all(call: Invocation) -> None:
    """List the data sources, without their passwords, each with the key that encrypts it."""
    async with call.client() as client:
        now = (await client.ask(clock.read_clock)).now
        found = (await client.ask(data_sources.list_data_sources)).items
    if not needs_table(call, found, "There is no data source yet.", "Save one: shoal datasource set NAME"):
        return
    table(
        Column("DATA SOURCE", [each.name for each in found]),
        Column("URL", [each.url for each in found]),
        Column("KEY", [each.key_id for each in found], keep=0),
        Column("CHANGED", [when(each.updated_at, now, utc=call.utc) for each in found], keep=1, right=True),
    )
    hint(f"Try one: shoal datasource test {quote(found[0].name)}")
