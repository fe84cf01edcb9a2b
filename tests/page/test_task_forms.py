"""Control tasks are filled in as forms, drawn from the schemas of their types; form, arrows and YAML are one text."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.arrows import ARROWS
from tests.page.conftest import OpenPage
from tests.page.running import RunningShoal
from tests.page.test_accessibility import PHONE, violations
from tests.page.test_workflow_editor import task

LAPTOP = {"width": 1280, "height": 900}
WIDE = {"width": 1720, "height": 1000}
YAML = """\
name: orders
params:
  day: {type: DATE, required: true, description: the day of the orders}
  size: {type: INTEGER, value: 10}
  mode: {enum: [fast, slow], value: fast}
tasks:
  - {name: load, type: FAKE}
---
kind: pool
name: proxies
resources: {p1: {host: 10.0.0.1}}
---
name: paying
params: {amount: "30"}
tasks:
  - name: way # how to pay
    type: SWITCH
    params:
      cases:
        - {when: "${amount} <= 1000", then: cash} # small
      default: bank
  - {name: cash, type: FAKE, after: [way]}
  - {name: bank, type: FAKE, after: [way]}
  - {name: loan, type: FAKE}
---
name: chosen
tasks:
  - {name: one, type: FAKE}
  - {name: two, type: FAKE}
  - name: end
    type: CONDITIONS
    after: [one, two]
    params:
      when: {one: SUCCESS} # it counts
      on_success: good
  - {name: good, type: FAKE, after: [end]}
  - {name: bad, type: FAKE}
---
name: waiting
tasks:
  - name: others
    type: DEPENDENT
    params:
      groups:
        - items:
            - {workflow: orders, cycle: today} # of the shop
  - {name: thing, type: WAIT, params: {for: {time: "06:30"}}}
  - {name: child, type: SUB_PROCESS, params: {workflow: orders, params: {day: "2026-01-01", more: x}}} # the shop
  - {name: each, type: DYNAMIC, params: {workflow: orders, lists: [{name: size, value: "1,2"}]}}
  - {name: many, type: FAKE, each: "${list.files}", retry_times: 2}
"""


@pytest.fixture(scope="module")
def workflows(running: RunningShoal) -> None:
    """Those above."""
    running.apply("forms.yaml", YAML)


def conditions(page: Page) -> list[str]:
    """What stands at the arrows."""
    return sorted(page.locator(".react-flow__edge-text").all_text_contents())


def choose(page: Page, field: Locator, option: str) -> None:
    """Choose it in a field that offers some."""
    field.click()
    page.get_by_role("option", name=option, exact=True).click()


def lines(page: Page) -> Locator:
    """The YAML beside the form."""
    return page.locator(".yaml .cm-content")


@pytest.mark.usefixtures("workflows")
def test_the_cases_of_a_switch_are_rows_and_show_at_the_arrows(open_page: OpenPage) -> None:
    page = open_page("/workflows/default/paying?yaml=true", viewport=WIDE)
    task(page, "way").click()
    first = page.get_by_role("group", name="Case 1")
    expect(first.get_by_label("If")).to_have_value("${amount} <= 1000")
    assert conditions(page) == ["${amount} <= 1000", "else"]
    page.get_by_role("button", name="Case", exact=True).click()
    second = page.get_by_role("group", name="Case 2")
    second.get_by_label("If").fill("${amount} > 9000")
    choose(page, second.get_by_role("combobox", name="Then"), "loan")
    expect(page.locator(ARROWS)).to_have_count(3)
    assert "${amount} > 9000" in conditions(page)
    expect(page.get_by_text("No problems")).to_be_visible()
    sample = page.get_by_role("group", name="Sample values")
    for amount, goes in (
        ("1000", "Case 1 is true → cash"),
        ("9001", "Case 2 is true → loan"),
        ("5000", "No case is true → bank"),
        ("few", "compares what does not fit together"),
    ):
        sample.get_by_label("amount").fill(amount)
        expect(sample).to_contain_text(re.compile(goes.replace(" ", r"\s*")))
    first.get_by_role("button", name="Remove Case 1").click()
    expect(page.locator(ARROWS)).to_have_count(2)
    expect(lines(page)).to_contain_text("# how to pay")


@pytest.mark.usefixtures("workflows")
def test_the_results_of_a_conditions_are_chosen_and_its_branches_draw_arrows(open_page: OpenPage) -> None:
    page = open_page("/workflows/default/chosen?yaml=true", viewport=WIDE)
    task(page, "end").click()
    choose(page, page.get_by_role("combobox", name="Else"), "bad")
    expect(page.locator(ARROWS)).to_have_count(4)
    page.get_by_role("button", name="Task", exact=True).click()
    choose(page, page.get_by_role("combobox", name="New name"), "two")
    choose(page, page.get_by_role("combobox", name="two", exact=True), "failure")
    choose(page, page.get_by_role("combobox", name="Needs"), "any of them")
    expect(lines(page)).to_contain_text("when: {one: SUCCESS, two: FAILURE} # it counts")
    expect(lines(page)).to_contain_text("relation: OR")
    expect(page.get_by_text("No problems")).to_be_visible()


@pytest.mark.usefixtures("workflows")
def test_a_dependency_names_project_workflow_task_and_dates_in_words(open_page: OpenPage) -> None:
    page = open_page("/workflows/default/waiting?yaml=true", viewport=WIDE)
    task(page, "others").click()
    run = page.get_by_role("group", name="Run 1")
    expect(run.get_by_role("combobox", name="For the dates")).to_have_value("the same day")
    choose(page, run.get_by_label("Task"), "load")
    choose(page, run.get_by_role("combobox", name="For the dates"), "each day of the week before")
    expect(lines(page)).to_contain_text("{workflow: orders, cycle: lastWeek, task: load} # of the shop")
    run.get_by_label("Or at one time").fill("-1d")
    expect(lines(page)).to_contain_text("{workflow: orders, task: load, at: -1d} # of the shop")
    page.get_by_role("button", name="Run", exact=True).last.click()
    choose(page, page.get_by_role("group", name="Run 2").get_by_label("Workflow"), "paying")
    expect(lines(page)).to_contain_text("workflow: paying")
    expect(page.get_by_text("No problems")).to_be_visible()


@pytest.mark.usefixtures("workflows")
def test_what_a_task_waits_for_has_its_own_fields(open_page: OpenPage) -> None:
    page = open_page("/workflows/default/waiting?yaml=true", viewport=WIDE)
    task(page, "thing").click()
    expect(page.get_by_role("textbox", name="Time", exact=True)).to_have_value("06:30")
    choose(page, page.get_by_role("combobox", name="Waits for"), "an answer to a request")
    page.get_by_label("Address").fill("http://shop/ready")
    page.get_by_label("Looks every").fill("1m")
    choose(page, page.get_by_role("combobox", name="If it never comes"), "is skipped")
    expect(lines(page)).to_contain_text("url: http://shop/ready")
    expect(lines(page)).to_contain_text("on_timeout: SKIP")
    expect(page.get_by_text("No problems")).to_be_visible()


@pytest.mark.usefixtures("workflows")
def test_a_workflow_that_is_run_has_a_field_for_each_of_its_parameters(open_page: OpenPage) -> None:
    page = open_page("/workflows/default/waiting?yaml=true", viewport=WIDE)
    task(page, "child").click()
    parameters = page.get_by_role("group", name="Its parameters")
    expect(parameters.get_by_label("day", exact=False).first).to_have_value("2026-01-01")
    expect(parameters.get_by_text("the day of the orders")).to_be_visible()
    parameters.get_by_label("size").fill("25")
    choose(page, parameters.get_by_label("mode"), "slow")
    expect(parameters.get_by_role("textbox", name="more")).to_have_value("x")
    expect(lines(page)).to_contain_text('{day: "2026-01-01", more: x, size: 25, mode: slow}}} # the shop')

    task(page, "each").click()
    page.get_by_role("button", name="List", exact=True).click()
    second = page.get_by_role("group", name="List 2")
    choose(page, second.get_by_label("Name"), "mode")
    second.get_by_label("Value").fill("fast,slow")
    expect(page.get_by_text("No problems")).to_be_visible()


@pytest.mark.usefixtures("workflows")
def test_a_parameter_is_a_text_until_more_is_said_of_it(open_page: OpenPage) -> None:
    page = open_page("/workflows/default/paying?yaml=true", viewport=WIDE)
    page.get_by_role("button", name="Parameter", exact=True).click()
    page.get_by_label("New name").fill("limit")
    page.keyboard.press("Tab")
    value = page.get_by_role("textbox", name="Value", exact=True).last
    expect(value).to_be_focused()
    value.fill("10")
    expect(lines(page)).to_contain_text('limit: "10"')
    value.fill("")
    expect(lines(page)).to_contain_text('limit: ""')
    page.get_by_label("Name of limit").fill("most")
    page.get_by_label("Name of limit").press("Tab")
    expect(value).to_be_focused()
    expect(lines(page)).to_contain_text('most: ""')
    expect(page.get_by_text("No problems")).to_be_visible()


@pytest.mark.usefixtures("workflows")
def test_each_retries_and_pools_are_fields(open_page: OpenPage) -> None:
    page = open_page("/workflows/default/waiting?yaml=true", viewport=WIDE)
    task(page, "many").click()
    page.get_by_role("group", name="For each element of").get_by_label("At once").fill("3")
    expect(lines(page)).to_contain_text('over: "${list.files}"')
    expect(lines(page)).to_contain_text("parallel: 3")
    page.get_by_role("textbox", name="Retries", exact=True).fill("5")
    page.get_by_text("Where it runs").click()
    page.get_by_role("button", name="Pool", exact=True).click()
    choose(page, page.get_by_role("combobox", name="New name"), "proxies")
    page.get_by_role("textbox", name="proxies").fill("2")
    expect(lines(page)).to_contain_text("resources:")
    expect(lines(page)).to_contain_text("proxies: 2")


@pytest.mark.usefixtures("workflows")
@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["laptop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_forms_can_be_read_by_everybody(open_page: OpenPage, viewport: dict[str, int], scheme: str) -> None:
    for workflow, names in {
        "paying": ["way"],
        "chosen": ["end"],
        "waiting": ["others", "thing", "child", "many"],
    }.items():
        page = open_page(f"/workflows/default/{workflow}?yaml=false", viewport=viewport, color_scheme=scheme)
        for name in names:
            task(page, name).click()
            expect(page.get_by_role("textbox", name="Name", exact=True).first).to_have_value(name)
            assert violations(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
