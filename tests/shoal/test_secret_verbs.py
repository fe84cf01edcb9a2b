"""Data sources, environments and keys by the command line: nothing secret is ever an argument, or an output."""

from __future__ import annotations

import asyncio
import io
import sys
from pathlib import Path

import pytest

from shoal.cli.secrets import read_secret
from tests.servers.s3 import KEY, SECRET, S3Server
from tests.shoal.command_line import Answer, CommandLine

PASSWORD = "hunter22"


async def _given(shoal: CommandLine, text: str, *arguments: str) -> Answer:
    """Run a verb with `text` on its standard input."""
    process = await shoal.start(*arguments, stdin=asyncio.subprocess.PIPE)
    out, err = await process.communicate(text.encode())
    return Answer(process.returncode or 0, out.decode(), err.decode())


async def test_a_data_source_is_set_listed_tried_and_removed(database_url: str, tmp_path: Path) -> None:
    shoal = CommandLine.at(database_url, SHOAL_SECRETS__KEY_FILE=str(tmp_path / "keys"))
    made = await shoal("config", "add-key", "--json")
    assert made.json["file"] == str(tmp_path / "keys")
    url = database_url.replace("+psycopg", "")
    refused = await shoal("datasource", "set", "shop", url)
    assert (refused.code, "everybody on this machine can read the arguments" in refused.sentence) == (2, True)
    saved = await _given(shoal, url + "\n", "datasource", "set", "shop")
    assert saved.out.startswith('Data source "shop" is saved: postgresql+psycopg://shoal:***@127.0.0.1:'), saved.err
    file, listed, tried, missing = await shoal.each(
        f"datasource set files duckdb:///{tmp_path}/x.db",
        "datasource list --json",
        "datasource test shop",
        "datasource test nix",
    )
    assert file.code == 0
    assert [(each["name"], each["key_id"]) for each in listed.json] == [
        ("files", made.json["key_id"]),
        ("shop", made.json["key_id"]),
    ]
    assert tried.out == 'Data source "shop" answers (postgresql).\n'
    assert (missing.code, missing.sentence) == (
        5,
        'there is no data source "nix"; `shoal datasource list` lists those there are',
    )
    table, removed, again = await shoal.each("datasource list", "datasource delete shop", "datasource delete shop")
    assert "DATA SOURCE" in table.out
    assert (removed.code, again.code) == (0, 5)
    password = url.partition("shoal:")[2].partition("@")[0]
    mistaken = await shoal("datasource", "delete", url)
    assert (mistaken.code, "with a URL as its name" in mistaken.sentence) == (5, True)
    for answer in (refused, saved, file, listed, tried, table, mistaken):
        assert password not in answer.out + answer.err


async def test_an_environment_is_set_from_a_file_or_standard_input(database_url: str, tmp_path: Path) -> None:
    shoal = CommandLine.at(database_url, SHOAL_SECRETS__KEY_FILE=str(tmp_path / "keys"))
    (tmp_path / "spark.sh").write_text(f"export TOKEN={PASSWORD}\n")
    none, key, saved, listed, missing = await shoal.each(
        f"environment set spark {tmp_path}/spark.sh",
        "config add-key",
        f"environment set spark {tmp_path}/spark.sh",
        "environment list",
        "environment set x /nonexistent",
    )
    assert (none.code, "cannot be read: No such file or directory" in none.sentence) == (78, True)
    assert (key.code, saved.code, missing.code) == (0, 0, 2)
    assert "spark" in listed.out
    assert (await _given(shoal, "export A=1\n", "environment", "set", "other")).code == 0
    names, removed, empty = await shoal.each(
        "environment list --json", "environment delete other", "environment delete other"
    )
    assert [each["name"] for each in names.json] == ["other", "spark"]
    assert (removed.code, empty.code) == (0, 5)
    assert not any(PASSWORD in each.out + each.err for each in (none, key, saved, listed, missing, names))


async def test_keys_are_rotated_and_the_old_one_may_go(database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    shoal = CommandLine.at(database_url, SHOAL_SECRETS__KEY_FILE=str(file))
    no_key, *_, new, rotated = await shoal.each(
        "config rotate-keys",
        "config add-key",
        "datasource set files sqlite:////tmp/x.db",
        "config add-key --json",
        "config rotate-keys",
    )
    assert no_key.code == 78
    assert rotated.out == f"1 data source and 0 environments encrypted again; all are under key {new.json['key_id']}.\n"
    first, old = file.read_text().splitlines()
    file.write_text(f"{old}\n")
    without_new = await shoal("datasource", "test", "files")
    assert f"is encrypted with key {new.json['key_id']}, which this process lacks" in without_new.sentence
    file.write_text(f"{first}\n")
    assert (await shoal("datasource", "test", "files")).code == 0
    assert (await CommandLine.at(database_url)("config", "rotate-keys")).sentence.startswith("there is no key; set")


async def test_storage_is_tried_by_a_look_at_its_bucket(
    database_url: str, tmp_path: Path, s3_server: S3Server, bucket: str
) -> None:
    shoal = CommandLine.at(database_url, SHOAL_SECRETS__KEY_FILE=str(tmp_path / "keys"))
    await shoal("config", "add-key")
    url = f"s3://{KEY}:{SECRET}@127.0.0.1:{s3_server.port}/{bucket}?tls=off"
    assert (await shoal("datasource", "set", "lake", url)).code != 0  # as an argument, everybody could read it
    assert (await _given(shoal, url, "datasource", "set", "lake")).code == 0
    await _given(shoal, url.replace(bucket, "nobody-has-it"), "datasource", "set", "sea")
    listed, lake, sea = await shoal.each("datasource list", "datasource test lake", "datasource test sea")
    assert SECRET not in listed.out
    assert lake.out == 'Data source "lake" answers (s3).\n'
    assert sea.sentence.startswith("data source sea has no bucket nobody-has-it")


@pytest.mark.parametrize("given", ["a long secret", "a long secret\n", "\ufeffa long secret\r\n"])
def test_what_an_editor_adds_to_a_secret_is_no_part_of_it(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
    assert read_secret("value") == "a long secret"
