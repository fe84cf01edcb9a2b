"""Unusable settings of a role: the sentence, and the exit code after which no supervisor retries."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.shoal.command_line import CommandLine

NO_KEY = ("SHOAL_SECRETS__KEYS", "this is not a key", "key 1 of 1 for secrets is not a key")
UNUSABLE = [
    ("worker", *NO_KEY),
    ("api", *NO_KEY),
    ("alert", *NO_KEY),
    ("worker", "SHOAL_WORKER__FOLDER", "/proc/shoal", "the worker's folder /proc/shoal cannot be written"),
    ("worker", "SHOAL_WORKER__DEFAULT_TENANT", "no-such-user", "worker.default_tenant cannot be used: "),
]
PORTS = [
    ("master", "SHOAL_PORT"),
    ("worker", "SHOAL_WORKER__LOG_PORT"),
    ("api", "SHOAL_API__PORT"),
    *((role, "SHOAL_METRICS__PORT") for role in ("master", "worker", "api", "alert")),
]


@pytest.mark.parametrize(("role", "variable", "value", "said"), UNUSABLE)
async def test_a_setting_that_it_cannot_use_has_its_exit_code(
    database_url: str, tmp_path: Path, role: str, variable: str, value: str, said: str
) -> None:
    given = {"SHOAL_WORKER__FOLDER": str(tmp_path / "worker"), "SHOAL_API__PORT": "0", variable: value}
    ended = await CommandLine.at(database_url, **given)(role)
    assert (ended.code, said in ended.err.replace("\n", " ")) == (78, True), ended.err


@pytest.mark.parametrize(("role", "variable"), PORTS)
async def test_a_port_that_another_process_has_is_refused(
    database_url: str, tmp_path: Path, role: str, variable: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        given = {"SHOAL_WORKER__FOLDER": str(tmp_path / "worker"), "SHOAL_API__PORT": "0", variable: port}
        ended = await CommandLine.at(database_url, **given)(role)
    assert ended.code == 2, ended.err
    assert f":{port} " in ended.err.replace("\n", " ")
    assert "Traceback" not in ended.err
