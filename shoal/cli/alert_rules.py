"""`shoal alert rule list/set/delete`: when which alert group is notified, in words."""

from __future__ import annotations

from typing import Annotated

import typer

from service.alerts import rules
from shoal.cli.invocation import Invocation
from shoal.cli.output import Column, answer_fields, needs_table, print_result, table
from shoal.cli.verbs import verb
from shoal.clients.pages import all_items

LIST_MAX = 10_000

Name = Annotated[str, typer.Argument(metavar="RULE", help="The rule's name in its project.")]
Project = Annotated[str, typer.Option(help="The project that it belongs to.")]


def add_to(alert: typer.Typer) -> None:
    """Add the group `rule`."""
    group = typer.Typer(no_args_is_help=True, help="When which alert group is notified, in words.")
    verb(group, "shoal alert rule list", "shoal alert rule list --project etl", name="list")(list_all)
    verb(
        group,
        'shoal alert rule set twice "any run of load fails twice in a row -> group data"',
        'shoal alert rule set late "late: load not ended by 06:00 Europe/Berlin -> group data" --project etl',
        name="set",
    )(put)
    verb(group, "shoal alert rule delete twice")(delete)
    alert.add_typer(group, name="rule")


async def put(
    call: Invocation,
    name: Name,
    words: Annotated[str, typer.Argument(metavar="TEXT", help="The rule: any run of load fails -> group data")],
    project: Project = "default",
    enabled: Annotated[bool, typer.Option("--on/--off", help="Off: it raises nothing.")] = True,
) -> None:
    """Save or replace a rule. It applies to what happens from now on."""
    async with call.client() as client:
        saved = await client.ask(rules.save_alert_rule, project, name, rules.SaveRule.read(text=words, enabled=enabled))
    said = f'Rule "{name}" of project "{project}" is saved: {saved.text}'
    print_result(call, answer_fields(saved), said, "What was raised: shoal alert list")


async def delete(call: Invocation, name: Name, project: Project = "default") -> None:
    """Delete a rule. What it has raised stays."""
    async with call.client() as client:
        await client.ask(rules.delete_alert_rule, project, name)
    print_result(call, {"name": name, "deleted": True}, f'Rule "{name}" of project "{project}" is deleted.')


async def list_all(
    call: Invocation, project: Annotated[str | None, typer.Option(help="Only of this project.")] = None
) -> None:
    """List the rules in words, and why one raises nothing."""
    async with call.client() as client:
        found = await all_items(
            lambda limit, cursor: client.ask(
                rules.list_alert_rules, rules.RulesQuery.read(limit=limit, cursor=cursor, project=project)
            ),
            LIST_MAX,
        )
    if not needs_table(call, found, "There is no alert rule yet.", "Save one: shoal alert rule set NAME TEXT"):
        return
    table(
        Column("PROJECT", [each.project for each in found]),
        Column("RULE", [each.name for each in found]),
        Column("TEXT", [each.text for each in found], sentence=True),
        Column("STATE", [_state(each) for each in found]),
        Column("PROBLEM", [each.problem or "" for each in found], keep=1, sentence=True),
    )


def _state(rule: rules.RuleAnswer) -> str:
    if not rule.enabled:
        return "off"
    return "no effect" if rule.problem else "on"
