"""`shoal datasource list/set/test/delete`: databases for SQL and PROCEDURE tasks."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer

from dao.secrets import data_source_url
from model.errors import Refused, Unavailable
from service.secrets import data_sources
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.output import print_result
from shoal.cli.secrets import read_url
from shoal.cli.verbs import new_group, verb

Name = Annotated[str, typer.Argument(help="The data source's name.")]
DATA_SOURCES: Listing[data_sources.DataSourceAnswer] = Listing(
    (
        Field("DATA SOURCE", lambda each: each.name),
        Field("URL", lambda each: each.url),
        Field("KEY", lambda each: each.key_id, keep=0),
        Field("CHANGED", lambda each: each.updated_at, keep=1, right=True),
    ),
    none="There is no data source yet.",
    first="Save one: shoal datasource set NAME",
    then=lambda first: f"Try one: shoal datasource test {quote(first.name)}",
)


def add_to(app: typer.Typer) -> None:
    group = new_group(app, "datasource", "Databases for SQL and PROCEDURE tasks.")
    verb(group, "shoal datasource list", name="list")(list_all)
    verb(group, "shoal datasource set shop < url.txt", "shoal datasource set files duckdb:////srv/shop.db", name="set")(
        put
    )
    verb(group, "shoal datasource test shop")(test)
    verb(group, "shoal datasource delete shop")(delete)


def has_secret(url: str) -> bool:
    """Whether the URL of a database has a password, or an option that looks like one. Raises `Refused` for none."""
    return bool(data_source_url.secrets_of(data_source_url.parse_data_source_url(url)))


async def put(
    call: Invocation,
    name: Name,
    url: Annotated[
        str, typer.Argument(help="Such as postgresql://ada:secret@db/shop; - or none: from standard input.")
    ] = "-",
) -> None:
    """Save or replace a data source. A URL with a password comes from standard input or a prompt."""
    given = read_url(url, has_secret, f"say `shoal datasource set {quote(name)}`")
    shown = (await call.ask(data_sources.save_data_source, name, data_sources.DataSourceUrl.read(url=given))).url
    said = f'Data source "{name}" is saved: {shown}'
    print_result(call, {"name": name, "url": shown}, said, f"Try it: shoal datasource test {quote(name)}")


async def test(call: Invocation, name: Name) -> None:
    """Connect to a data source and run a test query: from this machine, or with --server from that of the API.

    A worker may be elsewhere in the network.
    """
    found = await call.ask(data_sources.check_data_source, name)
    if not found.answers:
        raise (Refused if found.is_reached else Unavailable)(found.reason or "it does not answer")
    print_result(call, {"name": name, "answers": True}, f'Data source "{name}" answers ({found.dialect}).')


async def delete(call: Invocation, name: Name) -> None:
    """Delete a data source. Tasks that use it fail from then on."""
    await call.ask(data_sources.delete_data_source, name)
    print_result(call, {"name": name}, f'Data source "{name}" is deleted.')


async def list_all(call: Invocation) -> None:
    """List the data sources, without their passwords, each with the key that encrypts it."""
    async with call.client() as client:
        await DATA_SOURCES.show(call, client, (await client.ask(data_sources.list_data_sources)).items)
