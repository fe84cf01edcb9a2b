"""One `shoal up` and one browser for each file of tests, and a page for each test."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.page.running import RunningShoal, running_shoal
from tests.servers.chromium import chromium

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 90_000
_NO_LOG = r"(404 \(Not Found\)|416 \(Requested Range Not Satisfiable\)) .*/task-instances/\d+/log"
expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Seen:
    """What a browser did that it must not do: errors in its console, requests to other hosts."""

    faults: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    """A test adds the beginnings of faults that it provokes."""

    def unexpected(self) -> list[str]:
        """The faults that no test provoked. The page of a run asks for the logs of FAKE tasks, which
        have none, and of tasks that have written nothing yet, whose log has no end."""
        provoked = [re.escape(word) for word in self.expected]
        return [fault for fault in self.faults if not re.search("|".join([_NO_LOG, *provoked]), fault)]


@pytest.fixture(scope="module")
def masters() -> int:
    """How many masters the `shoal up` of a file has; a file may define its own. Each takes a process to start."""
    return 1


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, masters: int) -> Iterator[RunningShoal]:
    """A `shoal up` whose sample workflow has run."""
    with running_shoal(tmp_path_factory.mktemp("up"), masters) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium. For one file: while it is there, its event loop is that of the process."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def logged_in(browser: Browser, running: RunningShoal, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the cookie of the administrator lies, who logged in by the one-time link."""
    file = tmp_path_factory.mktemp("session") / "state.json"
    context = browser.new_context(locale="en-GB")
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(running.login_link)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{running.url}/")
    context.storage_state(path=file)
    context.close()
    return file


OpenPage = Callable[..., Page]


@pytest.fixture
def seen() -> Seen:
    """What the pages of a test did."""
    return Seen()


@pytest.fixture
def open_page(browser: Browser, running: RunningShoal, logged_in: Path, seen: Seen) -> Iterator[OpenPage]:
    """Opens an address as the administrator; options are those of a browser context (viewport, locale, ...)."""
    contexts = []

    def opened(address: str = "/", *, as_admin: bool = True, **options: object) -> Page:
        given = {"locale": "en-GB", "viewport": {"width": 1440, "height": 900}, **options}
        context = browser.new_context(**given, storage_state=logged_in if as_admin else None)  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: _no_error(said, seen))
        page.on("pageerror", lambda error: seen.faults.append(f"error: {error}"))
        page.on("request", lambda asked: _same_host(asked.url, running.url, seen))
        page.goto(f"{running.url}{address}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert seen.unexpected() == []


def log_in_as(open_page: OpenPage, running: RunningShoal, name: str, role: str) -> Page:
    """The first page, as a new account with a role in the project `default`."""
    link = running.json("user", "add", name)["link"]
    running.shoal("project", "member", "set", name, role, "--project", "default")
    page = open_page("/login", as_admin=False)
    page.goto(f"{running.url}/login?link={link}")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{running.url}/")
    return page


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """The first page."""
    return open_page()


def _no_error(said: ConsoleMessage, seen: Seen) -> None:
    if said.type == "error":
        seen.faults.append(f"console: {said.text} {said.location['url']}")


def _same_host(asked: str, own: str, seen: Seen) -> None:
    if not asked.startswith((f"{own}/", "data:", "blob:")):
        seen.faults.append(f"request: {asked}")
