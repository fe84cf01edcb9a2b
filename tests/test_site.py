"""The site of the documentation is built without a warning, and loads nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_repository import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"make setup-dev installs mkdocs; {done.stdout}{done.stderr}"
    return folder


def test_every_page_is_built_and_has_its_place_in_the_menu(site: Path) -> None:
    """A page that the menu lacks, a link or an anchor that leads nowhere: each would have ended the build."""
    pages = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    built = {path.relative_to(site) for path in site.rglob("*.html")}
    assert {page.with_name("index.html" if page.stem == "README" else f"{page.stem}.html") for page in pages} <= built


def test_no_page_of_the_site_loads_anything_from_another_host(site: Path) -> None:
    loads = re.compile(
        r'<(?:script|img|iframe)[^>]*\ssrc="(?:https?:)?//[^"]*"|<link[^>]*rel="stylesheet"[^>]*//[^>]*>'
    )
    assert not [(page.name, found) for page in site.rglob("*.html") for found in loads.findall(page.read_text("utf-8"))]


def test_what_is_only_for_the_repository_is_not_on_the_site(site: Path) -> None:
    """Comments of tests/newcomer, and links to files beside the documentation."""
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        assert "<!-- newcomer" not in text
        links = [link for link in re.findall(r'href="([^"#?]+)', text) if "://" not in link and link[0] != "/"]
        wrong = [link for link in links if not (page.parent / link).exists()]
        assert not wrong, page.name
