"""Workflows come from elsewhere: files of another scheduler, with the report beside the graph, and another project."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.page.conftest import OpenPage
from tests.page.running import RunningShoal

DAG = b"""\
from airflow import DAG
from airflow.operators.bash import BashOperator
from airflow.providers.amazon.aws.operators.s3 import S3CopyObjectOperator

with DAG("daily", schedule="0 5 * * *"):
    BashOperator(task_id="load", bash_command="echo load") >> BashOperator(task_id="tell", bash_command="echo told")

with DAG("copies", schedule=None):
    S3CopyObjectOperator(task_id="copy", source_bucket_key="a", dest_bucket_key="b")
"""


def test_dags_are_shown_beside_their_report_and_saved(open_page: OpenPage, running: RunningShoal) -> None:
    page = open_page("/workflows")
    page.get_by_role("link", name="Import", exact=True).click()
    with page.expect_file_chooser() as choosing:
        page.get_by_role("button", name="Files").click()
    choosing.value.set_files([{"name": "dags.py", "mimeType": "text/x-python", "buffer": DAG}])
    expect(page.get_by_role("radio", name="Airflow")).to_be_checked()
    page.get_by_role("button", name="Show what they become").click()

    expect(page.get_by_role("heading", name="Report on daily")).to_be_visible()
    expect(page.locator('[data-id="task:tell"]')).to_be_visible()
    page.get_by_role("button", name="copies").click()
    expect(page.get_by_role("row", name=re.compile("to do copy line 9: "))).to_be_visible()
    save = page.get_by_role("button", name="Save", exact=True)
    expect(save).to_have_attribute("aria-description", re.compile("or save them as drafts: copies"))

    page.get_by_role("checkbox", name="Choose daily").uncheck()
    page.get_by_role("button", name="Save as drafts").click()
    expect(page.get_by_text("1 draft is saved.")).to_be_visible()
    page.get_by_role("checkbox", name="Choose copies").uncheck()
    page.get_by_role("checkbox", name="Choose daily").check()
    save.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("new in default")).to_be_visible()
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_text("1 workflow is saved.")).to_be_visible()
    assert [each["name"] for each in running.json("workflow", "list") if each["name"] in ("daily", "copies")] == [
        "daily"
    ]

    page.goto(f"{running.url}/workflows/default/copies")
    expect(page.get_by_text("New, not published")).to_be_visible()
    expect(page.locator(".yaml .cm-content")).to_contain_text("todo:")


def test_a_workflow_is_copied_into_another_project(open_page: OpenPage, running: RunningShoal) -> None:
    running.shoal("project", "set", "city=Lima", "--project", "lab")
    page = open_page("/workflows/default/daily?tab=settings")
    page.get_by_role("button", name="Copy…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Name", exact=True)).to_have_value("daily")
    dialog.get_by_role("combobox", name="Project").click()
    page.get_by_role("option", name="lab").click()
    dialog.get_by_role("button", name="Begin").click()
    page.wait_for_url(f"{running.url}/workflows/lab/daily")
    expect(page.locator(".yaml .cm-content")).to_contain_text("state: OFFLINE")
    expect(page.locator('[data-id="task:tell"]')).to_be_visible()


def test_a_workflow_moves_to_another_project_with_its_star_and_its_runs(
    open_page: OpenPage, running: RunningShoal, tmp_path: Path
) -> None:
    running.shoal("project", "set", "city=Lima", "--project", "harbour")
    (tmp_path / "m.yaml").write_text(
        "name: mover\ntasks: [{name: a, type: FAKE}]\n---\n"
        "name: above\ntasks: [{name: runs, type: SUB_PROCESS, params: {workflow: mover}}]\n"
    )
    running.shoal("workflow", "apply", str(tmp_path / "m.yaml"))
    running.shoal("run", "mover", "--wait")
    page = open_page("/workflows?q=mover")
    page.get_by_role("button", name="Watch mover").click()
    expect(page.get_by_role("button", name="Watch mover")).to_have_attribute("aria-pressed", "true")
    page.goto(f"{running.url}/workflows/default/mover?tab=settings")
    page.get_by_role("button", name="Move…").click()
    dialog = page.get_by_role("dialog")
    move = dialog.get_by_role("button", name="Move")
    expect(move).to_have_attribute("aria-description", "Choose a project first.")
    dialog.get_by_role("combobox", name="Project").click()
    page.get_by_role("option", name="harbour").click()
    expect(dialog.get_by_text("above of default names it")).to_be_visible()
    move.click()
    page.wait_for_url(f"{running.url}/workflows/harbour/mover?tab=settings")
    expect(page.get_by_text("mover is in project harbour now.")).to_be_visible()
    (above,) = [each for each in running.json("workflow", "list") if each["name"] == "above"]
    assert above["version"] == 2
    page.goto(f"{running.url}/workflows/harbour/mover?tab=runs")
    expect(page.get_by_role("row").filter(has_text="Succeeded")).to_have_count(1)
    page.goto(f"{running.url}/")
    watched = page.locator(".lately").first.get_by_role("link", name="mover")
    expect(watched).to_have_attribute("href", re.compile("/workflows/harbour/mover"))  # once its runs are read
    watched.click()
    page.wait_for_url(f"{running.url}/workflows/harbour/mover*")


def test_one_that_comes_from_a_folder_says_so_before_it_is_changed(
    open_page: OpenPage, running: RunningShoal, tmp_path: Path
) -> None:
    (tmp_path / "nightly.yaml").write_text("name: nightly\ntasks: [{name: a, type: FAKE}]\n")
    running.shoal("workflow", "sync", str(tmp_path), "--origin", "flows")
    page = open_page("/workflows/default/nightly")
    expect(page.get_by_text("from flows", exact=True)).to_be_visible()
    page.locator(".yaml .cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("description: changed\n")
    page.get_by_role("button", name="Publish…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("It comes from flows: change it there.")).to_be_visible()
    dialog.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_text("v2", exact=True).first).to_be_visible()
    expect(page.get_by_text("from flows", exact=True)).to_have_count(0)
