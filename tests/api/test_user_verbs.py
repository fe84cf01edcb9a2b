"""The verbs about accounts: on the database as its user, and on a server as who is logged in there."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from model.accounts.rights import Role
from tests.accounts.office import PASSWORD, Office
from tests.api.serving import Serving, token_of
from tests.shoal.command_line import CommandLine


async def test_accounts_tokens_and_members_are_kept_on_the_database_itself(database_url: str) -> None:
    shoal = CommandLine.at(database_url)
    answers = await shoal.each(
        "user list", "user add ada --admin", "user add anna", "user disable anna", "user list", "user enable anna",
        "user admin anna", "user admin anna --no", "user link anna", "project member set anna operator --project etl",
        "project member list --project etl",
        "user token make ci --user anna --scope runs:write --project etl --expires-in 7d",
        "user token list --user anna", "user token revoke 1 --user anna", "user token list --user anna",
        "project member delete anna --project etl", "user audit --kind account --limit 3",
    )  # fmt: skip
    assert [answer.code for answer in answers] == [0] * len(answers), [answer.err for answer in answers]
    said = [answer.out for answer in answers]
    assert "There is no account yet" in said[0]
    assert "It logs in once, within 5 minutes, by /login?link=" in said[1]
    assert "ada" in said[4]
    assert "disabled" in said[4]
    assert 'anna is OPERATOR of project "etl"' in said[9]
    assert "shoal_" in said[11]
    assert "in 6 d" in said[12]
    assert "revoked" in said[14]
    assert "make_login_link" in said[16]
    assert len(said[16].splitlines()) == 4
    found = (await shoal("user", "audit", "--json", "--action", "put_member")).json
    assert [(each["object_name"], each["after"]) for each in found] == [("anna", {"role": "OPERATOR"})]
    wrong = await shoal.each(
        "user link nobody", "user add ADA", "user token list", "user token make x --user anna --scope everything",
        "user token make x --user anna --scope admin --expires-in 999d", "user disable ada",
    )  # fmt: skip
    assert [answer.code for answer in wrong] == [5, 2, 2, 2, 2, 2]
    assert "this is the last admin" in wrong[5].sentence


async def test_a_verb_prints_the_same_from_the_database_and_from_a_server(api: Serving, database_url: str) -> None:
    await Office(api.backend).account("anna", etl=Role.OWNER)
    token = await token_of(api.backend, "ada", is_admin=True)
    direct, remote = CommandLine.at(database_url), CommandLine.at(SHOAL_SERVER=api.url, SHOAL_TOKEN=token)
    for line in (
        "user list --utc", "user list --json", "project member list --project etl", "user token list --user anna",
        "user audit --utc", "user audit --json --limit 2", "user link nobody", "user token revoke 99 --user anna",
        "user add ada",
    ):  # fmt: skip
        (one,), (other,) = await direct.each(line), await remote.each(line)
        assert (one.code, one.out, one.err) == (other.code, other.out, other.err), line


async def test_who_logs_in_needs_no_token_from_then_on_until_the_log_out(api: Serving, tmp_path: Path) -> None:
    office = Office(api.backend)
    anna = await office.account("anna", etl=Role.OWNER)
    config = tmp_path / "config"
    shoal = CommandLine.at(SHOAL_SERVER=api.url, XDG_CONFIG_HOME=str(config))
    assert (await shoal("project", "member", "list", "--project", "etl")).code != 0
    for given, code in (("a wrong one\n", 4), (f"{PASSWORD}\n", 0)):
        answer = await _with_input(shoal, given, "login", "--name", "anna")
        assert answer[0] == code, answer
    file = config / "shoal" / "logins.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    (token,) = json.loads(file.read_text()).values()
    assert token not in "".join(answer[1:])
    assert "anna" in (await shoal("project", "member", "list", "--project", "etl")).out
    assert "shoal login of" in (await shoal("user", "token", "list")).out
    assert await office.sql("SELECT count(*) FROM login_session") == [0]
    file.chmod(0o644)
    assert "closed to others" in (await shoal("user", "token", "list")).sentence
    file.chmod(0o600)
    assert (await shoal("login", "--logout")).code == 0
    assert json.loads(file.read_text()) == {}
    assert await office.sql("SELECT count(*) FROM token WHERE revoked_at IS NULL") == [0]
    by_link = await _with_input(shoal, f"{api.url}/login?link={(await office.link(anna.id)).secret}", "login", "--link")
    assert by_link[0] == 0, by_link
    elsewhere = await _with_input(shoal, "x", "login", "--name", "a", "--server", "http://192.0.2.1")
    assert (elsewhere[0], "clear text" in elsewhere[2]) == (2, True)


@pytest.mark.parametrize(
    ("options", "left"), [((), ["ci"]), (("--end-tokens", "all"), []), (("--end-tokens", "none"), ["ci", "s"])]
)
async def test_a_password_that_is_set_ends_the_tokens_that_the_verb_names(
    database_url: str, sql: Any, options: tuple[str, ...], left: list[str]
) -> None:
    shoal = CommandLine.at(database_url)
    for line in (
        "user add anna",
        "user token make ci --user anna --scope admin",
        "user token make s --user anna --scope admin",
    ):
        assert (await shoal(*line.split())).code == 0
    sql("UPDATE token SET by_session = name = 's'")
    code, said, wrong = await _with_input(shoal, PASSWORD, "user", "password", "anna", *options)
    assert (code, "has a new password" in said) == (0, True), wrong
    assert sql("SELECT name FROM token WHERE revoked_at IS NULL ORDER BY name") == [(each,) for each in left]


async def _with_input(shoal: CommandLine, given: str, *arguments: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a verb that reads a secret."""
    process = await shoal.start(*arguments, stdin=asyncio.subprocess.PIPE)
    out, err = await process.communicate(given.encode())
    return process.returncode or 0, out.decode(), err.decode()
