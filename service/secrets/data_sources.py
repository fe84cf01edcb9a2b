"""The operations about data sources: the databases of SQL and PROCEDURE tasks. No answer contains a password."""

from __future__ import annotations

import asyncio
from typing import Annotated

from pydantic import Field

from dao.secrets import data_sources
from dao.secrets.data_source_url import URL_BYTES_MAX, checkable_host, parse_data_source_url, pinned
from model.accounts.audits import ActorKind
from model.accounts.rights import Right
from model.errors import NotFound, Refused, Unavailable
from service.call import Call, Subject
from service.cluster.reach import reachable_address
from service.fields import Answer, Asked, Text
from service.operation import operation
from service.paging import ItemsOf
from service.secrets.key_settings import open_vault

TAG, KIND = "data-sources", "data-source"
CHECKED_WITHIN_S = 20.0
Name = Annotated[Text, Field(max_length=200)]


class DataSourceAnswer(Answer, data_sources.DataSource):
    """A data source. `url` is without secrets; `key_id` is the fingerprint of the key that encrypts the whole URL."""


class DataSourceUrl(Asked):
    """The URL of a data source, with its password. It is stored encrypted, and no answer contains it."""

    url: Annotated[
        Text,
        Field(
            max_length=URL_BYTES_MAX,
            repr=False,
            description="such as postgresql://ada:secret@db.example/shop",
        ),
    ]


class DataSourceChecked(Answer):
    """Whether a data source answers: `dialect` is then its kind of database, else `reason` says what is wrong.

    `is_reached` says whether it refused us, or did not answer at all.
    """

    name: str | None = None
    answers: bool
    is_reached: bool
    dialect: str | None = None
    reason: str | None = None


@operation("GET", "/data-sources", Right.VIEW_CLUSTER, TAG)
async def list_data_sources(call: Call) -> ItemsOf[DataSourceAnswer]:
    """List the data sources, without their passwords, each with the key that encrypts it."""
    found = await call.read(data_sources.all_data_sources)
    return ItemsOf[DataSourceAnswer](items=[DataSourceAnswer.model_validate(each) for each in found])


@operation("GET", "/data-sources/{name}", Right.VIEW_CLUSTER, TAG)
async def get_data_source(call: Call, name: Name) -> DataSourceAnswer:
    """Show a data source, without its password."""
    return DataSourceAnswer.model_validate(await call.read(data_sources.data_source_named, name))


@operation("PUT", "/data-sources/{name}", Right.ADMINISTER, TAG, has_secret=True)
async def save_data_source(call: Call, name: Name, body: DataSourceUrl) -> DataSourceAnswer:
    """Save or replace a data source. Tasks use it from the next attempt on."""
    call.permit(None)
    vault = open_vault(call.settings.secrets)
    async with call.changing(Subject(KIND, name, name=name)) as change:
        try:
            change.before = {"url": (await data_sources.data_source_named(change.connection, name)).url}
        except NotFound:
            change.before = None
        await data_sources.put(change.connection, name, body.url.strip(), vault)
        change.answer = DataSourceAnswer.model_validate(await data_sources.data_source_named(change.connection, name))
        change.after = {"url": change.answer.url, "key_id": change.answer.key_id}
    return change.answered(DataSourceAnswer)


@operation("DELETE", "/data-sources/{name}", Right.ADMINISTER, TAG, status=204)
async def delete_data_source(call: Call, name: Name) -> None:
    """Delete a data source. Tasks that use it fail from then on."""
    async with call.changing(Subject(KIND, name, name=name)) as change:
        change.before = {"url": (await data_sources.data_source_named(change.connection, name)).url}
        await data_sources.remove(change.connection, name)


@operation("POST", "/data-sources/{name}:test", Right.ADMINISTER, TAG)
async def check_data_source(call: Call, name: Name) -> DataSourceChecked:
    """Connect to a data source from the process that answers, and run a test query.

    A worker may be elsewhere in the network. Over the network only PostgreSQL, MySQL and MariaDB are checked, at public
    addresses and at those that `api.reach` allows.
    """
    call.permit(None)
    url = await call.read(data_sources.url_of, name, open_vault(call.settings.secrets))
    return await _checked(call, name, url)


@operation("POST", "/data-sources:test", Right.ADMINISTER, TAG, has_secret=True)
async def check_data_source_url(call: Call, body: DataSourceUrl) -> DataSourceChecked:
    """Connect to what would be a data source, before it is saved; see `check_data_source`."""
    call.permit(None)
    return await _checked(call, None, body.url)


async def _checked(call: Call, name: str | None, url: str) -> DataSourceChecked:
    answer = await _asked(call, name, url)
    async with call.changing(Subject(KIND, name, name=name)) as change:
        change.after = {"answers": answer.answers}
        change.answer = answer
    return answer


async def _asked(call: Call, name: str | None, url: str) -> DataSourceChecked:
    shown = name or "not saved yet"
    try:
        place = await _place(call, url)
    except Unavailable as error:
        return DataSourceChecked(name=name, answers=False, is_reached=False, reason=str(error))
    try:
        async with asyncio.timeout(CHECKED_WITHIN_S):
            dialect = await call.backend.connects(shown, place)
    except TimeoutError:
        said = f'the data source "{shown}" has not answered within {CHECKED_WITHIN_S:.0f} s'
        return DataSourceChecked(name=name, answers=False, is_reached=False, reason=said)
    except (Refused, Unavailable) as error:
        is_reached = isinstance(error, Refused)
        return DataSourceChecked(name=name, answers=False, is_reached=is_reached, reason=str(error))
    return DataSourceChecked(name=name, answers=True, is_reached=True, dialect=dialect)


async def _place(call: Call, url: str) -> str:
    """The URL to connect to: as it is for the user of this machine, else at an address that the API may reach."""
    if call.caller.kind is ActorKind.SYSTEM_USER:
        return url
    parsed = parse_data_source_url(url)
    address = await reachable_address(checkable_host(parsed), call.settings.reach)
    return pinned(parsed, address).render_as_string(hide_password=False)
