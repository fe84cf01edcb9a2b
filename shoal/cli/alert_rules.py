"""`shoal alert rule list/set/delete`: when which alert group is notified, in words."""

from __future__ import annotations

from typing import Annotated

import typer

from service.alerts import rules
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.output import answer_fields, print_result
from shoal.cli.verbs import new_group, verb
from shoal.clients.pages import all_items

Name = Annotated[str, typer.Argument(metavar="RULE", help="The rule's name in its project.")]
Project = Annotated[str, typer.Option(help="The project that it belongs to.")]
RULES: Listing[rules.RuleAnswer] = Listing(
    (
        Field("PROJECT", lambda each: each.project),
        Field("RULE", lambda each: each.name),
        Field("TEXT", lambda each: each.text, sentence=True),
        Field("STATE", lambda each: ("no effect" if each.problem else "on") if each.enabled else "off"),
        Field("PROBLEM", lambda each: each.problem or "", keep=1, sentence=True),
    ),
    none="There is no alert rule yet.",
    first="Save one: shoal alert rule set NAME TEXT",
)


def add_to(alert: typer.Typer) -> None:
    group = new_group(alert, "rule", "When which alert group is notified, in words.")
    verb(group, "shoal alert rule list", "shoal alert rule list --project etl", name="list")(list_all)
    verb(
        group,
        'shoal alert rule set twice "any run of load fails twice in a row -> group data"',
        'shoal alert rule set late "late: load not ended by 06:00 Europe/Berlin -> group data" --project etl',
        name="set",
    )(put)
    verb(group, "shoal alert rule delete twice")(delete)


async def put(
    call: Invocation,
    name: Name,
    words: Annotated[str, typer.Argument(metavar="TEXT", help="The rule: any run of load fails -> group data")],
    project: Project = "default",
    enabled: Annotated[bool, typer.Option("--on/--off", help="Off: it raises nothing.")] = True,
) -> None:
    """Save or replace a rule. It applies to what happens from now on."""
    saved = await call.ask(rules.save_alert_rule, project, name, rules.SaveRule.read(text=words, enabled=enabled))
    said = f'Rule "{name}" of project "{project}" is saved: {saved.text}'
    print_result(call, answer_fields(saved), said, "What was raised: shoal alert list")


async def delete(call: Invocation, name: Name, project: Project = "default") -> None:
    """Delete a rule. What it has raised stays."""
    await call.ask(rules.delete_alert_rule, project, name)
    print_result(call, {"name": name, "deleted": True}, f'Rule "{name}" of project "{project}" is deleted.')


async def list_all(
    call: Invocation, project: Annotated[str | None, typer.Option(help="Only of this project.")] = None
) -> None:
    """List the rules in words, and why one raises nothing."""
    query = rules.RulesQuery.read(project=project)
    async with call.client() as client:
        found = await all_items(lambda page: client.ask(rules.list_alert_rules, page), query)
        await RULES.show(call, client, found)
