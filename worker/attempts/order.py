"""An order: what an attempt that runs its type's own code takes into the process below its keeper.

The worker pickles it and a fork of the warm zygote reads it, never in the other direction. The answer is JSON, since a
hostile server or file may control the process that wrote it.
"""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter

from model.choices import ParameterType
from model.errors import ShoalError
from model.ids import TaskInstanceId, WorkflowInstanceId
from model.parameters.large_values import INLINE_BYTES_MAX
from model.runs.states import TaskState
from worker.tasks.plugin import ResultAlert, Task, TaskResult

_ALERT: TypeAdapter[ResultAlert | None] = TypeAdapter(ResultAlert | None)


@dataclass(frozen=True)
class Order:
    """A task and its context, as far as they can leave the worker.

    `data_sources` are the URLs, with their passwords, of exactly those that the task names; `secrets` must not appear
    in a reason; `folder` is the attempt's own; `local_files` is the worker's setting of that name.
    """

    task: Task
    workflow_instance_id: WorkflowInstanceId
    task_instance_id: TaskInstanceId
    task_name: str
    attempt: int
    values: Mapping[str, str]
    types: Mapping[str, ParameterType]
    data_sources: Mapping[str, str]
    secrets: tuple[str, ...]
    folder: Path
    local_files: bool
    skip_exit_codes: frozenset[int] = frozenset()
    value_bytes_max: int = INLINE_BYTES_MAX

    @property
    def name(self) -> str:
        """The name of the task's class, as `module:Class`."""
        return f"{type(self.task).__module__}:{type(self.task).__qualname__}"

    def to_text(self) -> str:
        """The order as text, for the request."""
        return base64.b64encode(pickle.dumps(self)).decode()

    @classmethod
    def from_text(cls, text: str) -> Order:
        """Read an order. Only safe for a request of one's own worker."""
        order = pickle.loads(base64.b64decode(text))  # noqa: S301 - it comes from the worker
        assert isinstance(order, cls)
        return order


def answer_of(result: TaskResult) -> bytes:
    """Encode a result."""
    alert = None if result.alert is None else asdict(result.alert)
    return json.dumps([result.state, result.reason, result.exit_code, dict(result.outputs), alert]).encode()


def result_of(answer: bytes) -> TaskResult | None:
    """Decode an answer; None if the process ended before it wrote one."""
    try:
        state, reason, code, outputs, *more = json.loads(answer)  # one that a former version left has no alert
        return TaskResult(
            TaskState(state),
            str(reason),
            None if code is None else int(code),
            {str(name): str(value) for name, value in outputs.items()},
            _ALERT.validate_python(more[0] if more else None),
        )
    except (ValueError, TypeError, AttributeError, ShoalError):
        return None
