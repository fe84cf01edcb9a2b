"""Alerts on the page: a channel is added and tested, a rule is written with a mistake, an alert has its history."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.alert.receivers import HttpReceiver, http_receiver
from tests.page.conftest import OpenPage, Seen, log_in_as
from tests.page.running import RunningShoal

WORKFLOWS = """
name: load
tasks: [{name: fails, type: SHELL, params: {script: "exit 3"}}]
"""
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def receiver() -> Iterator[HttpReceiver]:
    """A webhook on loopback."""
    with http_receiver() as server:
        yield server


@pytest.fixture(scope="module", autouse=True)
def workflow(running: RunningShoal) -> None:
    """One whose runs fail."""
    running.apply("load.yaml", WORKFLOWS)


def add_channel(page: Page, name: str, url: str) -> None:
    """Add a channel on the page that is open."""
    page.get_by_role("button", name="New channel").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_label("URL").fill(url)
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()


def test_a_channel_is_added_tested_changed_and_deleted(open_page: OpenPage, receiver: HttpReceiver, seen: Seen) -> None:
    seen.expected.append("422")
    page = open_page("/alerts?tab=channels")
    expect(page.get_by_text("No channel yet")).to_be_visible()
    page.get_by_role("button", name="New channel").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("hook")
    dialog.get_by_label("URL").fill("https://example.org/secret-path")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_contain_text("https:// is no channel; a webhook is jsons://host/path")
    dialog.get_by_label("URL").fill(receiver.url("secret-path"))
    dialog.get_by_role("button", name="Save").click()
    row = page.get_by_role("row", name=re.compile("^hook "))
    expect(row).to_contain_text(f"json://127.0.0.1:{receiver.port}/***")
    expect(row).to_contain_text("in none: it gets nothing")

    row.get_by_role("button", name="Test").click()
    expect(row).to_contain_text("The test message arrived.", timeout=50_000)
    assert receiver.posts[-1].path == "/secret-path"
    assert "secret-path" not in page.content()

    row.get_by_role("button", name="Change").click()
    dialog.get_by_label("URL").fill(receiver.url("500"))
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    row.get_by_role("button", name="Test").click()
    expect(row).to_contain_text(re.compile("Not sent: .*500"), timeout=50_000)

    row.get_by_role("button", name="Change").click()
    dialog.get_by_label("Description").fill("for nobody")
    dialog.get_by_role("switch", name="On").uncheck(force=True)
    dialog.get_by_role("button", name="Save").click()
    expect(row.get_by_text("Off", exact=True)).to_be_visible()
    row.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No channel yet")).to_be_visible()


def test_a_rule_with_a_mistake_says_what_is_wrong_while_it_is_written(
    open_page: OpenPage, running: RunningShoal
) -> None:
    page = open_page("/alerts?tab=rules")
    page.get_by_role("button", name="New rule").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("combobox", name="Project").click()
    page.get_by_role("option", name="default", exact=True).click()
    dialog.get_by_label("Name").fill("load fails")
    rule = dialog.get_by_role("textbox", name="Rule")
    rule.fill("any run of load fals -> group data")
    expect(dialog.get_by_text('"any run of load fals" is not understood; write one of')).to_be_visible()
    rule.fill("any run of lod fails -> group data")
    expect(dialog.get_by_text("There is no workflow lod in project default")).to_be_visible()
    expect(dialog.get_by_text("There is no alert group data yet")).to_be_visible()
    dialog.get_by_role("button", name=re.compile("fails twice in a row")).click()
    expect(rule).to_have_value(re.compile("^any run of .* fails twice in a row -> group default$"))
    rule.fill("any run of load fails -> group data")
    # The answer to it is there: before, it may move the button between press and release.
    expect(dialog.get_by_text("There is no alert group data yet")).to_be_visible()
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    row = page.get_by_role("row", name=re.compile("load fails"))
    expect(row).to_contain_text("Works")
    row.get_by_role("switch").click(force=True)
    expect(page.get_by_text("Rule load fails is off")).to_be_visible()
    expect(row.get_by_text("Off", exact=True)).to_be_visible()
    assert [each["enabled"] for each in running.json("alert", "rule", "list")] == [False]
    row.get_by_role("switch").click(force=True)
    expect(row).to_contain_text("Works")


def test_what_became_of_an_alert_is_seen_live_and_a_failed_one_is_sent_again(
    open_page: OpenPage, running: RunningShoal, receiver: HttpReceiver
) -> None:
    page = open_page("/alerts?tab=channels")
    add_channel(page, "broken", receiver.url("hook", user="shoal:hush@"))
    page.get_by_role("button", name="New group").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Name")).to_have_value("default")
    dialog.get_by_label("Name").fill("ops")
    dialog.get_by_label("broken").check()
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row", name=re.compile("^ops broken"))).to_be_visible()

    page.get_by_role("link", name="History").click()
    running.shoal("db", "psql", "-c", ALERT.format(group="nowhere", subject="nobody hears of this"))
    first = page.locator(".alert-list > li", has_text="nobody hears of this")
    expect(first.get_by_text("Nobody gets it")).to_be_visible()
    first.get_by_role("button", name="nobody hears of this").click()
    expect(first).to_contain_text('there is no alert group "nowhere"')

    running.shoal("db", "psql", "-c", ALERT.format(group="ops", subject="the pump stands"))
    alert = page.locator(".alert-list > li", has_text="the pump stands")
    expect(alert.get_by_role("img", name="Sent", exact=True)).to_be_visible()
    assert "the pump stands" in receiver.posts[-1].json["message"] + receiver.posts[-1].json["title"]
    running.shoal("db", "psql", "-c", FAILED)
    page.goto(f"{page.url.split('?')[0]}?result=FAILED")
    alert.get_by_role("button", name="the pump stands").click()
    expect(alert.get_by_role("row", name=re.compile("broken Failed 4"))).to_contain_text("answered 500")
    sent = len(receiver.posts)
    alert.get_by_role("button", name="Send again", exact=True).click()
    expect(page.get_by_text("is sent again")).to_be_visible()
    expect(alert).to_have_count(0)
    page.goto(page.url.split("?")[0])
    expect(alert.get_by_role("img", name="Sent", exact=True)).to_be_visible()
    assert len(receiver.posts) > sent
    assert "hush" not in page.content()


ALERT = """
    INSERT INTO alert (kind, severity, project, workflow, alert_group, subject, facts)
    VALUES ('RUN_ENDED', 'CRITICAL', 'default', 'load', '{group}', '{subject}', '{{"run": 7}}')
"""
FAILED = """
    UPDATE alert_delivery SET state = 'FAILED', tries = 4, last_error = 'the receiver answered 500', sent_at = NULL
"""


def test_a_silence_is_made_from_an_alert_and_ended(open_page: OpenPage, running: RunningShoal) -> None:
    running.shoal("db", "psql", "-c", ALERT.format(group="nowhere", subject="it rings all night"))
    page = open_page("/alerts")
    alert = page.locator(".alert-list > li", has_text="it rings all night")
    alert.get_by_role("button", name="it rings all night").click()
    alert.get_by_role("button", name="Silence alerts like this").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("combobox", name="Project")).to_have_value("default")
    expect(dialog.get_by_label("Workflow")).to_have_value("load")
    expect(dialog.get_by_role("combobox", name="Kind")).to_have_value("Run ended")
    dialog.get_by_label("Reason").fill("the pump is being repaired")
    dialog.get_by_text("4 hours", exact=True).click()
    dialog.get_by_role("button", name="Silence", exact=True).click()
    expect(dialog).to_be_hidden()
    running.shoal("db", "psql", "-c", ALERT.format(group="nowhere", subject="it still rings"))
    quiet = page.locator(".alert-list > li", has_text="it still rings")
    expect(quiet.get_by_text("Silenced")).to_be_visible()

    page.get_by_role("link", name="Silences").click()
    row = page.get_by_role("row", name=re.compile("^Now default.load · Run ended"))
    expect(row).to_contain_text("the pump is being repaired")
    row.get_by_role("button", name="End now").click()
    expect(page.get_by_text("Nothing is silenced")).to_be_visible()
    page.get_by_role("switch", name="Past ones too").check(force=True)
    expect(page.get_by_role("row", name=re.compile("^Over default.load"))).to_be_visible()


def test_a_real_run_that_fails_is_an_alert_of_its_rule_with_links(open_page: OpenPage, running: RunningShoal) -> None:
    with pytest.raises(AssertionError):
        running.shoal("run", "load", "--wait")
    page = open_page("/alerts?kind=RULE")
    alert = page.locator(".alert-list > li").first
    expect(alert).to_contain_text("load", timeout=40_000)
    expect(alert.get_by_text("Critical")).to_be_visible()
    run = running.json("runs", "--workflow", "load")[0]["id"]
    expect(alert.get_by_role("link", name=f"run {run}")).to_be_visible()
    alert.get_by_role("link", name="default/load").click()
    page.wait_for_url("**/workflows/default/load")


def test_a_rule_about_a_workflow_that_is_gone_says_so(open_page: OpenPage, running: RunningShoal) -> None:
    rule = "any run of gone fails -> group ops"
    running.shoal(
        *("db", "psql", "-c"), f"INSERT INTO alert_rule (project, name, text) VALUES ('default', 'gone', '{rule}')"
    )
    page = open_page("/alerts?tab=rules")
    row = page.get_by_role("row", name=re.compile("gone"))
    expect(row).to_contain_text('Raises nothing: there is no workflow "gone" in project "default"', timeout=90_000)


def test_who_may_only_see_reads_why_a_button_cannot_be_pressed(open_page: OpenPage, running: RunningShoal) -> None:
    page = log_in_as(open_page, running, "vera", "VIEWER")
    for tab, button in (("rules", "New rule"), ("channels", "New channel"), ("silences", "New silence")):
        page.goto(f"{running.url}/alerts?tab={tab}")
        expect(page.get_by_role("button", name=button)).to_have_attribute("aria-disabled", "true")
    page.get_by_role("button", name="New silence").hover()
    expect(page.get_by_role("tooltip")).to_contain_text("This needs the role operator in a project")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("tab", ["history", "rules", "channels", "silences"])
def test_on_a_phone_nothing_is_wider_than_the_page(open_page: OpenPage, scheme: str, tab: str) -> None:
    page = open_page(f"/alerts?tab={tab}", viewport=PHONE, color_scheme=scheme)
    expect(page.get_by_role("heading", name="Alerts", exact=True)).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_in_chinese_each_word_is_there(open_page: OpenPage) -> None:
    page = open_page("/alerts?tab=channels", locale="zh-CN")
    expect(page.get_by_role("link", name="告警", exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="告警组")).to_be_visible()
    page.get_by_role("link", name="静默").click()
    expect(page.get_by_role("button", name="新建静默")).to_be_visible()
