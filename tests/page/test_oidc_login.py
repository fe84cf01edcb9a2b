"""A person logs in at an OpenID Connect provider with a browser, and out again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from playwright.async_api import Page as Tab
from playwright.async_api import async_playwright, expect

from api.web_page import Page
from service.oidc.provider import CALLBACK
from service.oidc.settings import OidcSettings
from tests.api.hostile_provider import HostileProvider
from tests.api.serving import BASE, serving
from tests.page.conftest import ARGUMENTS, PATIENCE_MS
from tests.servers import dex
from tests.servers.child import free_port
from tests.servers.chromium import chromium

ROLES = ("data-team=etl:EDITOR",)
IN_TWO_LANGUAGES = {"en-GB": "Log in with Acme", "zh-CN": "使用 Acme 登录"}


async def test_a_browser_logs_in_at_a_provider_and_out(database_url: str, tmp_path: Path) -> None:
    with HostileProvider(claims={"preferred_username": "anna", "groups": ["data-team"]}) as provider:

        async def nothing_to_type(_: Tab) -> None:
            """It asks for nothing."""

        await logs_in_and_out(database_url, tmp_path, free_port(), provider.url, "preferred_username", nothing_to_type)


@pytest.mark.soak
async def test_a_browser_logs_in_at_dex_and_out(database_url: str, tmp_path: Path) -> None:
    port = free_port()
    with dex.DexServer(f"http://localhost:{port}{CALLBACK}", ["data-team"]) as provider:

        async def type_password(tab: Tab) -> None:
            await tab.locator("#login").fill(dex.EMAIL)
            await tab.locator("#password").fill(dex.PASSWORD)
            await tab.locator("#submit-login").click()

        await logs_in_and_out(database_url, tmp_path, port, provider.url, "email", type_password)


async def logs_in_and_out(
    database_url: str, folder: Path, port: int, issuer: str, name: str, prove: Callable[[Tab], Awaitable[None]]
) -> None:
    """In each language; the page that was asked for is shown, the groups count, and nobody is in after the way out."""
    secret = folder / "secret"
    secret.touch(0o600)
    secret.write_text(dex.SECRET)
    url = f"http://localhost:{port}"
    settings = OidcSettings(
        issuer=issuer,
        client_id=dex.CLIENT,
        client_secret_file=secret,
        url=url,
        name="Acme",
        scopes=("openid", "profile", "email", "groups"),
        name_claim=name,
        roles=ROLES,
    )
    async with (
        serving(database_url, page=Page.installed(), port=port, oidc=settings),
        async_playwright() as playwright,
    ):
        browser = await playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        for language, words in IN_TWO_LANGUAGES.items():
            context = await browser.new_context(locale=language)
            context.set_default_timeout(PATIENCE_MS)
            tab = await context.new_page()
            await tab.goto(f"{url}/runs")
            await tab.get_by_role("link", name=words).click()
            await prove(tab)
            await tab.wait_for_url(f"{url}/runs")
            who = await (await context.request.get(f"{url}{BASE}/me")).json()
            assert (who["name"].partition("@")[0], who["roles"]) == ("anna", {"etl": "EDITOR"})
            await tab.get_by_role("button", name=who["name"]).click()
            await tab.get_by_role("menuitem").last.click()
            await tab.wait_for_url(f"{url}/login")
            await expect(tab.get_by_role("link", name=words)).to_be_visible()
            assert (await context.request.get(f"{url}{BASE}/me")).status == 401
            await context.close()
        await browser.close()
