"""The page on the API works as it is written, and the page on errors has each code."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from model.accounts.rights import Role
from service.error_codes import KINDS
from tests.accounts.office import Office
from tests.api.serving import serving
from tests.cluster.cluster import PATIENT, Cluster

DOCS = Path(__file__).parents[2] / "docs" / "reference"
ADDRESS = "http://127.0.0.1:7465"
NEXT = "----- next -----"


def typed(text: str) -> list[tuple[str, str]]:
    """Each command of a page's blocks, and what it prints there."""
    blocks = "".join(re.findall(r"(?ms)^```\n(.*?)^```", text))
    return [(line, printed) for line, printed in re.findall(r"(?m)^\$ (.*)\n((?:(?!\$ ).*\n)*)", blocks)]


async def test_the_session_of_the_page_works_line_by_line(database_url: str, tmp_path: Path) -> None:
    page = typed((DOCS / "api.md").read_text("utf-8"))
    with Cluster(database_url, database_url, tmp_path, PATIENT) as cluster:
        await cluster.master()
        await cluster.worker()
        async with serving(database_url) as api:
            await Office(api.backend).account("ada", default=Role.OWNER)
            lines = [f"{line}\necho '{NEXT}'" for line, _ in page]
            script = "\n".join(["set -eu -o pipefail", *lines]).replace(ADDRESS, api.url)
            process = await asyncio.create_subprocess_exec(
                *("bash", "-c", script),
                cwd=tmp_path,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            out, err = await asyncio.wait_for(process.communicate(), 120)
    printed = out.decode().split(f"{NEXT}\n")
    assert (process.returncode, len(printed)) == (0, len(page) + 1), (out, err)
    for (line, wanted), found in zip(page, printed, strict=False):
        pattern = ".*".join(re.escape(part) for part in wanted.strip().split("…"))
        assert re.fullmatch(pattern, found.strip(), re.DOTALL), (line, found)


def test_the_page_on_errors_has_exactly_the_codes_that_there_are() -> None:
    text = (DOCS / "errors.md").read_text("utf-8")
    told = re.findall(r"(?m)^## (\S+)\n\n\*\*(.+)\*\* \((\d+)\)", text)
    assert told == [(kind.code, kind.title, str(int(kind.status))) for kind in KINDS]
    assert text.count("\n## ") == len(KINDS)
