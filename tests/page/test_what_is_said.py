"""What the page says is true where it stands: of logs, of runs that are open already, of drafts that are a step."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.page.conftest import OpenPage, Seen
from tests.page.running import RunningShoal

MUTE = "name: mute\ntasks:\n  - {name: still, type: FAKE}\n  - {name: next, type: FAKE, after: [still]}\n"
RINGS = "of => [of, of.closest('.mantine-Input-input')].map(each => getComputedStyle(each).outlineStyle)"


def test_a_task_that_wrote_nothing_and_a_run_that_is_open(
    open_page: OpenPage, running: RunningShoal, seen: Seen
) -> None:
    seen.expected.append("404")  # of a log that has no line
    running.apply("mute.yaml", MUTE)
    running.shoal("run", "mute", "--wait")
    (run,) = running.json("runs", "--workflow", "mute")
    page = open_page(f"/runs/{run['id']}?task=still&tab=logs")
    expect(page.get_by_text("The task wrote nothing").first).to_be_visible()
    page.goto(f"{running.url}/workflows/default/mute")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Run").click()
    page.wait_for_url(f"{running.url}/runs/*")
    notice = page.locator(".notice").first
    expect(notice).to_be_visible()
    expect(notice.get_by_role("link")).to_have_count(0)


def test_a_draft_that_is_a_step_of_publishing_is_not_spoken_of(open_page: OpenPage, running: RunningShoal) -> None:
    running.apply("mute.yaml", MUTE)
    page = open_page("/workflows/default/mute")
    page.locator(".yaml .cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("description: changed\n")
    page.locator(".react-flow__pane").first.click(position={"x": 300, "y": 40})
    page.keyboard.press("a")
    expect(page.get_by_label("Find a type")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_label("Find a type")).not_to_be_focused()
    page.get_by_role("button", name="Publish…").click()
    publish = page.get_by_role("dialog").get_by_role("button", name="Publish", exact=True)
    expect(publish).to_be_enabled()
    expect(page.get_by_text("Your draft is saved")).to_have_count(0)
    publish.click()
    expect(page.get_by_text("v2", exact=True).first).to_be_visible()
    # A field of several values shows its focus as one.
    page.locator('[data-id="task:next"]').click()
    after = page.locator(".mantine-MultiSelect-inputField").first
    after.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    assert after.evaluate(RINGS) == ["none", "solid"]
