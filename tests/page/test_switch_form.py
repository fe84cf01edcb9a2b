"""A SWITCH is drawn as rows: if this is true, then these tasks, else those; arrows and rows are one."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import OpenPage
from tests.page.running import RunningShoal
from tests.page.test_accessibility import PHONE, violations
from tests.page.test_workflow_editor import task

YAML = """\
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
"""


def conditions(page: Page) -> list[str]:
    """What stands at the arrows."""
    return sorted(page.locator(".react-flow__edge-text").all_text_contents())


def test_rows_and_arrows_show_the_conditions(open_page: OpenPage, running: RunningShoal) -> None:
    running.apply("paying.yaml", YAML)
    page = open_page("/workflows/default/paying?yaml=true", viewport={"width": 1720, "height": 900})
    task(page, "way").click()
    expect(page.get_by_label("If (1)")).to_have_value("${amount} <= 1000")
    assert conditions(page) == ["${amount} <= 1000", "else"]
    assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_rows_fit_a_phone(open_page: OpenPage, running: RunningShoal, scheme: str) -> None:
    running.apply("paying.yaml", YAML)
    page = open_page("/workflows/default/paying", viewport=PHONE, color_scheme=scheme)
    task(page, "way").click()
    expect(page.get_by_role("combobox", name="Else")).to_be_visible()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
