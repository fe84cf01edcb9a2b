"""Starts of workflows by signed webhooks: who has a key of the workflow may start it, once for each event."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import structlog

from dao.commands.commands import NewCommand
from dao.definitions import definitions
from dao.definitions.definitions import Definition
from dao.postgres import database
from dao.secrets.parameters import unseal
from model.definitions.triggers import EVENT
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused, Unauthenticated
from model.ids import WorkflowCode
from model.parameters.parameters import parse_parameters
from model.parameters.secret_values import sealed_value
from model.runs.command_moves import CommandType
from model.runs.webhooks import Delivery
from service.call import Backend, Call, Replay
from service.callers import Caller, Visitor
from service.runs.command_asked import CommandAsked
from service.runs.control import start_run
from service.runs.start_batches import StartAsked, start_all
from service.runs.start_command import Start
from service.secrets.key_settings import open_vault

log = structlog.get_logger()


async def sender_of(backend: Backend, code: WorkflowCode, delivery: Delivery, visitor: Visitor) -> Caller:
    """Who sent an event for this workflow.

    Raises `Unauthenticated`: the signature is not of this workflow, or too old; the same if there is no such workflow.
    """
    async with backend.database.reading() as connection:
        head = (await definitions.heads(connection, [code])).get(code)
        spec = None if head is None else await definitions.spec_of(connection, code, head.version)
        now = await database.database_time(connection)
    if head is not None and isinstance(spec, WorkflowSpec) and _is_signed(backend, head, spec, delivery):
        delivery.check_time(now)
        return Caller.of_webhook(code, head.project, visitor)
    raise Unauthenticated(
        f"workflow {code} has no webhook with this signature; sign with a secret that its triggers name"
    )


async def start_by_webhook(backend: Backend, sender: Caller, code: WorkflowCode, delivery: Delivery) -> CommandAsked:
    """Start the workflow once for the event that this is a delivery of.

    Raises:
        Replayed: the event has started it before.
        Refused: it is OFFLINE, needs parameters, or the body cannot be used.
    """
    call = Call(backend, sender, start_run, replay=Replay(delivery.id, hashlib.sha256(delivery.body).digest()))
    new = NewCommand(CommandType.START_PROCESS, code, traceparent=sender.traceparent, created_by=sender.name)
    start = Start(new, more={EVENT: delivery.event()})
    return await backend.batches.ask(start_all, StartAsked(call, code, start, {EVENT: delivery.id}))


def _is_signed(backend: Backend, head: Definition, spec: WorkflowSpec, delivery: Delivery) -> bool:
    return any(delivery.is_signed_with(secret) for secret in _secrets(backend, head, spec))


def _secrets(backend: Backend, head: Definition, spec: WorkflowSpec) -> Iterator[str]:
    """The secrets that its triggers name; one that cannot be opened is logged."""
    names = [trigger.webhook for trigger in spec.triggers if trigger.webhook is not None]
    if not names:
        return
    values = {**parse_parameters(head.project_params, "the parameters of its project"), **spec.params}
    vault = open_vault(backend.settings.secrets)
    for name in names:
        try:
            if (sealed := sealed_value(values.get(name, ""))) is None:
                raise Refused(f'neither the workflow nor its project has a SECRET "{name}"; declare it with its value')
            yield unseal(name, sealed, vault, head.project)
        except Refused as error:
            log.warning("webhook_without_secret", workflow=head.code, error=str(error))
