"""Schedules, backfill, queue and settings in a browser: their main stories."""

from __future__ import annotations

import re

from playwright.sync_api import FilePayload, Page, expect

from tests.accounts.office import PASSWORD
from tests.page.conftest import OpenPage, Seen, log_in_as
from tests.page.running import RunningShoal
from tests.page.test_accessibility import PHONE, violations


def _choose(page: Page, label: str, option: str) -> None:
    page.get_by_role("combobox", name=label).click()
    page.get_by_role("option", name=option, exact=True).click()


def test_a_schedule_is_written_in_words_and_turned_off(open_page: OpenPage, running: RunningShoal, seen: Seen) -> None:
    seen.expected.append("422")
    page = open_page("/schedules")
    page.get_by_role("button", name="New schedule").click()
    dialog = page.get_by_role("dialog")
    _choose(page, "Workflow", "hello")
    dialog.get_by_text("Weekdays", exact=True).click()
    expect(dialog.get_by_label("Quartz")).to_have_value("0 0 5 ? * 2-6")
    expect(dialog.get_by_label("Five fields")).to_have_value("0 5 * * 1-5")
    dialog.get_by_label("Five fields").fill("30 2 * * *")
    expect(dialog.get_by_label("Quartz")).to_have_value("0 30 2 * * ?")
    expect(dialog.get_by_text("At 02:30", exact=True)).to_be_visible()
    expect(dialog.get_by_role("row")).to_have_count(11)
    dialog.get_by_label("Quartz").fill("0 99 2 * * ?")
    expect(dialog.get_by_text('minute "99" is not right')).to_be_visible()
    dialog.get_by_label("Quartz").fill("0 30 2 * * ?")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("cell", name=re.compile("^At 02:30"))).to_be_visible()
    expect(page.locator(".day-names", has_text="hello").first).to_be_visible()
    page.get_by_role("switch").click(force=True)
    expect(page.get_by_text("is off. Times that pass meanwhile")).to_be_visible()
    assert [each["state"] for each in running.json("schedule", "list")] == ["OFFLINE"]


def test_a_day_of_23_hours_is_marked(open_page: OpenPage) -> None:
    page = open_page("/schedules?from=2027-03-22&day=2027-03-28", timezone_id="Europe/Berlin")
    expect(page.locator(".day-detail .clock-change")).to_contain_text("23")


def test_a_backfill_begins_with_the_workflow_whose_schedules_are_shown(open_page: OpenPage) -> None:
    page = open_page("/schedules?workflow=hello")
    backfill = page.get_by_role("link", name="Backfill", exact=True)
    expect(backfill).to_have_attribute("href", re.compile("code="))
    backfill.click()
    expect(page.get_by_role("combobox", name="Workflow")).to_have_value("hello")


def test_a_backfill_is_previewed_started_and_followed(open_page: OpenPage) -> None:
    page = open_page("/schedules/backfill?from=2026-01-01&to=2026-01-04&parallelism=2")
    _choose(page, "Workflow", "hello")
    expect(page.get_by_role("row")).to_have_count(5)
    page.get_by_role("button", name="Start 4 runs").click()
    page.wait_for_url("**/schedules/backfills/**")
    expect(page.get_by_text("4 of 4 done.", exact=True)).to_be_visible(timeout=40_000)
    expect(page.get_by_text("4 runs, 2 dates at once")).to_be_visible()
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "4")
    expect(page.get_by_role("list", name="Chain 2").get_by_role("link")).to_have_count(2)
    assert violations(page) == []


def test_the_dates_of_a_backfill_that_failed_are_chosen_and_run_again(
    open_page: OpenPage, running: RunningShoal
) -> None:
    """By the keyboard on a phone, where the newest backfill is found in the list."""
    repaired = running.folder.parent / "repaired"
    script = f"test -e {repaired} || case ${{day}} in 20260102|20260103) exit 3;; esac"
    running.apply(
        "by_day.yaml",
        f"name: by_day\nparams: {{day: '$[yyyyMMdd]'}}\n"
        f"tasks: [{{name: a, type: SHELL, params: {{script: '{script}'}}}}]\n",
    )
    running.shoal("backfill", "by_day", "--from", "2026-01-01", "--to", "2026-01-04", "--parallel", "4")
    page = open_page("/schedules/backfill", viewport=PHONE, color_scheme="dark")
    recent = page.locator("section", has=page.get_by_role("heading", name="Recent backfills"))
    recent.get_by_role("row", name="by_day").get_by_role("link").first.click()
    page.wait_for_url("**/schedules/backfills/**")
    expect(page.get_by_text("2 of 4 done. Stopped")).to_be_visible(timeout=40_000)
    expect(page.get_by_role("link", name=re.compile("2026-01-02 00:00: Failed, "))).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page) == []
    repaired.touch()
    page.get_by_role("checkbox", name="Choose 2026-01-03 00:00").focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Rerun 1 chosen").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("3 of 4 done. Stopped")).to_be_visible(timeout=40_000)
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_role("link", name=re.compile("2026-01-03 00:00: Succeeded, ")).click()
    page.wait_for_url("**/runs/*")


def test_an_error_command_is_corrected_and_retried(open_page: OpenPage, running: RunningShoal) -> None:
    running.shoal("db", "psql", "-c", "INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', 999999)")
    page = open_page("/queue")
    expect(page.get_by_text("there is no workflow with code 999999").first).to_be_visible()
    expect(page.get_by_text("Nothing waits", exact=True)).to_be_visible()
    page.get_by_role("button", name="Fix and retry").click()
    dialog = page.get_by_role("dialog")
    _choose(page, "Workflow", "hello")
    dialog.get_by_role("button", name="Retry").click()
    expect(page.get_by_text("was asked for again")).to_be_visible()
    expect(page.locator(".notice").get_by_role("link", name=re.compile(r"run \d+"))).to_be_visible()
    expect(page.get_by_text("No command was refused")).to_be_visible()


def test_a_token_is_shown_once_and_faults_at_their_fields(open_page: OpenPage, seen: Seen) -> None:
    seen.expected += ["401", "422"]
    page = open_page("/settings/account")
    # What is above it has come: a button that moves between press and release is not clicked.
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_role("button", name="Change password").click()
    expect(page.get_by_text("The password is changed")).to_be_visible()
    page.get_by_role("button", name="New token").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("nightly")
    guesses: list[str] = []
    page.on("request", lambda asked: guesses.append(asked.url) if asked.url.endswith("/tokens") else None)
    dialog.get_by_label("Your password").fill("a wrong one")
    dialog.get_by_role("button", name="Make").click()
    expect(dialog).to_contain_text("the password is wrong")
    assert len(guesses) == 1, "each counts against the limits"
    dialog.get_by_label("Your password").fill(PASSWORD)
    dialog.get_by_role("button", name="Make").click()
    expect(page.locator(".shown-once code")).to_have_text(re.compile("^shoal_"))
    page.reload()
    expect(page.get_by_role("cell", name="nightly")).to_be_visible()
    expect(page.locator(".shown-once")).to_have_count(0)
    page.get_by_label("New password").fill("short")
    page.get_by_role("button", name="Change password").click()
    expect(page.locator("form").get_by_text(re.compile("10"))).to_have_count(2)
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_label("New password").fill(f"another {PASSWORD}")
    page.get_by_role("button", name="Change password").click()
    expect(page.get_by_role("row", name="nightly")).to_contain_text("revoked")


def test_a_shorter_time_for_which_runs_are_kept_is_asked_for_once_more(open_page: OpenPage) -> None:
    page = open_page("/settings/projects?row=default")
    panel = page.locator("section", has=page.get_by_role("heading", name="How long ended runs are kept"))
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    panel.get_by_label("Days").fill("30")
    panel.get_by_role("button", name="Save").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("ended more than 30 days ago are deleted")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    panel.get_by_role("button", name="Save").click()
    dialog.get_by_role("button", name="Delete them earlier").click()
    expect(dialog).to_have_count(0)
    expect(panel.get_by_label("Days")).to_have_value("30")
    panel.get_by_label("Days").fill("0")
    panel.get_by_role("button", name="Save").click()
    expect(panel.get_by_role("button", name="Save")).to_be_disabled()
    expect(dialog).to_have_count(0)


def test_who_may_edit_a_project_reads_that_its_parameters_need_its_owner(
    open_page: OpenPage, running: RunningShoal
) -> None:
    page = log_in_as(open_page, running, "edna", "EDITOR")
    page.goto(f"{running.url}/settings/projects?row=default")
    panel = page.locator("section", has=page.get_by_role("heading", name="Parameters of default"))
    why = re.compile("needs the role owner")
    expect(panel.get_by_role("button", name="Save")).to_have_attribute("aria-description", why)


def _file(name: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


def test_files_of_a_project_are_uploaded_downloaded_replaced_and_deleted(
    open_page: OpenPage, running: RunningShoal, seen: Seen
) -> None:
    seen.expected.append("422")
    page = open_page("/settings/projects?row=default")
    panel = page.locator("section", has=page.get_by_role("heading", name="Files", exact=True))
    dialog = page.get_by_role("dialog")
    expect(panel).to_contain_text("No file yet")
    panel.get_by_role("button", name="Upload files").click()
    dialog.locator("input[type=file]").set_input_files([_file("large.bin", bytes(2_097_153))])
    expect(dialog).to_contain_text("large.bin has 2\u2009097\u2009153 bytes, more than")
    expect(dialog.get_by_role("button", name="Upload")).to_be_disabled()
    every = bytes(range(256))
    dialog.locator("input[type=file]").set_input_files([_file("day.sh", b"echo 1"), _file("every.bin", every)])
    dialog.get_by_label("Folder").fill("../jobs")
    dialog.get_by_role("button", name="Upload").click()
    expect(dialog.get_by_role("alert")).to_contain_text('the path "../jobs/day.sh" has an empty name')
    dialog.get_by_label("Folder").fill("/jobs/")
    dialog.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("2 files are saved.")).to_be_visible()
    expect(panel.get_by_role("button", name="Upload files")).to_be_focused()
    running.apply("uses.yaml", "name: uses\ntasks: [{name: a, type: SHELL, files: [jobs/], params: {script: ls}}]\n")
    binary = panel.get_by_role("row", name=re.compile(r"^jobs\Wevery\.bin 256 B .* admin "))
    with page.expect_download() as got:
        binary.get_by_role("button", name="Download").click()
    assert got.value.suggested_filename == "every.bin"
    assert got.value.path().read_bytes() == every
    beginning = panel.get_by_role("textbox", name="Beginning of a path")
    beginning.fill("jobs/d")
    expect(panel.get_by_role("row")).to_have_count(2)
    day = panel.get_by_role("row", name="jobs/day.sh")
    day.get_by_role("button", name="Replace").click()
    dialog.locator("input[type=file]").set_input_files(_file("other.sh", b"echo 2"))
    dialog.get_by_role("button", name="Replace").click()
    expect(page.get_by_role("alert")).to_contain_text("Apply these workflows again: uses")
    assert running.shoal("project", "file", "get", "jobs/day.sh") == "echo 2"
    day.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(panel).to_contain_text("No path begins so")
    beginning.fill("")
    expect(binary).to_be_visible()
    expect(beginning).to_be_focused()
    assert [each["path"] for each in running.json("project", "file", "list")] == ["jobs/every.bin"]
    viewer = log_in_as(open_page, running, "vera", "VIEWER")
    viewer.goto(f"{running.url}/settings/projects?row=default")
    panel = viewer.locator("section", has=viewer.get_by_role("heading", name="Files", exact=True))
    expect(panel.get_by_role("button", name="Download")).to_be_visible()
    expect(panel.get_by_role("button")).to_have_count(1)


def test_a_schedule_that_somebody_else_changed_meanwhile_is_not_overwritten(
    open_page: OpenPage, running: RunningShoal, seen: Seen
) -> None:
    seen.expected.append("412")
    running.apply("watched.yaml", "name: watched\ntasks: [{name: one, type: FAKE}]\n")
    running.shoal("schedule", "add", "watched", "0 0 4 * * ?", "--off")
    id_ = next(each["id"] for each in running.json("schedule", "list") if each["workflow"] == "watched")
    page = open_page(f"/schedules?edit={id_}")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Quartz").fill("0 30 2 * * ?")
    running.shoal("schedule", "edit", str(id_), "--cron", "0 0 6 * * ?")
    expect(page.locator("td", has_text="At 06:00").first).to_be_attached()
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_contain_text("Somebody else changed it meanwhile")


def test_the_settings_of_a_workflow_say_where_its_webhook_is(open_page: OpenPage, running: RunningShoal) -> None:
    content = "name: hooked\nparams: {key: {type: SECRET, value: a long random text}}\ntriggers: [{webhook: key}]\n"
    running.apply("hooked.yaml", f"{content}tasks: [{{name: a, type: FAKE}}]\n")
    (code,) = (each["code"] for each in running.json("workflow", "list") if each["name"] == "hooked")
    page = open_page("/workflows/default/hooked?tab=settings", viewport=PHONE)
    expect(page.get_by_text(f"POST {running.url}/api/v1/workflow-definitions/{code}/webhook")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_settings_say_which_of_several_datasets_are_missing(open_page: OpenPage, running: RunningShoal) -> None:
    running.apply("fill_orders.yaml", "name: fill_orders\ntasks: [{name: load, type: FAKE, updates: [orders]}]\n")
    both = "name: both\ntriggers: [{datasets: [orders, items]}]\ntasks: [{name: add_up, type: FAKE}]\n"
    running.apply("both.yaml", both)
    running.shoal("run", "fill_orders", "--wait")
    page = open_page("/workflows/default/both?tab=settings")
    relations = page.locator(".facts", has_text="is started when all are updated")
    expect(relations).to_contain_text("items (missing)")
    relations.get_by_role("link", name="(updated)").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("fill_orders")
