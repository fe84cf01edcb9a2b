"""`docs/guides/runbooks.md`: each alert has a section, to which its rule links; tests/newcomer types its commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main
from ruamel.yaml import YAML

from shoal.cli import app
from shoal.cli.config import RUNBOOKS, with_runbooks
from tests.every import every
from tests.servers.prometheus import promtool

ROOT = Path(__file__).parents[2]
RULES = (ROOT / "metrics" / "rules" / "shoal.yml").read_text("utf-8")
ALERTS = re.findall(r"alert: (\w+)", RULES)
PAGE = (ROOT / RUNBOOKS).read_text("utf-8")
SECTION = re.compile(r"(?ms)^## (\w+)\n\n(.+?)\n\n```\n\$ (.+?)\n```\n\n(.+?)(?=\n## |\Z)")
COMMANDS = sorted({*re.findall(r"(?m)^\$ (shoal .+)$", PAGE), *re.findall(r"`(shoal [^`]+)`", PAGE)})


def links(rules: str) -> dict[str, str]:
    """The address that each alert has."""
    (group,) = YAML(typ="safe").load(rules)["groups"]
    return {each["alert"]: each["annotations"]["runbook_url"] for each in group["rules"] if "alert" in each}


def test_each_alert_has_a_section_with_its_meaning_a_command_and_what_to_do() -> None:
    assert [found[0] for found in SECTION.findall(PAGE)] == re.findall(r"(?m)^## (.+)$", PAGE) == ALERTS


@pytest.mark.parametrize("page", [RUNBOOKS, 'https://docs.example.org/"guides"/runbooks.html'])
def test_the_rule_of_each_alert_links_to_its_section(page: str, tmp_path: Path) -> None:
    written = with_runbooks(RULES, page)
    assert links(written) == {alert: f"{page}#{alert.lower()}" for alert in ALERTS}
    (tmp_path / "shoal.yml").write_text(written)
    assert "SUCCESS" in promtool("check", "rules", str(tmp_path / "shoal.yml"))


def verb_of(words: list[str]) -> Any:
    """The verb that they name."""
    found: Any = typer.main.get_command(app)
    while (verbs := getattr(found, "commands", None)) and words and not words[0].startswith("-"):
        assert words[0] in verbs, f"{found.name} has no verb {words[0]}"
        found, *words = verbs[words[0]], *words[1:]
    return found


@every("command", COMMANDS)
def test_a_command_of_the_page_is_a_verb_with_these_options(command: str) -> None:
    _, *words = shlex.split(command)
    verb = verb_of(words)
    assert verb.callback is not None, f"{command}: which of its verbs?"
    if not verb.context_settings.get("ignore_unknown_options"):
        options = {option for parameter in verb.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= options, command


def test_alerts_of_shoal_itself_about_the_cluster_are_named_beside_those_of_prometheus() -> None:
    table = (ROOT / "docs" / "guides" / "alerts.md").read_text("utf-8")
    kinds = re.findall(r"(?m)^\| `(\w+)` \|.*\| `default` \|", table)
    assert "FAILOVER" in kinds
    assert [kind for kind in kinds if kind not in PAGE] == []
