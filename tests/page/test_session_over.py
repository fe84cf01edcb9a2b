"""A session that is over: a login lies over the page, nothing typed is lost, and what waited is asked again."""

from __future__ import annotations

import pytest
from playwright.sync_api import APIResponse, Locator, Page, Route, expect

from tests.page.conftest import OpenPage, Seen
from tests.page.running import RunningShoal
from tests.page.test_workflow_editor import task, write

PASSWORD = "correct horse battery staple"


@pytest.fixture(scope="module")
def password(running: RunningShoal) -> str:
    """The password of a second administrator, who logs in here: the first one's session serves other tests."""
    running.shoal("user", "add", "ada", "--admin")
    running.shoal("user", "password", "ada", given=f"{PASSWORD}\n")
    return PASSWORD


def log_in(page: Page, password: str) -> None:
    page.locator("input[autocomplete=username]").fill("ada")
    page.locator("input[autocomplete=current-password]").fill(password)
    page.get_by_role("button", name="Log in").click()


def end_sessions(running: RunningShoal) -> None:
    """As if her time was over."""
    running.shoal("user", "disable", "ada")
    running.shoal("user", "enable", "ada")


def press(button: Locator) -> None:
    """As somebody who presses it before the dialog lies over it: another request may find the session over first."""
    button.dispatch_event("click")


def test_what_was_typed_is_saved_after_the_next_login(
    open_page: OpenPage, running: RunningShoal, seen: Seen, password: str
) -> None:
    seen.expected.append("401")
    running.apply("kept.yaml", "name: kept\ntasks: [{name: one, type: FAKE}]\n")
    page = open_page("/workflows/default/kept?yaml=true", as_admin=False)
    log_in(page, password)
    expect(task(page, "one")).to_be_visible()
    text = write(page, "name: kept\ndescription: typed\ntasks: [{name: one, type: FAKE}]\n")
    end_sessions(running)
    press(page.get_by_role("button", name="Save draft"))
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Your session is over")
    expect(page.locator("body")).not_to_contain_text("Authorization")
    expect(page.get_by_role("status").filter(has_text="Your session is over: live updates")).to_be_visible()
    expect(text).to_contain_text("description: typed")
    log_in(page, password)
    expect(page.get_by_text("Your draft is saved")).to_be_visible()
    expect(dialog).to_have_count(0)
    page.reload()
    expect(text).to_contain_text("description: typed")


def test_a_login_in_one_tab_counts_in_the_others(
    open_page: OpenPage, running: RunningShoal, seen: Seen, password: str
) -> None:
    seen.expected.append("401")
    first = open_page("/runs", as_admin=False)
    log_in(first, password)
    expect(first.get_by_role("heading", name="Runs")).to_be_visible()
    second = first.context.new_page()
    second.goto(f"{running.url}/workflows")
    expect(second.get_by_role("heading", name="Workflows")).to_be_visible()
    end_sessions(running)
    for page in (first, second):
        press(page.get_by_role("link", name="Queue").first)
        expect(page.get_by_role("dialog")).to_contain_text("Your session is over")
    log_in(second, password)
    for page in (first, second):
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_role("heading", name="Queue").first).to_be_visible()


def test_an_answer_of_before_the_login_opens_no_second_dialog(
    open_page: OpenPage, running: RunningShoal, seen: Seen, password: str
) -> None:
    seen.expected.append("401")
    page = open_page("/workflows", as_admin=False)
    log_in(page, password)
    expect(page.get_by_role("heading", name="Workflows")).to_be_visible()
    held: list[tuple[Route, APIResponse]] = []

    def hold_the_first(route: Route) -> None:
        answer = route.fetch()
        if held:
            route.fulfill(response=answer)
        else:
            held.append((route, answer))

    page.route("**/api/v1/sessions/current", hold_the_first)
    end_sessions(running)
    press(page.get_by_role("link", name="Queue").first)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Your session is over")
    log_in(page, password)
    expect(dialog).to_have_count(0)
    (route, answer) = held[0]
    with page.expect_response("**/api/v1/sessions/current"):
        route.fulfill(response=answer)
    page.get_by_role("link", name="Runs").first.click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    expect(dialog).to_have_count(0)
