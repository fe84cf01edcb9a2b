"""Masters that seemed dead when this one joined: until they are settled, this one takes no commands.

It may replace a master that died of its commands, which are not marked as suspect before that one is fenced. A mistake
here only costs a wait at the start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from dao.cluster.node_rows import NodeRow
from model.cluster.nodes import NodeKind
from model.cluster.timing import Timing
from model.ids import Epoch
from registry.process import is_gone

DOUBTFUL_BEATS = 2
"""A master whose last beat is older than this many beat intervals seems dead to a joining master."""


class Doubts:
    """`over` is set once every master that seemed dead has beaten again or was fenced."""

    def __init__(self, timing: Timing) -> None:
        self.over = asyncio.Event()
        self._timing = timing
        self._beats: dict[Epoch, int] = {}

    def begin(self, living: Iterable[NodeRow]) -> None:
        """Note which masters seem dead."""
        masters = (node for node in living if node.kind is NodeKind.MASTER)
        self._beats = {node.epoch: node.beat_no for node in masters if self._seems_gone(node) or is_gone(node.process)}
        self._end_if_none_is_left()

    def resolve(self, living: Iterable[NodeRow]) -> None:
        """Remove those that have beaten since, or live no more."""
        if not self.over.is_set():
            beats = {node.epoch: node.beat_no for node in living}
            self._beats = {epoch: beat for epoch, beat in self._beats.items() if beats.get(epoch) == beat}
            self._end_if_none_is_left()

    def was_fenced(self, epoch: Epoch) -> None:
        self._beats.pop(epoch, None)

    def _seems_gone(self, node: NodeRow) -> bool:
        silence = node.silence or node.kind.silence(self._timing)
        return node.beat_age_s > DOUBTFUL_BEATS * silence.beat_s

    def _end_if_none_is_left(self) -> None:
        if not self._beats:
            self.over.set()
