"""Roles, scopes, tokens, names, passwords, limits of logins, and what the audit masks."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.accounts import tokens
from model.accounts.accounts import check_account_name, check_password
from model.accounts.audits import masked
from model.accounts.login_limits import FREE_OF_NAME, WAIT_MAX, counted_address, wait
from model.accounts.rights import RIGHTS_OF_ROLE, Right, Role, Scope, covers, left_by, parse_scopes, rights_in
from model.errors import Refused
from tests.every import every

V, O, E, W, C, A = Right.VIEW, Right.OPERATE, Right.EDIT, Right.OWN, Right.VIEW_CLUSTER, Right.ADMINISTER  # noqa: E741


CHANCE = st.binary(min_size=tokens.RANDOM_BYTES, max_size=tokens.RANDOM_BYTES)


@every(("role", "rights"), [
    (None, set()), (Role.VIEWER, {V}), (Role.OPERATOR, {V, O}), (Role.EDITOR, {V, O, E}), (Role.OWNER, {V, O, E, W}),
])  # fmt: skip
def test_a_role_gives_its_rights_in_its_project_and_nowhere_else(role: Role | None, rights: set[Right]) -> None:
    roles = {} if role is None else {"etl": role}
    assert rights_in("etl", roles, is_admin=False) == rights
    assert rights_in("other", roles, is_admin=False) == set()
    assert rights_in(None, roles, is_admin=False) == {C}
    assert rights_in("etl", roles, is_admin=True) == {V, O, E, W}
    assert rights_in(None, roles, is_admin=True) == {C, A}


def test_each_role_has_the_rights_of_those_before_it() -> None:
    rights = [RIGHTS_OF_ROLE[role] for role in Role]
    assert all(less < more for less, more in pairwise(rights))


@every(("scopes", "rights"), [
    ({"runs:read"}, {V}), ({"runs:write"}, {V, O}), ({"definitions:read"}, {V}), ({"definitions:write"}, {V, E}),
    ({"projects:read"}, {V}), ({"projects:write"}, {V, W}), ({"cluster:read"}, {C}), ({"admin"}, set(Right)),
    ({"runs:write", "definitions:write"}, {V, O, E}),
])  # fmt: skip
def test_scopes_leave_rights(scopes: set[str], rights: set[Right]) -> None:
    assert left_by(parse_scopes(scopes)) == rights


def test_a_scope_covers_itself_and_writing_covers_reading_of_the_same() -> None:
    covered = {(have, want) for have in Scope for want in Scope if covers({have}, want)}
    writes = {(Scope(f"{what}:write"), Scope(f"{what}:read")) for what in ("runs", "definitions", "projects")}
    assert covered == {(each, each) for each in Scope} | writes | {(Scope.ADMIN, each) for each in Scope}


@every("given_", [[], ["runs"], ["runs:read", "root"]])
def test_scopes_that_do_not_exist_are_refused(given_: list[str]) -> None:
    with pytest.raises(Refused, match="there are runs:read, runs:write"):
        parse_scopes(given_)


# --------------------------------------------------------------------------------------------------- tokens


@given(CHANCE)
def test_a_token_is_read_back_and_its_hash_is_of_all_of_it(chance: bytes) -> None:
    made = tokens.make(chance)
    assert tokens.parse(made.text) == made
    assert len(made.text) == 45
    assert made.hash == tokens.hash_of(made.text)
    assert made.text not in repr(made)


@given(
    st.binary(min_size=tokens.RANDOM_BYTES, max_size=tokens.RANDOM_BYTES), st.integers(6, 44), st.sampled_from("0aZ")
)
def test_a_token_with_one_wrong_character_is_refused_and_not_repeated(chance: bytes, place: int, wrong: str) -> None:
    text = tokens.make(chance).text
    changed = text[:place] + wrong + text[place + 1 :]
    if changed != text:
        with pytest.raises(Refused) as refused:
            tokens.parse(changed)
        assert changed not in str(refused.value)


@every("text", ["", "shoal_", "shoal_" + "0" * 40, "ghp_" + "0" * 39, "shoal_" + "é" * 39, "x" * 10**6])
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="not a token"):
        tokens.parse(text)


def test_two_tokens_differ() -> None:
    assert tokens.make(b"a" * 24).text[:39] != tokens.make(b"b" * 24).text[:39]


# ------------------------------------------------------------------------------------- names and passwords


@every("name", ["a", "anna", "Anna.B-c_d@example.org", "1+1", "x" * 100])
def test_a_name_that_an_account_may_have(name: str) -> None:
    assert check_account_name(name) == name


@every("name", ["", ".a", "-a", "a b", "ännä", "a\n", "a/b", "x" * 101, "a\0"])
def test_a_name_that_no_account_may_have(name: str) -> None:
    with pytest.raises(Refused, match="not a name for an account"):
        check_account_name(name)


@every("password", ["0123456789", "          ", "ä" * 500, "x" * 1_000])
def test_a_password_that_may_be_chosen(password: str) -> None:
    assert check_password(password) == password


@every(("password", "said"), [
    ("", "fewer than 10"), ("123456789", "fewer than 10 characters; choose a longer one"),
    ("x" * 1_001, "more than 1,000 bytes"), ("ä" * 501, "more than 1,000 bytes"), ("\ud800" * 10, "or no text"),
])  # fmt: skip
def test_a_password_that_may_not_be_chosen_is_not_repeated(password: str, said: str) -> None:
    with pytest.raises(Refused, match=said) as refused:
        check_password(password)
    assert not password or password not in str(refused.value)


# -------------------------------------------------------------------------------------------------- limits


def test_waits_double_up_to_a_limit() -> None:
    waits = [wait(failures, timedelta(0), FREE_OF_NAME).total_seconds() for failures in (0, 4, 5, 6, 7, 9, 10, 10**6)]
    assert waits == [0, 0, 30, 60, 120, 480, 900, WAIT_MAX.total_seconds()]
    assert wait(5, timedelta(seconds=30), FREE_OF_NAME) <= timedelta(0)


@every(("address", "counted"), [
    ("10.0.0.1", "10.0.0.1"), ("::ffff:10.0.0.1", "10.0.0.1"), ("2001:db8::1", "2001:db8::/64"),
    ("2001:db8:0:0:ffff::1", "2001:db8::/64"), ("::1", "::/64"), ("", ""), ("/run/socket", "/run/socket"),
])  # fmt: skip
def test_addresses_that_one_person_may_have_are_counted_as_one(address: str, counted: str) -> None:
    assert counted_address(address) == counted


# --------------------------------------------------------------------------------------------------- audit


@every(("value", "shown"), [
    ({"password": "x", "name": "a"}, {"password": "******", "name": "a"}),
    ({"DB_PASSWORD": "x", "api-token": "x", "Authorization": "x", "token_name": "ci"},
     {"DB_PASSWORD": "******", "api-token": "******", "Authorization": "******", "token_name": "ci"}),
    ({"password": None, "token": ""}, {"password": None, "token": ""}),
    ([{"url": "postgresql://a:b@c/d", "shown_url": "postgresql://a:***@c/d"}],
     [{"url": "******", "shown_url": "postgresql://a:***@c/d"}]),
    ({"params": {"a": "1", "b": "2"}, "secrets": ["b"]}, {"params": {"a": "1", "b": "******"}, "secrets": ["b"]}),
    ({"params": {"b": {"type": "SECRET", "value": "2"}}}, {"params": {"b": {"type": "SECRET", "value": "******"}}}),
    ({"prop": "b", "direct": "IN", "type": "SECRET", "value": "2"},
     {"prop": "b", "direct": "IN", "type": "SECRET", "value": "******"}),
    ({"x": "before sealed:v2:0123456789ab:0123456789ab:b:AAAA= after"}, {"x": "before ****** after"}),
    ({"count": 3, "on": True, "none": None}, {"count": 3, "on": True, "none": None}),
])  # fmt: skip
def test_the_audit_masks_secrets_wherever_they_stand(value: Any, shown: Any) -> None:
    assert masked(value) == shown


def test_the_audit_masks_parameters_that_are_said_to_be_secret() -> None:
    assert masked({"params": {"b": "2", "c": "3"}}, ["b"]) == {"params": {"b": "******", "c": "3"}}
