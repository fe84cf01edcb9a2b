"""The operations about the servers that Shoal relies on: its database and its registry."""

from __future__ import annotations

from collections.abc import Sequence

from dao.cluster import cluster
from dao.postgres import server_load
from model.accounts.rights import Right
from registry.belonging import OWN_DATABASE
from service.call import Call
from service.fields import Answer, Id
from service.operation import operation


class SessionsAnswer(Answer, server_load.Sessions):
    """The connections of one application that are in one state, such as `idle`."""


class OpenTransactionAnswer(Answer, server_load.OpenTransaction):
    """An open transaction: its session, how long it is open, and the lock that it waits for, if any."""


class TableSizeAnswer(Answer, server_load.TableSize):
    """A table with its indexes. `rows` is an estimate; dead rows are removed by the next vacuum."""


class DatabaseAnswer(Answer, server_load.ServerLoad):
    """How full and how busy the database is: its connections, oldest transactions first, largest tables first."""

    sessions: Sequence[SessionsAnswer]
    transactions: Sequence[OpenTransactionAnswer]
    tables: Sequence[TableSizeAnswer]


class RegisteredMasterAnswer(Answer):
    """A master that the registry has."""

    epoch: Id
    name: str
    address: str


class RegistryAnswer(Answer):
    """Where living masters are registered: `place` is `database` or the address of a ZooKeeper, without secrets.

    Without `place` no node has started yet. `fault`: the registry could not be read, and why.
    """

    place: str | None = None
    is_database: bool
    fault: str | None = None
    masters: Sequence[RegisteredMasterAnswer]


@operation("GET", "/database", Right.ADMINISTER, "cluster")
async def get_database(call: Call) -> DatabaseAnswer:
    """Show how full and how busy the database is: connections, open transactions, sizes of tables.

    Applications and sessions of others who use the server are named, so only an admin may ask.
    """
    return DatabaseAnswer.model_validate(await call.read(server_load.read))


@operation("GET", "/registry", Right.VIEW_CLUSTER, "cluster")
async def get_registry(call: Call) -> RegistryAnswer:
    """Show where living masters are registered, whether that answers, and which masters it has."""
    registered = await call.backend.registered.read()
    recorded = await call.read(cluster.registry)
    place = recorded.place if recorded is not None else None
    return RegistryAnswer(
        place=place,
        is_database=place in (None, OWN_DATABASE),
        fault=registered.fault,
        masters=[RegisteredMasterAnswer.model_validate(each) for each in registered.masters or ()],
    )
