"""`shoal workflow` and `shoal project`: the same on the database and through the API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.api.serving import serving
from tests.api.verbs import assert_same, through
from tests.shoal.command_line import CommandLine

FILE = """\
name: sales
params: {region: 2026-01-31}
tasks:
  - {name: load, type: SHELL, params: {script: 'echo ${regoin}'}}
  - {name: none, type: FAKE, params: {}, after: [load]}
"""


async def test_the_verbs_about_definitions_print_the_same_through_the_api(
    database_url: str, sql: Any, tmp_path: Path
) -> None:
    file, other, broken, odd = (tmp_path / f"{name}.yaml" for name in ("sales", "other", "broken", "odd"))
    file.write_text(FILE)
    other.write_text(FILE + "schedules: [{cron: '@daily'}]\ndescription: more\n")
    broken.write_text(FILE + "tsks: 1\n")
    odd.write_bytes(b"name: \xe4\n")
    direct = CommandLine.at(database_url)
    async with serving(database_url) as api:
        remote = await through(api)
        first = await remote("workflow", "apply", str(file))
        assert 'Workflow "sales" (2 tasks, code 100001): saved as version 1.' in first.out, first.err
        assert "${regoin} is no parameter" in first.err
        second = await remote("workflow", "apply", str(other))
        assert "saved as version 2." in second.out
        assert "Schedule 1 is added: At 00:00 every day, in UTC." in second.out
        await assert_same(
            direct,
            remote,
            "workflow list",
            "workflow list --json",
            "workflow show sales",
            "workflow show sales --json",
            "workflow show sales --version 1",
            "workflow show sales --version 9",
            "workflow versions sales --utc",
            "workflow versions sales --json",
            "workflow export sales",
            "workflow export sales --version 1 --json",
            "workflow diff sales",
            f"workflow diff sales {file} --json",
            f"workflow diff sales {broken}",
            f"workflow apply {other}",
            f"workflow apply {other} --json",
            f"workflow apply {broken} {odd}",
            f"workflow apply {broken}",
            f"workflow apply {tmp_path}/nowhere.yaml",
            "workflow online sales",
            "workflow online nix --json",
            "workflow delete sales --yes",
            "workflow delete sales",
            "project params",
            "project params --project nowhere",
        )
        assert "eu" in (await remote("project", "set", "region=eu")).out
        await assert_same(direct, remote, "project params --json", "project set region=eu", "project unset nix")
        assert "no parameters" in (await remote("project", "unset", "region")).out
        off = await remote("workflow", "offline", "sales")
        assert "Its schedule 1 still fires" in off.out
        sql("DELETE FROM schedule")
        gone = await remote("workflow", "delete", "sales", "--yes")
        assert gone.out.startswith('Workflow "sales" is deleted.'), gone.err
    assert sql("SELECT count(*) FROM audit WHERE actor_kind = 'TOKEN' AND action = 'apply_workflows'") == [(4,)]
