"""The key file: closed to others, made by itself for `shoal up`, replaced in one step."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from dao.secrets.kept import read_all_again
from dao.secrets.vault import Sealed, key_id_of, new_key
from model.errors import Refused
from service.secrets.key_settings import SecretSettings, add_key, open_vault, own_key_file, read_key_file
from shoal.config.settings import load_settings
from tests.shoal.another_user import told_to_nobody


def test_a_new_key_goes_before_the_others_in_a_file_that_is_ours_alone(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    old = add_key(file)
    new = add_key(file)
    assert [key_id_of(key) for key in read_key_file(file)] == [new, old]
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]
    assert open_vault(SecretSettings(key_file=file)).key_ids == (new, old)


def test_a_process_learns_a_key_that_is_added_while_it_works(tmp_path: Path) -> None:
    settings = SecretSettings(key_file=tmp_path / "keys")
    old = add_key(tmp_path / "keys")
    working = open_vault(settings)
    before = working.seal("a", "it")
    new = add_key(tmp_path / "keys")
    assert working.open(open_vault(settings).seal("b", "it"), "it") == "b"
    assert working.key_ids == (new, old), "the first one encrypts"
    (tmp_path / "keys").unlink()
    assert working.open(before, "it") == "a"
    with pytest.raises(Refused, match=r"encrypted with key unknown, which this process lacks"):
        working.open(Sealed(b"", "unknown"), "it")


def test_blank_lines_and_comments_are_passed_over(tmp_path: Path) -> None:
    file = own_key_file(tmp_path)
    key = file.read_text().strip()
    file.write_text(f"# made in spring\n\n  {key}  \n")
    assert read_key_file(file) == [key]
    assert own_key_file(tmp_path).read_text() == file.read_text()


def test_keys_of_the_settings_come_before_those_of_the_file(tmp_path: Path) -> None:
    first = new_key()
    settings = SecretSettings(keys=(SecretStr(first),), key_file=own_key_file(tmp_path))
    assert open_vault(settings).key_ids[0] == key_id_of(first)
    assert len(open_vault(settings).key_ids) == 2
    assert open_vault(SecretSettings()).key_ids == ()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = own_key_file(tmp_path)
    file.chmod(mode)
    with pytest.raises(Refused, match="is open to other users of this machine; chmod 600 it"):
        read_key_file(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"the key file .*/nix cannot be read: No such file or directory; fix"):
        read_key_file(tmp_path / "nix")
    with pytest.raises(Refused, match="cannot be written"):
        add_key(tmp_path / "nix" / "keys")


def test_keys_in_a_variable_are_separated_by_commas_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [new_key(), new_key()]
    monkeypatch.setenv("SHOAL_SECRETS__KEYS", ", ".join(keys))
    settings = load_settings()
    assert open_vault(settings.secrets).key_ids == tuple(map(key_id_of, keys))
    assert keys[0] not in repr(settings)
    monkeypatch.setenv("SHOAL_SECRETS__KEYS", "wrong-key")
    with pytest.raises(Refused) as refused:
        open_vault(load_settings().secrets)
    assert "wrong-key" not in str(refused.value)


def test_a_key_file_in_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    Path("closed").mkdir(0o000)
    said = told_to_nobody(lambda: add_key(Path("closed", "keys")))
    assert said == "the key file closed/keys cannot be written (Permission denied); choose another place"


def test_keys_of_a_file_encrypt_once_they_are_read_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first, second = new_key(), new_key()
    file = tmp_path / "listed"
    file.touch(0o600)
    file.write_text(first)
    monkeypatch.setenv("SHOAL_SECRETS__KEYS_FILE", str(file))
    working = open_vault(load_settings().secrets)
    sealed = working.seal("a", "it")
    file.write_text(f"{second}, {first}")
    assert working.key_ids == (key_id_of(first),), "other processes may not have it yet"
    read_all_again()
    assert working.key_ids == (key_id_of(second), key_id_of(first))
    file.write_text("no key")
    read_all_again()
    file.write_text(second)
    read_all_again()
    assert working.open(sealed, "it") == "a", "those that are gone still decrypt"
