"""Blocking work in a thread of its own, and what a cancellation does to it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from worker.statements.thread import run_in_thread, run_on_own_loop


async def test_the_result_and_the_error_are_those_of_the_work() -> None:
    assert await run_in_thread(lambda: 42, lambda: None, 1) == 42
    with pytest.raises(ZeroDivisionError):
        await run_in_thread(lambda: 1 // 0, lambda: None, 1)


async def test_a_cancellation_interrupts_until_the_work_has_ended() -> None:
    asked, begun, ended = threading.Semaphore(0), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        for _ in range(3):  # the first two come before there is something to interrupt
            asked.acquire()
        ended.set()

    def interrupt() -> None:
        asked.release()
        raise OSError("a driver may raise even though it did what it was asked")

    running = asyncio.create_task(run_in_thread(work, interrupt, 30))
    assert await asyncio.to_thread(begun.wait, 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended.is_set()


async def test_work_that_hangs_is_left_to_itself_after_a_while() -> None:
    begun, never = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        never.wait(60)

    running = asyncio.create_task(run_in_thread(work, lambda: None, 0.2))
    assert await asyncio.to_thread(begun.wait, 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    never.set()


async def test_a_coroutine_on_its_own_loop_gives_its_result_and_its_error() -> None:
    async def work(divisor: int) -> int:
        return await asyncio.to_thread(lambda: 42 // divisor)

    assert await run_on_own_loop(lambda: work(1), 1) == 42
    with pytest.raises(ZeroDivisionError):
        await run_on_own_loop(lambda: work(0), 1)


async def test_a_coroutine_on_its_own_loop_starts_no_second_thread() -> None:
    async def threads() -> set[int]:
        return {threading.get_ident(), await asyncio.to_thread(threading.get_ident)}

    [ident] = await run_on_own_loop(threads, 1)
    assert ident != threading.get_ident()


async def test_a_cancellation_lets_a_coroutine_on_its_own_loop_clean_up() -> None:
    begun, cleaned_up = threading.Event(), threading.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.5)  # longer than the pause between two interrupts
            cleaned_up.set()

    running = asyncio.create_task(run_on_own_loop(work, 30))
    assert await asyncio.to_thread(begun.wait, 60)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert cleaned_up.is_set()
