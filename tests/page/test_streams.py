"""Streams on the page: their state, and the buttons that restart them and spread them over the workers."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import OpenPage
from tests.page.running import RunningShoal

CRAWLER = """
name: crawler
tasks:
  - {name: left, type: SHELL, stream: true, params: {script: "echo begun; exec sleep 600"}}
  - {name: right, type: SHELL, stream: true, params: {script: "echo begun; exec sleep 600"}}
"""


@pytest.fixture(scope="module", autouse=True)
def crawler(running: RunningShoal) -> str:
    """The id of a run of two streams."""
    running.apply("crawler.yaml", CRAWLER)
    running.shoal("run", "crawler")
    return str(running.json("runs", "--workflow", "crawler")[0]["id"])


def mark(page: Page, name: str) -> str:
    """What the row of a task says of its stream, as a selector."""
    return f"tr:has(.cut:text-is('{name}')) .stream-mark"


def test_one_stream_is_restarted_from_its_menu_and_all_by_the_button(open_page: OpenPage, crawler: str) -> None:
    page = open_page(f"/runs/{crawler}")
    for name in ("left", "right"):
        expect(page.locator(f".task-node:has(b:text-is('{name}'))")).to_have_attribute("data-s", "RUNNING_EXECUTION")
        expect(page.locator(mark(page, name))).to_have_text("stream")
    page.locator("tr:has(.cut:text-is('left'))").click(button="right")
    page.get_by_role("menuitem", name="Restart this stream").click()
    expect(page.get_by_text("The streams restart one after the other.")).to_be_visible()
    expect(page.locator(mark(page, "left"))).to_have_text(re.compile("started again once"), timeout=30_000)
    expect(page.locator(mark(page, "right"))).to_have_text("stream")
    expect(page.locator("tr .task-name .cut").first).to_be_visible()
    expect(page.locator("tr:has(.cut:text-is('left'))")).to_contain_text(re.compile(r"\d+(\.\d)? s"))
    page.get_by_role("button", name="Restart streams").click()
    expect(page.locator(mark(page, "left"))).to_have_text(re.compile("started again 2 times"), timeout=30_000)
    expect(page.locator(mark(page, "right"))).to_have_text(re.compile("started again once"), timeout=30_000)


def test_streams_are_rebalanced_from_the_cluster_page(open_page: OpenPage) -> None:
    page = open_page("/cluster?tab=workers")
    page.get_by_role("button", name="Rebalance streams").click()
    expect(page.get_by_role("status").filter(has_text="The streams of default are spread evenly")).to_be_visible()


def test_streams_that_are_stopped_have_no_button_to_restart_them(open_page: OpenPage, crawler: str) -> None:
    page = open_page(f"/runs/{crawler}")
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("button", name="Stop 2 tasks that run").click()
    expect(page.locator(".run-title .pill")).to_have_text("Stopped", timeout=30_000)
    expect(page.get_by_role("button", name="Restart streams")).to_have_count(0)
