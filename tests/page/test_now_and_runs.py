"""The first screen, the lists of runs and attempts, and the field for search and commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.page.conftest import OpenPage
from tests.page.running import RunningShoal
from tests.page.screenshots import LAPTOP
from tests.page.test_accessibility import PHONE

FAILING = """
name: failing
tasks:
  - {name: first, type: SHELL, params: {script: "true"}}
  - {name: second, type: SHELL, after: [first], params: {script: "echo no such table; exit 3"}}
"""


def no_overflow(page: Page) -> bool:
    """Whether the page is no wider than its window."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


def test_a_fresh_install_shows_its_sample_and_saves_what_is_pasted(open_page: OpenPage) -> None:
    page = open_page()
    expect(page.get_by_role("heading", name=re.compile("Hello, Shoal: 4 tasks"))).to_be_visible()
    expect(page.get_by_role("link", name=re.compile("count_cores"))).to_be_visible()
    page.get_by_role("button", name="Run it again").click()
    expect(page.get_by_text("The sample runs again.")).to_be_visible()
    page.get_by_role("button", name="Paste and check").click()
    expect(page.get_by_text("It can be saved.")).to_be_visible()
    page.get_by_role("textbox", name="Paste YAML").fill("name: first\ntasks:\n  - {name: one, type: NONE}\n")
    expect(page.get_by_role("dialog").get_by_text(re.compile("Line 3"))).to_be_visible()
    page.get_by_role("textbox", name="Paste YAML").fill("name: first\ntasks:\n  - {name: one, type: FAKE}\n")
    page.get_by_role("button", name="Save and run").click()
    expect(page.get_by_text("first runs.")).to_be_visible()
    expect(page).to_have_url(re.compile("/runs/[0-9]+$"))
    expect(page.get_by_text("The task wrote nothing")).to_be_visible()
    page.goto(page.url.split("/runs/")[0])
    expect(page.get_by_role("heading", name="Running")).to_be_visible()
    assert no_overflow(page)


def test_what_failed_needs_a_person_and_is_rerun(open_page: OpenPage, running: RunningShoal, tmp_path: Path) -> None:
    file = tmp_path / "failing.yaml"
    file.write_text(FAILING, "utf-8")
    running.shoal("workflow", "apply", str(file))
    page = open_page()
    expect(page.get_by_role("heading", name="Running")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search runs").fill("failing")
    page.get_by_role("option", name=re.compile("Run failing now")).click()
    expect(page).to_have_url(re.compile("/runs/[0-9]+$"))
    page.get_by_role("link", name="Now").first.click()
    expect(page.get_by_role("link", name="Now 1 needs you")).to_be_visible()
    need = page.locator(".needs li")
    expect(need).to_contain_text("second failed")
    expect(need).to_contain_text("no such table")
    need.get_by_role("button", name="Why").click()
    expect(page.get_by_role("dialog")).to_contain_text(re.compile("second", re.IGNORECASE))
    page.keyboard.press("Escape")
    file.write_text(FAILING + "\n# another version\ndescription: fixed\n", "utf-8")
    running.shoal("workflow", "apply", str(file))
    page.reload()
    expect(need).to_contain_text("A rerun keeps v1; v2 is the newest.")
    need.get_by_role("button", name="Rerun from here").click()
    expect(page.get_by_text("runs again from what failed")).to_be_visible()


def test_runs_are_filtered_by_the_address_and_rerun_together(open_page: OpenPage) -> None:
    page = open_page("/runs")
    rows = page.locator("tbody tr")
    expect(rows.first).to_be_visible()
    everything = rows.count()
    page.get_by_role("button", name="State", exact=True).click()
    page.get_by_role("checkbox", name="Failed").check()
    expect(page).to_have_url(re.compile("state="))
    expect(rows).to_have_count(1)
    page.reload()
    expect(rows).to_have_count(1)
    assert everything > 1
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Take the filter State away").click()
    expect(rows).to_have_count(everything)
    page.get_by_role("checkbox", name="Select all on this page").check()
    page.get_by_role("button", name="Rerun failed tasks").click()
    expect(page.get_by_role("dialog")).to_contain_text("1 run will run again from what failed")
    page.get_by_role("button", name="Rerun 1 run").click()
    expect(page.get_by_role("dialog")).to_contain_text("Done: 1")


def test_very_many_runs_are_changed_in_parts_that_the_page_follows(open_page: OpenPage) -> None:
    """The API's part is tested with 10,500 runs (tests/api/test_large_bulk.py); here its answers are given."""
    page = open_page("/runs")
    state = {"state": "RUNNING", "asked": 3_000}
    bodies: list[dict[str, object]] = []

    def bulk(route: Route) -> None:
        body = route.request.post_data_json
        bodies.append(body)
        answer = {"action": body["action"], "dry_run": body["dry_run"], "is_large": True, "runs": 12_840}
        begun = {} if body["dry_run"] else {"operation_id": "7"}
        route.fulfill(
            json={
                **answer,
                **begun,
                "skipped_count": 0,
                "skipped": [],
                "older_versions": 30,
                "run_ids": [],
                "command_ids": [],
            }
        )

    def operation(route: Route) -> None:
        if route.request.url.endswith("/stop"):
            state["state"] = "STOPPED"
        elif route.request.url.endswith("/resume"):
            state.update(state="DONE", asked=12_800)
        times = dict.fromkeys(("created_at", "updated_at"), "2026-01-01T00:00:00Z")
        fixed = {"id": "7", "action": "RERUN", "total": 12_840, "refused": 10, "by": "ada", "idle_s": 0.1, **times}
        route.fulfill(json={**fixed, **state})

    page.route("**/workflow-instances:bulk", bulk)
    page.route(re.compile("/operations/7"), operation)
    page.get_by_role("checkbox", name="Select all on this page").check()
    page.get_by_role("button", name=re.compile("Select all .* that match")).click()
    page.get_by_role("button", name="Rerun", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("done in parts")
    expect(dialog).to_contain_text("30 of them keep an older version of their workflow")
    dialog.get_by_role("button", name=re.compile("Rerun 12.840 runs")).click()
    expect(dialog).to_contain_text("so far")
    assert [(each["dry_run"], "filter" in each) for each in bodies] == [(True, True), (False, True)]
    page.reload()
    expect(dialog).to_contain_text(re.compile("3.000 of 12.840 runs"))
    dialog.get_by_role("button", name="Stop it").click()
    expect(dialog).to_contain_text("Stopped after")
    dialog.get_by_role("button", name="Go on").click()
    expect(dialog).to_contain_text("10 were left out")
    expect(dialog).to_contain_text("30 had changed")
    dialog.get_by_role("button", name="Close").last.click()
    expect(page).not_to_have_url(re.compile("operation="))


def test_runs_that_match_are_saved_as_a_file(open_page: OpenPage) -> None:
    page = open_page("/runs?state=FAILURE")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as saved:
        page.get_by_role("menuitem", name="CSV").click()
    lines = saved.value.path().read_text("utf-8").splitlines()
    assert lines[0].startswith("id,")
    assert len(lines) == 2
    expect(page.get_by_text("1 run is in the file.")).to_be_visible()


def test_keys_go_through_the_rows(open_page: OpenPage) -> None:
    page = open_page("/runs")
    expect(page.locator("tbody tr").first).to_be_visible()
    page.keyboard.press("j")
    expect(page.locator("tbody tr").first).to_have_attribute("data-at", "true")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Next row")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("failing")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator("tbody tr").nth(1)).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/runs/[0-9]+$"))


def test_keys_that_are_pressed_faster_than_the_page_draws_are_not_lost(open_page: OpenPage) -> None:
    page = open_page("/runs")
    second = page.locator("tbody tr").nth(1)
    expect(second).to_be_visible()
    run = second.get_attribute("data-row")
    page.evaluate("for (const key of ['j', 'j', 'Enter']) dispatchEvent(new KeyboardEvent('keydown', { key }))")
    expect(page).to_have_url(re.compile(f"/runs/{run}$"))


def test_a_view_is_saved_and_removed(open_page: OpenPage) -> None:
    page = open_page("/runs?state=FAILURE")
    page.get_by_role("button", name="Save these filters as a view").click()
    page.get_by_label("Name of the view").fill("broken")
    page.get_by_role("button", name="Save", exact=True).click()
    view = page.get_by_role("button", name="broken", exact=True)
    expect(view).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Remove the view broken").click()
    expect(view).to_be_hidden()


def test_attempts_on_a_phone_in_chinese(open_page: OpenPage) -> None:
    page = open_page("/attempts?state=FAILURE", viewport=PHONE, locale="zh-CN")
    expect(page.get_by_role("heading", name="任务实例")).to_be_visible()
    expect(page.get_by_role("link", name="second").first).to_be_visible()
    assert no_overflow(page)


def test_each_person_chooses_the_columns(open_page: OpenPage) -> None:
    page = open_page("/runs")
    owner = page.get_by_role("columnheader", name="Owner, slot")
    cells = page.locator("tbody tr").first.locator("td:visible")
    expect(owner).to_be_visible()
    shown = cells.count()
    page.get_by_role("button", name="Columns").press("Enter")
    page.get_by_role("checkbox", name="Owner, slot").uncheck()
    page.get_by_role("checkbox", name="Trigger").press("Space")
    expect(owner).to_be_hidden()
    expect(cells).to_have_count(shown - 2)
    page.reload()
    expect(page.get_by_role("columnheader", name="Workflow")).to_be_visible()
    expect(owner).to_be_hidden()
    expect(cells).to_have_count(shown - 2)
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("checkbox", name="Owner, slot").check()
    expect(owner).to_be_visible()


def test_workflows_are_sorted_as_the_address_says(open_page: OpenPage) -> None:
    page = open_page("/workflows?sort=-name")
    names, head = page.locator("tbody a.strong"), page.get_by_role("columnheader", name="Name")
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(names).to_have_text(["hello", "first", "failing"])
    head.get_by_role("button").press("Enter")
    expect(page).to_have_url(re.compile("/workflows$"))
    expect(head).not_to_have_attribute("aria-sort", "descending")
    head.get_by_role("button").press("Enter")
    expect(names).to_have_text(["failing", "first", "hello"])
    page.reload()
    expect(head).to_have_attribute("aria-sort", "ascending")
    expect(names).to_have_text(["failing", "first", "hello"])
    page.get_by_role("columnheader", name="Usually").get_by_role("button").click()
    expect(page).to_have_url(re.compile("sort=usually"))


@pytest.mark.parametrize(("size", "scheme"), [(LAPTOP, "light"), (PHONE, "dark")])
def test_now_shows_the_workflows_that_are_watched(open_page: OpenPage, size: dict[str, int], scheme: str) -> None:
    page = open_page("/workflows", viewport=size, color_scheme=scheme)
    star = page.get_by_role("button", name="Watch failing")
    star.press("Enter")
    expect(star).to_have_attribute("aria-pressed", "true")
    page.get_by_role("link", name="Now").locator("visible=true").first.click()
    watched = page.locator("section.panel", has=page.get_by_role("heading", name="Watched"))
    expect(watched.get_by_role("link", name="failing", exact=True)).to_be_visible()
    expect(watched.locator(".last a").first).to_be_visible()
    assert no_overflow(page)
    page.reload()
    watched.get_by_role("button", name="Watch failing").click()
    expect(watched).to_have_count(0)


def test_no_state_is_shown_before_it_is_known_and_long_names_have_room(
    open_page: OpenPage, running: RunningShoal
) -> None:
    name = "orders_of_all_shops_eu"
    running.apply("orders.yaml", f"name: {name}\ntasks: [{{name: a, type: FAKE}}]\n")
    running.shoal("run", name, "--wait")
    page = open_page("/runs", locale="en-US", viewport={"width": 1280, "height": 800})
    assert re.search(r" \d\d:\d\d:\d\d ", page.locator("time").first.get_attribute("title") or "")
    held: list[Route] = []
    page.route("**/api/v1/slots", lambda route: held.append(route))
    page.goto(f"{running.url}/")
    lately = page.locator("section", has=page.get_by_role("heading", name="Ran lately"))
    row = lately.get_by_role("link", name=name, exact=True)
    expect(row).to_be_visible()
    assert row.evaluate("each => each.scrollWidth <= each.clientWidth")
    for word in (page.locator(".health-word"), page.locator(".top .health")):
        expect(word).to_be_hidden()
    for each in held:
        each.continue_()
    page.unroute("**/api/v1/slots")
    for word in (page.locator(".health-word"), page.locator(".top .health")):
        expect(word).to_contain_text("All good")
    running.shoal("workflow", "delete", name, "--yes")


def test_the_sample_is_removed_by_two_clicks(open_page: OpenPage, running: RunningShoal) -> None:
    for name in ("failing", "first"):
        running.shoal("workflow", "delete", name, "--yes")
    page = open_page()
    page.get_by_role("button", name="Remove the sample").click()
    page.get_by_role("button", name="Really remove it").click()
    expect(page.get_by_text("The sample is removed.")).to_be_visible()
    expect(page.get_by_role("heading", name="Watch the slots")).to_be_visible()
    expect(page.get_by_role("heading", name=re.compile("Hello, Shoal"))).to_be_hidden()
