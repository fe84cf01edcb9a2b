"""Starting flows and reading what became of them, as exchanges that both clients carry out."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, Generic, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from shoal_sdk.errors import Refused, RunFailed, SdkError
from shoal_sdk.exchange import Ask, Exchange, Pause, answered, change, found_workflow, get
from shoal_sdk.flows import Flow, Result, Start
from shoal_sdk.in_task import _shoal_sdk
from shoal_sdk.notebook import html
from shoal_sdk.refs import Origin
from shoal_sdk.types_of_values import UNKNOWN, has_files

_FINAL = frozenset({"SUCCESS", "FAILURE", "STOP", "PAUSE"})
_LARGE = re.compile(r"shoal-value:v1:[^:]+:[0-9]+:([0-9a-f]{64}):(json|text|parts):")
LOOK_EVERY_S, LOOK_EVERY_S_MAX = 0.1, 1.0
R = TypeVar("R")


@dataclass(frozen=True)
class Asked:
    """A flow to be started: its workflow's name, its parameters as texts, and where its result will be."""

    name: str
    project: str | None
    params: Mapping[str, str]
    result: Result | None = None
    annotation: Any = UNKNOWN

    @classmethod
    def of(cls, what: Flow[..., Any] | Start[Any] | str, project: str | None, params: Mapping[str, Any]) -> Asked:
        """What `Client.start` was given. Raises `WrongFlow`."""
        if isinstance(what, str):
            said = {name: value if isinstance(value, str) else json.dumps(value) for name, value in params.items()}
            return cls(what, project, said)
        start = Start(what, {}) if isinstance(what, Flow) else what
        flow = start.flow
        given = {**start.params, **flow.given(**params).params}
        return cls(flow.name, flow.project or project, given, flow.built().result, flow.hints.get("return", UNKNOWN))


class Followed(Generic[R]):
    """A run that was started: what both clients ask about it. `id` is a string of digits."""

    def __init__(self, id_: str, asked: Asked) -> None:
        self.id = id_
        self._asked = asked
        self._last: Mapping[str, Any] | None = None

    def __repr__(self) -> str:
        return f"<run {self.id} of {self._asked.name}>"

    def _end(self, timeout_s: float | None = None) -> Exchange[Mapping[str, Any]]:
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        self._last = yield from ended(self.id, deadline_s)
        return self._last

    def _look(self) -> Exchange[bool]:
        """Whether it has ended."""
        if self._last is None:
            found = yield from get(f"/workflow-instances/{self.id}")
            self._last = found if has_ended(found) else None
        return self._last is not None

    def _state(self) -> Exchange[str]:
        return str((self._last or (yield from get(f"/workflow-instances/{self.id}")))["state"])

    def _result(self) -> Exchange[R]:
        asked = self._asked
        found = given_by(self._last or (yield from self._end()), asked)
        if found is None or asked.result is None:
            return cast(R, None)
        said = yield from whole_value(found.attempt, asked.result.out, found.text)
        value = part_of_result(said, asked.result)
        if has_files(asked.annotation):
            folder = Path(tempfile.mkdtemp("", "shoal-"))
            value = yield from with_files(
                value, found.attempt, Origin(None, asked.result.out, asked.result.path), folder
            )
        return cast(R, typed_result(value, asked.result, asked.annotation))

    def _html(self) -> Exchange[str]:
        """As a notebook shows it: its graph, with the state of each task now."""
        return html(self._last or (yield from get(f"/workflow-instances/{self.id}")), self._asked.name)

    def _attempt(self, task: str) -> Exchange[tuple[str, str]]:
        found = yield from get("/task-instances:find", name=f"{self.id}/{task}")
        return str(found["id"]), str(found["state"])


def started(
    what: Flow[..., Any] | Start[Any] | str, key: str | None, project: str | None, params: Mapping[str, Any]
) -> Exchange[tuple[str, Asked]]:
    """The id of the run, once a master takes it. Raises `Refused`, `WrongFlow`."""
    asked = Asked.of(what, project, params)
    found = yield from found_workflow(asked.name, asked.project)
    if found is None:
        of = f' in project "{asked.project}"' if asked.project else ""
        raise Refused(f'there is no workflow "{asked.name}"{of}; deploy it first: shoal-sdk deploy FILE', status=404)
    body = {"params": dict(asked.params)}
    answer = yield from change("POST", f"/workflow-definitions/{found['code']}/runs", body, key=key, wait=5)
    command, pause_s = str(answer["command_id"]), LOOK_EVERY_S
    while True:
        fate = yield from get(f"/commands/{command}")
        if fate.get("reason") is not None:
            raise Refused(f"command {command} was refused: {fate['reason']}")
        if fate.get("run_id") is not None:
            return str(fate["run_id"]), asked
        yield Pause(pause_s)
        pause_s = min(pause_s * 1.2, LOOK_EVERY_S_MAX)


def has_ended(run: Mapping[str, Any]) -> bool:
    """Whether a run, as the API shows it, is in a final state. Its time of end says so for states that are not known
    here; servers of before show none."""
    return run.get("ended_at") is not None or run["state"] in _FINAL


def ended(run: str, deadline_s: float | None) -> Exchange[Mapping[str, Any]]:
    """The run with its tasks, once it has ended. Raises `SdkError` at the deadline, by `time.monotonic`."""
    pause_s = LOOK_EVERY_S
    while True:
        found: Mapping[str, Any] = yield from get(f"/workflow-instances/{run}")
        if has_ended(found):
            return found
        if deadline_s is not None and time.monotonic() + pause_s > deadline_s:
            state = found["state"]
            raise SdkError(f"run {run} is {state} after the time to wait; wait again, or see why: shoal why RUN")
        yield Pause(pause_s)
        pause_s = min(pause_s * 1.2, LOOK_EVERY_S_MAX)


@dataclass(frozen=True)
class Given:
    """A value that an attempt gave, as the API shows it: if it is large, a text that stands for it."""

    attempt: str
    text: str


def given_by(run: Mapping[str, Any], asked: Asked) -> Given | None:
    """What a flow returned; None if it returns nothing, or its task was skipped.

    Args:
        run: as the API shows it, at its end.
    Raises:
        RunFailed: it did not succeed.
    """
    if run["state"] != "SUCCESS":
        reason = run.get("reason") or "see shoal why"
        raise RunFailed(run["id"], run["state"], f"run {run['id']} of {asked.name} is {run['state']}: {reason}")
    if asked.result is None:
        return None
    attempts = [
        each for each in run["tasks"]
        if each["name"] == asked.result.task and each.get("valid", True) and each.get("element") is None
    ]  # fmt: skip
    given = (attempts[-1].get("outputs") if attempts else None) or {}
    given = json.loads(given) if isinstance(given, str) else given
    if asked.result.out not in given:
        return None
    return Given(str(attempts[-1]["id"]), given[asked.result.out])


def whole_value(attempt: str, name: str, text: str) -> Exchange[str]:
    """The value itself; a large one is asked for. Raises `Refused`, and `SdkError` if another one comes."""
    found = _LARGE.match(text)
    if found is None:
        return text
    whole = str((yield from get(f"/task-instances/{attempt}/value", name=name)))
    if found[2] != "parts" and hashlib.sha256(whole.encode()).hexdigest() != found[1]:
        raise SdkError(f'"{name}" of task instance {attempt} does not have the checksum of its result; run it again')
    return whole


def with_files(value: Any, attempt: str, origin: Origin, folder: Path) -> Exchange[Any]:
    """A result with the path of each file in it, whose content is then in the folder. Raises `Refused`, and `SdkError`
    if another content comes."""
    if not isinstance(value, dict | list):
        return value
    if not (isinstance(value, dict) and "shoal_file" in value):
        places = list(value.items() if isinstance(value, dict) else enumerate(value))
        found: dict[Any, Any] = {}
        for step, each in places:
            found[step] = yield from with_files(each, attempt, replace(origin, path=(*origin.path, step)), folder)
        return found if isinstance(value, dict) else list(found.values())
    place = Path(tempfile.mkdtemp(dir=folder)) / (PurePath(value["name"]).name or "file")
    name = origin.written().removeprefix("${").removesuffix("}")
    yield from answered(Ask("GET", f"/task-instances/{attempt}/value", {"name": name}, into=place))
    if _shoal_sdk().File(place).sha256() != value["sha256"]:
        raise SdkError(f'the file "{name}" of task instance {attempt} was changed on its way; run the task again')
    return {**value, "path": str(place)}


def read_result(said: str, result: Result, annotation: Any) -> Any:
    """The value in an output, with its type. Raises `SdkError`."""
    return typed_result(part_of_result(said, result), result, annotation)


def part_of_result(said: str, result: Result) -> Any:
    """What stands in an output where the flow looks for its result. Raises `SdkError`."""
    value: Any = said
    if result.is_json or result.path:
        value = json.loads(said)
        if result.of_texts:
            value = [None if each is None else each["text"] for each in value]
    try:
        for step in result.path:
            value = value[step]
        return value
    except (LookupError, TypeError) as error:
        raise _another(result, error) from None


def typed_result(value: Any, result: Result, annotation: Any) -> Any:
    """The value with its type. Raises `SdkError`."""
    try:
        return value if annotation is UNKNOWN else TypeAdapter(annotation).validate_python(value)
    except ValidationError as error:
        raise _another(result, error) from None


def _another(result: Result, error: Exception) -> SdkError:
    return SdkError(
        f'task "{result.task}" gave another result than the flow here says; deploy this flow, and run it again '
        f"({type(error).__name__})"
    )
