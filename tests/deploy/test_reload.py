"""`systemctl reload`: each role takes new files of secrets and certificates, and nothing that runs is disturbed."""

from __future__ import annotations

import json
import re
import secrets
import shlex
import signal
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import make_url

from tests.cluster.cluster import Cluster
from tests.cluster.tls import certificate
from tests.deploy.units import UNITS, Unit, running, write_settings
from tests.eventually import eventually
from tests.servers.child import Child, free_port
from tests.servers.notify_socket import NotifySocket, notify_socket

TOKENS = ("first-token-of-16-characters", "second-token-of-16-characters")


@pytest.fixture
def supervisor(cluster: Cluster) -> Iterator[NotifySocket]:
    with notify_socket(cluster.folder / "notify") as made:
        yield made


def reload(unit: Unit, process: Child) -> None:
    """Reload as systemd does."""
    words = shlex.split(unit.one("ExecReload"))
    assert words == ["/bin/kill", "-HUP", "$MAINPID"]
    process.send(signal.SIGHUP)


def events(process: Child, name: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in process.log_tail(10_000).splitlines() if line.startswith("{")]
    return [line for line in lines if line["event"] == name]


def served_by(url: str) -> str:
    """The certificate of a server."""
    where = httpx.URL(url)
    return ssl.get_server_certificate((where.host, where.port or 443), timeout=30)


def of_file(path: Path) -> str:
    return path.read_text()[path.read_text().index("-----BEGIN CERTIFICATE") :]


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
async def test_a_new_certificate_and_token_are_used_and_wrong_ones_are_said(
    path: Path, cluster: Cluster, supervisor: NotifySocket
) -> None:
    write_settings(cluster)
    unit, token = Unit(path, cluster.folder), cluster.folder / "token"
    token.touch(0o600)
    token.write_text(TOKENS[0])
    file = certificate(cluster.folder)
    first = of_file(file)
    extra = {"SHOAL_METRICS__CERTIFICATE": str(file), "SHOAL_METRICS__TOKEN_FILE": str(token)}
    with running(unit, cluster, supervisor, extra) as process:
        await eventually(lambda: "STATUS=ready" in supervisor.heard(), within_s=60)
        [found] = re.findall(r"https://[\d.]+:\d+/metrics", process.log_tail(1000))
        assert served_by(found) == first

        file.write_text("no certificate")
        token.write_text("short")
        reload(unit, process)
        await eventually(lambda: len(events(process, "files_read_again")), until=1)
        assert events(process, "files_read_again")[0]["all_right"] is False
        wrong = {event["what"]: event for event in events(process, "file_not_read")}
        assert wrong.keys() == {"the certificate of /metrics", "metrics.token_file"}
        assert all(event["so"].startswith("the former one stays in use") for event in wrong.values())
        assert served_by(found) == first
        async with httpx.AsyncClient(verify=False, trust_env=False, timeout=30) as client:
            for given, status in zip(TOKENS, (200, 401), strict=True):
                answer = await client.get(found, headers={"Authorization": f"Bearer {given}"})
                assert answer.status_code == status

            certificate(cluster.folder)
            token.write_text(TOKENS[1])
            reload(unit, process)
            await eventually(lambda: len(events(process, "files_read_again")), until=2)
            assert events(process, "files_read_again")[1]["all_right"] is True
            assert first != served_by(found) == of_file(file)
            for given, status in zip(TOKENS, (401, 200), strict=True):
                answer = await client.get(found, headers={"Authorization": f"Bearer {given}"})
                assert answer.status_code == status
        assert process.running
        process.send(signal.SIGTERM)
        await eventually(lambda: not process.running, within_s=int(unit.one("TimeoutStopSec")))
        assert process.exit_code == 0, process.log_tail()


async def test_a_reload_ends_no_role_that_has_not_begun(cluster: Cluster, supervisor: NotifySocket) -> None:
    write_settings(cluster)
    away = {"SHOAL_DATABASE_URL": f"postgresql+psycopg://shoal@127.0.0.1:{free_port()}/shoal"}
    with ExitStack() as stack:
        units = [Unit(path, cluster.folder) for path in UNITS]
        processes = [stack.enter_context(running(unit, cluster, supervisor, away)) for unit in units]
        waits = "does not answer"
        for process in processes:
            await eventually(lambda process=process: waits in process.log_tail(100), within_s=60)
            process.send(signal.SIGHUP)
            process.send(signal.SIGTERM)
            await eventually(lambda process=process: not process.running, within_s=30)
            assert process.exit_code == 0 or process.exit_code == -signal.SIGTERM, process.log_tail()


async def test_passwords_change_under_load_and_no_task_is_lost(cluster: Cluster, supervisor: NotifySocket) -> None:
    """The file may be written before or after the server has the new password; connections that work stay."""
    user, url = f"rotating_{secrets.token_hex(4)}", make_url(cluster.environment["SHOAL_DATABASE_URL"])
    cluster.rows(f"CREATE ROLE {user} SUPERUSER LOGIN PASSWORD 'password-0'")
    write_settings(cluster)
    file = cluster.folder / "etc" / "database-password"
    file.write_text("password-0")
    named = {"SHOAL_DATABASE_URL": url.set(username=user, password=None).render_as_string(hide_password=False)}
    tasks = [{"name": "a", "type": "SHELL", "params": {"script": cluster.journal.script("sleep 1")}}]
    cluster.define(1, "load", tasks=tasks)
    backends = """SELECT coalesce(array_agg(pid), '{}') FROM pg_stat_activity
                  WHERE usename = %s AND backend_start < %s - interval '2 seconds'"""  # not those of a start
    count = "SELECT count(*) FROM pg_stat_activity WHERE usename = %s"
    end_all = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = %s"
    try:
        with ExitStack() as stack:
            pairs = []
            for path in UNITS:
                unit = Unit(path, cluster.folder)
                supervisor.forget()
                extra = {} if "worker" in unit.name else named
                pairs.append((unit, stack.enter_context(running(unit, cluster, supervisor, extra))))
                await eventually(lambda: "STATUS=ready" in supervisor.heard(), within_s=60)
            for number in range(1, 5):
                cluster.start(1, 5)
                new, now = f"password-{number}", cluster.one("SELECT clock_timestamp()")
                before = cluster.one(backends, user, now)
                change = f"ALTER ROLE {user} PASSWORD '{new}'"
                if number % 2:
                    cluster.rows(change)
                file.write_text(new)
                for unit, process in pairs:
                    reload(unit, process)
                await eventually(
                    lambda number=number: all(len(events(each, "files_read_again")) == number for _, each in pairs),
                    within_s=30,
                )
                assert set(cluster.one(backends, user, now)) >= set(before)
                if not number % 2:  # what connects now still has the former password
                    cluster.rows(end_all, user)
                    await eventually(lambda: cluster.one(count, user) >= 2, within_s=30)
                    cluster.rows(change)
            await cluster.all_ends()
            cluster.check_exactly_once(20)
            assert cluster.one("SELECT max(attempt) FROM task_instance") == 1
            assert all(process.running for _, process in pairs)
            assert not any(events(process, "fenced") for _, process in pairs)
    finally:
        cluster.rows(f"DROP ROLE {user}")
