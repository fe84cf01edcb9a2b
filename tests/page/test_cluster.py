"""The cluster page: the slots live, a master that is really killed, its receipt, its replay, and the other tabs."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.page.conftest import OpenPage, Seen
from tests.page.running import RunningShoal

FAILED_OVER_MS = 40_000


@pytest.fixture(scope="module")
def masters() -> int:
    return 3


def test_a_master_is_killed_lanes_fold_and_the_receipt_counts(open_page: OpenPage, running: RunningShoal) -> None:
    page = open_page("/cluster")
    expect(page.locator(".card")).to_have_count(3)
    expect(page.locator(".card .slot")).to_have_text(["slot 0 of 3", "slot 1 of 3", "slot 2 of 3"])
    expect(page.get_by_text("3 masters · 1 worker")).to_be_visible()
    before = {each.pid for each in running.family("master")}
    page.get_by_role("button", name="Kill a master").click()
    page.get_by_role("menuitem", name="Kill m2").click()
    expect(page.get_by_text(re.compile(r"m2 \(process \d+\) was killed"))).to_be_visible()
    assert len(before - {each.pid for each in running.family("master")}) == 1, "its process has really ended"
    dead = page.locator(".card[data-gone=dead]")
    expect(dead).to_contain_text("m2", timeout=FAILED_OVER_MS)
    expect(page.get_by_role("cell", name="0/2")).to_be_attached(timeout=FAILED_OVER_MS)
    receipt = page.locator(".receipt").filter(has_text="fenced")
    expect(receipt).to_contain_text("0 lost", timeout=FAILED_OVER_MS)
    expect(receipt).to_contain_text("0 doubled")
    expect(page.locator(".card .slot").filter(has_text="of 3")).to_have_count(3, timeout=FAILED_OVER_MS)


def test_the_failover_is_in_the_history_and_can_be_replayed(open_page: OpenPage) -> None:
    page = open_page("/cluster?tab=failovers")
    expect(page.get_by_text("m2 fenced").or_(page.get_by_text("m2 lost")).first).to_be_visible()
    page.get_by_role("link", name="Replay").first.click()
    expect(page.locator(".moment")).to_have_text(re.compile(r"\d\d:\d\d:\d\d"))
    expect(page.locator(".card[data-gone=dead]")).to_have_count(0)
    page.get_by_role("button", name=re.compile("^4")).click()
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".card[data-gone=dead]")).to_have_count(1)
    expect(page.locator(".moment")).to_have_text("Live", timeout=FAILED_OVER_MS)  # it has reached the present
    page.go_back()
    page.get_by_role("link", name="Replay").first.click()
    page.get_by_role("button", name="Back to live").click()
    expect(page.locator(".moment")).to_have_text("Live")
    assert "at=" not in page.url


def test_a_command_says_where_it_belongs(open_page: OpenPage, seen: Seen) -> None:
    seen.expected.append("404")
    page = open_page("/cluster")
    page.get_by_role("textbox", name="Command id").fill("1")
    expect(page.locator(".ask output")).to_contain_text("slot")
    page.wait_for_url(re.compile("command="))
    page.get_by_role("textbox", name="Command id").fill("999999999")
    expect(page.locator(".ask output")).to_contain_text("SH-")


def test_every_tab_answers_and_no_page_is_wider_than_a_phone(open_page: OpenPage) -> None:
    page = open_page("/cluster", viewport={"width": 390, "height": 844})
    for tab, heading in (
        ("slots", "Workers and groups"),
        ("masters", "Masters"),
        ("workers", "Workers"),
        ("registry", "Registry"),
        ("database", "Tables"),
        ("failovers", "Failover history"),
        ("doctor", "Doctor"),
    ):
        page.goto(re.sub(r"/cluster.*", f"/cluster?tab={tab}", page.url))
        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), tab


def test_without_movement_the_picture_is_still_and_the_table_says_the_same(open_page: OpenPage) -> None:
    page = open_page("/cluster?view=table", reduced_motion="reduce")
    expect(page.get_by_role("table", name="Slots at work")).to_be_visible()
    expect(page.locator("canvas")).to_have_count(0)
    expect(page.get_by_role("row").filter(has_text="m1").first).to_contain_text("works")


def test_a_worker_is_drained_after_the_page_has_said_what_happens_and_is_undrained(
    open_page: OpenPage, running: RunningShoal
) -> None:
    page = open_page("/cluster?tab=workers")
    row = page.get_by_role("row").filter(has=page.get_by_role("button", name="Drain", exact=True))
    row.get_by_role("button", name="Drain", exact=True).click()
    expect(page.get_by_text("begins no tasks until it is undrained")).to_be_visible()
    expect(page.get_by_text("streams are ended and go on at other workers at once")).to_be_visible()
    expect(page.get_by_text("No other worker takes tasks of one of its groups")).to_be_visible()
    page.get_by_role("menuitem", name=re.compile("^Drain ")).click()
    expect(page.get_by_role("cell", name="Draining").first).to_be_visible()
    expect(page.get_by_text(re.compile("for .* by ")).first).to_be_visible()
    [worker] = running.json("worker", "list")
    assert worker["drain"]["confirmed"] is True
    page.get_by_role("button", name="Undrain").click()
    expect(page.get_by_role("button", name="Drain", exact=True)).to_be_visible()
    [worker] = running.json("worker", "list")
    assert "drain" not in worker


def test_small_charts_say_what_is_done_in_words_too(open_page: OpenPage, running: RunningShoal) -> None:
    page = open_page("/cluster")
    charts = page.locator(".small-chart")
    expect(charts).to_have_count(6)
    running.shoal("run", "hello", "--wait")
    tasks = charts.filter(has_text="Tasks").first
    expect(tasks.locator("b")).to_have_text(re.compile(r"^\d[\d.]* /s started$"), timeout=40_000)
    expect(tasks.get_by_role("img", name=re.compile(r"^Tasks: \d.* .s to \d.* .s started, .* ended$"))).to_be_visible()
    expect(tasks.locator("path").first).to_have_attribute("d", re.compile("^M.*L"))
    expect(charts.filter(has_text="Oldest wait").locator("b")).to_have_text(re.compile(r"^\d.* m?s$"))
    on_phone = open_page("/cluster", viewport={"width": 390, "height": 844})
    expect(on_phone.locator(".small-chart")).to_have_count(6)
    assert on_phone.evaluate("document.documentElement.scrollWidth") <= 390


def test_that_all_are_draining_is_said_where_work_waits(open_page: OpenPage, running: RunningShoal) -> None:
    masters = [each["name"] for each in running.json("master", "list")["masters"]]
    [worker] = [each["name"] for each in running.json("worker", "list")]
    running.shoal("worker", "drain", worker)
    running.shoal("run", "hello")
    page = open_page("/queue")
    expect(page.get_by_text("All workers of this group are draining")).to_be_visible(timeout=FAILED_OVER_MS)
    assert "1 (1 DRAINING)" in running.shoal("queue")
    for name in masters:
        running.shoal("master", "drain", name)
    expect(page.get_by_text("All masters are draining")).to_be_visible(timeout=FAILED_OVER_MS)
    expect(page.get_by_role("link", name="No master takes work")).to_be_visible()
    assert "All masters are draining, so no command is taken." in running.shoal("queue")
    for name in masters:
        running.shoal("master", "undrain", name)
    running.shoal("worker", "undrain", worker)
