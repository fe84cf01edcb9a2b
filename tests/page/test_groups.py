"""Tasks of a group stand in a frame with its name, while the workflow is drawn and while it runs."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.page.conftest import OpenPage
from tests.page.running import RunningShoal
from tests.page.test_accessibility import violations

YAML = """\
name: grouped
tasks:
  - {name: orders, type: FAKE, group: extract}
  - {name: users, type: FAKE, group: extract}
  - {name: load, type: FAKE, after: [orders, users]}
"""


@pytest.fixture(scope="module")
def masters() -> int:
    """One is enough here."""
    return 1


@pytest.fixture(scope="module")
def runs(running: RunningShoal) -> list[str]:
    """The ids of two runs, the newer one first."""
    running.apply("grouped.yaml", YAML)
    for _ in range(2):
        running.shoal("run", "grouped", "--wait")
    return [str(run["id"]) for run in running.json("runs", "--workflow", "grouped")]


def test_a_group_has_a_frame_on_both_canvases(open_page: OpenPage, runs: list[str]) -> None:
    page = open_page("/workflows/default/grouped")
    for address in (None, f"/runs/{runs[0]}"):
        if address is not None:
            page.goto(page.url.split("/workflows")[0] + address)
        frame = page.locator(".group-frame")
        expect(frame).to_have_text("extract")
        outer = frame.bounding_box()
        inner = [
            page.locator(".react-flow__node", has_text=name).bounding_box() for name in ("orders", "users", "load")
        ]
        assert outer is not None
        inside = [
            each is not None
            and outer["x"] <= each["x"]
            and each["x"] + each["width"] <= outer["x"] + outer["width"]
            and outer["y"] <= each["y"]
            and each["y"] + each["height"] <= outer["y"] + outer["height"]
            for each in inner
        ]
        assert inside == [True, True, False]
        assert violations(page) == []


def test_the_arrow_keys_choose_one_of_the_last_runs(open_page: OpenPage, runs: list[str]) -> None:
    page = open_page("/workflows")
    bars = page.locator("tr", has_text="grouped").locator(".last a")
    expect(bars).to_have_attribute("href", f"/runs/{runs[0]}")
    bars.press("ArrowLeft")
    expect(bars).to_have_attribute("href", f"/runs/{runs[1]}")
    bars.press("Enter")
    page.wait_for_url(f"**/runs/{runs[1]}")
