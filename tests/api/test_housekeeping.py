"""What an API process does beside its requests, and at its first start."""

from __future__ import annotations

import re
import signal

import httpx

from tests.api.serving import client_of, serving
from tests.dao.scene import Scene
from tests.eventually import eventually
from tests.shoal.command_line import CommandLine


async def test_rows_about_logins_that_count_no_more_are_deleted(database_url: str) -> None:
    async with serving(database_url) as api:
        scene = Scene(api.database)
        await scene.sql("INSERT INTO login_attempt (name, address, at) VALUES ('a', 'x', now() - interval '1 h')")
    async with serving(database_url) as api:
        scene = Scene(api.database)
        await eventually(lambda: scene.sql("SELECT count(*) FROM login_attempt"), until=[0])


async def test_the_first_api_makes_an_admin_and_says_how_it_logs_in_and_the_next_makes_none(database_url: str) -> None:
    shoal = CommandLine.at(database_url)
    said = []
    for number in range(2):
        process = await shoal.start("api", "--port", "0")
        assert process.stderr is not None
        lines = b""
        while (b"serves at" if number else b"first admin") not in lines:
            line = await process.stderr.readline()
            assert line, lines
            lines += line
        (url,) = re.findall(r"serves at (\S+)", lines.decode())
        async with client_of() as client:
            await eventually(lambda client=client, url=url: _answers(client, url))
        process.send_signal(signal.SIGTERM)
        lines += (await process.communicate())[1]
        assert process.returncode == 0, lines
        said.append(lines.decode())
    assert "shoal: the first admin is made; for a link by which it logs in: shoal user link admin\n" in said[0]
    assert "link=" not in said[0]
    assert "first admin" not in said[1]


async def _answers(client: httpx.AsyncClient, url: str) -> bool:
    try:
        return (await client.get(f"{url}/healthz")).is_success
    except httpx.ConnectError:
        return False
