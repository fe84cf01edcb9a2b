"""The page of a run: its graph, why a task failed, its log, and running it again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.page.arrows import ArrowWatch
from tests.page.conftest import OpenPage
from tests.page.running import RunningShoal
from tests.page.test_accessibility import PHONE, violations

WORKFLOW = """
name: sales
params: {day: "2026-11-20"}
tasks:
  - {name: extract, type: SHELL, params: {script: "for i in $(seq 200000); do echo line $i; done"}}
  - name: load
    type: SHELL
    after: [extract]
    params:
      script: |
        echo "load begins"
        [ -e FLAG ] || { echo "error: no such table"; exit 3; }
  - {name: report, type: SHELL, after: [load], params: {script: echo done}}
"""

SPEAKS = r"""
name: speaks
tasks:
  - name: a
    type: SHELL
    params:
      script: |
        printf 'see \033[38;5;226mhttps://example.org/a?b=1\033[0m. \033[38;2;10;20;30mink\033[0m\n'
        sleep 600
"""

RETURNS = r"""
name: returns
params: {day: "2026-11-20", key: {type: SECRET, value: a long random text}}
tasks:
  - name: a
    type: SHELL
    params:
      script: |
        : ${day} ${key}
        echo '#{setValue(found={"rows": [1, 12345678901234567890]})}'
        seq 3 > sales.csv
    local_params:
      found: {direct: OUT, type: JSON}
      report: {direct: OUT, type: FILE, value: sales.csv}
"""


@pytest.fixture(scope="module")
def flag(running: RunningShoal) -> Path:
    """The file with which the task of the workflow succeeds."""
    flag = running.folder.parent / "flag"
    running.apply("sales.yaml", WORKFLOW.replace("FLAG", str(flag)))
    return flag


@pytest.fixture
def failed_run(running: RunningShoal, flag: Path) -> str:
    """The id of a run that failed."""
    flag.unlink(missing_ok=True)
    with pytest.raises(AssertionError):
        running.shoal("run", "sales", "--param", "day=2026-11-21", "--wait")
    return str(running.json("runs", "--workflow", "sales")[0]["id"])


def node(page: Page, name: str) -> str:
    """The box of a task in the graph, as a selector."""
    return f".task-node:has(b:text-is('{name}'))"


def test_a_failed_run_says_why_shows_its_log_and_turns_green_when_it_runs_again(
    open_page: OpenPage, failed_run: str, flag: Path
) -> None:
    page = open_page(f"/runs/{failed_run}")
    expect(page.locator(".run-title .pill")).to_have_text("Failed")
    expect(page.locator(node(page, "load"))).to_have_attribute("data-s", "FAILURE")
    expect(page.locator(".why")).to_contain_text("no such table")
    expect(page.get_by_role("log")).to_contain_text("error: no such table")
    page.get_by_role("button", name="First error").click()
    expect(page.locator(".log-row[aria-current]")).to_contain_text("no such table")
    assert "at=12" in page.url

    arrows = ArrowWatch(page, 2)
    flag.touch()
    page.get_by_role("button", name="Rerun", exact=True).click()
    page.get_by_role("menuitem", name="Only what failed").click()
    expect(page.get_by_role("status").filter(has_text="Rerun was asked for")).to_be_visible()
    expect(page.locator(".run-title .pill")).to_have_text("Succeeded")
    expect(page.locator(node(page, "report"))).to_have_attribute("data-s", "SUCCESS")
    assert arrows.lost() == 0

    page.get_by_role("link", name="Parameters").click()
    of_run = page.locator("section", has=page.get_by_role("heading", name="Parameters of the run"))
    expect(of_run.get_by_role("cell", name="2026-11-21")).to_be_visible()
    page.get_by_role("link", name="Events").click()
    expect(page.get_by_text("The run ends: Succeeded")).to_be_visible()


@pytest.mark.parametrize(("scheme", "size"), [("light", {"width": 1280, "height": 800}), ("dark", PHONE)])
def test_a_log_has_colours_that_can_be_read_and_links_and_stop_asks_first(
    open_page: OpenPage, running: RunningShoal, scheme: str, size: dict[str, int]
) -> None:
    running.apply("speaks.yaml", SPEAKS)
    running.shoal("run", "speaks")
    run = running.json("runs", "--workflow", "speaks")[0]["id"]
    page = open_page(f"/runs/{run}?tab=logs&task=a", color_scheme=scheme, viewport=size)
    link = page.get_by_role("log").get_by_role("link", name="https://example.org/a?b=1", exact=True)
    expect(link).to_have_attribute("href", "https://example.org/a?b=1")
    inks = page.locator(".log-text .ink").evaluate_all("all => all.map(each => getComputedStyle(each).color)")
    assert len(set(inks)) == 2
    assert violations(page) == []
    page.get_by_role("button", name="Stop", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Stop 1 task that runs")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".run-title .pill")).to_have_text("Stopped", timeout=30_000)


@pytest.mark.parametrize(("scheme", "size"), [("light", {"width": 1280, "height": 800}), ("dark", PHONE)])
def test_a_result_unfolds_and_is_saved_and_what_a_task_saw_is_shown_without_secrets(
    open_page: OpenPage, running: RunningShoal, scheme: str, size: dict[str, int]
) -> None:
    running.apply("returns.yaml", RETURNS)
    running.shoal("run", "returns", "--wait")
    run = running.json("runs", "--workflow", "returns")[0]["id"]
    page = open_page(f"/runs/{run}?tab=parameters", color_scheme=scheme, viewport=size)
    row = page.get_by_role("row", name="a found")
    row.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(row.locator("pre")).to_have_text('{\n  "rows": [\n    1,\n    12345678901234567890\n  ]\n}')
    seen = page.locator("section", has=page.get_by_role("heading", name="Seen by a, attempt 1"))
    expect(seen.get_by_role("row", name="day")).to_contain_text("2026-11-20")
    expect(seen.get_by_role("row", name="key")).to_contain_text("******")
    assert violations(page) == []
    with page.expect_download() as saving:
        row.get_by_role("link", name="Save found as a file").click()
    assert saving.value.path().read_text("utf-8") == '{"rows": [1, 12345678901234567890]}'
    file = page.get_by_role("row", name="a report")
    expect(file).to_contain_text("sales.csv 6 B, in the log store")
    with page.expect_download() as saving:
        file.get_by_role("link", name="Save report as a file").click()
    assert saving.value.path().read_text("utf-8") == "1\n2\n3\n"


def test_a_run_took_as_long_wherever_it_is_shown(open_page: OpenPage, running: RunningShoal) -> None:
    """Between the looks of a task that waits nothing is at work."""
    comes = running.folder.parent / "comes"
    looks = f"{{for: {{script: 'test -e {comes}'}}, every: 1s}}"
    running.apply("waits.yaml", f"name: waits\ntasks: [{{name: a, type: WAIT, params: {looks}}}]\n")
    running.shoal("run", "waits")
    page = open_page(f"/runs/{running.json('runs', '--workflow', 'waits')[0]['id']}")
    head = page.locator(".run-meta span > b")
    expect(head.filter(has_text=re.compile(r"^[3-9]\.\d s$"))).to_be_visible()
    comes.touch()
    expect(page.locator(".run-title .pill")).to_have_text("Succeeded", timeout=30_000)
    page.reload()
    took = head.filter(has_text=re.compile(r" s$")).inner_text()
    for address in ("/runs?workflow=waits", "/workflows/default/waits?tab=runs"):
        page.goto(f"{running.url}{address}")
        expect(page.get_by_role("cell", name=re.compile(f"^{re.escape(took)}"))).to_be_visible()


def test_a_long_log_opens_at_its_end_and_is_searched_on_the_server(open_page: OpenPage, failed_run: str) -> None:
    page = open_page(f"/runs/{failed_run}?tab=logs&task=extract")
    log = page.get_by_role("log")
    expect(log).to_contain_text("line 200000")
    expect(page.locator(".log footer")).to_contain_text(re.compile("to 200.000"))
    page.get_by_label("Search in the log").fill("line 4242")
    expect(page.locator(".hits")).to_contain_text("of 11")
    page.get_by_role("button", name="Next line found").click()
    expect(page.locator(".log-row[aria-current]")).to_contain_text("line 4242")
    page.reload()
    expect(page.locator(".log-row[aria-current]")).to_contain_text("line 4242")


MIXED = """
name: mixed
tasks:
  - {name: left, type: SHELL, params: {script: "SCRIPT"}}
  - {name: right, type: SHELL, params: {script: "SCRIPT"}}
"""
SCRIPT = "for n in 1 2 3 4; do date -u +%FT%T.%NZ; echo '  and more'; sleep 0.2; done"


def test_the_logs_of_all_tasks_are_one_by_time(open_page: OpenPage, running: RunningShoal) -> None:
    running.apply("mixed.yaml", MIXED.replace("SCRIPT", SCRIPT))
    running.shoal("run", "mixed", "--wait")
    page = open_page(f"/runs/{running.json('runs', '--workflow', 'mixed')[0]['id']}?tab=logs&merged=true")
    lines = page.locator(".log-line")
    expect(lines).to_have_count(16)
    times = [line for line in lines.locator(".log-text").all_inner_texts() if line.startswith("20")]
    assert times == sorted(times)
    assert len(times) == 8
    lines.get_by_role("button", name="right").first.click()
    expect(page.locator(".log-row[aria-current]")).to_be_visible()


def test_what_cannot_be_done_says_why(open_page: OpenPage, failed_run: str) -> None:
    page = open_page(f"/runs/{failed_run}")
    pause = page.get_by_role("button", name="Pause")
    expect(pause).to_have_attribute("aria-disabled", "true")
    pause.hover()
    expect(page.get_by_role("tooltip")).to_contain_text("The run has ended")
    page.locator(node(page, "report")).click(button="right")
    expect(page.get_by_role("menuitem", name="Mark success")).to_contain_text("Only a task that failed")


def test_it_is_read_on_a_phone(open_page: OpenPage, failed_run: str) -> None:
    page = open_page(f"/runs/{failed_run}?task=load", viewport={"width": 390, "height": 844})
    expect(page.get_by_role("button", name="Rerun", exact=True)).to_be_in_viewport()
    expect(page.get_by_role("log")).to_contain_text("load begins")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_long_serial_key_is_cut_and_whole_under_the_pointer(open_page: OpenPage, running: RunningShoal) -> None:
    key = "key" * 66
    task = "{name: one, type: FAKE}"
    running.apply("keyed.yaml", f"name: keyed\nexecution_type: SERIAL_WAIT\nserial_key: {key}\ntasks: [{task}]\n")
    running.shoal("run", "keyed", "--wait")
    page = open_page(f"/runs/{running.json('runs', '--workflow', 'keyed')[0]['id']}")
    expect(page.get_by_title(key)).to_be_visible()
    box = page.get_by_title(key).bounding_box()
    assert box is not None and box["width"] < 500
    assert page.evaluate("document.documentElement.scrollWidth") <= 1440


def test_open_definition_selects_the_task_and_no_style_of_the_run_comes_along(
    open_page: OpenPage, failed_run: str
) -> None:
    page = open_page(f"/runs/{failed_run}")
    page.locator(node(page, "load")).click(button="right")
    page.get_by_role("menuitem", name="Open definition").click()
    expect(page.locator(f".selected > {node(page, 'load')}")).to_be_visible()
    expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value("load")

    padding = "element => getComputedStyle(element).paddingLeft"
    alone = open_page("/workflows/default/sales").locator(node(page, "load"))
    assert page.locator(node(page, "load")).evaluate(padding) == alone.evaluate(padding)


def test_a_long_name_leaves_the_other_columns_in_sight(open_page: OpenPage, running: RunningShoal) -> None:
    name = f"orders_{'of_a_warehouse_' * 8}"[:120]
    running.apply("long.yaml", f"name: {name}\ntasks: [{{name: a, type: FAKE}}]\n")
    running.shoal("run", name, "--wait")
    page = open_page("/runs")
    cell = page.get_by_role("link", name=name)
    expect(cell).to_have_attribute("title", name)
    table = page.get_by_role("table")
    assert table.evaluate("element => element.scrollWidth <= element.parentElement.clientWidth")


def test_a_run_took_the_time_from_its_start_to_its_end(open_page: OpenPage, running: RunningShoal) -> None:
    """Not that in which its tasks worked: it may have waited for hours."""
    running.apply("idle.yaml", "name: idle\ntasks: [{name: a, type: FAKE}]\n")
    running.shoal("run", "idle", "--wait")
    moved = "UPDATE workflow_instance SET started_at = ended_at - interval '2 h' WHERE workflow_code = (SELECT code"
    running.shoal("db", "psql", "--", "-c", f"{moved} FROM workflow_definition WHERE name = 'idle')")
    row = open_page("/runs").get_by_role("row").filter(has_text="idle")
    expect(row).to_contain_text("2 h 00 m")


FIXABLE = """\
name: fixable
tasks:
  - {{name: extract, type: FAKE}}
  - {{name: load, type: SHELL, params: {{script: '{script}'}}, after: [extract]}}
"""


def test_a_rerun_after_a_fix_says_that_it_keeps_its_version_and_offers_the_newest(
    open_page: OpenPage, running: RunningShoal
) -> None:
    running.apply("fixable.yaml", FIXABLE.format(script="echo wrong; exit 1"))
    with pytest.raises(AssertionError):
        running.shoal("run", "fixable", "--wait")
    run = running.json("runs", "--workflow", "fixable")[0]["id"]
    page = open_page(f"/runs/{run}?task=load")
    expect(page.get_by_role("button", name="Rerun from here")).to_be_visible()
    running.apply("fixable.yaml", FIXABLE.format(script="echo right"))
    expect(page.locator(".why")).to_contain_text("This run keeps v1; v2 changes load.")
    page.get_by_role("button", name="Rerun v1 from here").click()
    expect(page.locator(".outcome")).to_contain_text("This run keeps v1; v2 changes load.")
    expect(page.locator(".run-title .pill")).to_have_text("Failed")
    page.keyboard.press("r")
    expect(page.get_by_role("menu")).to_contain_text("This run keeps v1; v2 changes load.")
    page.keyboard.press("Escape")
    page.locator(".why").get_by_role("button", name="Run v2 from load").click()
    expect(page.locator(".run-title .pill")).to_have_text("Succeeded")
    expect(page.locator(".run-head")).to_contain_text("v2")
    expect(page.get_by_role("button", name="Run v2 from load")).to_have_count(0)
