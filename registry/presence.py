"""Whom the registry shows, when that may be used against those whom it does not show."""

from __future__ import annotations

from model.errors import Unavailable
from model.ids import Epoch
from model.nodes import NodeKind
from registry.contact import boottime_s
from registry.protocol import ConnectionState, Registry


async def present(registry: Registry, longest_session_s: float) -> set[Epoch] | None:
    """Epochs in a fresh read of a connected registry; None when it cannot be trusted now.

    Not before we have been connected for as long as sessions last, the longest that anybody may have: it may have come
    back empty, and a worker that has lost the database goes on for as long as it believes in its session. Asked again
    after the read, which may have waited for a new session.
    """
    trusted_since_s = boottime_s() - longest_session_s
    if registry.unbroken_since > trusted_since_s:
        return None
    try:
        members = [*await registry.members(NodeKind.MASTER), *await registry.members(NodeKind.WORKER)]
    except Unavailable:
        return None
    if registry.state is not ConnectionState.CONNECTED or registry.unbroken_since > trusted_since_s:
        return None
    return {member.epoch for member in members}
