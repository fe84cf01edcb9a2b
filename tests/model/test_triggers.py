"""`triggers` and `updates`: what may stand there, and the sentence for what may not."""

from __future__ import annotations

from typing import Any

import pytest

from model.definitions.problems import InvalidWorkflow
from model.definitions.triggers import TriggerSpec
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.ids import CommandId, TaskCode, WorkflowInstanceId
from model.runs.commands import read_parent, read_source
from model.runs.instances import Parent, Source
from tests.every import every


def parse(triggers: Any = (), **task: Any) -> WorkflowSpec:
    return WorkflowSpec.parse({"tasks": [{"name": "a", "type": "SHELL", **task}], "triggers": triggers})


def test_a_trigger_names_a_workflow_or_a_dataset() -> None:
    (first, second) = parse(
        [{"workflow": "load", "states": ["FAILURE"]}, {"dataset": "s3://b/o", "project": "x"}]
    ).triggers
    assert (first.workflow, list(first.states), first.project) == ("load", ["FAILURE"], None)
    assert (second.dataset, list(second.states), second.project) == ("s3://b/o", ["SUCCESS"], "x")


def test_what_is_written_as_json_with_all_defaults_is_read_again() -> None:
    elsewhere = {"datasets": ["a", "b"], "project": "p"}
    spec = parse([{"dataset": "a"}, {"webhook": "b"}, {"workflow": "c"}, elsewhere])
    assert WorkflowSpec.model_validate_json(spec.model_dump_json()) == spec


@every(
    ("triggers", "said"),
    [
        ([{}], "each trigger names either a workflow, a dataset, datasets or a webhook"),
        ([{"workflow": "a", "dataset": "b"}], "each trigger names either a workflow, a dataset, datasets or a webhook"),
        ([{"webhook": "a", "dataset": "b"}], "each trigger names either a workflow, a dataset, datasets or a webhook"),
        ([{"webhook": "a", "project": "b"}], 'a webhook signed with "a" is sent to this workflow'),
        ([{"webhook": "a", "states": ["STOP"]}], 'a webhook signed with "a" has none'),
        (
            [{"dataset": "b", "states": ["STOP"]}],
            'states are those of runs, and the trigger of dataset "b" has none; rem',
        ),
        ([{"dataset": "a", "datasets": ["b", "c"]}], "each trigger names either a workflow, a dataset, datasets or"),
        ([{"datasets": []}], "each trigger names either a workflow, a dataset, datasets or a webhook"),
        ([{"datasets": ["a"]}], 'all of the datasets "a" are not several different ones'),
        ([{"datasets": ["a", "b", "a"]}], 'all of the datasets "a", "b", "a" are not several different ones'),
        ([{"datasets": ["a", "b"]}, {"dataset": "b"}], 'each update of dataset "b" starts it, so all of the datasets'),
        ([{"datasets": ["a", "b"], "states": ["STOP"]}], 'datasets "a", "b" has none; remove them'),
        ([{"workflow": "a"}, {"workflow": "a"}], 'two triggers wait for workflow "a"; one is enough'),
        ([{"workflow": "a", "states": ["PAUSE"]}], "input should be 'SUCCESS', 'FAILURE' or 'STOP'"),
        ([{"workflow": "a", "states": []}], "waits for no state"),
        ([{"workflw": "a"}], 'did you mean "workflow"?'),
    ],
)
def test_what_is_no_trigger_is_refused(triggers: Any, said: str) -> None:
    with pytest.raises(InvalidWorkflow) as caught:
        parse(triggers)
    assert said in str(caught.value)


def test_a_stream_never_updates_a_dataset() -> None:
    with pytest.raises(InvalidWorkflow, match="a stream has no updates"):
        parse(stream=True, updates=["a"])


def test_a_dataset_is_named_once() -> None:
    with pytest.raises(InvalidWorkflow, match='names "a" twice'):
        parse(updates=["a", "a"])


def test_words_name_the_project_only_if_it_is_another() -> None:
    assert TriggerSpec(workflow="a", project="p").words == 'workflow "a" of project "p"'


def test_a_source_is_read_as_it_is_written() -> None:
    source = Source(WorkflowInstanceId(12), TaskCode(7), 2, 3)
    assert read_source("12/7/2/3/event") == source
    assert source.place(CommandId(99)) == "12/7/2/e3.99"
    assert read_parent("12/7/2/3/event") is None
    assert read_source("12/7/2/0/apart") is None
    assert read_parent("12/7/2/0/apart") == Parent(WorkflowInstanceId(12), TaskCode(7), 2, 0, waits=False)


@every("wrong", ["1/2/3/event", "1/2/3/4/5/event", "x/2/3/4/event", "1/2/3/4/5", "/event"])
def test_a_source_or_parent_that_is_broken_is_refused(wrong: str) -> None:
    with pytest.raises(Refused, match="masters write it"):
        (read_source if wrong.endswith("event") else read_parent)(wrong)
