"""`AsyncClient`: starts flows, waits for them, and reads their results and logs, over the REST API, for asyncio."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any

import httpx
from typing_extensions import TypeVar

from shoal_sdk.errors import SdkError
from shoal_sdk.exchange import TIMEOUT_S, Answer, Ask, Exchange, Pause, Server
from shoal_sdk.flows import Flow, Start
from shoal_sdk.runs import Asked, Followed, started
from shoal_sdk.task_log import TaskLog

R = TypeVar("R", default=Any)
"""What a flow returns. Of a workflow that is given by its name it is not known."""
T = TypeVar("T")


class AsyncClient:
    """A connection to a server. Use it as a context, or close it.

    Args:
        url: of the server; None: `SHOAL_SERVER`, else http://127.0.0.1:7465.
        token: None: `SHOAL_TOKEN`, else that of `shoal login`.
    Raises:
        SdkError: the address or the stored token cannot be used.
    """

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        self.server = Server(url, token)
        self._http = httpx.AsyncClient(
            base_url=self.server.url, headers=self.server.headers, verify=self.server.verify, timeout=TIMEOUT_S,
            trust_env=False,
        )  # fmt: skip

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close its connections."""
        await self._http.aclose()

    async def start(
        self, what: Flow[..., R] | Start[R] | str, *, key: str | None = None, project: str | None = None, **params: Any
    ) -> AsyncRun[R]:
        """Start a flow, or a workflow by its name, once a master takes it.

        Args:
            what: a flow, or `flow.given(...)`, whose arguments a type checker reads.
            key: within 24 hours, the same key starts the same run once, however often it is asked for.
            project: for a flow that names none.
            params: values of its parameters.
        Raises:
            Refused: the server refuses; the sentence says why.
            Unavailable: it does not answer.
        """
        return AsyncRun(self, *await self.carry_out(started(what, key, project, params)))

    async def run(
        self, what: Flow[..., R] | Start[R] | str, *, key: str | None = None, project: str | None = None, **params: Any
    ) -> AsyncRun[R]:
        """Start a flow and wait for its end; as `start`."""
        return await (await self.start(what, key=key, project=project, **params)).wait()

    async def carry_out(self, exchange: Exchange[T]) -> T:
        """What an exchange comes to. Raises what its requests raise."""
        done: Answer | SdkError | None = None
        while True:
            try:
                step = exchange.send(done)
            except StopIteration as end:
                value: T = end.value
                return value
            done = await self._do(step)

    async def _do(self, step: Ask | Pause) -> Answer | SdkError | None:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return None
        try:
            async with self._http.stream(**step.request) as response:
                if step.into is not None and response.is_success:
                    with step.into.open("wb") as file:
                        async for part in response.aiter_bytes():
                            file.write(part)
                    return self.server.answer(response, is_saved=True)
                await response.aread()
                return self.server.answer(response)
        except httpx.HTTPError as error:
            return self.server.answer(error)

    async def log(self, attempt: str, *, follow: bool = False) -> AsyncIterator[str]:
        """The lines of the log of an attempt, by its id; `follow`: until it ends. Raises `Refused`, `Unavailable`."""
        log = TaskLog(attempt, follow=follow)
        while True:
            try:
                async with self._http.stream(**log.request) as response:
                    if response.is_success:
                        log.is_read()
                        async for part in response.aiter_raw():
                            for line in log.lines(part):
                                yield line
                        for line in log.last_line():
                            yield line
                        return
                    await response.aread()
                answer = self.server.answer(response)
            except httpx.HTTPError as error:
                answer = self.server.answer(error)
            assert isinstance(answer, SdkError)
            await asyncio.sleep(log.pause_s(answer))


class AsyncRun(Followed[R]):
    """A run. `id` is a string of digits."""

    def __init__(self, client: AsyncClient, id_: str, asked: Asked) -> None:
        super().__init__(id_, asked)
        self._client = client

    async def wait(self, timeout_s: float | None = None) -> AsyncRun[R]:
        """Wait until it has ended, and return it. Raises `SdkError` after the timeout."""
        await self._client.carry_out(self._end(timeout_s))
        return self

    async def state(self) -> str:
        """Its state, such as RUNNING_EXECUTION or SUCCESS; asked again until it has ended."""
        return await self._client.carry_out(self._state())

    async def result(self) -> R:
        """What the flow returned; waits for the end. Raises `RunFailed` if it did not succeed."""
        return await self._client.carry_out(self._result())

    async def watch(self, every_s: float = 1) -> AsyncRun[R]:
        """In a notebook, show its graph and the states of its tasks until it has ended, and return it."""
        display = importlib.import_module("IPython.display")
        shown = display.display(display.HTML(await self._client.carry_out(self._html())), display_id=True)
        while not await self._client.carry_out(self._look()):
            await asyncio.sleep(every_s)
            shown.update(display.HTML(await self._client.carry_out(self._html())))
        shown.update(display.HTML(await self._client.carry_out(self._html())))
        return self

    async def task(self, name: str) -> AsyncTaskRun:
        """The last attempt of a task of it. Raises `Refused`: there is none."""
        return AsyncTaskRun(self._client, *await self._client.carry_out(self._attempt(name)))


class AsyncTaskRun:
    """An attempt of a task; `state` is as it was when it was asked for."""

    def __init__(self, client: AsyncClient, id_: str, state: str) -> None:
        self.id, self.state, self._client = id_, state, client

    def log(self, *, follow: bool = False) -> AsyncIterator[str]:
        """The lines of its log; `follow`: until it ends. Raises `Refused`, `Unavailable`."""
        return self._client.log(self.id, follow=follow)
