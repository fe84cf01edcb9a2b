"""`Client`: starts flows, waits for them, and reads their results and logs, over the REST API."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Generic, TypeVar, overload

import httpx

from shoal_sdk.errors import Refused, Unavailable
from shoal_sdk.exchange import BASE, PAUSE_S_MAX, RETRY_WITHIN_S, TIMEOUT_S, Answer, Ask, Exchange, Pause, Server, get
from shoal_sdk.flows import Flow, Start
from shoal_sdk.runs import Asked, ended, result_of, run_of, started

R = TypeVar("R")
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

    @overload
    def start(
        self, what: Flow[..., R] | Start[R], *, key: str | None = None, project: str | None = None, **params: Any
    ) -> Run[R]: ...
    @overload
    def start(self, what: str, *, key: str | None = None, project: str | None = None, **params: Any) -> Run[Any]: ...
    def start(
        self,
        what: Flow[..., Any] | Start[Any] | str,
        *,
        key: str | None = None,
        project: str | None = None,
        **params: Any,
    ) -> Run[Any]:
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
        asked = Asked.of(what, project, params)
        command = self.carry_out(started(asked, key))
        return Run(self, self.carry_out(run_of(command, None)), asked)

    @overload
    def run(
        self, what: Flow[..., R] | Start[R], *, key: str | None = None, project: str | None = None, **params: Any
    ) -> Run[R]: ...
    @overload
    def run(self, what: str, *, key: str | None = None, project: str | None = None, **params: Any) -> Run[Any]: ...
    def run(
        self,
        what: Flow[..., Any] | Start[Any] | str,
        *,
        key: str | None = None,
        project: str | None = None,
        **params: Any,
    ) -> Run[Any]:
        """Start a flow and wait for its end; as `start`."""
        return self.start(what, key=key, project=project, **params).wait()

    def carry_out(self, exchange: Exchange[T]) -> T:
        """What an exchange comes to. Raises what its requests raise."""
        try:
            step = next(exchange)
            while True:
                if isinstance(step, Pause):
                    time.sleep(step.seconds)
                    step = exchange.send(None)
                    continue
                try:
                    answer = self._answer(step)
                except Refused as error:
                    step = exchange.throw(error)
                    continue
                step = exchange.send(answer)
        except StopIteration as end:
            value: T = end.value
            return value

    def _answer(self, ask: Ask) -> Answer:
        """The answer, asked for again while the server is away: a change has a key, so it is done once."""
        until_s, pause_s = 0.0, 0.1
        while True:
            try:
                return self.server.answer(
                    self._http.request(
                        ask.method, BASE + ask.path, params=dict(ask.query), json=ask.body, headers=dict(ask.headers)
                    )
                )
            except httpx.HTTPError as error:
                away = self.server.away(error)
            except Unavailable as error:
                away = error
            until_s = until_s or time.monotonic() + RETRY_WITHIN_S
            if time.monotonic() + pause_s > until_s:
                raise away
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, PAUSE_S_MAX)

    def log(self, attempt: str, *, follow: bool = False) -> Iterator[str]:
        """The lines of the log of an attempt, by its id; `follow`: until it ends. Raises `Refused`, `Unavailable`."""
        offset, rest, away_since_s = 0, b"", 0.0
        while True:
            query: dict[str, str | int] = {"offset": offset, "follow": str(follow).lower()}
            try:
                with self._http.stream(
                    "GET", f"{BASE}/task-instances/{attempt}/log", params=query, headers={"Accept": "text/plain"}
                ) as response:
                    if not response.is_success:
                        response.read()
                        self.server.answer(response)
                    away_since_s = 0.0
                    for part in response.iter_raw():
                        offset += len(part)
                        *lines, rest = (rest + part).split(b"\n")
                        yield from (line.decode("utf-8", "replace") for line in lines)
                if rest:
                    yield rest.decode("utf-8", "replace")
                return
            except httpx.HTTPError as error:
                away = self.server.away(error)
            except Unavailable as error:
                away = error
            away_since_s = away_since_s or time.monotonic()
            if time.monotonic() + PAUSE_S_MAX > away_since_s + RETRY_WITHIN_S:
                raise away
            time.sleep(PAUSE_S_MAX)


class Run(Generic[R]):
    """A run. `id` is a string of digits."""

    def __init__(self, client: Client, id_: str, asked: Asked) -> None:
        self.id = id_
        self._client, self._asked = client, asked
        self._last: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return f"<run {self.id} of {self._asked.name}>"

    def wait(self, timeout_s: float | None = None) -> Run[R]:
        """Wait until it has ended, and return it. Raises `SdkError` after the timeout."""
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        self._last = dict(self._client.carry_out(ended(self.id, deadline_s)))
        return self

    @property
    def state(self) -> str:
        """Its state, such as RUNNING_EXECUTION or SUCCESS; asked again until it has ended."""
        if self._last is not None:
            return str(self._last["state"])
        return str(self._client.carry_out(get(f"/workflow-instances/{self.id}"))["state"])

    @property
    def result(self) -> R:
        """What the flow returned; waits for the end. Raises `RunFailed` if it did not succeed."""
        if self._last is None:
            self.wait()
        assert self._last is not None, "it has ended"
        value: R = result_of(self._last, self._asked)
        return value

    def task(self, name: str) -> TaskRun:
        """The last attempt of a task of it. Raises `Refused`: there is none."""
        found = self._client.carry_out(get("/task-instances:find", name=f"{self.id}/{name}"))
        return TaskRun(self._client, str(found["id"]), str(found["state"]))


class TaskRun:
    """An attempt of a task; `state` is as it was when it was asked for."""

    def __init__(self, client: Client, id_: str, state: str) -> None:
        self.id, self.state, self._client = id_, state, client

    def log(self, *, follow: bool = False) -> Iterator[str]:
        """The lines of its log; `follow`: until it ends. Raises `Refused`, `Unavailable`."""
        return self._client.log(self.id, follow=follow)
