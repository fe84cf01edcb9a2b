"""`Client`: starts flows, waits for them, and reads their results and logs, over the REST API."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator
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


class Client:
    """A connection to a server. Use it as a context, or close it.

    Args:
        url: of the server; None: `SHOAL_SERVER`, else http://127.0.0.1:7465.
        token: None: `SHOAL_TOKEN`, else that of `shoal login`.
    Raises:
        SdkError: the address or the stored token cannot be used.
    """

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        self.server = Server(url, token)
        self._http = httpx.Client(
            base_url=self.server.url, headers=self.server.headers, verify=self.server.verify, timeout=TIMEOUT_S,
            trust_env=False,
        )  # fmt: skip

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def start(
        self, what: Flow[..., R] | Start[R] | str, *, key: str | None = None, project: str | None = None, **params: Any
    ) -> Run[R]:
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
        return Run(self, *self.carry_out(started(what, key, project, params)))

    def run(
        self, what: Flow[..., R] | Start[R] | str, *, key: str | None = None, project: str | None = None, **params: Any
    ) -> Run[R]:
        """Start a flow and wait for its end; as `start`."""
        return self.start(what, key=key, project=project, **params).wait()

    def carry_out(self, exchange: Exchange[T]) -> T:
        """What an exchange comes to. Raises what its requests raise."""
        done: Answer | SdkError | None = None
        while True:
            try:
                step = exchange.send(done)
            except StopIteration as end:
                value: T = end.value
                return value
            done = self._do(step)

    def _do(self, step: Ask | Pause) -> Answer | SdkError | None:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        try:
            with self._http.stream(**step.request) as response:
                if step.into is not None and response.is_success:
                    with step.into.open("wb") as file:
                        for part in response.iter_bytes():
                            file.write(part)
                    return self.server.answer(response, is_saved=True)
                response.read()
                return self.server.answer(response)
        except httpx.HTTPError as error:
            return self.server.answer(error)

    def log(self, attempt: str, *, follow: bool = False) -> Iterator[str]:
        """The lines of the log of an attempt, by its id; `follow`: until it ends. Raises `Refused`, `Unavailable`."""
        log = TaskLog(attempt, follow=follow)
        while True:
            try:
                with self._http.stream(**log.request) as response:
                    if response.is_success:
                        log.is_read()
                        for part in response.iter_raw():
                            yield from log.lines(part)
                        yield from log.last_line()
                        return
                    response.read()
                answer = self.server.answer(response)
            except httpx.HTTPError as error:
                answer = self.server.answer(error)
            assert isinstance(answer, SdkError)
            time.sleep(log.pause_s(answer))


class Run(Followed[R]):
    """A run. `id` is a string of digits."""

    def __init__(self, client: Client, id_: str, asked: Asked) -> None:
        super().__init__(id_, asked)
        self._client = client

    def wait(self, timeout_s: float | None = None) -> Run[R]:
        """Wait until it has ended, and return it. Raises `SdkError` after the timeout."""
        self._client.carry_out(self._end(timeout_s))
        return self

    @property
    def state(self) -> str:
        """Its state, such as RUNNING_EXECUTION or SUCCESS; asked again until it has ended."""
        return self._client.carry_out(self._state())

    @property
    def result(self) -> R:
        """What the flow returned; waits for the end. Raises `RunFailed` if it did not succeed."""
        return self._client.carry_out(self._result())

    def _repr_html_(self) -> str:
        """What a notebook shows: its graph, with the state of each task now."""
        return self._client.carry_out(self._html())

    def watch(self, every_s: float = 1) -> Run[R]:
        """In a notebook, show its graph and the states of its tasks until it has ended, and return it."""
        shown = importlib.import_module("IPython.display").display(self, display_id=True)
        while not self._client.carry_out(self._look()):
            time.sleep(every_s)
            shown.update(self)
        shown.update(self)
        return self

    def task(self, name: str) -> TaskRun:
        """The last attempt of a task of it. Raises `Refused`: there is none."""
        return TaskRun(self._client, *self._client.carry_out(self._attempt(name)))


class TaskRun:
    """An attempt of a task; `state` is as it was when it was asked for."""

    def __init__(self, client: Client, id_: str, state: str) -> None:
        self.id, self.state, self._client = id_, state, client

    def log(self, *, follow: bool = False) -> Iterator[str]:
        """The lines of its log; `follow`: until it ends. Raises `Refused`, `Unavailable`."""
        return self._client.log(self.id, follow=follow)
