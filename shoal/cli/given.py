"""What verbs are given that start workflows: values as `name=value`, and a workflow that may be started."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from model.choices import ReleaseState
from model.errors import Refused

if TYPE_CHECKING:
    from dao.definitions import Definition


def values(given: Sequence[str], option: str = "--param") -> dict[str, str]:
    """Values by their names. Raises `Refused`, naming the `option`."""
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise Refused(f'{option} "{each}" has no value; write it as name=value')
        found[name] = value
    return found


def startable(head: Definition) -> Definition:
    """The same. Raises `Refused` for a workflow that is OFFLINE."""
    if head.release_state is not ReleaseState.ONLINE:
        raise Refused(f'workflow "{head.name}" is OFFLINE; put it ONLINE before starting it')
    return head
