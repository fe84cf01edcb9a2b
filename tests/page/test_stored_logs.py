"""The page shows logs of which the worker's disk is gone, and one sentence where nobody has a log."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.page.conftest import OpenPage, Seen
from tests.page.running import RunningShoal, running_shoal

WORKFLOW = """
name: logged
tasks:
  - {name: extract, type: SHELL, params: {script: "for i in $(seq 50000); do echo line $i; done; echo the end"}}
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Iterator[RunningShoal]:
    """A `shoal up` with a log store."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(os.environ, "SHOAL_LOG_STORE__URL", shared.as_uri())
        with running_shoal(tmp_path_factory.mktemp("up"), 1) as found:
            yield found


@pytest.fixture
def run(running: RunningShoal, shared: Path) -> str:
    """A run whose log only the log store has."""
    running.apply("logged.yaml", WORKFLOW)
    running.shoal("run", "logged", "--wait")
    found = str(running.json("runs", "--workflow", "logged")[0]["id"])
    deadline_s = time.monotonic() + 30
    while not list(shared.glob(f"2*/*/{found}/*.log")):
        assert time.monotonic() < deadline_s, "it was not copied"
        time.sleep(0.1)
    shutil.rmtree(running.folder / "cluster" / "w1" / "logs")
    return found


def test_a_log_is_shown_when_the_disk_of_its_worker_is_gone(open_page: OpenPage, run: str) -> None:
    page = open_page(f"/runs/{run}?tab=logs&task=extract")
    expect(page.get_by_role("log")).to_contain_text("the end")
    page.get_by_label("Search in the log").fill("line 4242")
    expect(page.locator(".hits")).to_contain_text("of 11")
    page.get_by_role("button", name="Next line found").click()
    expect(page.locator(".log-row[aria-current]")).to_contain_text("line 4242")


def test_where_nobody_has_a_log_the_page_says_why(open_page: OpenPage, run: str, shared: Path, seen: Seen) -> None:
    seen.expected.append("console: Failed to load resource")
    for copy in shared.glob(f"2*/*/{run}/*.log"):
        copy.unlink()
    page = open_page(f"/runs/{run}?tab=logs&task=extract")
    expect(page.get_by_text("has no longer the copy that was stored")).to_be_visible()
