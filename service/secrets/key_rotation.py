"""The operations about what is stored encrypted: what there is, under which keys, and a new key for all of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

from dao.alerts import channels
from dao.secrets import data_sources, environments
from model.accounts.rights import Right
from model.errors import Refused
from service.call import Call, Subject
from service.fields import Answer, Moment
from service.operation import operation
from service.paging import ItemsOf
from service.secrets.key_settings import open_vault

TAG, KIND = "secrets", "secret-key"


class SecretKind(StrEnum):
    """What a stored secret is."""

    DATA_SOURCE = "DATA_SOURCE"
    ENVIRONMENT = "ENVIRONMENT"
    ALERT_CHANNEL = "ALERT_CHANNEL"


class SecretAnswer(Answer):
    """A stored secret, never its value; `key_id` is the fingerprint of the key that encrypts it."""

    kind: SecretKind
    name: str
    key_id: str
    updated_at: Moment


class KeyAnswer(Answer):
    """A key by its fingerprint, and how many data sources, environments and alert channels it encrypts.

    `is_here` is whether the process that answers has it, `encrypts` whether it is the one for new secrets.
    """

    key_id: str
    is_here: bool
    encrypts: bool
    secrets: int


class KeysAnswer(Answer):
    """The keys of the process that answers, in their order, and then those that it lacks."""

    items: Sequence[KeyAnswer]


class Rotated(Answer):
    """The key under which everything is now, and how many rows were encrypted again."""

    key_id: str
    data_sources: int
    environments: int
    alert_channels: int


@operation("GET", "/secrets", Right.VIEW_CLUSTER, TAG)
async def list_secrets(call: Call) -> ItemsOf[SecretAnswer]:
    """List the stored secrets by name, each with its key; no value is ever shown."""
    return ItemsOf[SecretAnswer](items=await _secrets(call))


@operation("GET", "/secrets/keys", Right.ADMINISTER, TAG)
async def list_keys(call: Call) -> KeysAnswer:
    """List the keys by their fingerprints, and how much each encrypts; no key is ever shown."""
    here = open_vault(call.settings.secrets).key_ids
    counts = Counter(each.key_id for each in await _secrets(call))
    known = [*here, *sorted(counts.keys() - set(here))]
    return KeysAnswer(
        items=[
            KeyAnswer(key_id=key, is_here=key in here, encrypts=key in here[:1], secrets=counts[key]) for key in known
        ]
    )


@operation("POST", "/secrets:rotate", Right.ADMINISTER, TAG)
async def rotate_secrets(call: Call) -> Rotated:
    """Encrypt all data sources, environments and alert channels with the first key; all or none.

    Older keys are not needed then.
    """
    call.permit(None)
    vault = open_vault(call.settings.secrets)
    if not vault.key_ids:
        raise Refused("there is no key; set secrets.keys or secrets.key_file, see docs/guides/data-sources.md")
    async with call.changing(Subject(KIND, vault.key_ids[0])) as change:
        change.answer = Rotated(
            key_id=vault.key_ids[0],
            data_sources=await data_sources.rotate(change.connection, vault),
            environments=await environments.rotate(change.connection, vault),
            alert_channels=await channels.rotate(change.connection, vault),
        )
        change.after = change.answer.model_dump(mode="json")
    return change.answered(Rotated)


async def _secrets(call: Call) -> list[SecretAnswer]:
    async with call.reading() as connection:
        sources = await data_sources.all_data_sources(connection)
        scripts = await environments.all_environments(connection)
        alerts = await channels.all_channels(connection)
    return [
        SecretAnswer(kind=kind, name=each.name, key_id=each.key_id, updated_at=each.updated_at)
        for kind, found in (
            (SecretKind.DATA_SOURCE, sources),
            (SecretKind.ENVIRONMENT, scripts),
            (SecretKind.ALERT_CHANNEL, alerts),
        )
        for each in found
    ]
