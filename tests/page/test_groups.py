"""Tasks of a group stand in a frame with its name, while the workflow is drawn and while it runs."""

from __future__ import annotations

from typing import Literal

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
        expect(page.locator(".group-name")).to_have_text("extract")
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_group_folds_to_one_node_and_unfolds_by_mouse_and_keys(
    open_page: OpenPage, runs: list[str], scheme: Literal["light", "dark"]
) -> None:
    page = open_page("/workflows/default/grouped", color_scheme=scheme)
    nodes, arrows = page.locator(".react-flow__node"), page.locator(".react-flow__edge")
    frame = page.get_by_role("button", name="extract", expanded=True)
    folded = page.get_by_role("button", name="extract", expanded=False)
    for address, says in ((None, "2 tasks"), (f"/runs/{runs[0]}", "2 of 2")):
        if address is not None:
            page.goto(page.url.split("/workflows")[0] + address)
        expect(nodes).to_have_count(3)
        frame.click()
        expect(nodes).to_have_count(2)
        expect(arrows).to_have_count(1)
        expect(folded).to_contain_text(says)
        expect(folded).to_be_focused()
        assert violations(page) == []
        page.keyboard.press("Enter")
        expect(nodes).to_have_count(3)
        expect(arrows).to_have_count(2)
        expect(frame).to_be_focused()
        page.keyboard.press("Enter")
        expect(folded).to_be_focused()
    expect(folded.get_by_role("img")).to_have_attribute("aria-label", "2 Succeeded")
    page.reload()
    expect(folded).to_be_visible()
    expect(nodes).to_have_count(2)


def test_the_arrow_keys_choose_one_of_the_last_runs(open_page: OpenPage, runs: list[str]) -> None:
    page = open_page("/workflows")
    bars = page.locator("tr", has_text="grouped").locator(".last a")
    expect(bars).to_have_attribute("href", f"/runs/{runs[0]}")
    bars.press("ArrowLeft")
    expect(bars).to_have_attribute("href", f"/runs/{runs[1]}")
    bars.press("Enter")
    page.wait_for_url(f"**/runs/{runs[1]}")
