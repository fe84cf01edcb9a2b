"""A task that waits for a person: what it asks stands on Now and on the page of its run, where it is answered."""

from __future__ import annotations

import re
import time
from urllib.parse import urlencode

from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import OpenPage, Seen, log_in_as
from tests.page.running import RunningShoal
from tests.page.test_accessibility import PHONE, violations
from tests.page.test_session_over import PASSWORD, log_in

YAML = """\
name: NAME
tasks:
  - {name: load, type: FAKE, params: {outputs: {rows: "70"}}}
  - name: release
    type: APPROVAL
    after: [load]
    params:
      text: |-
        Publish ${load.rows} prices?
        They replace those of yesterday.
      form:
        rows: {type: INTEGER, value: "${load.rows}", min: 1, description: How many of them}
        region: {enum: [eu, us], required: true}
        full: {type: BOOLEAN, value: false}
      role: OWNER
      timeout: 8h
      on_timeout: SKIP
  - name: publish
    type: FAKE
    after: [release]
    params: {outputs: {told: "${release.rows} ${release.region} ${release.answered_by}"}}
"""
ASKED_S_MAX = 60.0


def asked(running: RunningShoal, name: str) -> tuple[str, str]:
    """A run of a new workflow of this name, whose task waits, and the attempt: their ids."""
    running.apply(f"{name}.yaml", YAML.replace("NAME", name))
    running.shoal("run", name)
    deadline = time.monotonic() + ASKED_S_MAX
    while not (found := [each for each in running.json("task", "approvals") if each["workflow"] == name]):
        assert time.monotonic() < deadline, "nothing waits"
    return str(found[0]["run_id"]), str(found[0]["task_instance_id"])


def panel(page: Page) -> Locator:
    """What the task asks."""
    return page.locator(".why")


def test_the_link_of_an_alert_leads_through_the_login_to_its_question(
    open_page: OpenPage, running: RunningShoal, seen: Seen
) -> None:
    seen.expected += ["401", "422"]
    running.shoal("user", "add", "ada", "--admin")
    running.shoal("user", "password", "ada", given=f"{PASSWORD}\n")
    run, attempt = asked(running, "prices")
    chosen = urlencode({"task": '"release"', "attempt": attempt})
    page = open_page(f"/runs/{run}?{chosen}", as_admin=False, viewport=PHONE, color_scheme="dark")
    log_in(page, PASSWORD)
    asks = panel(page)
    expect(asks.get_by_role("heading", name="Waits for an OWNER of the project")).to_be_in_viewport()
    expect(asks.locator("blockquote")).to_have_text("Publish 70 prices?\nThey replace those of yesterday.")
    expect(asks).to_contain_text("unanswered, it is skipped:")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]

    rows = asks.get_by_label("rows", exact=True)
    expect(rows).to_have_value("70")
    expect(rows).to_have_attribute("type", "number")
    expect(asks).to_contain_text("How many of them · At least 1.")
    rows.fill("0")
    rows.press("Control+Enter")
    expect(asks).to_contain_text('"region" is required')
    expect(asks).to_contain_text('it is "0"')
    rows.fill("60")
    expect(asks.get_by_text('it is "0"')).to_have_count(0)
    asks.get_by_role("combobox", name="region").press("Enter")
    page.get_by_role("option", name="us").click()
    asks.get_by_role("textbox", name="Comment").fill("as agreed")
    asks.get_by_role("button", name="Approve").press("Enter")
    expect(page.get_by_text("release: approved by ada: as agreed")).to_be_visible()
    expect(page.locator(".run-title .pill")).to_have_text("Succeeded")
    expect(asks).to_contain_text("approved by ada: as agreed")
    page.goto(f"{running.url}/runs/{run}?tab=parameters")
    expect(page.get_by_text("60 us ada")).to_be_visible()


def test_who_may_not_answer_reads_why_and_sees_the_answer_of_another_one(
    open_page: OpenPage, running: RunningShoal
) -> None:
    run, attempt = asked(running, "watched")
    page = log_in_as(open_page, running, "otto", "OPERATOR")
    need = page.locator(".needs li", has_text="watched")
    expect(need).to_contain_text("asks in release: waits for an OWNER of the project")
    expect(need).to_contain_text("You are not among those who may answer.")
    need.get_by_role("link", name="Look").click()
    expect(page).to_have_url(re.compile(f"/runs/{run}\\?task=release&attempt=%22{attempt}%22$"))
    asks = panel(page)
    approve = asks.get_by_role("button", name="Approve")
    expect(approve).to_have_attribute("aria-description", re.compile("waits for an OWNER of the project"))
    expect(asks.get_by_label("rows", exact=True)).to_be_disabled()
    approve.hover()
    expect(page.get_by_role("tooltip")).to_contain_text("You may not answer")
    running.shoal("task", "answer", attempt, "--param", "region=eu")
    expect(asks).to_contain_text("approved by")
    expect(approve).to_have_count(0)


def test_it_is_found_on_now_and_rejected_with_a_reason(open_page: OpenPage, running: RunningShoal) -> None:
    run, attempt = asked(running, "rejected")
    page = open_page()
    need = page.locator(".needs li", has_text="rejected")
    expect(need).to_contain_text("Publish 70 prices?")
    expect(need).to_contain_text("Unanswered, it is skipped:")
    assert violations(page) == []
    need.get_by_role("link", name="Answer").press("Enter")
    asks = panel(page)
    reject = asks.get_by_role("button", name="Reject")
    expect(reject).to_have_attribute("aria-description", re.compile("needs a comment"))
    assert violations(page) == []
    asks.get_by_role("textbox", name="Comment").fill("the totals are wrong")
    reject.click()
    expect(page.locator(".run-title .pill")).to_have_text("Failed")
    expect(asks).to_contain_text("the totals are wrong")

    page.get_by_role("button", name="Rerun from here").first.click()
    expect(asks.get_by_role("button", name="Approve")).to_be_visible()
    expect(asks).to_contain_text("Attempt 1: rejected by")
    page.get_by_role("link", name="Now").first.click()
    expect(page.locator(".needs li", has_text="rejected")).to_have_count(1)
    (newest,) = [each for each in running.json("task", "approvals") if str(each["run_id"]) == run]
    assert newest["task_instance_id"] != attempt
    running.shoal("task", "answer", f"{run}/release", "--reject", "--reason", "no")
    expect(page.locator(".needs li", has_text="waits for")).to_have_count(0)


def test_in_chinese_it_has_its_words(open_page: OpenPage, running: RunningShoal) -> None:
    run, _ = asked(running, "chinese")
    page = open_page(f"/runs/{run}", locale="zh-CN", color_scheme="dark")
    asks = panel(page)
    expect(asks.get_by_role("button", name="批准")).to_be_visible()
    expect(asks).to_contain_text("无人答复则跳过")
    assert violations(page) == []
