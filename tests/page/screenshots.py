"""`make screenshots`: the main pages with real data, light and dark, into docs/images/.

python -m tests.page.screenshots          all of them
python -m tests.page.screenshots runs     some
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.page.conftest import ARGUMENTS
from tests.page.running import RunningShoal, running_shoal
from tests.servers.chromium import chromium
from tests.test_repository import ROOT

IMAGES = ROOT / "docs" / "images"
LAPTOP = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
FILLED_S_MAX = 60.0

SALES = """
name: daily_sales
params: {dt: "2026-11-01"}
schedules: [{cron: "0 0 2 * * ?", state: ONLINE}]
tasks:
  - {name: extract_orders, type: SHELL, params: {script: "echo 18204 orders of ${dt}"}}
  - {name: extract_users, type: SHELL, params: {script: "echo 3118 users"}}
  - {name: transform, type: FAKE, after: [extract_orders, extract_users], params: {sleep_s: 0.3}}
  - name: load
    type: SHELL
    after: [transform]
    params:
      script: |
        echo "18204 rows to load"
        [ "${dt}" != 2026-11-20 ] || { echo 'error: relation "ods.orders" does not exist' >&2; exit 1; }
  - {name: report, type: FAKE, after: [load], params: {sleep_s: 0.1}}
"""
TRAINING = """
name: train_model
schedules: [{cron: "0 0/30 * * * ?", state: ONLINE}]
tasks:
  - {name: features, type: FAKE, params: {sleep_s: 0.2}}
  - name: train
    type: SHELL
    after: [features]
    params:
      script: |
        for i in $(seq 1 60); do echo "::progress $i/60 epoch $i"; sleep 2; done
  - {name: evaluate, type: FAKE, after: [train], params: {sleep_s: 0.2}}
"""


def fill(running: RunningShoal) -> None:
    """Workflows, runs that succeeded, one that failed, one that goes on; an alert of that, taken by nobody."""
    running.apply("sales.yaml", SALES)
    mailbox = "mailto://127.0.0.1:9?from=shoal@example.org&to=ops@example.org"
    running.shoal("alert", "channel", "set", "ops", mailbox, "--group", "data")
    running.shoal("alert", "rule", "set", "sales fail", "any run of daily_sales fails -> group data")
    running.apply("training.yaml", TRAINING)
    for day in range(10, 21):
        running.shoal("run", "daily_sales", "-p", f"dt=2026-11-{day}")
    running.shoal("run", "train_model")
    deadline = time.monotonic() + FILLED_S_MAX
    while not any(each["state"] == "FAILURE" for each in running.json("runs")):
        assert time.monotonic() < deadline, "no run has failed"
    while not running.json("alert", "list"):
        assert time.monotonic() < deadline, "nobody was alerted"


def pages(running: RunningShoal) -> Iterator[tuple[str, str]]:
    """Name and address of each."""
    run = next(each["id"] for each in running.json("runs") if each["state"] == "FAILURE")
    yield "now", "/"
    yield "workflows", "/workflows"
    yield "editor", "/workflows/default/daily_sales"
    yield "runs", "/runs"
    yield "run", f"/runs/{run}"
    yield "schedules", "/schedules"
    yield "queue", "/queue"
    yield "cluster", "/cluster"
    yield "alerts", "/alerts"
    yield "settings", "/settings/projects?row=default"


def main(wanted: list[str]) -> None:
    """Take them."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, running_shoal(Path(folder), 3, 2) as running:
        fill(running)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
            state = Path(folder, "state.json")
            _log_in(browser, running, state)
            for theme in ("light", "dark"):
                for size, viewport in (("", LAPTOP), ("-phone", PHONE)):
                    context = browser.new_context(
                        storage_state=state,
                        locale="en-GB",
                        color_scheme=theme,  # type: ignore[arg-type]
                        viewport=viewport,  # type: ignore[arg-type]
                        reduced_motion="reduce",
                    )
                    page = context.new_page()
                    for name, address in pages(running):
                        if (not wanted or name in wanted) and (not size or name in ("now", "run")):
                            _take(page, f"{running.url}{address}", IMAGES / f"{name}-{theme}{size}.png")
                    context.close()
            browser.close()


def _log_in(browser: Browser, running: RunningShoal, state: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(running.login_link)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{running.url}/")
    context.storage_state(path=state)
    context.close()


def _take(page: Page, address: str, file: Path) -> None:
    page.goto(address)
    page.get_by_role("heading").first.wait_for()
    expect(page.locator(".skeleton")).to_have_count(0)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    for figure in page.locator(".small-chart b").all()[:2]:  # rates, which take two looks
        expect(figure).not_to_contain_text("\N{EN DASH}", timeout=60_000)
    page.screenshot(path=file)
    sys.stdout.write(f"{file.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
