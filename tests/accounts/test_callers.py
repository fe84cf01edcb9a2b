"""What a caller may do, by role, session and token; and that each change stands in the audit."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import event

from dao.accounts.audit import AuditFilter
from model.errors import Forbidden, NotFound, Refused, Unauthenticated
from model.rights import CLUSTER_RIGHTS, Right, Role, Scope
from service.accounts import audit_pages, own_tokens, people, project_access
from service.callers import Caller
from tests.accounts.office import HERE, ROOT, Office

V, O, E, W, C, A = Right.VIEW, Right.OPERATE, Right.EDIT, Right.OWN, Right.VIEW_CLUSTER, Right.ADMINISTER  # noqa: E741


async def test_the_user_of_the_operating_system_may_do_everything(office: Office) -> None:
    assert all(ROOT.may(right, "etl") for right in Right)
    assert ROOT.projects_with(A) is None
    assert ROOT.key == "SYSTEM_USER root"


@pytest.mark.parametrize(("role", "own"), [
    (Role.VIEWER, {V}), (Role.OPERATOR, {V, O}), (Role.EDITOR, {V, O, E}), (Role.OWNER, {V, O, E, W}),
])  # fmt: skip
async def test_a_role_counts_in_its_project_only(office: Office, role: Role, own: set[Right]) -> None:
    await office.account("anna", etl=role)
    caller = await office.caller()
    assert {right for right in Right if caller.may(right, "etl")} == own | {C}
    assert {right for right in Right if caller.may(right, "other")} == {C}
    assert caller.projects_with(V) == {"etl"}
    assert caller.key == f"account {caller.account}"


async def test_a_right_that_is_missing_is_named(office: Office) -> None:
    await office.account("anna", etl=Role.VIEWER)
    caller = await office.caller()
    with pytest.raises(Forbidden, match='anna may not do this: it needs OPERATE in project "etl"; ask one'):
        caller.need(O, "etl")
    with pytest.raises(Forbidden, match="it needs ADMINISTER on the cluster; ask an admin"):
        caller.need(A)


@pytest.mark.parametrize(("scopes", "projects", "in_etl", "in_bi", "cluster"), [
    ({Scope.ADMIN}, None, {V, O, E}, {V}, {C}),
    ({Scope.ADMIN}, {"etl"}, {V, O, E}, set(), {C}),
    ({Scope.RUNS_WRITE}, None, {V, O}, {V}, set()),
    ({Scope.DEFINITIONS_WRITE}, {"bi"}, set(), {V}, set()),
    ({Scope.PROJECTS_WRITE}, None, {V}, {V}, set()),
    ({Scope.CLUSTER_READ}, None, set(), set(), {C}),
])  # fmt: skip
async def test_a_token_has_what_its_scopes_and_projects_leave(
    office: Office,
    scopes: set[Scope],
    projects: set[str] | None,
    in_etl: set[Right],
    in_bi: set[Right],
    cluster: set[Right],
) -> None:
    await office.account("anna", etl=Role.EDITOR, bi=Role.VIEWER)
    made = await office.token(await office.caller(), *scopes, projects=projects)
    caller = await office.token_caller(made.token.text)
    found = [{right for right in set(Right) - CLUSTER_RIGHTS if caller.may(right, each)} for each in ("etl", "bi")]
    assert found == [in_etl, in_bi]
    assert {right for right in CLUSTER_RIGHTS if caller.may(right)} == cluster
    assert caller.projects_with(V) == {name for name, rights in (("etl", in_etl), ("bi", in_bi)) if V in rights}


async def test_the_token_of_an_admin_is_limited_too(office: Office) -> None:
    await office.account("anna", is_admin=True)
    admin = await office.caller()
    assert admin.may(A)
    limited = await office.token(admin, Scope.ADMIN, projects={"etl"})
    caller = await office.token_caller(limited.token.text)
    assert [caller.may(A), caller.may(W, "etl"), caller.may(V, "bi")] == [False, True, False]
    assert caller.projects_with(V) == {"etl"}
    reader = await office.token(admin, Scope.RUNS_READ, name="reader")
    caller = await office.token_caller(reader.token.text)
    assert [caller.may(A), caller.may(V, "bi"), caller.may(O, "bi")] == [False, True, False]
    assert caller.projects_with(V) is None
    assert [caller.may_in_scope(each) for each in (Scope.RUNS_READ, Scope.DEFINITIONS_READ)] == [True, False]
    assert admin.may_in_scope(Scope.DEFINITIONS_WRITE)


async def test_what_was_taken_away_is_known_at_the_next_request(office: Office) -> None:
    await office.account("anna", etl=Role.OWNER)
    logged_in = await office.log_in()
    made = await office.token(await office.session(logged_in.secret), Scope.ADMIN)
    async with office.writing() as connection:
        await project_access.put(connection, ROOT, "etl", "anna", Role.VIEWER)
    for caller in (await office.session(logged_in.secret), await office.token_caller(made.token.text)):
        assert not caller.may(O, "etl")
    await office.sql("UPDATE account SET disabled_at = clock_timestamp()")
    with pytest.raises(Unauthenticated):
        await office.session(logged_in.secret)
    with pytest.raises(Unauthenticated, match="unknown, revoked or expired"):
        await office.token_caller(made.token.text)


async def test_a_caller_is_made_by_one_statement(office: Office) -> None:
    await office.account("anna", etl=Role.OWNER, bi=Role.VIEWER)
    logged_in = await office.log_in()
    made = await office.token(await office.session(logged_in.secret), Scope.ADMIN)
    sent: list[object] = []
    async with office.database.reading() as connection:
        event.listen(connection.sync_connection, "before_cursor_execute", lambda *call: sent.append(call[2]))
        await Caller.of_session(connection, logged_in.secret, HERE)
        await Caller.of_token(connection, made.token.text, HERE)
        with pytest.raises(Unauthenticated):
            await Caller.of_token(connection, made.token.text + "0", HERE)
    assert len(sent) == 2, "and none for what is no token"


async def test_a_text_that_is_no_token_is_refused_and_not_repeated(office: Office) -> None:
    with pytest.raises(Unauthenticated, match="begins with shoal_") as refused:
        await office.token_caller("shoal_secret")
    assert "shoal_secret" not in str(refused.value)


# --------------------------------------------------------------------------------------------------- tokens


async def test_a_token_makes_no_token_unless_nothing_limits_it(office: Office) -> None:
    await office.account("anna", etl=Role.OWNER)
    owner = await office.caller()
    narrow = await office.token(owner, Scope.RUNS_WRITE)
    in_one = await office.token(owner, Scope.ADMIN, projects={"etl"}, name="one project")
    for token in (narrow, in_one):
        with pytest.raises(Forbidden, match="for the account itself"):
            await office.token(await office.token_caller(token.token.text), Scope.ADMIN, name="more")
    wide = await office.token(owner, Scope.ADMIN, name="wide")
    await office.token(await office.token_caller(wide.token.text), Scope.RUNS_READ, name="less")


async def test_a_token_is_revoked_by_its_account_by_itself_and_by_no_other(office: Office) -> None:
    await office.account("anna")
    await office.account("berta")
    anna, berta = await office.caller("anna"), await office.caller("berta")
    assert anna.account is not None
    first = await office.token(anna, Scope.RUNS_READ, name="first")
    second = await office.token(anna, Scope.RUNS_READ, name="second")
    itself = await office.token_caller(first.token.text)
    async with office.writing() as connection:
        with pytest.raises(Forbidden):
            await own_tokens.revoke(connection, berta, anna.account, first.row.id)
        with pytest.raises(Forbidden):
            await own_tokens.revoke(connection, itself, anna.account, second.row.id)
        await own_tokens.revoke(connection, itself, anna.account, first.row.id)
        with pytest.raises(NotFound, match="still valid"):
            await own_tokens.revoke(connection, anna, anna.account, first.row.id)
        assert [row.name for row in await own_tokens.listed(connection, anna, anna.account, 9)] == ["second", "first"]
    with pytest.raises(Unauthenticated):
        await office.token_caller(first.token.text)


@pytest.mark.parametrize(("name", "lives", "said"), [
    (" ", 1, "needs a name"), ("a\nb", 1, "needs a name"), ("x" * 101, 1, "needs a name"),
    ("ci", 0, "1 minute to 366 days"), ("ci", 367, "1 minute to 366 days"),
])  # fmt: skip
async def test_a_token_that_may_not_be_made(office: Office, name: str, lives: int, said: str) -> None:
    anna = await office.account()
    async with office.writing() as connection:
        with pytest.raises(Refused, match=said):
            await own_tokens.make(connection, ROOT, anna.id, name, {Scope.ADMIN}, lives=timedelta(days=lives))
        with pytest.raises(Refused, match="needs a scope"):
            await own_tokens.make(connection, ROOT, anna.id, "ci", set())


# -------------------------------------------------------------------------------------- members and the audit


async def test_only_an_owner_or_admin_changes_members_and_only_an_admin_what_a_project_may_use(office: Office) -> None:
    await office.account("anna", etl=Role.OWNER)
    await office.account("berta", etl=Role.EDITOR)
    owner, editor = await office.caller("anna"), await office.caller("berta")
    async with office.writing() as connection:
        await project_access.put(connection, owner, "etl", "BERTA", Role.OPERATOR)
        for forbidden in (
            project_access.put(connection, editor, "etl", "berta", Role.OWNER),
            project_access.put(connection, owner, "bi", "anna", Role.OWNER),
            project_access.remove(connection, editor, "etl", "anna"),
            project_access.set_limits(connection, owner, "etl", {"root"}, ()),
            people.create(connection, owner, "carla"),
            people.make_link(connection, owner, "berta"),
            people.listed(connection, owner, 9),
        ):
            with pytest.raises(Forbidden):
                await forbidden
        with pytest.raises(NotFound, match='no account "nobody"'):
            await project_access.put(connection, owner, "etl", "nobody", Role.VIEWER)
        await project_access.remove(connection, owner, "etl", "berta")
        with pytest.raises(NotFound, match="no member"):
            await project_access.remove(connection, owner, "etl", "berta")
        assert [member.name for member in await project_access.listed(connection, owner, "etl")] == ["anna"]
        await project_access.set_limits(connection, ROOT, "etl", {"etl"}, {"big"})
        assert (await project_access.limits(connection, owner, "etl")).allow_tenant("etl")


async def test_each_change_stands_in_the_audit_with_before_and_after_and_from_where(office: Office) -> None:
    await office.account("anna", is_admin=True)
    anna = await office.caller()
    await office.account("berta", etl=Role.VIEWER)
    async with office.writing() as connection:
        await project_access.put(connection, anna, "etl", "berta", Role.EDITOR)
    rows = await office.sql("""
        SELECT actor_kind, actor, account_id, action, object_kind, object_name, project, before, after, address,
               request_id, outcome FROM audit ORDER BY id DESC LIMIT 1
    """)
    assert rows == [(
        *("SESSION", "anna", anna.account, "put_member", "member", "berta", "etl"),
        *({"role": "VIEWER"}, {"role": "EDITOR"}, "10.0.0.1", "request-1", "DONE"),
    )]  # fmt: skip
    made = await office.token(anna, Scope.RUNS_READ)
    (stored,) = await office.sql("SELECT string_agg(a::text, '') FROM audit a")
    assert made.token.text not in stored
    actions = {action for _, action in await office.audited()}
    assert actions == {"create_account", "put_member", "change_password", "log_in", "make_token"}


async def test_a_change_that_is_undone_is_not_audited(office: Office) -> None:
    anna = await office.account()
    before = await office.audited()
    with pytest.raises(Refused, match="on purpose"):
        async with office.writing() as connection:
            await people.change(connection, ROOT, anna.id, 2, is_admin=True)
            raise Refused("on purpose")
    assert await office.audited() == before


async def test_an_owner_reads_the_audit_of_its_projects_and_an_admin_all(office: Office) -> None:
    await office.account("anna", etl=Role.OWNER, bi=Role.EDITOR)
    await office.account("berta", bi=Role.OWNER)
    anna = await office.caller()

    async def projects(caller: Caller, wanted: AuditFilter) -> set[str | None]:
        async with office.database.reading() as connection:
            return {row.entry.project for row in await audit_pages.page(connection, caller, wanted, 100)}

    assert await projects(ROOT, AuditFilter()) == {None, "etl", "bi"}
    assert await projects(anna, AuditFilter()) == {"etl"}
    with pytest.raises(Forbidden):
        await projects(anna, AuditFilter(projects={"bi"}))
