"""Settings: where they come from, and the sentence for each that is wrong."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from model.errors import Refused
from shoal.config.settings import Settings, load_settings
from shoal.config.settings_list import settings_of

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


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


def test_an_empty_variable_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_DATABASE_URL", "")
    with pytest.raises(Refused, match="no database is named; give --database-url or SHOAL_DATABASE_URL"):
        load_settings().database()


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("SHOAL_PORT", "70000", 'setting "port": Input should be less than or equal to 65535'),
        ("SHOAL_MASTER__NIX", "1", 'there is no setting "master.nix"; see docs/settings.md'),
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


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("a = ", "is not valid TOML"),
        ("nix = 1", 'there is no setting "nix"; see docs/settings.md'),
        ("[timing]\nkill_grace = 'x'", 'setting "timing.kill_grace"'),
    ],
)
def test_each_fault_of_the_file_is_one_sentence(content: str, sentence: str) -> None:
    Path("shoal.toml").write_text(content)
    with pytest.raises(Refused, match=re.escape(sentence)):
        load_settings()


def test_no_password_is_shown() -> None:
    found = load_settings({"database_url": "postgresql+psycopg://me:hunter22@host/name"})
    assert "hunter22" not in repr(found)
    assert all("hunter22" not in setting.value for setting in settings_of(found))


def test_the_page_lists_exactly_the_settings_there_are() -> None:
    wanted = [
        f"| `{each.name}` | `{each.variable}` | {each.default} | {each.description} |"
        for each in settings_of(Settings())
    ]
    listed = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert listed == wanted, "docs/settings.md shall hold these rows:\n" + "\n".join(wanted)
