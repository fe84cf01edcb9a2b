"""Workflows that are filled with another one, since they depend on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from model.accounts.rights import Right
from model.errors import Forbidden

if TYPE_CHECKING:
    from dao.definitions.definitions import Definition
    from service.call import Call


def check_dependents(call: Call, dependents: Iterable[Definition]) -> None:
    """Let nobody fill the workflows that depend on another one, who may not start them directly. Raises `Forbidden`."""
    for each in dependents:
        if not call.caller.may(Right.VIEW, each.project):
            raise Forbidden(
                f"a workflow that would be filled too belongs to another project, and {call.caller.name} may not start "
                "it; leave the dependents out, or ask an admin"
            )
        call.permit(each.project)
