"""A newcomer's first hour in one pass, by hand: so many presses it takes at most, and none of it needs the docs."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.page.arrows import ARROWS
from tests.page.conftest import OpenPage, log_in_as
from tests.page.running import RunningShoal
from tests.page.test_workflow_editor import draw_arrow, task

PRESSES_MAX = 60
LOADING = """\
name: loading
params: {rows: {type: INTEGER, value: 1}}
tasks: [{name: load, type: SHELL, params: {script: "echo ${rows} rows"}}]
"""
_COUNT = """
addEventListener('pointerdown', () => pressed(), true);
addEventListener('keydown', ({key, ctrlKey, metaKey, target}) => {
  const isTyped = key.length === 1 && !ctrlKey && !metaKey && target.closest('input, textarea, [contenteditable]');
  if (!isTyped && !['Control', 'Shift', 'Alt', 'Meta'].includes(key)) pressed();
}, true);
"""


class Presses:
    """Counts the presses of keys and of the pointer on a page, but not what is typed as a text."""

    def __init__(self, page: Page, before: int) -> None:
        self.count = before
        page.context.expose_function("pressed", self._pressed)
        page.context.add_init_script(_COUNT)
        page.reload()

    def _pressed(self) -> None:
        self.count += 1


def write(field: Locator, text: str) -> None:
    """Press the field unless it has the focus already, and type the text instead of what stands there."""
    if not field.evaluate("field => field === document.activeElement"):
        field.click()
    if field.input_value():
        field.press("Control+a")
    field.page.keyboard.insert_text(text)


def add_after(page: Page, before: str, type_: str, name: str) -> None:
    """Add a task after another one, which need not be pressed if it is selected and no field has the focus."""
    is_free = page.evaluate("!document.activeElement.closest('input, textarea')")
    if not is_free or not page.locator(f'.selected[data-id="task:{before}"]').count():
        task(page, before).click()
    page.keyboard.press("a")
    page.keyboard.insert_text(type_)
    page.keyboard.press("Enter")
    expect(task(page, name)).to_be_visible()


def publish(page: Page, version: int) -> None:
    expect(page.get_by_text("No problems")).to_be_visible()
    page.get_by_role("button", name="Publish…").click()
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_text(f"v{version}", exact=True).first).to_be_visible()


def approve(page: Page, pill: str) -> None:
    """Answer what the run asks, and see how it ends."""
    page.wait_for_url(re.compile("/runs/[0-9]+"))
    page.get_by_role("button", name="Approve").click()
    expect(page.locator(".run-title .pill")).to_have_text(pill)


def test_a_newcomer_draws_runs_breaks_repairs_backfills_and_answers(open_page: OpenPage, running: RunningShoal) -> None:
    running.apply("loading.yaml", LOADING)
    page = log_in_as(open_page, running, "newcomer", "OWNER")
    presses = Presses(page, before=1)
    script = page.get_by_role("textbox", name="Script", exact=True)

    page.get_by_role("link", name="Workflows").first.click()
    page.get_by_role("button", name="New workflow").first.click()
    write(page.get_by_label("Name", exact=True), "orders")
    page.keyboard.press("Enter")
    expect(page.get_by_text("New, not published")).to_be_visible()
    page.get_by_role("button", name="Parameter", exact=True).click()
    write(page.get_by_label("New name"), "amount")
    page.keyboard.press("Enter")
    page.keyboard.insert_text("10")

    page.get_by_role("button", name="SWITCH", exact=True).click()
    add_after(page, "switch", "APPROVAL", "approval")
    write(page.get_by_role("textbox", name="What it asks"), "Load ${amount} rows?")
    add_after(page, "approval", "SUB_PROCESS", "sub_process")
    write(page.get_by_role("combobox", name="Workflow"), "loading")
    page.keyboard.press("Enter")
    add_after(page, "switch", "SHELL", "shell")
    write(script, "echo few")
    add_after(page, "sub_process", "SHELL", "shell_2")
    write(script, "echo done")
    draw_arrow(page, "shell", "shell_2")
    task(page, "switch").click()
    for place, condition in enumerate(("${amount} > 1000", "${amount} <= 1000"), 1):
        write(page.get_by_role("group", name=f"Case {place}").get_by_label("If"), condition)
    expect(page.locator(ARROWS)).to_have_count(5)
    publish(page, 1)

    page.get_by_role("button", name="Run", exact=True).click()
    write(page.get_by_role("dialog").get_by_label("amount", exact=True), "2000")
    page.keyboard.press("Control+Enter")
    approve(page, "Succeeded")

    page.get_by_role("link", name="orders").first.click()
    task(page, "shell_2").click()
    write(script, "exit 3")
    publish(page, 2)
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Use the values of run").click()
    page.keyboard.press("Control+Enter")
    approve(page, "Failed")

    page.get_by_role("link", name="Open definition").first.click()
    write(script, "echo right")
    publish(page, 3)
    page.go_back()
    presses.count += 1
    page.get_by_role("button", name="Run v3 from shell_2").click()
    expect(page.locator(".run-title .pill")).to_have_text("Succeeded")
    expect(page.locator(".run-head")).to_contain_text("v3")

    page.get_by_role("link", name="orders").first.click()
    page.get_by_role("link", name="Schedule", exact=True).click()
    page.get_by_role("link", name="Backfill past dates").click()
    for field, day in (("From", "2026-01-01"), ("To", "2026-01-07")):
        page.get_by_label(field, exact=True).click()
        page.get_by_label(field, exact=True).fill(day)  # its digits, in the order of the browser's language
    page.get_by_role("button", name="Start 7 runs").click()
    expect(page.get_by_text("7 of 7 done.", exact=True)).to_be_visible(timeout=60_000)
    assert presses.count < PRESSES_MAX, presses.count
