"""Each page by axe: names, roles, labels, contrast, in both themes and on a phone."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import OpenPage
from tests.page.running import RunningShoal
from tests.test_repository import ROOT

AXE = ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PHONE = {"width": 390, "height": 844}
WORKFLOWS = """
name: failing
schedules: [{cron: "0 0 2 * * ?", state: ONLINE}]
tasks:
  - {name: first, type: SHELL, params: {script: "echo one; echo 'error: no such table' >&2; exit 3"}}
  - {name: second, type: FAKE, after: [first]}
---
kind: pool
name: proxies
description: the proxies of the shop
resources: {p1: {host: 10.0.0.1}, p2: {host: 10.0.0.2}}
"""
ALERTS = """
    INSERT INTO alert (kind, severity, project, workflow, subject, alert_group)
    SELECT 'RULE', severity, 'default', 'failing', 'it failed', alert_group
    FROM unnest(ARRAY['INFO', 'WARNING', 'CRITICAL']) AS severity, unnest(ARRAY['default', 'nobody']) AS alert_group;
    INSERT INTO alert_rule (project, name, text)
    VALUES ('default', 'fails', 'any run of failing fails -> group default'), ('default', 'wrong', 'any run fals');
    INSERT INTO alert_silence (starts_at, ends_at, kind, reason)
    VALUES (now() - interval '2 h', now() - interval '1 h', NULL, 'over'),
           (now() - interval '1 h', now() + interval '1 h', 'FAILOVER', 'an upgrade')
"""
# What lies below them can be dragged away.
ON_CANVAS = [f'button[aria-label="{each}"]' for each in ("Arrange", "Show all", "Add a note")]
PAGES = [
    "/",
    "/workflows",
    "/workflows/default/failing",
    "/workflows/default/failing?tab=versions",
    "/workflows/default/failing?tab=settings",
    "/workflows/import",
    "/relations",
    "/runs",
    "/attempts",
    "/runs/RUN",
    "/runs/RUN?tab=gantt",
    "/runs/RUN?tab=grid",
    "/runs/RUN?tab=logs",
    "/runs/RUN?tab=events",
    "/runs/RUN?tab=parameters",
    "/schedules",
    "/schedules/backfill",
    "/queue",
    "/cluster",
    "/cluster?tab=masters",
    "/cluster?tab=workers",
    "/cluster?tab=registry",
    "/cluster?tab=database",
    "/cluster?tab=duties",
    "/cluster?tab=pools",
    "/cluster?tab=pools&pool=proxies",
    "/alerts",
    "/alerts?row=ALERT",
    "/alerts?tab=rules",
    "/alerts?tab=channels",
    "/alerts?tab=silences&past=true",
    *(
        f"/settings/{each}"
        for each in (
            *("projects", "projects?row=default", "data-sources?new=true", "environments?new=true", "secrets"),
            *("users", "users?row=1", "tokens", "audit", "about"),
        )
    ),
]


@pytest.fixture(scope="module")
def run(running: RunningShoal, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The id of a run that failed."""
    file = tmp_path_factory.mktemp("workflows") / "failing.yaml"
    file.write_text(WORKFLOWS, "utf-8")
    running.shoal("workflow", "apply", str(file))
    running.shoal("pool", "set-aside", "proxies", "p2", "--reason", "blocked by the shop")
    running.shoal("alert", "channel", "set", "ops", "json://127.0.0.1:9", "--group", "default")
    running.shoal("db", "psql", "-c", ALERTS)
    with pytest.raises(AssertionError):
        running.shoal("run", "failing", "--wait")
    return str(running.json("runs", "--workflow", "failing")[0]["id"])


@pytest.mark.parametrize(
    ("size", "scheme"),
    [
        ("laptop", "light"),
        pytest.param("phone", "dark", marks=pytest.mark.long),
        pytest.param("laptop", "dark", marks=pytest.mark.soak),
        pytest.param("phone", "light", marks=pytest.mark.soak),
    ],
)
def test_nothing_that_axe_finds(open_page: OpenPage, run: str, size: str, scheme: str) -> None:
    options = {"viewport": PHONE} if size == "phone" else {}
    page = open_page(color_scheme=scheme, reduced_motion="reduce", **options)
    root = page.url.rstrip("/")
    found = []
    for address in PAGES:
        page.goto(f"{root}{address.replace('RUN', run).replace('ALERT', '1')}")
        found += [f"{address}: {each}" for each in violations(page)]
    assert not found, "\n".join(found)


def violations(page: Page) -> list[str]:
    """What axe finds on a page that is loaded."""
    page.get_by_role("heading").first.wait_for()
    expect(page.locator(".skeleton")).to_have_count(0)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    page.evaluate(AXE.read_text("utf-8"))
    asked = json.dumps({"runOnly": RULES, "resultTypes": ["violations"]})
    found = page.evaluate(f"axe.run(document, {asked}).then(result => result.violations)")
    return [
        f"{rule['id']} ({rule['impact']}): {node['target']} {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
        for rule in found
        for node in rule["nodes"]
        if not (rule["id"] == "target-size" and node["target"][0] in ON_CANVAS)
    ]
