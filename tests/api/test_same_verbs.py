"""The same script of verbs on a database and through `--server`: the same words, and the same exit codes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dao.secrets.vault import new_key
from shoal.cli.invocation import system_user
from tests.api.serving import serving, token_of
from tests.cluster.cluster import Cluster
from tests.conftest import TEMPLATE
from tests.eventually import eventually
from tests.servers.postgres import PostgresServer
from tests.servers.warm import Answer
from tests.shoal.command_line import CommandLine

HELLO = """\
name: hello
params: {name: Shoal}
tasks:
  - {name: greet, type: SHELL, params: {script: 'echo "Hello, ${name}!"'}}
"""
SALES = """\
name: sales
tasks:
  - {name: extract, type: FAKE}
  - {name: load, type: SHELL, after: [extract], params: {script: '[ $SHOAL_ATTEMPT -gt 1 ]'}}
  - {name: report, type: FAKE, after: [load]}
"""
SLOW = """\
name: slow
tasks:
  - {name: first, type: FAKE, params: {sleep_s: 300}}
  - {name: second, type: FAKE, after: [first]}
"""
FAR = "{name: far, tasks: [{name: alone, type: FAKE, worker_group: nowhere}]}\n"
PROXIES = """\
kind: pool
name: proxies
resources:
  p1: {host: 10.0.0.1, password: swordfish}
  p2: {host: 10.0.0.2}
check: {script: 'true', every: 1h}
"""
SMALLER = "{kind: pool, name: proxies, resources: [p2]}\n"
NEEDY = """\
name: needy
tasks:
  - {name: holds, type: FAKE, params: {sleep_s: 300}, resources: {proxies: 2}}
  - {name: waits, type: FAKE, resources: {proxies: 1}}
  - {name: lost, type: FAKE, resources: {proxy: 1}}
"""
FILES = {"hello": HELLO, "more": HELLO + "description: more\n", "sales": SALES, "slow": SLOW, "far": FAR}
FILES |= {"proxies": PROXIES, "smaller": SMALLER, "needy": NEEDY}
FILES["broken"] = HELLO + "tsks: 1\n"

RUNS = "SELECT true FROM task_instance WHERE task_name = 'first' AND state = 'RUNNING_EXECUTION'"
QUEUED = "SELECT true FROM task_instance WHERE task_name = 'alone' AND state = 'QUEUED'"
REFUSED = "SELECT count(*) = 2 FROM error_command"
HOLDS = "SELECT count(*) = 2 FROM pool_resource WHERE task_instance_id IS NOT NULL"
HANDLED = "SELECT count(*) = 0 FROM command"

SCRIPT: tuple[str | tuple[str, str], ...] = (
    "workflow apply {folder}/hello.yaml {folder}/sales.yaml {folder}/slow.yaml {folder}/far.yaml",
    "workflow apply {folder}/more.yaml",
    "workflow apply {folder}/broken.yaml",
    "workflow check {folder}/hello.yaml",
    "workflow list",
    "workflow show sales",
    "workflow versions hello",
    "workflow diff hello",
    "workflow diff hello {folder}/hello.yaml",
    "workflow export sales",
    "workflow offline hello",
    "run hello",
    "workflow online hello",
    "run hello --wait",
    "run hello -p name=Ada --wait --json",
    "run hello --param nmae=Ada",
    "run nix",
    "run hello --version 9",
    "run hello --date tomorrow",
    "log hello/greet",
    "log 99",
    "run sales --wait",
    "show sales",
    "show @failed --json",
    "show 99",
    "why @failed",
    "why sales/load",
    "why command 3",
    "why command 99",
    "show sales --events",
    "show sales --events --json",
    "rerun @failed --failed --wait",
    "rerun sales --task report --wait",
    "rerun @last --task nix",
    "rerun 99",
    "task mark sales/load --success",
    ("run slow", RUNS),
    "workflow delete slow --yes",
    "rerun slow",
    "stop slow --wait",
    "show slow --all",
    "resume 1 --wait",
    "pause 1 --wait",
    "task mark slow/first --success",
    ("run far", QUEUED),
    "why far",
    "why far/alone",
    "queue",
    "queue --json",
    "pause far --wait",
    ("resume far", HANDLED),
    "stop far --wait",
    "runs",
    "runs --state success --workflow hello --limit 1",
    "runs --since 1d --json",
    "runs --project nix",
    "runs --state nonsense",
    "runs --since yesterday",
    "backfill hello --from 2026-01-01 --to 2026-01-03 --dry-run",
    "backfill hello --from 2026-01-01 --to 2026-01-03 --parallel 2 --wait",
    "backfill hello --date 2026-01-01 --date 2026-01-04 --skip-done --wait --json",
    "backfill hello --from 2026-02-01 --to 2026-01-01",
    "backfill nix --date 2026-01-01",
    "schedule add hello '0 0 5 1 1 ?' --zone Europe/Berlin",
    "schedule add hello '0 0 5 1 1 ?' --zone Europe/Berlin",
    "schedule add hello 'often'",
    "schedule edit 1 --cron '0 0 6 1 1 ?'",
    "schedule off 1",
    "schedule on 1",
    "schedule list",
    "schedule list --json",
    "schedule next hello -n 2",
    "schedule next --cron '0 0 5 1 1 ?' --zone Europe/Berlin -n 2",
    "workflow delete hello --yes",
    "schedule delete 1",
    "schedule delete 1",
    "queue errors",
    "queue retry 2",
    "queue delete 1",
    "queue delete 99",
    "queue retry 99",
    "queue errors --json",
    "master list",
    "master list --json",
    "worker list",
    "worker list --json",
    "project set region=eu 'day=$[yyyyMMdd-1]'",
    "project params",
    "project unset region",
    "project unset region",
    "datasource set shop duckdb:////srv/shop.db",
    "datasource list",
    "datasource test nix",
    "datasource delete shop",
    "datasource delete shop",
    "environment set spark {folder}/spark.sh",
    "environment list --json",
    "environment delete spark",
    "environment delete spark",
    "config rotate-keys",
    "pool list",
    "workflow apply {folder}/needy.yaml",
    "pool apply {folder}/proxies.yaml --dry-run",
    "pool apply {folder}/proxies.yaml",
    "pool apply {folder}/proxies.yaml --json",
    "pool apply {folder}/proxies.yaml --version 7",
    "pool apply {folder}/hello.yaml",
    ("run needy", HOLDS),
    "pool list",
    "pool list --json",
    "pool show proxies",
    "pool show proxies --json",
    "pool show nix",
    "why needy/waits",
    "why needy/lost",
    "pool set-aside proxies p1 --reason 'lent to a friend'",
    "pool set-aside proxies p1",
    "pool set-aside proxies nix",
    "why needy/waits",
    "pool take-back proxies p1",
    "pool take-back proxies p1",
    "pool export proxies",
    "pool export proxies --json",
    "pool apply {folder}/smaller.yaml",
    "pool show proxies",
    "pool delete proxies",
    "stop needy --wait",
    "pool delete proxies",
    "pool delete proxies",
    "pool list --json",
    "doctor",
    "doctor --json",
    "workflow move far sales",
    "workflow move far sales --project far --dry-run",
    "workflow delete far --yes",
    "workflow delete far --yes",
    "nonsense",
)
"""What people type; with a query, what comes next waits until it is true."""
CODES = {0, 1, 2, 5}
"""The exit codes that the script meets."""
MASKS = (
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)", "TIME"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+\+00| UTC)", "TIME"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\+00", "TIME"),
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"postgresql\S+", "URL"),
    (r"(\d+(\.\d+)? (ms|s|min|h|d)\b ?)+(ago)?", "WHILE"),
    (r'("\w+_s": )[\d.]+', r"\1WHILE"),
    (r'("load": )[\d.]+', r"\1LOAD"),
    (r"\b\d+\.\d\d\b", "LOAD"),
    (r"\d+ of \d+ taken", "SOME taken"),
    # As the last beats have it, which may be of before what was asked for just now.
    (r"(\d+ (?:master|worker)s?), \d+ (run|task)s?\b", r"\1, SOME \2s"),
    (r"\d+ of (\d+) runs", r"SOME of \1 runs"),
    (r"ahead|behind", "AWAY"),
    (r"(?m)^ +\d+ of \d+ dates done.*\n", ""),
    (r" +", " "),
)
"""What no two runs have in common: times, durations, addresses, the load, each look at a backfill, and so the
width of columns."""


async def said(shoal: CommandLine, cluster: Cluster, folder: Path) -> list[tuple[str, Answer]]:
    """What each line of the script prints, masked."""
    found = []
    for line in SCRIPT:
        typed, until = line if isinstance(line, tuple) else (line, "")
        answers = await shoal.each(typed.format(folder=folder))
        found += [(typed, Answer(each.code, masked(each.out), masked(each.err))) for each in answers]
        if until:
            await eventually(lambda until=until: cluster.one(until), within_s=20)  # type: ignore[misc]
    return found


def masked(text: str) -> str:
    for pattern, instead in MASKS:
        text = re.sub(pattern, instead, text)
    return text


async def test_a_script_of_verbs_prints_the_same_on_the_database_and_through_a_server(
    postgres_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in FILES.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "spark.sh").write_text("export A=1\n")
    key = new_key()
    monkeypatch.setenv("SHOAL_SECRETS__KEYS", key)
    answers = []
    for way in ("direct", "remote"):
        url = postgres_server.create_database(f"same_verbs_{way}", template=TEMPLATE)
        (folder := tmp_path / way).mkdir()
        with Cluster(url, url, folder) as cluster:
            await cluster.master(SHOAL_NAME="m1")
            await cluster.worker(SHOAL_NAME="w1")
            await cluster.slots_become(1)
            for _ in range(2):
                cluster.one("INSERT INTO command (type, workflow_code) VALUES ('X', 7) RETURNING id")
            await eventually(lambda cluster=cluster: cluster.one(REFUSED), within_s=20)  # type: ignore[misc]
            if way == "direct":
                answers.append(await said(CommandLine.at(url, SHOAL_SECRETS__KEYS=key), cluster, tmp_path))
                continue
            async with serving(url) as api:
                token = await token_of(api.backend, system_user(), is_admin=True)
                remote = CommandLine.at(SHOAL_SERVER=api.url, SHOAL_TOKEN=token)
                answers.append(await said(remote, cluster, tmp_path))
        postgres_server.drop_database(f"same_verbs_{way}")
    direct, remote_ = answers
    differing = [f"{one}\n{other}" for one, other in zip(direct, remote_, strict=True) if one != other]
    assert not differing, "\n\n".join(differing)
    assert {answer.code for _, answer in direct} == CODES


async def test_who_lacks_the_right_is_told_so_and_the_exit_code_says_it(database_url: str) -> None:
    async with serving(database_url) as api:
        token = await token_of(api.backend, "ada")
        ada, nobody = (CommandLine.at(SHOAL_SERVER=api.url, SHOAL_TOKEN=each) for each in (token, "nonsense"))
        answers = [await ada("config", "rotate-keys"), await ada("project", "set", "a=b"), await nobody("runs")]
        server = api.url
    away = await CommandLine.at(SHOAL_SERVER=server, SHOAL_TOKEN=token)("master", "list")
    assert [each.code for each in (*answers, away)] == [4, 5, 4, 3], answers
    for answer in (*answers, away):
        assert len(answer.sentence.splitlines()) == 1
