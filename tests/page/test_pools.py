"""Resource pools on the page: made, held, waited for, set aside, changed by two at once, on a phone and in Chinese."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.page.conftest import OpenPage, Seen
from tests.page.running import RunningShoal

POOL = """
kind: pool
name: tickets
description: two for all
resources: {gold: {door: 1}, silver: {door: 2}}
---
name: visits
tasks:
  - {name: long, type: FAKE, resources: {tickets: 1}, params: {sleep_s: 300}}
  - {name: both, type: FAKE, resources: {tickets: 2}, priority: LOW}
"""


@pytest.fixture(scope="module", autouse=True)
def visits(running: RunningShoal, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A task holds a ticket, and one waits for two."""
    file = tmp_path_factory.mktemp("pools") / "pool.yaml"
    file.write_text(POOL, "utf-8")
    running.shoal("workflow", "apply", str(file))
    running.shoal("run", "visits")


def test_who_holds_and_who_waits_live_and_what_is_set_aside(open_page: OpenPage, running: RunningShoal) -> None:
    page = open_page("/cluster?tab=pools")
    page.get_by_role("link", name="tickets").click()
    expect(page.get_by_role("row", name=re.compile("Taken long visits"))).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("^1 both visits.* 2 "))).to_be_visible()
    free = page.get_by_role("row", name=re.compile(r"^\S+ Free"))
    free.get_by_role("button", name="Set aside").click()
    page.get_by_role("textbox", name="Reason").fill("lost in the park")
    page.get_by_role("dialog").get_by_role("button", name="Set aside").click()
    aside = page.get_by_role("row", name=re.compile("set aside by .*: lost in the park"))
    expect(aside).to_be_visible()
    name = aside.locator("td").first.inner_text()
    running.shoal("pool", "take-back", "tickets", name)
    expect(page.get_by_role("row", name=re.compile(f"^{name} Free"))).to_be_visible()
    running.shoal("pool", "set-aside", "tickets", name)
    expect(page.get_by_role("row", name=re.compile("no reason was given"))).to_be_visible()
    page.get_by_role("button", name="Take back").click()
    expect(page.get_by_text(f"{name} is given again.")).to_be_visible()


def test_a_pool_is_changed_as_its_file_and_not_over_somebody_else(
    open_page: OpenPage, running: RunningShoal, tmp_path: Path, seen: Seen
) -> None:
    seen.expected += ["412", "422", "404"]  # the page may read the pool once more before it hears that it is gone
    page = open_page("/cluster?tab=pools")
    page.get_by_role("button", name="New pool").click()
    page.get_by_role("textbox", name="YAML").fill("kind: pool\nname: seats\ncount: 0\n")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text('field "count": must be 1 to 10000')
    page.get_by_role("textbox", name="YAML").fill("kind: pool\nname: tickets\ncount: 2\n")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text('there is a pool "tickets" already')
    page.get_by_role("textbox", name="YAML").fill("kind: pool\nname: seats\ncount: 2\n")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("A limit of 2")).to_be_visible()
    page.get_by_role("button", name="Change").click()
    (tmp_path / "seats.yaml").write_text("kind: pool\nname: seats\ncount: 5\n")
    running.shoal("pool", "apply", str(tmp_path / "seats.yaml"))
    page.get_by_role("textbox", name="YAML").fill("kind: pool\nname: seats\ncount: 3\n")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("version 1 was read, version 2 is there now")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("A limit of 5")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("link", name="tickets")).to_be_visible()
    expect(page.get_by_role("link", name="seats")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_wider_than_the_page(open_page: OpenPage, scheme: str) -> None:
    page = open_page("/cluster?tab=pools&pool=tickets", viewport={"width": 390, "height": 844}, color_scheme=scheme)
    expect(page.get_by_role("heading", name="Resources")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_in_chinese_each_word_is_there(open_page: OpenPage) -> None:
    page = open_page("/cluster?tab=pools&pool=tickets", locale="zh-CN")
    expect(page.get_by_role("heading", name="等待队列")).to_be_visible()
    expect(page.get_by_role("link", name="资源池").first).to_be_visible()


def test_a_pool_that_is_not_there_is_said(open_page: OpenPage, seen: Seen) -> None:
    seen.expected.append("404")
    page = open_page("/cluster?tab=pools&pool=nix")
    expect(page.get_by_role("alert")).to_contain_text('there is no resource pool "nix"')


def test_a_pool_that_was_shown_stays_during_a_fault_and_goes_when_it_is_deleted(
    open_page: OpenPage, running: RunningShoal, seen: Seen
) -> None:
    seen.expected += ["404", "500"]
    running.apply("brief.yaml", "kind: pool\nname: brief\ncount: 1\n")
    page = open_page("/cluster?tab=pools&pool=brief")
    expect(page.get_by_text("A limit of 1")).to_be_visible()
    page.route("**/resource-pools/brief", lambda route: route.fulfill(status=500))
    with page.expect_response(lambda answer: answer.url.endswith("/resource-pools/brief") and answer.status == 500):
        running.apply("brief.yaml", "kind: pool\nname: brief\ncount: 2\n")
    expect(page.get_by_role("heading", name="Places")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    page.unroute("**/resource-pools/brief")
    running.shoal("pool", "delete", "brief")
    expect(page.get_by_role("alert")).to_contain_text('there is no resource pool "brief"')
    expect(page.get_by_role("heading", name="Places")).to_have_count(0)
    expect(page.get_by_role("button", name="Change")).to_have_count(0)


def test_a_task_that_waits_for_a_pool_is_not_said_to_be_taken_at_once_or_to_wait_for_its_group(
    open_page: OpenPage, running: RunningShoal
) -> None:
    page = open_page("/queue")
    row = page.get_by_role("row", name=re.compile("^default 1 "))
    expect(row).to_contain_text("a worker takes it at once, unless it waits for a resource pool")
    [run] = running.json("runs", "--workflow", "visits")
    page.goto(f"{running.url}/runs/{run['id']}?task=both")
    expect(page.get_by_text("both waits for pool tickets").first).to_be_visible()
    expect(page.locator('[data-id="both"]')).to_contain_text("queued in group default")


def test_after_a_key_the_focus_is_on_the_button_that_took_its_place(open_page: OpenPage, running: RunningShoal) -> None:
    running.apply("keys.yaml", "kind: pool\nname: keys\nresources: {one: {}}\n")
    page = open_page("/cluster?tab=pools&pool=keys")
    expect(page.get_by_text("1 named resource", exact=True)).to_be_visible()
    page.get_by_role("table").get_by_role("button", name="Set aside").press("Enter")
    page.get_by_role("textbox", name="Reason").press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Take back")).to_be_focused()
    page.get_by_role("button", name="Take back").press("Enter")
    expect(page.get_by_role("table").get_by_role("button", name="Set aside")).to_be_focused()


def test_more_pools_than_a_page_has_are_shown_by_a_button(open_page: OpenPage, running: RunningShoal) -> None:
    running.apply("many.yaml", "---\n".join(f"kind: pool\nname: many{n:03}\ncount: 1\n" for n in range(101)))
    page = open_page("/cluster?tab=pools")
    expect(page.get_by_role("link", name="many000")).to_be_visible()
    expect(page.get_by_role("link", name="tickets")).to_have_count(0)
    page.get_by_role("button", name="Show more").click()
    expect(page.get_by_role("link", name="tickets")).to_be_visible()
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)


def test_times_that_are_past_are_chinese_on_the_chinese_page(open_page: OpenPage) -> None:
    page = open_page("/cluster?tab=pools&pool=tickets", locale="zh-CN")
    expect(page.locator("dl time")).to_have_text(re.compile("^[0-9]+ (秒|分钟)前$"))
