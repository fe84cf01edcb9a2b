"""What a caller may do, by role, session and token; and that each change stands in the audit."""

from __future__ import annotations

import pytest

from model.accounts.rights import CLUSTER_RIGHTS, Right, Role, Scope
from model.errors import Forbidden, Hidden, NotFound, Refused, Unauthenticated
from service.accounts import audit_pages, own_tokens, people, project_access
from service.accounts.audit_pages import AuditQuery
from service.accounts.own_tokens import NewToken
from service.accounts.people import NewUser
from service.accounts.project_access import Limits, MemberRole
from service.callers import Caller
from service.paging import PageQuery
from tests.accounts.office import HERE, ROOT, Office
from tests.sent_statements import sent_statements

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
    with pytest.raises(Forbidden, match='anna may not do this: it needs OPERATE in project "etl"; an owner'):
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
    caller = await office.token_caller(made.token)
    found = [{right for right in set(Right) - CLUSTER_RIGHTS if caller.may(right, each)} for each in ("etl", "bi")]
    assert found == [in_etl, in_bi]
    assert {right for right in CLUSTER_RIGHTS if caller.may(right)} == cluster
    assert caller.projects_with(V) == {name for name, rights in (("etl", in_etl), ("bi", in_bi)) if V in rights}


async def test_the_token_of_an_admin_is_limited_too(office: Office) -> None:
    await office.account("anna", is_admin=True)
    admin = await office.caller()
    assert admin.may(A)
    limited = await office.token(admin, Scope.ADMIN, projects={"etl"})
    caller = await office.token_caller(limited.token)
    assert [caller.may(A), caller.may(W, "etl"), caller.may(V, "bi")] == [False, True, False]
    assert caller.projects_with(V) == {"etl"}
    reader = await office.token(admin, Scope.RUNS_READ, name="reader")
    caller = await office.token_caller(reader.token)
    assert [caller.may(A), caller.may(V, "bi"), caller.may(O, "bi")] == [False, True, False]
    assert caller.projects_with(V) is None
    assert [caller.may_in_scope(each) for each in (Scope.RUNS_READ, Scope.DEFINITIONS_READ)] == [True, False]
    assert admin.may_in_scope(Scope.DEFINITIONS_WRITE)


async def test_what_was_taken_away_is_known_at_the_next_request(office: Office) -> None:
    await office.account("anna", etl=Role.OWNER)
    logged_in = await office.log_in()
    made = await office.token(await office.session(logged_in.secret), Scope.ADMIN)
    await office.ask(ROOT, project_access.put_member, "etl", "anna", MemberRole(role=Role.VIEWER))
    for caller in (await office.session(logged_in.secret), await office.token_caller(made.token)):
        assert not caller.may(O, "etl")
    await office.sql("UPDATE account SET disabled_at = clock_timestamp()")
    with pytest.raises(Unauthenticated):
        await office.session(logged_in.secret)
    with pytest.raises(Unauthenticated, match="unknown, revoked or expired"):
        await office.token_caller(made.token)


async def test_a_caller_is_made_by_one_statement(office: Office) -> None:
    await office.account("anna", etl=Role.OWNER, bi=Role.VIEWER)
    logged_in = await office.log_in()
    made = await office.token(await office.session(logged_in.secret), Scope.ADMIN)
    with sent_statements() as sent:
        async with office.database.reading() as connection:
            await Caller.of_session(connection, logged_in.secret, HERE)
    assert len(sent) == 1
    with sent_statements() as sent:
        await office.token_caller(made.token)
        with pytest.raises(Unauthenticated):
            await office.token_caller(made.token + "0")
    assert len(sent) == 1, "and none for what is no token"


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
            await office.token(await office.token_caller(token.token), Scope.ADMIN, name="more")
    wide = await office.token(owner, Scope.ADMIN, name="wide")
    await office.token(await office.token_caller(wide.token), Scope.RUNS_READ, name="less")


async def test_a_token_is_revoked_by_its_account_by_itself_and_by_no_other(office: Office) -> None:
    await office.account("anna")
    await office.account("berta")
    anna, berta = await office.caller("anna"), await office.caller("berta")
    assert anna.account is not None
    first = await office.token(anna, Scope.RUNS_READ, name="first")
    second = await office.token(anna, Scope.RUNS_READ, name="second")
    itself = await office.token_caller(first.token)
    revoke = own_tokens.revoke_token
    with pytest.raises(Forbidden):
        await office.ask(berta, revoke, anna.account, first.id)
    with pytest.raises(Forbidden):
        await office.ask(itself, revoke, anna.account, second.id)
    await office.ask(itself, revoke, anna.account, first.id)
    with pytest.raises(NotFound, match="still valid"):
        await office.ask(anna, revoke, anna.account, first.id)
    listed = await office.ask(anna, own_tokens.list_tokens, anna.account, PageQuery())
    assert [token.name for token in listed.items] == ["second", "first"]
    with pytest.raises(Unauthenticated):
        await office.token_caller(first.token)


@pytest.mark.parametrize(("fields", "said"), [
    ({"name": " "}, "needs a name"), ({"name": "a\nb"}, "needs a name"), ({"name": "x" * 101}, "at most 100"),
    ({"lives_s": 0}, "greater than or equal to 60"), ({"lives_s": 367 * 86_400}, "less than or equal"),
    ({"scopes": []}, "at least 1"), ({"scopes": ["everything"]}, "scopes.0"), ({"projects": []}, "at least 1"),
])  # fmt: skip
async def test_a_token_that_may_not_be_made(office: Office, fields: dict[str, object], said: str) -> None:
    anna = await office.account()
    with pytest.raises(Refused, match=said):
        wanted = NewToken.read(**{"name": "ci", "scopes": [Scope.ADMIN], **fields})
        await office.ask(ROOT, own_tokens.make_token, anna.id, wanted)
    assert await office.sql("SELECT count(*) FROM token") == [0]


# -------------------------------------------------------------------------------------- members and the audit


async def test_only_an_owner_or_admin_changes_members_and_only_an_admin_what_a_project_may_use(office: Office) -> None:
    await office.account("anna", etl=Role.OWNER)
    await office.account("berta", etl=Role.EDITOR)
    owner, editor = await office.caller("anna"), await office.caller("berta")
    put, remove = project_access.put_member, project_access.remove_member
    await office.ask(owner, put, "etl", "BERTA", MemberRole(role=Role.OPERATOR))
    as_owner = MemberRole(role=Role.OWNER)
    for forbidden in (
        office.ask(editor, put, "etl", "berta", as_owner),
        office.ask(editor, remove, "etl", "anna"),
        office.ask(owner, project_access.set_project_limits, "etl", Limits(tenants=["root"])),
        office.ask(owner, people.create_user, NewUser(name="carla")),
        office.ask(owner, people.make_login_link, 1),
        office.ask(owner, people.list_users, PageQuery()),
    ):
        with pytest.raises(Forbidden):
            await forbidden
    with pytest.raises(Hidden):
        await office.ask(owner, put, "bi", "anna", as_owner)
    with pytest.raises(NotFound, match='no account "nobody"'):
        await office.ask(owner, put, "etl", "nobody", as_owner)
    await office.ask(owner, remove, "etl", "berta")
    with pytest.raises(NotFound, match="no member"):
        await office.ask(owner, remove, "etl", "berta")
    assert [member.name for member in (await office.ask(owner, project_access.list_members, "etl")).items] == ["anna"]
    limits = Limits(tenants=["etl"], worker_groups=["big"])
    await office.ask(ROOT, project_access.set_project_limits, "etl", limits)
    assert await office.ask(owner, project_access.get_project_limits, "etl") == limits


async def test_each_change_stands_in_the_audit_with_before_and_after_and_from_where(office: Office) -> None:
    await office.account("anna", is_admin=True)
    anna = await office.caller()
    await office.account("berta", etl=Role.VIEWER)
    await office.ask(anna, project_access.put_member, "etl", "berta", MemberRole(role=Role.EDITOR))
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
    assert made.token not in stored
    actions = {action for _, action in await office.audited()}
    assert actions == {"create_user", "put_member", "set_user_password", "log_in", "make_token"}


async def test_a_change_that_is_undone_is_not_audited(office: Office) -> None:
    anna = await office.account(is_admin=True)
    before = await office.audited()
    with pytest.raises(Refused, match="the last admin"):
        await office.change(anna.id, disabled=True)
    assert await office.audited() == before


async def test_an_owner_reads_the_audit_of_its_projects_and_an_admin_all(office: Office) -> None:
    await office.account("anna", etl=Role.OWNER, bi=Role.EDITOR)
    await office.account("berta", bi=Role.OWNER)
    anna = await office.caller()

    async def projects(caller: Caller, project: str | None = None) -> set[str | None]:
        page = await office.ask(caller, audit_pages.list_audit, AuditQuery(project=project))
        return {entry.project for entry in page.items}

    assert await projects(ROOT) == {None, "etl", "bi"}
    assert await projects(anna) == {"etl"}
    with pytest.raises(Forbidden):
        await projects(anna, "bi")


async def test_the_audit_is_filtered(office: Office) -> None:
    anna = await office.account("anna", etl=Role.OWNER)
    (now,) = await office.sql("SELECT clock_timestamp()")
    await office.account("berta")

    async def found(**query: object) -> list[tuple[str, str | None]]:
        page = await office.ask(ROOT, audit_pages.list_audit, AuditQuery.read(**query))
        return [(entry.action, entry.object_name) for entry in page.items]

    of_anna = [("set_user_password", "anna"), ("create_user", "anna")]
    assert await found(object_kind="account", object_id=str(anna.id)) == of_anna
    assert await found(since=now) == [("set_user_password", "berta"), ("create_user", "berta")]
    assert await found(until=now, action="put_member", actor="root", outcome="DONE") == [("put_member", "anna")]
    assert await found(outcome="DENIED") == []
    first = await office.ask(ROOT, audit_pages.list_audit, AuditQuery(limit=4))
    last = await office.ask(ROOT, audit_pages.list_audit, AuditQuery(limit=4, cursor=first.next_cursor))
    assert ([entry.object_name for entry in last.items], last.has_more) == (["anna"], False)
