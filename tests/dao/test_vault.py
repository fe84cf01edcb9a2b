"""Secrets at rest: what is stored says nothing, keys can be changed, a missing one is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dao.secrets import data_sources, environments
from dao.secrets.data_source_url import parse_data_source_url, secrets_of, shown_url
from dao.secrets.vault import Sealed, Vault, key_id_of, new_key
from model.errors import NotFound, Refused
from tests.dao.scene import Scene

OLD, NEW = new_key(), new_key()
URL = "postgresql+psycopg://ada:hunter22@db:5432/shop"


@given(text=st.text(st.characters(exclude_categories=["Cs"])), purpose=st.sampled_from(["data source a", "b"]))
def test_what_is_sealed_comes_back_for_the_same_purpose_only(text: str, purpose: str) -> None:
    vault = Vault([NEW, OLD])
    sealed = vault.seal(text, purpose)
    assert vault.open(sealed, purpose) == text
    with pytest.raises(Refused, match="was encrypted as something else"):
        vault.open(sealed, "environment a")


def test_the_first_key_encrypts_and_all_decrypt() -> None:
    old = Vault([OLD]).seal("x", "a")
    both = Vault([NEW, OLD])
    assert both.open(old, "a") == "x"
    assert both.seal("x", "a").key_id == key_id_of(NEW) != old.key_id


def test_a_missing_key_is_named_with_where_to_put_it() -> None:
    sealed = Vault([OLD]).seal("x", "data source shop")
    for vault in (Vault([NEW]), Vault([])):
        with pytest.raises(Refused) as refused:
            vault.open(sealed, "data source shop")
        assert str(refused.value) == (
            f"the data source shop is encrypted with key {key_id_of(OLD)}, which this process lacks; put it into "
            "secrets.keys (SHOAL_SECRETS__KEYS) or into the file that secrets.key_file names"
        )
    with pytest.raises(Refused, match="there is no key to encrypt the data source shop"):
        Vault([]).seal("x", "data source shop")


def test_a_changed_row_is_told_from_a_missing_key() -> None:
    sealed = Vault([OLD]).seal("x", "a")
    for data in (sealed.data[:-1] + b"A", b"", b"\xff"):
        with pytest.raises(Refused, match="its row was changed"):
            Vault([OLD]).open(Sealed(data, sealed.key_id), "a")


@pytest.mark.parametrize("key", ["", "short", "x" * 44, OLD[:-1]], ids=["empty", "short", "no base64", "cut"])
def test_what_is_no_key_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(Refused, match="key 2 of 2 for secrets is not a key") as refused:
        Vault([NEW, key])
    assert not key or key not in str(refused.value)


def test_no_key_and_no_secret_is_in_what_is_printed() -> None:
    vault = Vault([OLD])
    sealed = vault.seal("hunter22", "a")
    assert OLD not in repr(vault)
    assert b"hunter22" not in sealed.data
    assert OLD not in repr(sealed)


async def test_a_data_source_is_stored_encrypted_and_shown_without_its_password(scene: Scene) -> None:
    vault = Vault([OLD])
    async with scene.writing() as connection:
        assert await data_sources.put(connection, "shop", URL, vault) == URL.replace("hunter22", "***")
    async with scene.writing() as connection:
        (listed,) = await data_sources.all_data_sources(connection)
        assert await data_sources.url_of(connection, "shop", vault) == URL
    assert "hunter22" not in repr(listed)
    assert (listed.name, listed.key_id) == ("shop", key_id_of(OLD))
    (row,) = await scene.sql("SELECT convert_from(url, 'UTF8') || data_source::text FROM data_source")
    assert "hunter22" not in row


async def test_an_environment_is_stored_encrypted_and_replaced(scene: Scene) -> None:
    vault = Vault([OLD])
    for script in ("export A=hunter22", "export A=é\n"):
        async with scene.writing() as connection:
            await environments.put(connection, "spark", script, vault)
            assert await environments.script_of(connection, "spark", vault) == script
            (listed,) = await environments.all_environments(connection)
    assert listed.updated_at > listed.created_at
    (row,) = await scene.sql("SELECT convert_from(script, 'UTF8') FROM environment")
    assert "export" not in row


async def test_a_data_source_cannot_be_passed_off_as_an_environment(scene: Scene) -> None:
    """Who may write the database could else have a task run, and bash print, what is a password."""
    vault = Vault([OLD])
    async with scene.writing() as connection:
        await data_sources.put(connection, "shop", URL, vault)
        await data_sources.put(connection, "mine", "postgresql://me@there/x", vault)
    await scene.sql(
        "INSERT INTO environment (name, script, key_id) SELECT 'shop', url, key_id FROM data_source LIMIT 1"
    )
    await scene.sql(
        "UPDATE data_source SET url = (SELECT url FROM data_source WHERE name = 'shop') WHERE name = 'mine'"
    )
    async with scene.writing() as connection:
        with pytest.raises(Refused, match="was encrypted as something else"):
            await environments.script_of(connection, "shop", vault)
        with pytest.raises(Refused, match="was encrypted as something else"):
            await data_sources.url_of(connection, "mine", vault)


async def test_rotation_encrypts_all_rows_with_the_first_key_or_none(scene: Scene) -> None:
    async with scene.writing() as connection:
        await data_sources.put(connection, "shop", URL, Vault([OLD]))
        await environments.put(connection, "spark", "export A=1", Vault([OLD]))
        await environments.put(connection, "new", "export A=2", Vault([NEW]))
    both = Vault([NEW, OLD])
    with pytest.raises(Refused, match="which this process lacks"):
        async with scene.writing() as connection:
            await environments.rotate(connection, Vault([new_key(), NEW]))
    async with scene.writing() as connection:
        assert (await data_sources.rotate(connection, both), await environments.rotate(connection, both)) == (1, 1)
    async with scene.writing() as connection:
        assert await data_sources.url_of(connection, "shop", Vault([NEW])) == URL
        assert await environments.script_of(connection, "spark", Vault([NEW])) == "export A=1"
        assert await environments.rotate(connection, both) == 0


async def test_what_is_not_there_is_said(scene: Scene) -> None:
    async with scene.writing() as connection:
        for call in (
            data_sources.url_of(connection, "nix", Vault([OLD])),
            data_sources.remove(connection, "nix"),
            environments.script_of(connection, "nix", Vault([OLD])),
            environments.remove(connection, "nix"),
        ):
            with pytest.raises(NotFound, match=r'there is no (data source|environment) "nix"; `shoal'):
                await call


@pytest.mark.parametrize("name", ["", "a b", "../x", "-x", "a" * 201, "é", "a\n"])
async def test_a_name_must_be_plain(scene: Scene, name: str) -> None:
    with pytest.raises(Refused, match="is not a name for"):
        async with scene.writing() as connection:
            await data_sources.put(connection, name, URL, Vault([OLD]))


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("hunter22", "cannot be read; write it as"),
        ("postgresql://ada:hunter22@x@db/shop", "has an @ too many"),
        ("sqlite:///shop.db", "has no absolute path"),
        ("duckdb:///shop.db", "write duckdb:////the/whole/path"),
        (f"postgresql://ada:{'hunter22' * 2000}@db/x", "is longer than 10000 bytes"),
    ],
)
def test_a_wrong_url_is_refused_without_its_secrets(url: str, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence) as refused:
        parse_data_source_url(url)
    assert "hunter22" not in str(refused.value)


def test_options_that_look_like_secrets_are_hidden_too() -> None:
    url = parse_data_source_url(
        "mysql://ada:hunter22@db/x?charset=utf8mb4&ssl_key_password=hunter33&auth_token=hunter44"
    )
    assert (
        shown_url(url) == "mysql+pymysql://ada:***@db/x?auth_token=%2A%2A%2A&charset=utf8mb4&ssl_key_password=%2A%2A%2A"
    )
    assert set(secrets_of(url)) == {"hunter22", "hunter33", "hunter44"}


def test_each_kind_of_database_has_its_one_driver() -> None:
    drivers = {name: parse_data_source_url(f"{name}://h/x").drivername for name in ("postgres", "mysql", "mariadb")}
    assert drivers == {"postgres": "postgresql+psycopg", "mysql": "mysql+pymysql", "mariadb": "mysql+pymysql"}
    assert parse_data_source_url("postgresql+psycopg2://h/x").drivername == "postgresql+psycopg"
    assert parse_data_source_url("oracle+oracledb://h/x").drivername == "oracle+oracledb"
