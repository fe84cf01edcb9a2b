"""The dialog that starts a run has a field for each parameter, of its type, filled with its default."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import OpenPage, Seen
from tests.page.running import RunningShoal
from tests.page.test_accessibility import PHONE, violations
from tests.page.test_workflow_editor import begin, task, write

YAML = """\
name: asked
params:
  day: {type: DATE, required: true, description: The day to load}
  size: {type: INTEGER, value: 10, min: 1, max: 100}
  region: {enum: [eu, us], value: eu}
  full: {type: BOOLEAN, value: false}
  plain: text
tasks:
  - {name: a, description: It loads the day, type: FAKE, params: {outputs: {seen: "${day} ${size} ${region} ${full}"}}}
"""


def publish(page: Page) -> Locator:
    """Publish what is written, and open the dialog that runs it."""
    page.get_by_role("button", name="Publish…").click()
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_text("v1", exact=True).first).to_be_visible()
    page.get_by_role("button", name="Run", exact=True).click()
    return page.get_by_role("dialog")


def test_a_run_is_started_with_the_fields_of_its_parameters(
    open_page: OpenPage, seen: Seen, running: RunningShoal
) -> None:
    seen.expected.append("422")
    page = open_page("/workflows")
    begin(page, "asked")
    write(page, YAML)
    task(page, "a").click()
    expect(page.get_by_label("Description")).to_have_value("It loads the day")
    dialog = publish(page)

    day = dialog.get_by_role("textbox", name=re.compile("^day"))
    size = dialog.get_by_label("size", exact=True)
    expect(day).to_have_attribute("type", "date")
    expect(dialog.get_by_text("The day to load")).to_be_visible()
    expect(size).to_have_value("10")
    expect(dialog.get_by_text("From 1 to 100.")).to_be_visible()
    expect(dialog.get_by_role("textbox", name="plain")).to_have_value("text")
    expect(dialog.get_by_role("switch", name="full")).not_to_be_checked()

    run = dialog.get_by_role("button", name="Run")
    run.click()
    expect(dialog.get_by_text('the required parameter "day"')).to_be_visible()
    day.fill("2026-01-31")
    size.fill("500")
    run.click()
    expect(dialog.get_by_text('from 1 to 100; it is "500"')).to_be_visible()
    dialog.get_by_role("button", name="Reset size").click()
    expect(size).to_have_value("10")
    expect(dialog.get_by_text('it is "500"')).to_have_count(0)
    dialog.get_by_role("combobox", name="region").click()
    page.get_by_role("option", name="us").click()
    dialog.get_by_role("switch", name="full").check()
    run.click()
    page.wait_for_url(re.compile("/runs/[0-9]+"))
    page.goto(f"{page.url.split('?')[0]}?tab=parameters")
    expect(page.get_by_text("2026-01-31 10 us true")).to_be_visible()

    page.get_by_role("button", name="Rerun").click()
    page.get_by_role("menuitem", name="With other parameters").click()
    expect(day).to_have_value("2026-01-31")
    expect(dialog.get_by_role("combobox", name="region")).to_have_value("us")
    expect(dialog.get_by_role("switch", name="full")).to_be_checked()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_a_run_is_started_by_keys_with_the_values_of_the_last_one(open_page: OpenPage, running: RunningShoal) -> None:
    running.shoal("project", "set", "shared=of the project")
    running.apply(
        "again.yaml",
        """
        name: again
        params: {day: {type: DATE, required: true}, size: {type: INTEGER, value: 10}}
        tasks: [{name: a, type: FAKE, params: {outputs: {seen: "${day} ${size} ${extra} ${shared}"}}}]
        """,
    )
    running.shoal("run", "again", "--param", "day=2026-01-30", "--param", "extra=cheese", "--wait")
    page = open_page("/workflows/default/again", viewport=PHONE, color_scheme="dark")
    page.get_by_role("button", name="Run", exact=True).click()
    dialog = page.get_by_role("dialog")
    day = dialog.get_by_role("textbox", name=re.compile("^day"))
    expect(day).to_be_focused()
    dialog.get_by_role("button", name=re.compile("Use the values of run")).press("Enter")
    expect(day).to_have_value("2026-01-30")
    expect(dialog.get_by_role("textbox", name="Value of extra")).to_have_value("cheese")
    expect(dialog.get_by_text("of the project")).to_have_count(0)
    expect(dialog.get_by_role("button", name=re.compile("Use the values of run"))).to_have_count(0)

    dialog.get_by_text("Start options").press("Enter")
    dialog.get_by_label("For the date").fill("2026-02-03")
    dialog.get_by_label("Time").fill("04:05")
    for option, value in {"Priority": "Highest", "If a task fails": "End the run", "Notify": "When it fails"}.items():
        dialog.get_by_role("combobox", name=option).click()
        page.get_by_role("option", name=value, exact=True).click()
    assert violations(page) == []
    group = dialog.get_by_label("Worker group")
    group.fill("nowhere")
    group.press("Control+Enter")
    page.wait_for_url(re.compile("/runs/[0-9]+"))
    (run,) = [each for each in running.json("runs", "--workflow", "again") if each["state"] != "SUCCESS"]
    row = running.shoal(
        "db",
        "psql",
        "-tAc",
        "SELECT priority, failure_strategy, worker_group, warning_type, alert_group IS NULL,"
        f" schedule_time AT TIME ZONE 'UTC' FROM workflow_instance WHERE id = {run['id']}",
    )
    assert row.strip() == "HIGHEST|END|nowhere|FAILURE|t|2026-02-03 04:05:00"


def test_a_long_name_keeps_its_end_and_its_row_runs_it(open_page: OpenPage, running: RunningShoal) -> None:
    name = "load_of_every_shop_in_the_northern_region_eu"
    running.apply("long.yaml", f"{{name: {name}, tasks: [{{name: a, type: FAKE}}]}}")
    page = open_page("/workflows")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))
    link, run = row.get_by_role("link", name=name, exact=True), row.get_by_role("button", name=f"Run {name}")
    shown = "element => element.querySelector('.name-cut > :first-child').scrollWidth"
    cut = "element => element.querySelector('.name-cut > :first-child').clientWidth"
    assert link.evaluate(shown) > link.evaluate(cut)
    assert row.get_by_text("_region_eu", exact=True).bounding_box() is not None
    page.keyboard.press("Tab")
    link.focus()
    expect(link).to_be_focused()
    assert link.evaluate(shown) == link.evaluate(cut)

    expect(run).to_have_css("opacity", "0")
    row.hover()
    expect(run).to_have_css("opacity", "1")
    run.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Run")).to_be_focused()
    page.keyboard.press("Escape")
    expect(run).to_be_focused()
    run.press("Enter")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(re.compile("/runs/[0-9]+"))

    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    number = page.url.rsplit("/", 1)[1].split("?")[0]
    page.get_by_role("button", name=f"Copy {number}").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == number


def test_the_palette_and_a_start_of_several_ask_for_parameters(open_page: OpenPage, running: RunningShoal) -> None:
    running.apply(
        "asks.yaml", "{name: asks, params: {day: {type: DATE, required: true}}, tasks: [{name: a, type: FAKE}]}"
    )
    running.apply("plain.yaml", "{name: plain, tasks: [{name: a, type: FAKE}]}")
    page = open_page("/workflows")
    dialog = page.get_by_role("dialog")
    day = dialog.get_by_role("textbox", name=re.compile("^day"))
    expect(page.get_by_role("checkbox", name="Select asks")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search runs").fill("asks")
    page.get_by_role("option", name=re.compile("Run asks now")).click()
    expect(day).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)

    for name in ("asks", "plain"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    page.get_by_role("toolbar").get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("1 run is asked for.")).to_be_visible()
    day.fill("2026-01-31")
    day.press("Control+Enter")
    expect(page.get_by_text("asks runs.")).to_be_visible()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("heading", name="Workflows")).to_be_visible()
    assert [len(running.json("runs", "--workflow", name)) for name in ("asks", "plain")] == [1, 1]
