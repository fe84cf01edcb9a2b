"""Settings: where they come from, and the sentence for each that is wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest
from psycopg import OperationalError

from dao.postgres.address import FORMER_PASSWORD, PASSWORD_FILE, Address
from dao.secrets.kept import read_all_again
from model.errors import Refused
from shoal.config.secret_files import secret_names
from shoal.config.settings import Settings, load_settings
from shoal.config.settings_list import settings_of
from tests.every import every
from tests.shoal.another_user import told_to_nobody

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("SHOAL_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_flags_win_over_the_environment_and_that_over_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("shoal.toml").write_text('host = "file"\nport = 1\n[worker]\ngroups = ["gpu"]\n[master]\ndrain = 7\n')
    monkeypatch.setenv("SHOAL_PORT", "2")
    monkeypatch.setenv("SHOAL_HOST", "environment")
    monkeypatch.setenv("SHOAL_MASTER__BATCH_MAX", "11")
    found = load_settings({"host": "flag", "port": None})
    assert (found.host, found.port, found.worker.groups) == ("flag", 2, ("gpu",))
    assert (found.master.drain.total_seconds(), found.master.batch_max) == (7, 11)


def test_groups_may_be_written_as_one_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_WORKER__GROUPS", "gpu, default")
    assert load_settings().worker.groups == ("gpu", "default")


def test_a_group_that_is_named_twice_is_served_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim that searches it twice would take half of what there is room for."""
    monkeypatch.setenv("SHOAL_WORKER__GROUPS", "gpu,default,gpu")
    assert load_settings().worker.groups == ("gpu", "default")


def test_an_empty_variable_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_DATABASE_URL", "")
    with pytest.raises(Refused, match="no database is named; give --database-url or SHOAL_DATABASE_URL"):
        load_settings().database()


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("SHOAL_PORT", "70000", 'setting "port": Input should be less than or equal to 65535'),
        ("SHOAL_MASTER__NIX", "1", 'there is no setting "master.nix"; see docs/reference/settings.md'),
        ("SHOAL_WORKER", "{", "an environment variable cannot be read"),
        ("SHOAL_WORKER__GROUPS", "a b", 'setting "worker.groups.0"'),
        ("SHOAL_TIMING__HEARTBEAT_EVERY", "9", "heartbeat_every must be at most a third of session_timeout"),
        ("SHOAL_CONFIG", "/nix.toml", "the settings file /nix.toml does not exist; fix --config or SHOAL_CONFIG"),
    ],
)
def test_each_fault_is_one_sentence(monkeypatch: pytest.MonkeyPatch, variable: str, value: str, sentence: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(Refused, match=re.escape(sentence)):
        load_settings()


@every(
    ("content", "sentence"),
    [
        ("a = ", "is not valid TOML"),
        ("nix = 1", 'there is no setting "nix"; see docs/reference/settings.md'),
        ("[timing]\nkill_grace = 'x'", 'setting "timing.kill_grace"'),
        ("name = '\xff'", "the settings file shoal.toml is not UTF-8 (byte 0xff in line 1); save it as UTF-8"),
        ("port = 1\n# \xe9", "is not UTF-8 (byte 0xe9 in line 2)"),
        ("master = 3", '"master" is a group of settings; write [master], and below it NAME = VALUE'),
        ("[worker]\ngroups = 3", 'setting "worker.groups": Input should be a list, such as ["a", "b"]'),
        ("database_url = 3", 'setting "database_url": Input should be a valid string'),
    ],
)
def test_each_fault_of_the_file_is_one_sentence(content: str, sentence: str) -> None:
    Path("shoal.toml").write_text(content, "latin-1")
    with pytest.raises(Refused, match=re.escape(sentence)):
        load_settings()


def test_a_settings_file_that_is_none_is_one_sentence() -> None:
    file = Path("shoal.toml")
    file.mkdir()
    with pytest.raises(Refused, match=r"shoal\.toml is a folder; fix that, or name another by --config"):
        load_settings()
    file.rmdir()
    os.mkfifo(file)
    with pytest.raises(Refused, match=r"shoal\.toml is no file"):
        load_settings()
    file.unlink()
    file.symlink_to("nowhere")
    with pytest.raises(Refused, match=r"shoal\.toml does not exist"):
        load_settings()
    file.unlink()
    Path("plain").write_text("")
    file.symlink_to("plain/below")
    with pytest.raises(Refused, match=r"shoal\.toml does not exist"):
        load_settings()


def test_a_settings_file_of_another_user_is_one_sentence(tmp_path: Path) -> None:
    Path("shoal.toml").write_text("port = 1")
    Path("shoal.toml").chmod(0)
    tmp_path.chmod(0o755)
    assert told_to_nobody(load_settings) == (
        "the settings file shoal.toml cannot be read (Permission denied); "
        "fix that, or name another by --config or SHOAL_CONFIG"
    )


def test_a_data_folder_of_another_user_is_told_where_no_database_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    Path("mine").mkdir(0o755)
    Path("mine", "up.json").write_text("{}")
    Path("closed").mkdir(0o700)

    def database(folder: str) -> Callable[[], object]:
        return lambda: load_settings({"folder": folder}).database()

    said = "no database is named; give --database-url or SHOAL_DATABASE_URL, or use `shoal up`"
    if os.geteuid() == 0:  # else there is no other user to become
        assert told_to_nobody(database("mine")) == f"{said} (the `shoal up` in mine is another user's)"
        assert told_to_nobody(database("closed")) == f"{said} (the data folder closed is closed to this user)"
    assert told_to_nobody(database("nowhere")) == said


def test_no_password_is_shown() -> None:
    found = load_settings({"database_url": "postgresql+psycopg://me:hunter22@host/name"})
    assert "hunter22" not in repr(found)
    assert all("hunter22" not in setting.value for setting in settings_of(found))


def test_the_page_lists_exactly_the_settings_there_are() -> None:
    """Settings that masters and workers share are one row; the names of variables follow from the page's rule."""
    names: dict[tuple[str, str, str], list[str]] = {}
    for each in settings_of(Settings()):
        assert each.variable == f"SHOAL_{each.name.upper().replace('.', '__')}"
        own = re.sub(r"^(?:master|worker)\.", "", each.name)
        names.setdefault((own, each.default, each.description), []).append(f"`{each.name}`")
    wanted = [f"| {', '.join(same)} | {default} | {about} |" for (_, default, about), same in names.items()]
    listed = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert listed == wanted, "docs/reference/settings.md shall hold these rows:\n" + "\n".join(wanted)


def test_each_secret_has_a_variable_for_its_file() -> None:
    assert set(secret_names(Settings)) == {
        "SHOAL_DATABASE_URL",
        "SHOAL_REGISTRY_URL",
        "SHOAL_TOKEN",
        "SHOAL_TRACING__HEADERS",
        "SHOAL_SECRETS__KEYS",
        "SHOAL_LOG_STORE__ACCESS_KEY_ID",
        "SHOAL_LOG_STORE__SECRET_ACCESS_KEY",
    }


def test_a_password_apart_wins_over_that_of_the_url(tmp_path: Path) -> None:
    url = "postgresql+psycopg://shoal:old@a:1,b:2/shoal?sslmode=require"
    apart = load_settings({"database_url": url, "database_password": "n&w @"}).database()
    assert Address.of(apart).arguments["password"] == "n&w @"
    file = tmp_path / "pass word"
    file.write_text("of the file\n")
    file.chmod(0o600)
    address = Address.of(load_settings({"database_url": url, "database_password_file": file}).database())
    assert [host["password"] for host in address.hosts()] == ["of the file"] * 2
    assert "of the file" in unquote(address.url())
    assert "old" not in address.shown
    file.unlink()
    assert [host["password"] for host in address.hosts()] == ["of the file"] * 2, "the former one"
    assert load_settings({"database_url": url, "database_password_file": file}).database(), "asked for again"
    with pytest.raises(OperationalError, match=r"database_password_file .* cannot be read: No such file"):
        Address(address.arguments | {PASSWORD_FILE: str(file)}).hosts()


def test_a_url_of_a_file_may_change_its_user_and_not_its_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.touch(0o600)
    monkeypatch.setenv("SHOAL_DATABASE_URL_FILE", str(file))

    def signs() -> list[str | None]:
        [host] = address.hosts()
        return [host["host"], host["user"], host["password"], host.get(FORMER_PASSWORD)]

    file.write_text("postgresql+psycopg://one:first@a/shoal")
    address = Address.of(load_settings().database())
    assert signs() == ["a", "one", "first", None]
    file.write_text("postgresql+psycopg://one:second@a/shoal")
    assert signs() == ["a", "one", "second", "first"]
    read_all_again()
    assert signs() == ["a", "one", "second", "first"], "though the files were read once more"
    file.write_text("postgresql+psycopg://two:other@a/shoal")
    assert signs() == ["a", "two", "other", None]
    file.write_text("postgresql+psycopg://two:other@b/shoal")
    assert signs() == ["a", "two", "other", None]
    assert "other" not in address.shown


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("api.key", "api.private_key"),
        ("api.certificat", "api.certificate"),
        ("worker.group", "worker.groups"),
        ("databse_url", "database_url"),
        ("mastr", "master"),
        ("drain", "master.drain"),
        ("master.nix", None),
    ],
)
def test_an_unknown_setting_is_told_with_the_one_that_may_be_meant(given: str, meant: str | None) -> None:
    group, _, name = given.rpartition(".")
    Path("shoal.toml").write_text(f"[{group}]\n{name} = 1\n" if group else f"{name} = 1\n")
    with pytest.raises(Refused) as raised:
        load_settings()
    suggested = f'; did you mean "{meant}"? See docs' if meant else "; see docs"
    assert f'there is no setting "{given}"{suggested}' in str(raised.value)
