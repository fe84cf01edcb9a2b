"""Batches: what comes while one is under way is the next one, and each request has its own answer or error."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from dao.postgres.errors import BadData
from model.errors import Refused, Unavailable
from service.batches import AT_ONCE_MAX, BATCH_MAX, Batches
from tests.eventually import eventually


class Handler:
    """Doubles numbers when `gate` is open; refuses 0, cannot write -1, and is `out_of_order` where that is set."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.gate = asyncio.Event()
        self.out_of_order: Exception | None = None

    async def __call__(self, numbers: Sequence[int]) -> list[int | Exception]:
        self.batches.append(list(numbers))
        await self.gate.wait()
        if self.out_of_order is not None:
            raise self.out_of_order
        if -1 in numbers:
            raise BadData("-1")
        return [Refused("0") if number == 0 else 2 * number for number in numbers]


async def asking(batches: Batches, handler: Handler, *numbers: int) -> list[asyncio.Task[int]]:
    """Their requests, which have been sent."""
    tasks = [asyncio.create_task(batches.ask(handler, number)) for number in numbers]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


async def test_those_that_come_while_a_batch_is_under_way_are_the_next_one() -> None:
    batches, handler = Batches(), Handler()
    first = await asking(batches, handler, 1)
    rest = await asking(batches, handler, 2, 3, 0, 4)
    assert handler.batches == [[1]]
    handler.gate.set()
    answers = await asyncio.gather(*first, *rest, return_exceptions=True)
    assert handler.batches == [[1], [2, 3, 0, 4]]
    assert [answer for answer in answers if not isinstance(answer, Refused)] == [2, 4, 6, 8]
    assert isinstance(answers[3], Refused), "and that one alone"


async def test_a_batch_has_a_largest_size() -> None:
    batches, handler = Batches(), Handler()
    tasks = await asking(batches, handler, *range(1, BATCH_MAX + 3))
    handler.gate.set()
    assert await asyncio.gather(*tasks) == [2 * number for number in range(1, BATCH_MAX + 3)]
    assert list(map(len, handler.batches)) == [BATCH_MAX, 2]


async def test_one_that_cannot_be_written_fails_alone() -> None:
    batches, handler = Batches(), Handler()
    handler.gate.set()
    answers = await asyncio.gather(*await asking(batches, handler, 1, -1, 2), return_exceptions=True)
    assert (answers[0], answers[2]) == (2, 4)
    assert isinstance(answers[1], BadData)
    assert handler.batches == [[1, -1, 2], [1], [-1, 2], [-1], [2]]


async def test_the_one_to_blame_is_found_by_halves() -> None:
    batches, handler = Batches(), Handler()
    handler.gate.set()
    numbers = [-1 if number == 40 else number for number in range(1, BATCH_MAX + 1)]
    answers = await asyncio.gather(*await asking(batches, handler, *numbers), return_exceptions=True)
    assert [type(answer) for answer in answers].count(BadData) == 1
    assert len(handler.batches) == 13, "the whole, and two halves six times"


@pytest.mark.parametrize("error", [Unavailable("away"), ValueError("a bug")])
async def test_any_other_error_is_everybodys_and_nothing_is_repeated(error: Exception) -> None:
    batches, handler = Batches(), Handler()
    handler.out_of_order = error
    handler.gate.set()
    assert await asyncio.gather(*await asking(batches, handler, 1, 2), return_exceptions=True) == [error, error]
    assert handler.batches == [[1, 2]]
    handler.out_of_order = None
    assert await batches.ask(handler, 3) == 6


async def test_a_slow_batch_does_not_keep_the_next_ones_waiting() -> None:
    """Such as one whose connection is dead, which is known only after seconds."""
    gates = {number: asyncio.Event() for number in range(1, AT_ONCE_MAX + 4)}
    batches, begun = Batches(), list[list[int]]()

    async def handler(numbers: Sequence[int]) -> list[int | Exception]:
        begun.append(list(numbers))
        await asyncio.gather(*[gates[number].wait() for number in numbers])
        return list(numbers)

    tasks = []
    for number in gates:
        tasks.append(asyncio.create_task(batches.ask(handler, number)))
        if number <= AT_ONCE_MAX:
            await eventually(lambda number=number: begun[-1:] == [[number]])
    await asyncio.sleep(0)
    gates[4].set()
    gates[5].set()
    gates[2].set()
    assert await asyncio.wait_for(tasks[1], 30) == 2
    await eventually(lambda: len(begun) == AT_ONCE_MAX + 1)
    assert begun == [[1], [2], [3], [4, 5, 6]], "no more at once, then those that have waited, together"
    gates[6].set()
    assert await asyncio.gather(*tasks[3:]) == [4, 5, 6]
    gates[1].set()
    gates[3].set()
    assert await asyncio.gather(*tasks) == list(gates)
    assert len(begun) == AT_ONCE_MAX + 1


async def test_a_caller_that_goes_disturbs_no_other_and_is_left_out_if_its_batch_has_not_begun() -> None:
    batches, handler = Batches(), Handler()
    under_way = await asking(batches, handler, 1, 2)
    waiting = await asking(batches, handler, 3, 4)
    under_way[0].cancel()
    waiting[0].cancel()
    await asyncio.sleep(0)
    handler.gate.set()
    assert await asyncio.gather(under_way[1], waiting[1]) == [4, 8]
    assert handler.batches == [[1, 2], [4]]


async def test_a_batch_whose_callers_have_all_gone_is_not_handled() -> None:
    batches, handler = Batches(), Handler()
    first = await asking(batches, handler, 1)
    gone = await asking(batches, handler, 2, 3)
    for task in gone:
        task.cancel()
    await asyncio.sleep(0)
    handler.gate.set()
    await asyncio.gather(*first)
    assert await batches.ask(handler, 4) == 8
    assert handler.batches == [[1], [4]]
