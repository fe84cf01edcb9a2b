"""Settings as list and detail: accounts and their roles, data sources, limits; on a phone one of both."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import OpenPage, Seen
from tests.page.running import RunningShoal
from tests.page.test_accessibility import PHONE, violations

NOT_REACHED = re.compile("not reached|refused|reach")


def _panel(page: Page, title: str) -> Locator:
    return page.locator("section.panel", has=page.get_by_role("heading", name=title, exact=True))


def test_an_account_is_made_found_and_given_roles_in_projects(open_page: OpenPage, running: RunningShoal) -> None:
    for name in ("etl", "reports"):
        running.apply(f"{name}.yaml", f"name: w\nproject: {name}\ntasks: [{{name: a, type: FAKE}}]\n")
    page = open_page("/settings/users")
    page.get_by_role("button", name="New", exact=True).click()
    expect(page.locator(".detail")).to_be_focused()
    page.get_by_role("combobox", name="Name of a new account").fill("anna")
    page.get_by_role("button", name="Create").click()
    expect(_panel(page, "anna")).to_contain_text("No password yet")
    roles = _panel(page, "Roles")
    for project, role in (("etl", "Editor"), ("reports", "Viewer")):
        roles.get_by_role("combobox", name="Project").fill(project)
        page.get_by_role("option", name=project).click()
        roles.get_by_role("combobox", name="Role", exact=True).click()
        page.get_by_role("option", name=role).click()
        roles.get_by_role("button", name="Add").click()
        expect(roles.get_by_role("row", name=project)).to_be_visible()
    member = {"name": "anna", "role": "EDITOR"}
    assert member.items() <= running.json("project", "member", "list", "--project", "etl")[0].items()
    roles.get_by_role("combobox", name="Role of etl").click()
    page.get_by_role("option", name="Owner").click()
    roles.get_by_role("row", name="reports").get_by_role("button", name="Remove").click()
    expect(roles.get_by_role("row", name="reports")).to_have_count(0)
    page.reload()
    expect(roles.get_by_role("combobox", name="Role of etl")).to_have_value("Owner")
    accounts = _panel(page, "Users")
    accounts.get_by_role("searchbox", name="Find by name").fill("adm")
    expect(accounts.get_by_role("listitem")).to_have_count(1)
    accounts.get_by_role("link", name="admin").press("Enter")
    expect(_panel(page, "Roles")).to_contain_text("An administrator needs no role")
    expect(page.locator(".detail")).to_be_focused()


def test_a_data_source_is_tested_before_it_is_saved_and_after(open_page: OpenPage, seen: Seen) -> None:
    seen.expected.append("422")
    page = open_page("/settings/data-sources", viewport=PHONE)
    page.get_by_role("button", name="New", exact=True).click()
    expect(page.get_by_role("button", name="New", exact=True)).to_be_hidden()
    page.get_by_label("Name").fill("files")
    address = page.get_by_label("Address with its password")
    address.fill("postgresql://u:p@127.0.0.1:1/shop")
    page.get_by_role("button", name="Test").click()
    expect(page.locator(".checked")).to_contain_text(NOT_REACHED)
    page.get_by_role("button", name="Save").click()
    saved = _panel(page, "files")
    expect(saved).to_contain_text("u:***@127.0.0.1:1/shop")
    expect(page.locator(".checked")).to_have_text("")
    saved.get_by_role("button", name="Test").click()
    expect(saved.locator(".checked")).to_contain_text(NOT_REACHED)
    assert violations(page) == []
    page.get_by_role("link", name="Data sources").last.click()
    expect(page.get_by_role("link", name="files")).to_be_visible()
    expect(saved).to_be_hidden()
    page.get_by_role("link", name="files").click()
    saved.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No data source yet")).to_be_visible()


def test_what_a_project_may_use_is_chosen_from_what_there_is(open_page: OpenPage, running: RunningShoal) -> None:
    page = open_page("/settings/projects?row=default")
    limits = _panel(page, "What it may use")
    limits.get_by_label("Worker groups").click()
    page.get_by_role("option", name="default", exact=True).click()
    limits.get_by_role("button", name="Save").click()
    expect(page.get_by_text("default is saved.")).to_be_visible()
    assert running.shoal("db", "psql", "-Atc", "SELECT worker_groups FROM project WHERE name = 'default'").strip() == (
        "{default}"
    )


def test_defaults_of_the_tasks_of_a_project_are_fields(open_page: OpenPage, running: RunningShoal) -> None:
    page = open_page("/settings/projects?row=default")
    defaults = _panel(page, "Defaults of tasks")
    defaults.get_by_text("More").click()
    defaults.get_by_label("Retries", exact=True).fill("3")
    defaults.get_by_role("button", name="Save").click()
    expect(page.get_by_text("default is saved.")).to_be_visible()
    assert running.json("project", "defaults")["defaults"] == {"retry_times": 3}
    expect(defaults.get_by_label("Retries", exact=True)).to_have_value("3")
    defaults.get_by_label("Retries", exact=True).fill("")
    defaults.get_by_role("button", name="Save").click()
    expect(defaults.get_by_role("button", name="Save")).to_be_disabled()
    assert running.json("project", "defaults")["defaults"] == {}
