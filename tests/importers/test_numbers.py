"""Numbers of tasks that are none."""

from typing import Any

from importers.report import Grade
from tests.every import every
from tests.importers.exports import export, imported, said, task

WAITING = {"relation": "AND", "failurePolicy": "DEPENDENT_FAILURE_WAITING", "failureWaitingTime": "x"}


@every(
    ("type_", "params"),
    [
        ("DYNAMIC", {"degreeOfParallelism": "x"}),
        ("DYNAMIC", {"maxNumOfSubWorkflowInstances": "x"}),
        ("HTTP", {"url": "http://x", "connectTimeout": "x"}),
        ("HTTP", {"url": "http://x", "socketTimeout": "x"}),
        ("SQL", {"sql": "SELECT 1", "limit": "x"}),
        ("SQL", {"sql": "SELECT 1", "sendEmail": True, "displayRows": "x"}),
        ("K8S", {"image": "x", "minCpuCores": "x"}),
        ("K8S", {"image": "x", "minMemorySpace": "x"}),
        ("DEPENDENT", {"dependence": WAITING}),
    ],
)
def test_what_should_be_a_number_and_is_none_is_a_todo(type_: str, params: dict[str, Any]) -> None:
    found = imported(export(task("a", type_, params)))
    assert '"x" is no number; write what is meant' in said(found, Grade.TODO, "a")
