"""The units of `deploy/systemd`: systemd takes them, they are closed, and their processes behave as they say."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from shoal.cli import exit_codes
from tests.cluster.cluster import Cluster
from tests.deploy.units import OWN_PROGRAM, PROGRAM, UNITS, Unit, running, write_settings
from tests.eventually import eventually
from tests.servers.child import free_port
from tests.servers.notify_socket import notify_socket

FOLDER = UNITS[0].parent
EXPOSURE_MAX = 30
"""In tenths, as `systemd-analyze security --threshold` takes it."""
has_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="the parse below is what is left")
each = pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)


def test_there_is_a_unit_for_each_role() -> None:
    assert [path.name for path in UNITS] == [
        "shoal-alert.service",
        "shoal-api.service",
        "shoal-master@.service",
        "shoal-worker@.service",
    ]


@each
def test_a_unit_says_what_its_process_does(path: Path, tmp_path: Path) -> None:
    unit = Unit(path, tmp_path)
    assert unit.one("Type") == "notify"
    assert unit.never_restarts == exit_codes.PERMANENT
    assert unit.one("Restart") == "on-failure"
    assert int(unit.one("WatchdogSec")) >= 30
    assert unit.command[0] == str(OWN_PROGRAM)
    users = set(re.findall(r"(?m)^u (\S+)", (FOLDER / "shoal.sysusers").read_text()))
    assert unit.one("User") in users
    if "worker" in unit.name:
        assert unit.one("Delegate") == "yes"
        folder = tmp_path / "state" / unit.one("StateDirectory")
        assert f"HOME={folder}" in unit.all("Environment")
        assert unit.command[-1] == str(folder)


def test_what_holds_a_secret_is_closed_and_its_users_exist() -> None:
    users = set(re.findall(r"(?m)^u (\S+)", (FOLDER / "shoal.sysusers").read_text()))
    lines = [line.split() for line in (FOLDER / "shoal.tmpfiles").read_text().splitlines() if not line.startswith("#")]
    modes = {path: (mode, group) for _, path, mode, owner, group in lines if owner == "root"}
    assert len(modes) == len(lines)
    assert modes["/etc/shoal/worker.env"] == modes["/etc/shoal/keys.env"] == ("0600", "root")
    assert modes["/etc/shoal/database-password"] == ("0640", "shoal")
    assert {group for _, group in modes.values()} <= users | {"root"}


@has_systemd
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    copies = []
    for path in UNITS:
        copies.append(tmp_path / path.name)
        copies[-1].write_text(path.read_text().replace(PROGRAM, str(OWN_PROGRAM)))
    found = subprocess.run(["systemd-analyze", "verify", *copies], capture_output=True, text=True, check=False)
    said = [line for line in found.stderr.splitlines() if "shoal" in line]
    assert (found.returncode, said) == (0, [])


@has_systemd
@each
def test_a_unit_is_closed_to_what_it_does_not_need(path: Path) -> None:
    command = ["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE_MAX}", str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-300:] + found.stderr


@each
async def test_the_process_of_a_unit_is_ready_is_watched_and_stops(path: Path, cluster: Cluster) -> None:
    write_settings(cluster)
    unit = Unit(path, cluster.folder)
    with notify_socket(cluster.folder / "notify") as supervisor, running(unit, cluster, supervisor) as process:
        await eventually(lambda: {"READY=1", "STATUS=ready", "WATCHDOG=1"} <= set(supervisor.heard()), within_s=60)
        if "%l" in path.read_text():
            assert cluster.one("SELECT name FROM node WHERE state = 'ALIVE'") == "alpha-1"
        process.send(signal.SIGTERM)
        await eventually(lambda: not process.running, within_s=int(unit.one("TimeoutStopSec")))
        assert process.exit_code == 0, process.log_tail()
        assert "STOPPING=1" in supervisor.heard()
    assert "Traceback" not in process.log_tail(1000)


@each
async def test_systemd_starts_a_unit_again_unless_a_person_must_act(path: Path, cluster: Cluster) -> None:
    write_settings(cluster, password="another")
    unit = Unit(path, cluster.folder)
    away = f"postgresql+psycopg://shoal@127.0.0.1:{free_port()}/shoal"
    for extra, code in (
        ({}, exit_codes.DENIED),
        ({"SHOAL_MASTER__NIX": "1"}, exit_codes.INVALID_SETTINGS),
        ({"SHOAL_DATABASE_URL": away, "SHOAL_CONNECT_TIMEOUT_S": "0.1"}, exit_codes.FAILED),
    ):
        with running(unit, cluster, extra=extra) as process:
            await eventually(lambda process=process: not process.running, within_s=30)
            assert process.exit_code == code, process.log_tail()
            assert (code in unit.never_restarts) == (code != exit_codes.FAILED)
