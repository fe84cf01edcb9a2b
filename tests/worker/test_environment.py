"""What a task's environment holds."""

from __future__ import annotations

import pytest

from model.errors import Refused
from model.ids import Epoch, TaskCode, TaskInstanceId, WorkflowInstanceId
from worker.attempts.environment import task_environment


def environment(own: dict[str, str], extra: dict[str, str]) -> dict[str, str]:
    return task_environment(
        own,
        workflow_instance_id=WorkflowInstanceId(11),
        task_code=TaskCode(22),
        task_instance_id=TaskInstanceId(33),
        attempt=2,
        fence=Epoch(44),
        extra=extra,
    )


def test_nothing_of_the_worker_but_what_is_listed_gets_through() -> None:
    own = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "HOME": "/h",
        "SHOAL_DATABASE": "secret",
        "PGPASSWORD": "x",
        "LD_PRELOAD": "y",
    }
    assert environment(own, {"name": "value"}) == {
        "PATH": "/bin",
        "LC_ALL": "C",
        "HOME": "/h",
        "name": "value",
        "SHOAL_TASK_KEY": "11.22",
        "SHOAL_ATTEMPT": "2",
        "SHOAL_FENCE": "44",
        "SHOAL_TASK_INSTANCE": "33",
        "SHOAL_WORKFLOW_INSTANCE": "11",
    }


def test_parameters_may_set_the_path_but_never_who_the_task_is() -> None:
    made = environment({"PATH": "/bin"}, {"PATH": "/mine", "SHOAL_FENCE": "99"})
    assert (made["PATH"], made["SHOAL_FENCE"]) == ("/mine", "44")


def test_there_is_always_a_path() -> None:
    assert environment({}, {})["PATH"]


@pytest.mark.parametrize("extra", [{"": "x"}, {"a=b": "x"}, {"a\0": "x"}, {"a": "x\0"}])
def test_what_no_environment_can_hold_is_refused(extra: dict[str, str]) -> None:
    with pytest.raises(Refused, match="cannot be put into an environment"):
        environment({}, extra)
