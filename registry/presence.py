"""The nodes that the registry shows, if the absence of the others may be used against them."""

from __future__ import annotations

from model.cluster.nodes import NodeKind
from model.errors import Unavailable
from model.ids import Epoch
from registry.clock import boottime_s
from registry.protocol import ConnectionState, Registry


async def present(registry: Registry, longest_session_s: float) -> set[Epoch] | None:
    """Epochs from a fresh read of a connected registry; None when it cannot be trusted now.

    It is trusted only after we have been connected for the longest session time-out that any node may have: the
    registry may have come back empty, and a worker that has lost the database continues for as long as it believes in
    its session. Checked again after the read, which may have waited for a new session.
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
