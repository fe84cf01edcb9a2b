"""The operations about silences: times in which alerts that match are kept and not sent."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dao.alerts import silences
from dao.alerts.rows import Silence
from dao.postgres import database
from model import fields
from model.accounts.rights import Right
from model.alerts.alerts import AlertKind
from model.errors import Refused
from service.call import Call, Subject
from service.fields import Answer, Asked, Id, Moment, Text
from service.operation import operation
from service.paging import ItemsOf

TAG, KIND = "alert-silences", "alert-silence"
SHOWN_MAX = 500
LONGEST_S = 366 * 86_400


class SilenceAnswer(Answer, Silence):
    """A silence. Without `project` it covers all projects and the cluster, without `workflow` or `kind` all of them."""

    id: Id


class SilencesQuery(Asked):
    """Which silences."""

    past: Annotated[bool, Field(description="those too that are over")] = False


class NewSilence(Asked):
    """A new silence: from `starts_at`, else from now on, until `ends_at` or for `lasts_s` seconds."""

    starts_at: Moment | None = None
    ends_at: Moment | None = None
    lasts_s: Annotated[float | None, Field(gt=0, le=LONGEST_S, allow_inf_nan=False)] = None
    project: Annotated[fields.Name | None, Field(description="only its alerts; else of all and of the cluster")] = None
    workflow: Annotated[fields.Name | None, Field(description="only of this workflow of the project")] = None
    kind: Annotated[AlertKind | None, Field(description="only alerts of this kind")] = None
    reason: Annotated[Text, Field(max_length=1_000, description="a sentence, shown to everybody")] = ""


@operation("GET", "/alert-silences", Right.VIEW, TAG)
async def list_silences(call: Call, query: SilencesQuery) -> ItemsOf[SilenceAnswer]:
    """List the silences of the whole cluster, and of the projects that the caller may view.

    The newest comes first; it returns at most 500.
    """
    visible = call.visible()
    found = await call.read(silences.some, visible, SHOWN_MAX, has_past=query.past)
    return ItemsOf[SilenceAnswer](items=[SilenceAnswer.model_validate(each) for each in found])


@operation("POST", "/alert-silences", Right.OPERATE, TAG, status=201)
async def add_silence(call: Call, body: NewSilence) -> SilenceAnswer:
    """Silence alerts for a time: they are kept and not sent. Without a project only an admin may.

    It covers alerts that are raised in its time, also those that were raised before this request and are not expanded
    yet; what waits for a channel already is sent.
    """
    if (body.ends_at is None) == (body.lasts_s is None):
        raise Refused("say when the silence ends: either ends_at or lasts_s")
    if body.workflow is not None and body.project is None:
        raise Refused("a workflow belongs to a project; name the project too")
    subject = _permitted(call, Subject(KIND, None, body.project))
    async with call.changing(subject) as change:
        now = await database.database_time(change.connection)
        ends_at = body.ends_at
        if ends_at is not None and ends_at <= (body.starts_at or now):
            raise Refused("the silence would end before it begins; give a later ends_at")
        new = silences.NewSilence(**body.model_dump())
        made = await silences.insert(change.connection, new, call.caller.name)
        change.id, change.answer = made.id, SilenceAnswer.model_validate(made)
        change.after = change.answer.model_dump(mode="json", exclude_none=True, exclude={"id", "created_at"})
    return change.answered(SilenceAnswer)


@operation("POST", "/alert-silences/{id}/end", Right.OPERATE, TAG)
async def end_silence(call: Call, id: Id) -> SilenceAnswer:
    """End a silence now; one that has not begun is deleted. What it has silenced stays so."""
    silence = await call.read(silences.find, id)
    subject = _permitted(call, Subject(KIND, id, silence.project))
    async with call.changing(subject) as change:
        await silences.end(change.connection, silence)
        change.before = {"ends_at": f"{silence.ends_at:%FT%TZ}"}
        change.answer = SilenceAnswer.model_validate(silence).model_copy(
            update={"ends_at": min(silence.ends_at, await database.database_time(change.connection))}
        )
    return change.answered(SilenceAnswer)


def _permitted(call: Call, subject: Subject) -> Subject:
    """The subject. A silence of the whole cluster is seen by everybody and changed by admins: raises `Forbidden`."""
    call.subject = subject
    if subject.project is None:
        call.caller.need(Right.ADMINISTER)
    return subject
