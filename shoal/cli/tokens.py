"""`shoal user token`: what programs send instead of a login."""

from __future__ import annotations

from typing import Annotated

import typer

from model.accounts.rights import parse_scopes
from model.errors import Refused
from model.time.durations import read_duration
from service import paging as pages
from service.accounts import own_account, own_tokens, people
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.output import answer_fields, print_result
from shoal.cli.verbs import new_group, verb
from shoal.clients.client import Client
from shoal.clients.pages import all_items

User = Annotated[str | None, typer.Option(help="Whose; else that of the caller.", metavar="NAME")]
TOKENS: Listing[own_tokens.TokenAnswer] = Listing(
    (
        Field("ID", lambda each: each.id, right=True),
        Field("NAME", lambda each: each.name),
        Field("SCOPES", lambda each: each.scopes, sentence=True),
        Field("PROJECTS", lambda each: each.projects or "all", keep=1, sentence=True),
        Field("ENDS", lambda each: "revoked" if each.revoked_at is not None else each.expires_at, right=True),
        Field("USED", lambda each: each.last_used_at or "never", keep=0, right=True),
        Field("FROM", lambda each: each.last_used_from or "", keep=0),
    ),
    none="There is no token.",
    first="Make one: shoal user token make NAME --scope runs:write",
    then="End one: shoal user token revoke ID",
)


def add_to(above: typer.Typer) -> None:
    group = new_group(above, "token", "Tokens: what programs send instead of a login.")
    verb(group, "shoal user token list", "shoal user token list --user anna", name="list")(list_all)
    verb(
        group,
        "shoal user token make ci --scope runs:write --server https://shoal.example.org",
        "shoal user token make deploy --user anna --scope definitions:write --project etl --expires-in 30d",
    )(make)
    verb(group, "shoal user token revoke 12 --user anna")(revoke)


async def list_all(call: Invocation, user: User = None) -> None:
    """List the tokens of an account, newest first, with those that ended."""
    async with call.client() as client:
        account = await _account(client, user)
        found = await all_items(lambda page: client.ask(own_tokens.list_tokens, account, page), pages.PageQuery())
        await TOKENS.show(call, client, found)


async def make(
    call: Invocation,
    name: Annotated[str, typer.Argument(help="What it is for; each token of an account has another name.")],
    scope: Annotated[list[str], typer.Option(help="Such as runs:write; may be repeated.")],
    project: Annotated[list[str] | None, typer.Option(help="Only for this project; may be repeated.")] = None,
    expires_in: Annotated[str, typer.Option(help="When it ends: 30d, 12h; at most 366d.")] = "90d",
    user: User = None,
) -> None:
    """Make a token. It is shown this once: put it where secrets are kept."""
    lives_s = read_duration(expires_in, "--expires-in").total_seconds()
    wanted = own_tokens.NewToken.read(
        name=name, scopes=sorted(parse_scopes(scope)), projects=project or None, lives_s=lives_s
    )
    async with call.client() as client:
        made = await client.ask(own_tokens.make_token, await _account(client, user), wanted)
    print_result(
        call, answer_fields(made), made.token, "It is not shown again. Programs send it; verbs take SHOAL_TOKEN."
    )


async def revoke(
    call: Invocation,
    token: Annotated[int, typer.Argument(metavar="ID", help="Which; `shoal user token list` shows it.")],
    user: User = None,
) -> None:
    """End a token."""
    async with call.client() as client:
        ended = await client.ask(own_tokens.revoke_token, await _account(client, user), token)
    print_result(call, answer_fields(ended), f'Token {ended.id} "{ended.name}" is revoked.')


async def _account(client: Client, user: str | None) -> int:
    """The account whose tokens are meant. Raises `NotFound`, `Refused` if the caller is no account and names none."""
    me = await client.ask(own_account.get_me)
    if me.account is not None and user in (None, me.name):
        return me.account
    if user is None:
        raise Refused("on the database itself there is no account of yours; say whose tokens: --user NAME")
    return (await client.ask(people.find_user, people.UserReference.read(name=user))).id
