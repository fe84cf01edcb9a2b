"""Tasks with elements on the page: how many are done, which failed, and the log of one."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.page.conftest import OpenPage
from tests.page.running import RunningShoal

FILES = """
name: files
tasks:
  - name: load
    type: SHELL
    each: [a, b, c, wrong]
    params:
      script: |
        echo "loads ${each}"
        test "${each}" != wrong
"""


@pytest.fixture(scope="module", autouse=True)
def files(running: RunningShoal) -> str:
    """The id of a run of which one of four elements has failed."""
    running.apply("files.yaml", FILES)
    running.shoal("run", "files")
    return str(running.json("runs", "--workflow", "files")[0]["id"])


def test_a_task_lists_its_elements_and_the_log_of_the_one_that_is_chosen(open_page: OpenPage, files: str) -> None:
    page = open_page(f"/runs/{files}?task=load")
    panel = page.locator("section:has(h2:text-is('Elements'))")
    expect(panel).to_contain_text("3 of 4")
    expect(panel.locator("tbody tr")).to_have_count(4)
    panel.get_by_role("button", name="1 failed").click()
    expect(panel.locator("tbody tr")).to_have_count(1)
    panel.get_by_role("button", name=re.compile("load\\[3\\]")).click()
    expect(page.get_by_text("loads wrong")).to_be_visible()
