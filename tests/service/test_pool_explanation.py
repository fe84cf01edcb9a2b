"""`service/explain/pool_explanation.py`: what a task waits for, in a sentence."""

from __future__ import annotations

from dao.pools.pool_readings import PoolReading
from service.explain.pool_explanation import why_waits_for_pools
from tests.every import every


@every(
    ("pool", "sentence"),
    [
        (
            PoolReading("proxies", 1, 40, taken=40, place=4, next_in_s=20),
            "load waits for pool proxies: 40 of 40 taken; it is 4th in line, the next frees in about 20 s.",
        ),
        (
            PoolReading("proxies", 3, 40, taken=38, set_aside=1, checked=1),
            "load waits for pool proxies: 38 of 40 taken, 1 set aside, 1 checked; it is next in line, and needs 3.",
        ),
        (
            PoolReading("p", 1, 1, taken=1, by_streams=1),
            "load waits for pool p: 1 of 1 taken, by a stream, which runs until it is stopped; it is next in line.",
        ),
        (
            PoolReading("p", 1, 6, taken=6, by_streams=6, place=2),
            "load waits for pool p: 6 of 6 taken, by streams, which run until they are stopped; it is 2nd in line.",
        ),
        (
            PoolReading("p", 1, 6, taken=6, by_streams=4, next_in_s=20),
            "load waits for pool p: 6 of 6 taken, 4 by streams, which run until they are stopped; it is next in line, "
            "the next frees in about 20 s.",
        ),
        (PoolReading("proxies", 1, None), "load waits for pool proxies, which does not exist."),
        (PoolReading("p", 5, 3), "load needs 5 of pool p, which has only 3: it can never begin."),
        (
            PoolReading("p", 1, 2, set_aside=2, set_aside_why="its check failed: 500."),
            "load waits for pool p: all set aside: its check failed: 500.",
        ),
        (
            PoolReading("p", 2, 3, set_aside=2, set_aside_why="broken"),
            "load waits for pool p: 2 of 3 set aside: broken.",
        ),
    ],
)
def test_what_a_task_waits_for(pool: PoolReading, sentence: str) -> None:
    free = PoolReading("other", 1, 5)
    why = why_waits_for_pools("load", [free, pool])
    assert why is not None
    assert why.sentence == sentence


def test_a_number_that_was_made_smaller_is_explained() -> None:
    why = why_waits_for_pools("load", [PoolReading("p", 1, 2, taken=1, leaving=1)])
    assert why is not None
    assert why.sentence == "load waits for pool p: 1 of 2 taken, 1 removed and still held; it is next in line."


def test_a_pool_that_has_what_it_needs_explains_nothing() -> None:
    assert why_waits_for_pools("load", [PoolReading("p", 1, 5, taken=4)]) is None


def test_a_pool_that_has_too_little_is_named_before_one_with_others_in_its_line() -> None:
    enough, taken = PoolReading("a", 1, 40, taken=1, place=2), PoolReading("b", 1, 1, taken=1)
    why = why_waits_for_pools("load", [enough, taken])
    assert why is not None
    assert why.sentence == "load waits for pool b: 1 of 1 taken; it is next in line."
    why = why_waits_for_pools("load", [enough])
    assert why is not None
    assert why.sentence == "load waits for pool a: 1 of 40 taken; it is 2nd in line."


def test_what_is_free_and_kept_for_one_before_is_explained() -> None:
    why = why_waits_for_pools(
        "load", [PoolReading("p", 1, 2, 1, place=2, by_streams=1, kept_for="7/big", kept_needs=2)]
    )
    assert why is not None
    assert why.sentence == (
        "load waits for pool p: 1 of 2 taken, by a stream, which runs until it is stopped; it is 2nd in line, and what "
        "is free is kept for 7/big before it, which needs 2, and waits for what a stream holds."
    )
    why = why_waits_for_pools("load", [PoolReading("p", 1, 3, 2, place=2, kept_for="a task", kept_needs=2)])
    assert why is not None
    assert why.sentence == (
        "load waits for pool p: 2 of 3 taken; it is 2nd in line, and what is free is kept for a task before it, which "
        "needs 2."
    )


def test_who_is_eleventh_or_second_is_said_so() -> None:
    def place(number: int) -> str:
        why = why_waits_for_pools("load", [PoolReading("p", 1, 1, taken=1, place=number)])
        assert why is not None
        return why.sentence.partition("it is ")[2]

    assert [place(number) for number in (2, 11, 23)] == ["2nd in line.", "11th in line.", "23rd in line."]
