"""What a node remembers until beats cover it."""

from __future__ import annotations

from dao.cluster.went_back import KNOWN_MAX
from node.confirmed_ids import ConfirmedIds
from tests.master.lives import begin_life


async def test_what_was_confirmed_is_remembered_until_the_second_beat(database_url: str) -> None:
    life = await begin_life(database_url)
    try:
        lately = ConfirmedIds[int](life)
        seen = []
        for number in range(4):
            lately.add([number])
            life.beats_settled += 1
            seen.append(list(lately))
        assert seen == [[0], [1], [2], [3]], "one beat may have been under way"
        lately.add(range(2 * KNOWN_MAX))
        assert len(list(lately)) == KNOWN_MAX
        assert next(iter(lately)) == 2 * KNOWN_MAX - 1
    finally:
        await life.close()
