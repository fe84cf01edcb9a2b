"""`shoal login`: a token of this user for a server, which the other verbs use from then on."""

from __future__ import annotations

import secrets
import socket
from typing import Annotated

import typer

from model.accounts.rights import Scope
from model.errors import Forbidden, Refused
from service.accounts import own_account, own_tokens
from shoal.cli.invocation import Invocation, system_user
from shoal.cli.output import print_result
from shoal.cli.secrets import read_secret
from shoal.cli.verbs import verb
from shoal.clients import remote
from shoal.config.logins import store_token, stored_token


def add_to(app: typer.Typer) -> None:
    server = "--server https://shoal.example.org"
    verb(app, f"shoal login {server}", "shoal login --link < link.txt", f"shoal login --logout {server}")(login)


async def login(
    call: Invocation,
    name: Annotated[str | None, typer.Option(help="The account; else asked for.")] = None,
    link: Annotated[bool, typer.Option("--link", help="With a login link, from standard input or a prompt.")] = False,
    logout: Annotated[bool, typer.Option("--logout", help="Log out: revoke that token, and remove it.")] = False,
) -> None:
    """Log in to a server, with a password from a prompt or standard input, and store a token for it."""
    server = call.own_settings({}).server
    if server is None:
        raise Refused("say to which server: --server https://shoal.example.org, or SHOAL_SERVER")
    if logout:
        if name is not None or link:
            raise Refused("--logout takes neither --name nor --link; it ends the login that is stored for the server")
        await _log_out(call, server)
        return
    if link:
        given = {"link": read_secret("login link").strip().rpartition("link=")[2]}
    else:
        name = name or str(typer.prompt("Name"))
        given = {"name": name, "password": read_secret("Password")}
    async with remote.RemoteClient(server, None) as client:
        await client.log_in(given)
        try:
            me = await client.ask(own_account.get_me)
            assert me.account is not None
            # A new name each time, since the token of an earlier login may be in use.
            of_machine = f"shoal login of {system_user()} on {socket.gethostname()[:40]}, {secrets.token_hex(3)}"
            proof = {what: secret for what, secret in given.items() if what != "name"}
            wanted = own_tokens.NewToken.read(name=of_machine, scopes=[Scope.ADMIN], **proof)
            made = await client.ask(own_tokens.make_token, me.account, wanted)
            file = store_token(server, made.token)
        finally:
            await client.log_out()
    fields = {"server": server, "name": me.name, "expires_at": made.expires_at, "file": str(file)}
    said = f"You are logged in to {server} as {me.name}."
    print_result(call, fields, said, f"End it: shoal login --logout --server {server}")


async def _log_out(call: Invocation, server: str) -> None:
    token = stored_token(server)
    if token is None:
        raise Refused(f"nobody is logged in to {server} here; `shoal login` does that")
    async with remote.RemoteClient(server, token) as client:
        try:
            me = await client.ask(own_account.get_me)
            if me.account is not None and me.token is not None:
                await client.ask(own_tokens.revoke_token, me.account, me.token)
        except Forbidden:
            pass  # it has ended already
    store_token(server, None)
    print_result(call, {"server": server}, f"You are logged out of {server}.")
