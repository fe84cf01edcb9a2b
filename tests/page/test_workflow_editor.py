"""A workflow is drawn in the browser, corrected, tried, published and run; its YAML and its canvas are one text."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.page.arrows import ARROWS, ArrowWatch
from tests.page.conftest import OpenPage, Seen
from tests.page.running import RunningShoal


def task(page: Page, name: str) -> Locator:
    """A task on the canvas."""
    return page.locator(f'[data-id="task:{name}"]')


def drag_type(page: Page, name: str, x: int, y: int) -> None:
    """Drag a type from the palette to a place on the canvas."""
    type_of = page.get_by_role("button", name=name, exact=True)
    type_of.drag_to(page.locator(".canvas"), target_position={"x": x, "y": y})


def draw_arrow(page: Page, first: str, then: str) -> None:
    """Drag from the lower end of one task to the upper end of another, when the canvas moves them no more."""
    for name in (first, then):
        task(page, name).element_handle().wait_for_element_state("stable")
    start = task(page, first).locator(".react-flow__handle-bottom").bounding_box()
    end = task(page, then).locator(".react-flow__handle-top").bounding_box()
    assert start is not None and end is not None
    page.mouse.move(start["x"] + 4, start["y"] + 4)
    page.mouse.down()
    page.mouse.move(end["x"] - 40, end["y"] - 20, steps=4)
    page.mouse.move(end["x"] + 4, end["y"] + 4, steps=4)
    page.mouse.up()


def write(page: Page, yaml: str) -> Locator:
    """Replace all of the YAML; returns where it stands."""
    text = page.locator(".yaml .cm-content")
    text.click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(yaml)
    return text


def begin(page: Page, name: str) -> None:
    """Begin a workflow from the list."""
    page.get_by_role("button", name="New workflow").first.click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_text("New, not published")).to_be_visible()


def test_a_workflow_is_drawn_published_and_run(open_page: OpenPage) -> None:
    page = open_page("/workflows")
    begin(page, "drawn")

    drag_type(page, "SHELL", 200, 120)
    page.get_by_role("textbox", name="Script", exact=True).fill("echo hello ${who}\n")
    name = page.get_by_role("textbox", name="Name", exact=True)
    name.fill("greet")
    name.press("Enter")
    drag_type(page, "FAKE", 120, 420)
    draw_arrow(page, "greet", "fake")
    expect(page.locator(ARROWS)).to_have_count(1)
    expect(page.get_by_text("No problems")).to_be_visible()

    task(page, "greet").click()
    page.get_by_text("Try this task").click()
    page.get_by_label("Sample values").fill("who: Ada")
    page.get_by_role("button", name="Try", exact=True).click()
    expect(page.locator(".try-log")).to_contain_text("hello Ada")

    page.get_by_role("button", name="Publish…").click()
    expect(page.locator(".diff")).to_contain_text("greet")
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_text("v1", exact=True).first).to_be_visible()

    page.get_by_role("button", name="Run", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Parameter", exact=True).click()
    dialog.get_by_label("name", exact=True).fill("who")
    dialog.get_by_label("Value of who").fill("Bob")
    dialog.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/runs/*")


def test_the_yaml_and_the_canvas_are_one_text(open_page: OpenPage) -> None:
    page = open_page("/workflows")
    begin(page, "typed")
    text = write(
        page, "name: typed # by hand\ntasks:\n  - {name: a, type: FAKE}\n  - {name: b, type: FAKE, after: [a]}\n"
    )
    expect(task(page, "b")).to_be_visible()
    expect(page.locator(ARROWS)).to_have_count(1)

    draw_arrow(page, "b", "a")
    expect(page.get_by_text("each would wait for the other")).to_be_visible()
    task(page, "a").click()
    name = page.get_by_role("textbox", name="Name", exact=True)
    name.fill("first")
    name.press("Enter")
    expect(text).to_contain_text("after: [first]")
    expect(text).to_contain_text("# by hand")


def test_a_start_rule_is_chosen_in_the_form_of_a_task_with_others_before_it(open_page: OpenPage) -> None:
    page = open_page("/workflows")
    begin(page, "ruled")
    text = write(page, "name: ruled\ntasks:\n  - {name: a, type: FAKE}\n  - {name: b, type: FAKE, after: [a]}\n")
    rule = page.get_by_role("combobox", name="Starts when")
    for name, is_ruled in (("a", False), ("b", True)):
        task(page, name).click()
        expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value(name)
        expect(rule).to_have_count(int(is_ruled))
    rule.click()
    page.get_by_role("option", name="all have ended, however", exact=True).click()
    expect(text).to_contain_text("start_when: all_done")
    expect(page.get_by_text("No problems")).to_be_visible()


def test_arrows_stay_while_the_text_is_typed(open_page: OpenPage) -> None:
    page = open_page("/workflows")
    begin(page, "steady")
    write(page, "name: steady\ntasks:\n  - {name: a, type: FAKE}\n  - {name: b, type: FAKE, after: [a]}\n")
    expect(page.get_by_text("No problems")).to_be_visible()
    arrows = ArrowWatch(page, 1)
    page.keyboard.insert_text("  - {name: c, type: NONE, after: [b]}\n")
    expect(page.locator(ARROWS)).to_have_count(2)
    expect(page.get_by_text("1 problem")).to_be_visible()
    assert arrows.lost() == 0


def test_comments_survive_publishing_and_problems_are_fixed_by_a_press(open_page: OpenPage) -> None:
    page = open_page("/workflows")
    begin(page, "commented")
    text = write(
        page,
        "# why it is there\nname: commented\nparams: {day: x}\ntasks:\n"
        "  - {name: first, type: SHEL, params: {script: 'echo ${dy}'}}   # the first\n"
        "  - {name: second, type: FAKE, after: [frist]}\n",
    )
    page.get_by_role("button", name=re.compile("problem")).click()
    page.get_by_role("button", name="Wait for first").click()
    expect(text).to_contain_text("after: [first]")
    page.get_by_role("button", name="Make it SHELL").click()
    page.get_by_role("button", name="Use day").click()
    expect(page.get_by_text("No problems")).to_be_visible()
    page.get_by_role("button", name="Publish…").click()
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_text("Version 1 is published")).to_be_visible()
    page.reload()
    expect(text).to_contain_text("# why it is there")
    expect(text).to_contain_text("# the first")
    page.get_by_role("link", name="Workflows").first.click()
    expect(page.get_by_role("row", name="commented")).to_contain_text("admin")


def test_all_of_it_works_by_keyboard(open_page: OpenPage) -> None:
    page = open_page("/workflows")
    begin(page, "by_keys")
    expect(page.get_by_role("button", name="FAKE", exact=True)).to_be_visible()
    page.get_by_label("Find a type").focus()
    page.keyboard.type("fak")
    page.keyboard.press("Enter")
    task(page, "fake").focus()
    page.keyboard.press("a")
    page.keyboard.type("fake")
    page.keyboard.press("Enter")
    expect(page.locator(ARROWS)).to_have_count(1)

    task(page, "fake_2").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Name", exact=True)).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("last")
    page.keyboard.press("Enter")
    task(page, "last").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Name", exact=True)).to_be_focused()
    task(page, "last").focus()
    page.keyboard.press("Control+c")
    page.keyboard.press("Control+v")
    expect(task(page, "last_2")).to_be_visible()
    page.keyboard.press("Control+z")
    expect(task(page, "last_2")).to_have_count(0)
    page.keyboard.press("Control+y")
    expect(task(page, "last_2")).to_be_visible()
    task(page, "last_2").element_handle().wait_for_element_state("stable")
    task(page, "last_2").focus()
    expect(task(page, "last_2")).to_be_focused()
    page.keyboard.press("Delete")
    expect(task(page, "last_2")).to_have_count(0)
    page.keyboard.press("Control+s")
    expect(page.get_by_text("Your draft is saved")).to_be_visible()


def test_a_key_is_not_lost_while_the_page_draws(open_page: OpenPage) -> None:
    page = open_page("/workflows")
    page.add_init_script("document.addEventListener('keydown', ({key}) => key === 'Delete' && window.draw.click())")
    page.reload()
    begin(page, "key_pressed")
    for _ in range(2):
        page.get_by_role("button", name="FAKE", exact=True).click()
    undo = page.get_by_role("button", name="Undo", exact=True).element_handle()
    page.evaluate("undo => { window.draw = undo }", undo)
    task(page, "fake").click()
    page.keyboard.press("Delete")
    expect(task(page, "fake_2")).to_have_count(0)
    expect(task(page, "fake")).to_have_count(0)


def test_what_starts_what_is_shown_in_words_too(open_page: OpenPage) -> None:
    page = open_page("/workflows")
    begin(page, "upper")
    write(page, "name: upper\ntasks:\n  - {name: below, type: SUB_PROCESS, params: {workflow: hello}}\n")
    expect(page.get_by_text("No problems")).to_be_visible()
    page.get_by_role("button", name="Publish…").click()
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_text("v1", exact=True).first).to_be_visible()
    page.get_by_role("link", name="Workflows").first.click()
    expect(page.get_by_role("row", name="upper")).to_contain_text("never ran")
    page.get_by_role("link", name="Relations").click()
    expect(page.locator(".relation-node", has_text="upper")).to_be_visible()
    page.get_by_text("Table", exact=True).click()
    expect(page.get_by_role("row", name="upper")).to_contain_text("hello")


def test_a_trigger_is_given_in_the_form_and_its_runs_are_linked(
    open_page: OpenPage, running: RunningShoal, seen: Seen
) -> None:
    running.apply("load_orders.yaml", "name: load_orders\ntasks: [{name: load, type: FAKE}]\n")
    running.apply("totals.yaml", "name: totals\ntasks: [{name: add_up, type: FAKE}]\n")
    page = open_page("/workflows/default/totals?yaml=true")
    text, add = page.locator(".yaml .cm-content"), page.get_by_role("button", name="Event", exact=True)
    add.click()
    page.get_by_role("group", name="Event 1").get_by_label("Or a dataset is updated").fill("orders")
    expect(text).to_contain_text("- dataset: orders")
    page.get_by_role("button", name="Remove Event 1").click()
    expect(text).not_to_contain_text("triggers")
    add.click()
    page.get_by_role("group", name="Event 1").get_by_role("combobox", name="Workflow").fill("load_orders")
    add.click()
    page.get_by_role("group", name="Event 2").get_by_label("Or a dataset is updated").fill("orders")
    expect(text).to_contain_text("- workflow: load_orders")

    task(page, "add_up").click()
    page.get_by_text("Priority, delay, cache").click()
    updates = page.get_by_role("combobox", name="Updates the datasets")
    for name in ("sums", "means"):
        updates.fill(name)
        updates.press("Enter")
    updates.press("Backspace")
    expect(text).to_contain_text(re.compile("updates:.*sums"))
    expect(text).not_to_contain_text("means")
    page.get_by_role("button", name="Publish…").click()
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_text("v2", exact=True).first).to_be_visible()

    running.shoal("run", "load_orders", "--wait")
    page.goto(f"{running.url}/runs?workflow=totals")
    page.get_by_role("link", name="end of").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("load_orders")
    page.get_by_role("link", name="of totals").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("totals")
    expect(page.get_by_role("link", name="the end of")).to_be_visible()


def test_a_workflow_that_is_deleted_meanwhile_is_gone_but_for_what_was_typed(
    open_page: OpenPage, running: RunningShoal, seen: Seen
) -> None:
    seen.expected.append("404")
    running.apply("brief.yaml", "name: brief\ntasks: [{name: one, type: FAKE}]\n")
    shown, typed = open_page("/workflows/default/brief"), open_page("/workflows/default/brief")
    expect(task(shown, "one")).to_be_visible()
    task(typed, "one").click()
    name = typed.get_by_role("textbox", name="Name", exact=True)
    name.fill("other")
    name.press("Enter")
    expect(typed.get_by_text("Changes not saved").first).to_be_visible()
    running.shoal("workflow", "delete", "brief", "--yes")
    expect(shown.get_by_role("alert")).to_contain_text("brief")
    expect(task(shown, "one")).to_have_count(0)
    expect(typed.get_by_role("alert")).to_contain_text("brief")
    expect(task(typed, "other")).to_be_visible()


def stale_tab(open_page: OpenPage, running: RunningShoal, name: str) -> tuple[Page, Locator]:
    """A window in which somebody types into version 1 of a workflow, while version 2 is published elsewhere."""
    running.apply("theirs.yaml", f"name: {name}\ntasks: [{{name: one, type: FAKE}}]\n")
    page = open_page(f"/workflows/default/{name}?yaml=true")
    expect(task(page, "one")).to_be_visible()
    text = write(page, f"name: {name}\ndescription: mine\ntasks: [{{name: one, type: FAKE}}]\n")
    running.apply("theirs.yaml", f"name: {name}\ndescription: theirs\ntasks: [{{name: one, type: FAKE}}]\n")
    expect(page.get_by_role("alert")).to_contain_text("Version 2 was published since you began from v1")
    return page, text


def published(running: RunningShoal, name: str) -> str:
    """The text of the current version."""
    return running.shoal("workflow", "export", name)


def test_a_stale_window_publishes_nothing_over_what_others_published(
    open_page: OpenPage, running: RunningShoal
) -> None:
    page, text = stale_tab(open_page, running, "contested")
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("Your draft is saved")).to_be_visible()
    page.reload()
    expect(text).to_contain_text("description: mine")
    page.get_by_role("button", name="Publish…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("theirs")
    expect(dialog.get_by_role("button", name="Publish", exact=True)).to_have_count(0)
    assert "theirs" in published(running, "contested")

    dialog.get_by_role("button", name="Take mine onto v2").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(text).to_contain_text("description: mine")
    page.get_by_role("button", name="Publish…").click()
    expect(page.locator(".diff")).to_contain_text("-description: theirs")
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_text("v3", exact=True).first).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_what_others_published_can_be_taken(open_page: OpenPage, running: RunningShoal) -> None:
    page, text = stale_tab(open_page, running, "yielded")
    page.get_by_role("button", name="Take theirs").click()
    expect(text).to_contain_text("description: theirs")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_second_window_does_not_overwrite_the_draft_of_the_first(
    open_page: OpenPage, running: RunningShoal, seen: Seen
) -> None:
    seen.expected.append("428")
    running.apply("twice.yaml", "name: twice\ntasks: [{name: one, type: FAKE}]\n")
    first, second = (open_page("/workflows/default/twice?yaml=true") for _ in range(2))
    texts = []
    for page, words in ((first, "of the first"), (second, "of the second")):
        expect(task(page, "one")).to_be_visible()
        texts.append(write(page, f"name: twice\ndescription: {words}\ntasks: [{{name: one, type: FAKE}}]\n"))
    first.get_by_role("button", name="Save draft").click()
    expect(first.get_by_text("Your draft is saved")).to_be_visible()
    second.get_by_role("button", name="Save draft").click()
    expect(second.get_by_text("Not saved: the draft changed in another window")).to_be_visible()
    expect(second.get_by_role("alert").first).to_contain_text("Your draft was changed in another window")
    expect(second.locator("body")).not_to_contain_text("If-Match")
    expect(texts[1]).to_contain_text("of the second")

    second.get_by_role("button", name="Take mine").click()
    expect(second.get_by_text("Your text is saved as a draft")).to_be_visible()
    first.reload()
    expect(texts[0]).to_contain_text("of the second")
