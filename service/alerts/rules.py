"""The operations about rules in words: when which alert group is notified of what happens in a project."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dao.accounts import members
from dao.alerts import groups, saved_rules
from dao.alerts.rows import SavedRule
from dao.definitions import definitions
from model import fields
from model.accounts.project_limits import Resource
from model.accounts.rights import Right
from model.alerts.rules import parse_rule
from model.errors import Refused
from service.call import Call, Subject
from service.fields import Answer, Asked, Text
from service.operation import operation
from service.paging import PageOf, PairPageQuery, page_of

TAG, KIND = "alert-rules", "alert-rule"
LENGTH_MAX = 2_000


class RuleAnswer(Answer, SavedRule, without={"id"}, etag="version"):
    """A rule. `problem` is why it raises nothing, such as a workflow that is gone; it is left out while it works."""

    group: Annotated[str | None, Field(description="the alert group that it names")] = None

    @classmethod
    def of(cls, rule: SavedRule) -> RuleAnswer:
        try:
            group: str | None = parse_rule(rule.text).group
        except Refused:
            group = None
        return cls.model_validate(rule).model_copy(update={"group": group})


class RulesQuery(PairPageQuery):
    """A page of rules, by project and name."""

    project: Annotated[fields.Name | None, Field(description="only those of this project")] = None


class SaveRule(Asked):
    """A rule as it is to be from now on."""

    text: Annotated[
        Text,
        Field(max_length=LENGTH_MAX, examples=["any run of load fails twice in a row -> group data"]),
    ]
    enabled: Annotated[bool, Field(description="false: it raises nothing")] = True


class CheckRule(Asked):
    """A rule in words that is still being written."""

    project: fields.Name
    text: Annotated[Text, Field(max_length=LENGTH_MAX)]


class RuleChecked(Answer):
    """What a rule says. `fault` is why it cannot be read, with how to write it; the rest is left out then.

    `workflow` is left out where it is about all of the project. Where `has_workflow` or `has_group` is false, there is
    no such workflow in the project, or no such alert group, yet: it raises nothing, or nobody is notified.
    """

    fault: str | None = None
    workflow: str | None = None
    group: str | None = None
    has_workflow: bool | None = None
    has_group: bool | None = None


@operation("GET", "/alert-rules", Right.VIEW, TAG)
async def list_alert_rules(call: Call, query: RulesQuery) -> PageOf[RuleAnswer]:
    """List the rules of the projects that the caller may view."""
    visible = call.visible()
    found = await call.read(saved_rules.page, visible, query.limit + 1, project=query.project, after=query.after)
    return page_of(found, query.limit, RuleAnswer.of, lambda rule: (rule.project, rule.name))


@operation("GET", "/projects/{project}/alert-rules/{name}", Right.VIEW, TAG)
async def get_alert_rule(call: Call, project: fields.Name, name: fields.Name) -> RuleAnswer:
    """Show a rule; the ETag is its version."""
    call.permit(project)
    return RuleAnswer.of(await call.read(saved_rules.find, project, name))


@operation("POST", "/alert-rules:check", Right.VIEW, TAG, reads=True)
async def check_alert_rule(call: Call, body: CheckRule) -> RuleChecked:
    """Check a rule in words without saving it: whether it can be read, and whether what it names is there."""
    call.permit(body.project)
    try:
        rule = parse_rule(body.text)
    except Refused as error:
        return RuleChecked(fault=str(error))
    async with call.reading() as connection:
        known = {each.name for each in await groups.all_groups(connection)}
        projects = [] if rule.workflow is None else await definitions.projects_with(connection, rule.workflow)
    return RuleChecked(
        workflow=rule.workflow,
        group=rule.group,
        has_workflow=rule.workflow is None or body.project in projects,
        has_group=rule.group in known,
    )


@operation("PUT", "/projects/{project}/alert-rules/{name}", Right.EDIT, TAG)
async def save_alert_rule(call: Call, project: fields.Name, name: fields.Name, body: SaveRule) -> RuleAnswer:
    """Save or change a rule, which applies to what happens from now on. To change one needs `If-Match`."""
    words = " ".join(body.text.split())
    async with call.changing(Subject(KIND, f"{project}/{name}", project, name)) as change:
        before = await saved_rules.hold(change.connection, project, name)
        call.expect_saved(before, "this rule no longer exists: it was deleted")
        limits = await members.limits(change.connection, project)
        limits.check(project, [(Resource.ALERT_GROUP, parse_rule(words).group)])
        saved = await saved_rules.put(change.connection, project, name, words, call.caller.name, enabled=body.enabled)
        change.before = None if before is None else _said(before)
        change.after, change.answer = _said(saved), RuleAnswer.of(saved)
    return change.answered(RuleAnswer)


@operation("DELETE", "/projects/{project}/alert-rules/{name}", Right.EDIT, TAG, status=204)
async def delete_alert_rule(call: Call, project: fields.Name, name: fields.Name) -> None:
    """Delete a rule. What it has raised stays."""
    async with call.changing(Subject(KIND, f"{project}/{name}", project, name)) as change:
        rule = await saved_rules.hold(change.connection, project, name)
        if rule is None:
            raise saved_rules.not_found(project, name)
        if call.if_match is not None:
            call.expect_saved(rule, "this rule no longer exists: it was deleted")
        change.before = _said(rule)
        await saved_rules.delete(change.connection, rule)


def _said(rule: SavedRule) -> dict[str, object]:
    return {"text": rule.text, "enabled": rule.enabled, "version": rule.version}
