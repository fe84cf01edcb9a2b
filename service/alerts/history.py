"""The operations about alerts that were raised: pages of them, what became of each, and sending one again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from dao.alerts import alert_listings as alerts
from dao.alerts import channels, resend_and_test
from dao.alerts.rows import AlertRow, Delivery
from model import fields
from model.accounts.rights import Right
from model.alerts.alerts import AlertKind
from model.errors import Refused
from service.alerts.channels import Name as ChannelName
from service.call import Call, Subject
from service.fields import Answer, Asked, Id
from service.operation import operation
from service.paging import PageOf, PageQuery, page_of

TAG, KIND = "alerts", "alert"
PUBLIC = (
    AlertKind.FAILOVER,
    AlertKind.GROUP_WITHOUT_WORKERS,
    AlertKind.POOL_STANDS,
    AlertKind.QUEUE_STANDS,
    AlertKind.RECOVERED,
)
"""Kinds that say of the cluster what every account may see there. Others without a project may name runs of any."""


class DeliveryAnswer(Answer, Delivery):
    """What became of an alert on a channel.

    WAIT: it is still to be sent, or is tried again at `next_try_at`; SENT; GROUPED: sent as one message with the alert
    `grouped_with`; FAILED: the channel did not take it, and it is no longer tried; SILENCED. `error` says why.
    """

    grouped_with: Id | None = None


class AlertAnswer(Answer, AlertRow):
    """An alert. Without a `project` it concerns the cluster.

    `state` is WAIT until a sender has found its channels, then EXPANDED, SILENCED, or NOBODY if nobody gets it;
    `state_reason` says why.
    """

    id: Id
    run_id: Id | None = None
    task_id: Id | None = None
    deliveries: Sequence[DeliveryAnswer]


class WholeAlert(AlertAnswer):
    """An alert with its facts: names and numbers, no secret."""

    facts: Mapping[str, Any]


class AlertQuery(PageQuery):
    """A page of alerts, the newest first."""

    kind: Annotated[Sequence[AlertKind] | None, Field(description="only of these kinds")] = None
    project: Annotated[fields.Name | None, Field(description="only of this project")] = None
    workflow: Annotated[fields.Name | None, Field(description="only of workflows of this name")] = None
    run: Annotated[Id | None, Field(description="only of this run")] = None
    result: Annotated[
        Literal["FAILED", "WAIT", "NOBODY", "SILENCED"] | None,
        Field(
            description="only those that a channel did not get, that are still to be sent somewhere, that nobody gets, "
            "or that a silence covers"
        ),
    ] = None


class RetryAlert(Asked):
    """On which channel; else on all that did not get it."""

    channel: ChannelName | None = None


class RetriedAlert(Answer):
    """An alert that is sent again: on how many channels."""

    id: Id
    channels: int


@operation("GET", "/alerts", Right.VIEW, TAG)
async def list_alerts(call: Call, query: AlertQuery) -> PageOf[AlertAnswer]:
    """List the alerts of the projects that the caller may view, and of the cluster, each with its channels' results."""
    wanted = alerts.AlertFilter(
        call.visible(), PUBLIC, query.kind, query.project, query.workflow, query.run, query.result
    )
    async with call.reading() as connection:
        found = await alerts.page(connection, wanted, query.limit + 1, query.after)
        results = await alerts.deliveries(connection, [each.id for each in found])
    return page_of(found, query.limit, lambda row: _answer(row, results.get(row.id, ())), lambda row: row.id)


@operation("GET", "/alerts/{id}", Right.VIEW, TAG)
async def get_alert(call: Call, id: Id) -> WholeAlert:
    """Show an alert: its facts, and what became of it on each channel."""
    async with call.reading() as connection:
        row, facts = await alerts.find(connection, id)
        if row.project is not None or row.kind not in PUBLIC:
            call.permit(row.project)
        else:
            call.visible()
        results = await alerts.deliveries(connection, [id])
    return WholeAlert(**_answer(row, results.get(id, ())).model_dump(), facts=facts)


@operation("POST", "/alerts/{id}/retry", Right.OPERATE, TAG, status=202)
async def retry_alert(call: Call, id: Id, body: RetryAlert) -> RetriedAlert:
    """Have an alert sent again on the channels that did not get it, or to its group if nobody got it."""
    row, _ = await call.read(alerts.find, id)
    async with call.changing(Subject(KIND, id, row.project)) as change:
        if body.channel is not None:
            await channels.channel_named(change.connection, body.channel)
        again = await resend_and_test.retry(change.connection, id, body.channel)
        if not again:
            where = f'on channel "{body.channel}"' if body.channel is not None else "on any channel"
            raise Refused(f"alert {id} has not failed {where}; only what failed is sent again")
        change.after = {"channel": body.channel} if body.channel is not None else None
        change.answer = RetriedAlert(id=id, channels=again)
    return change.answered(RetriedAlert)


def _answer(row: AlertRow, results: Sequence[Delivery]) -> AlertAnswer:
    deliveries = [DeliveryAnswer.model_validate(each) for each in results]
    return AlertAnswer.showing(row, deliveries=deliveries)
