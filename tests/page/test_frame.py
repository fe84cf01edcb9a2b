"""The frame of the page: login, theme, language, live updates, and what it is built of."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.page.conftest import OpenPage, Seen
from tests.page.running import RunningShoal
from tests.page.test_accessibility import PHONE, violations
from tests.test_repository import ROOT

BUILT = ROOT / "api" / "page"
FIRST_LOAD_BYTES_MAX = 260_000
FONT_BYTES_MAX = 50_000
CHUNK_BYTES_MAX = 250_000
LOST = "Live updates lost"
NOTE_A_LOSS = f"""() => void new MutationObserver(() => {{
  if (document.body.textContent.includes("{LOST}")) document.body.dataset.wasLost = "";
}}).observe(document.body, {{ childList: true, subtree: true, characterData: true }})"""
"""It may last a moment only."""


def _packed(path: Path) -> int:
    packed = path.with_name(f"{path.name}.gz")
    return packed.stat().st_size if packed.exists() else len(gzip.compress(path.read_bytes()))


def test_nothing_in_the_build_is_loaded_from_another_host() -> None:
    """Addresses that are no names of a standard, nor pages that a person may open."""
    loading = re.compile(
        rb"""(?:src|href)=["']https?://|url\(["']?https?://|import\(["']https?://|@import ["']https?://"""
    )
    for path in BUILT.rglob("*"):
        if path.suffix in (".js", ".css", ".html"):
            assert not (found := loading.findall(path.read_bytes())), (path.name, found)


def test_the_first_load_and_each_chunk_stay_small() -> None:
    document = (BUILT / "index.html").read_text("utf-8")
    first = [BUILT / name for name in re.findall(r'(?:src|href)="\./([^"]+)"', document)]
    assert len(first) > 3
    [font] = [path for path in first if path.suffix == ".woff2"]
    assert font.stat().st_size <= FONT_BYTES_MAX
    assert sum(_packed(path) for path in first if path != font) <= FIRST_LOAD_BYTES_MAX
    for path in (BUILT / "assets").iterdir():
        if path.suffix in (".js", ".css"):
            assert _packed(path) <= CHUNK_BYTES_MAX, path.name


WEIGHTS = """() => {
  const says = (each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const isSeen = (each) => each.checkVisibility() && !each.closest(".unseen");
  const texts = [...document.body.querySelectorAll("*")].filter((each) => isSeen(each) && says(each));
  return texts.map((each) => getComputedStyle(each).fontWeight);
}"""


@pytest.mark.parametrize("address", ["/", "/workflows", "/settings"])
def test_texts_have_two_weights_and_titles_a_third_in_the_shipped_font(open_page: OpenPage, address: str) -> None:
    page = open_page(address)
    expect(page.locator("h1")).to_be_visible()
    weights = page.evaluate(WEIGHTS)
    assert set(weights) <= {"400", "500", "600"}
    assert weights.count("600") <= 2, "the name of the page and its title"
    page.wait_for_function("[...document.fonts].some((font) => font.status === 'loaded')")
    assert "Inter Variable" in page.evaluate("getComputedStyle(document.body).fontFamily")


def test_each_part_of_the_library_has_its_style() -> None:
    """ui/src/app/styles.ts names them one by one."""
    classes = re.compile(r"\bm_[0-9a-f]{6,8}\b")
    every = (ROOT / "ui/node_modules/@mantine/core/styles.css").read_text("utf-8")
    scripts = "".join(path.read_text("utf-8") for path in (BUILT / "assets").glob("*.js"))
    styled = "".join(path.read_text("utf-8") for path in (BUILT / "assets").glob("*.css"))
    used = set(classes.findall(scripts)) & set(classes.findall(every))
    assert len(used) > 50
    assert used <= set(classes.findall(styled))


def test_nobody_sees_anything_without_a_login(open_page: OpenPage, seen: Seen) -> None:
    seen.expected.append("401")
    page = open_page("/runs?state=FAILURE", as_admin=False)
    expect(page.get_by_role("textbox", name="Password")).to_be_visible()
    page.get_by_label("Name").fill("nobody")
    page.locator("input[type=password]").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("SH-")
    assert "back=" in page.url


def test_a_link_logs_in_once(browser: Browser, running: RunningShoal, logged_in: Path) -> None:
    assert logged_in.exists()
    context = browser.new_context(locale="en-GB")
    page = context.new_page()
    page.goto(running.login_link)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    context.close()


def test_theme_and_language_are_chosen_and_kept(open_page: OpenPage) -> None:
    page = open_page(color_scheme="light")
    page.get_by_role("button", name="Dark theme").click()
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
    page.get_by_role("button", name="Language").click()
    page.get_by_role("menuitem", name="中文").click()
    expect(page.get_by_role("link", name="工作流", exact=True).first).to_be_visible()
    page.reload()
    expect(page.locator("html")).to_have_attribute("lang", "zh")
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")


@pytest.mark.parametrize("address", ["/assets/../../app.py", "/assets/%2e%2e/%2e%2e/app.py", "/page.py", "/index.html"])
def test_no_other_file_is_served(running: RunningShoal, address: str) -> None:
    answer = httpx.get(f"{running.url}{address}", trust_env=False, timeout=60)
    assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/problem+json")


def test_the_document_and_its_files_have_their_headers(running: RunningShoal) -> None:
    with httpx.Client(base_url=running.url, trust_env=False, timeout=60) as client:
        one, two = (client.get("/runs/1", headers={"Accept": "text/html"}) for _ in range(2))
        nonce, other = (re.search(r"'nonce-([^']+)'", each.headers["Content-Security-Policy"]) for each in (one, two))
        assert nonce is not None
        assert other is not None
        assert nonce[1] != other[1]
        assert nonce[1] in one.text
        assert "script-src 'self';" in one.headers["Content-Security-Policy"]
        name = re.search(r'"\./(assets/frame-[^"]+\.js)"', one.text)
        assert name is not None
        file = client.get(f"/{name[1]}")
        assert file.headers["Cache-Control"].endswith("immutable")
        assert file.headers["Content-Encoding"] == "gzip"
        assert client.get(f"/{name[1]}", headers={"If-None-Match": file.headers["ETag"]}).status_code == 304
        assert client.post("/runs").status_code == 404
        assert client.get("/api/v1/nothing", headers={"Accept": "text/html"}).status_code == 404


def test_a_lost_connection_is_told_and_is_back_by_itself(
    open_page: OpenPage, running: RunningShoal, seen: Seen
) -> None:
    seen.expected += ["net::ERR", "502", "503"]
    page = open_page("/runs")
    row = page.get_by_role("cell", name="hello").first
    expect(row).to_be_visible()
    (api,) = running.family("api")
    page.evaluate(NOTE_A_LOSS)
    api.kill()
    expect(page.locator("body[data-was-lost]")).to_be_attached()
    expect(row).to_be_visible()
    expect(page.get_by_text(LOST)).to_be_hidden()


def test_a_change_is_seen_without_a_reload(open_page: OpenPage, running: RunningShoal) -> None:
    page = open_page("/runs")
    expect(page.get_by_role("cell", name="hello").first).to_be_visible()
    before = page.get_by_role("row").count()
    running.shoal("run", "hello", "--wait")
    expect(page.get_by_role("row")).to_have_count(before + 1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_has_a_sheet_of_the_pages_that_its_bar_has_no_room_for(open_page: OpenPage, scheme: str) -> None:
    page = open_page(viewport=PHONE, color_scheme=scheme)
    pages = page.get_by_role("navigation", name="Pages").locator("visible=true")
    more = pages.get_by_role("button", name="More")
    sheet = page.get_by_role("dialog", name="More")
    for name in ("Schedules", "Alerts", "Settings"):
        more.press("Enter")
        expect(sheet.get_by_role("link", name=re.compile("1 worker"))).to_be_visible()
        assert violations(page) == []
        sheet.get_by_role("link", name=name).press("Enter")
        expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
        expect(sheet).to_have_count(0)
        expect(more).to_have_attribute("aria-current", "page")
    more.click()
    expect(sheet.get_by_role("link", name="Settings")).to_have_attribute("aria-current", "page")
    page.keyboard.press("Escape")
    expect(more).to_be_focused()


@pytest.mark.parametrize("width", [561, 860])
def test_a_window_between_phone_and_laptop_keeps_the_folded_rail(open_page: OpenPage, width: int) -> None:
    page = open_page("/runs", viewport={"width": width, "height": 900})
    pages = page.get_by_role("navigation", name="Pages").locator("visible=true")
    expect(pages.get_by_role("button", name="More")).to_have_count(0)
    for name in ("Queue", "Settings"):
        link = pages.get_by_role("link", name=name)
        box = link.bounding_box()
        assert box is not None
        assert box["width"] < 60
        assert box["height"] >= 36
        link.click()
        expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_is_chosen_in_a_long_list_of_settings_comes_into_sight(open_page: OpenPage, running: RunningShoal) -> None:
    files = [f"name: w\nproject: project-{number}\ntasks: [{{name: a, type: FAKE}}]\n" for number in range(30)]
    running.apply("projects.yaml", "---\n".join(files))
    page = open_page("/settings/projects", viewport={"width": 1280, "height": 720})
    page.get_by_role("link", name="project-1 1", exact=True).click()
    detail = page.locator(".detail")
    expect(detail).to_be_focused()
    expect(detail.get_by_role("heading", name="Parameters of project-1")).to_be_in_viewport()
