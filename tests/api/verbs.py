"""The same verbs on the database itself and through the API."""

from __future__ import annotations

from tests.api.serving import Serving, token_of
from tests.shoal.command_line import CommandLine


async def through(api: Serving, name: str = "verbs") -> CommandLine:
    """The command line through the API, as a new admin."""
    return CommandLine.at(SHOAL_SERVER=api.url, SHOAL_TOKEN=await token_of(api.backend, name, is_admin=True))


async def assert_same(direct: CommandLine, remote: CommandLine, *calls: str) -> None:
    """Each of these verbs prints the same, in the same way, on both ways."""
    for call, one, other in zip(calls, await direct.each(*calls), await remote.each(*calls), strict=True):
        assert (other.code, other.out, other.err) == (one.code, one.out, one.err), f"{call}: {one} / {other}"
