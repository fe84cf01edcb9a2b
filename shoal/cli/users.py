"""`shoal user`: who may log in; with the tokens of an account, and what each did."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer

from model.accounts.tokens import TokensEnd
from service import paging as pages
from service.accounts import people
from shoal.cli import audit, tokens
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.output import answer_fields, print_result
from shoal.cli.secrets import read_secret
from shoal.cli.verbs import new_group, verb
from shoal.clients.client import Client
from shoal.clients.pages import all_items

AccountName = Annotated[str, typer.Argument(metavar="NAME", help="The account.")]


def add_to(app: typer.Typer) -> None:
    group = new_group(
        app, "user", "Accounts: who may log in, with which tokens, who is an admin, and who changed what."
    )
    verb(group, "shoal user list", name="list")(list_all)
    verb(group, "shoal user add anna", "shoal user add ada --admin")(add)
    verb(group, "shoal user link anna")(link)
    verb(group, "shoal user password anna", "shoal user password anna --end-tokens all < password.txt")(password)
    verb(group, "shoal user disable anna")(disable)
    verb(group, "shoal user enable anna")(enable)
    verb(group, "shoal user admin anna", "shoal user admin anna --no")(admin)
    tokens.add_to(group)
    audit.add_to(group)


async def list_all(call: Invocation) -> None:
    """List the accounts."""
    async with call.client() as client:
        found = await all_items(lambda page: client.ask(people.list_users, page), pages.PageQuery())
        await USERS.show(call, client, found)


async def add(
    call: Invocation,
    name: AccountName,
    is_admin: Annotated[bool, typer.Option("--admin", help="It may do everything.")] = False,
) -> None:
    """Make an account, and a link by which it logs in for the first time."""
    async with call.client() as client:
        made = await client.ask(people.create_user, people.NewUser.read(name=name, is_admin=is_admin))
        link = await client.ask(people.make_login_link, made.id)
    said = f"Account {made.name} is made. It logs in once, within 5 minutes, by /login?link={link.secret}"
    print_result(call, {**answer_fields(made), "link": link.secret}, said, _role_hint(made.name))


async def link(call: Invocation, name: AccountName) -> None:
    """Make a link by which an account logs in once, within 5 minutes, without its password."""
    async with call.client() as client:
        made = await client.ask(people.make_login_link, (await _found(client, name)).id)
    said = f"{made.name} logs in once, within 5 minutes, by /login?link={made.secret}"
    print_result(call, answer_fields(made), said, "It follows the address of an API; or: shoal login --link")


async def password(
    call: Invocation,
    name: AccountName,
    end_tokens: Annotated[
        TokensEnd, typer.Option(case_sensitive=False, help="Which tokens of the account end too.")
    ] = TokensEnd.MADE_BY_SESSIONS,
) -> None:
    """Give an account a password, from standard input or a prompt. It is logged out everywhere."""
    given = read_secret("new password")
    async with call.client() as client:
        user = await _found(client, name)
        await client.ask(
            people.set_user_password, user.id, people.NewPassword.read(password=given, end_tokens=end_tokens)
        )
    print_result(call, {"name": user.name}, f"{user.name} has a new password, and is logged out everywhere.")


async def disable(call: Invocation, name: AccountName) -> None:
    """Disable an account: it is out at once, and may not log in. Its tokens are refused meanwhile."""
    await _change(call, name, "is disabled", disabled=True)


async def enable(call: Invocation, name: AccountName) -> None:
    """Let a disabled account in again."""
    await _change(call, name, "may log in again", disabled=False)


async def admin(
    call: Invocation,
    name: AccountName,
    no: Annotated[bool, typer.Option("--no", help="Take the right away.")] = False,
) -> None:
    """Make an account an admin, who may do everything."""
    await _change(call, name, "is no longer an admin" if no else "is an admin", is_admin=not no)


async def _change(call: Invocation, name: str, said: str, **what: bool) -> None:
    async with call.client() as client:
        changed = await client.ask(people.change_user, (await _found(client, name)).id, people.ChangeUser(**what))
    print_result(call, answer_fields(changed), f"{changed.name} {said}.")


async def _found(client: Client, name: str) -> people.UserAnswer:
    return await client.ask(people.find_user, people.UserReference.read(name=name))


def _state(user: people.UserAnswer) -> str:
    if user.disabled_at is not None:
        return "disabled"
    return "has a password" if user.has_password else "no password yet"


def _role_hint(name: str) -> str:
    return f"Give it a role in a project: shoal project member set {quote(name)} OPERATOR --project NAME"


USERS: Listing[people.UserAnswer] = Listing(
    (
        Field("NAME", lambda each: each.name),
        Field("ADMIN", lambda each: "admin" if each.is_admin else ""),
        Field("STATE", _state),
        Field("MADE", lambda each: each.created_at, keep=0, right=True),
        Field("ID", lambda each: each.id, keep=1, right=True),
    ),
    none="There is no account yet.",
    first="Make one: shoal user add NAME --admin",
    then="Let one in: shoal user link NAME",
)
