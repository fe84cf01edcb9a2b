"""Requests made from the OpenAPI document: none is answered by an error of Shoal, or otherwise than documented."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

from tests.api.serving import serving, token_of
from tests.cluster.cluster import PATIENT, Cluster

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    "response_headers_conformance,negative_data_rejection"
)

# The API's limit of a body comes before that of a list; the worker whose log is requested no longer runs.
CONFIG = """
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, "5xx"]

[[operations]]
include-path = "/api/v1/task-instances/{id}/log:search"
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 503]
"""


async def fuzz(database_url: str, folder: Path, examples: int, phases: str) -> str:
    """What schemathesis says of an API with a workflow and an ended run."""
    with Cluster(database_url, database_url, folder, PATIENT) as cluster:
        cluster.define(1, "w", tasks=[{"name": "a", "type": "FAKE", "params": {}}])
        await cluster.master()
        await cluster.worker()
        cluster.start(1)
        await cluster.all_ends()
    config = folder / "schemathesis.toml"
    config.write_text(CONFIG, "utf-8")
    async with serving(database_url) as api:
        token = await token_of(api.backend, "ada", is_admin=True)
        async with api.client() as client:  # it is made for the first who asks, and schemathesis waits for 10 s only
            await client.get("/api/v1/openapi.json")
        process = await asyncio.create_subprocess_exec(
            *(str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(config)),
            *("run", f"{api.url}/api/v1/openapi.json"),
            *("-H", f"Authorization: Bearer {token}", "--checks", CHECKS, "--phases", phases),
            *("--max-examples", str(examples), "--exclude-path", "/api/v1/events", "--request-timeout", "30"),
            *("--generation-database", "none", "--suppress-health-check", "all", "--seed", "1", "--no-color"),
            cwd=folder,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said = (await process.communicate())[0].decode()
        assert process.returncode == 0, said[said.find("FAILURES") :][:6000] + said[-1500:]
        return said


def cases_of(said: str) -> int:
    found = re.search(r"(\d+) generated", said)
    assert found, said[-2000:]
    return int(found[1])


async def test_few_requests_of_each_kind(database_url: str, tmp_path: Path) -> None:
    assert cases_of(await fuzz(database_url, tmp_path, 2, "examples,fuzzing")) > 40


@pytest.mark.soak
@pytest.mark.timeout(3600)
async def test_many_requests_of_each_kind(database_url: str, tmp_path: Path) -> None:
    said = await fuzz(database_url, tmp_path, 100, "examples,coverage,fuzzing")
    print(said[-1500:])  # noqa: T201 - the figures
    assert cases_of(said) > 1_000
