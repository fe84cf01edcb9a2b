"""Names of workflows and tasks: what cannot be told from something else in a shell is not saved."""

from __future__ import annotations

from model.definitions.names import fault_of_workflow_name
from model.definitions.problems import faults_of_task_names
from model.definitions.workflow import WorkflowSpec
from tests.every import every

REFUSED = [
    ("12", "has only digits, as an id; add a letter"),
    ("²", "has only digits"),
    ("@last", "begins with @, as @last and @failed do"),
    ("@failed", "begins with @"),
    ("-x", "begins with -, as an option does"),
    ("--help", "begins with -"),
    ("../../etc", "holds a /, which stands between a run and its task"),
    ("a/b", "holds a /"),
    ("..", "means a folder"),
    ("  ", "must not be empty or only blanks"),
    ("\u00a0", "must not be empty or only blanks"),
    (" a", "begins or ends with a blank"),
    ("a\u200bb", "holds a control character or one that nobody sees"),
    ("a\u202eb", "holds a control character or one that nobody sees"),
]
GOOD = ["hello", "12th", "a b", "größe", "日次", "a.b_c-d", "l'été", "why", "x@y", "1.5", "v-1"]


@every(("name", "fault"), REFUSED)
def test_a_name_that_means_something_else_is_refused_for_workflows_and_tasks(name: str, fault: str) -> None:
    assert fault in (fault_of_workflow_name(name) or "")
    spec = WorkflowSpec.parse({"tasks": [{"name": "good", "type": "FAKE"}, {"name": name, "type": "FAKE"}]})
    (problem,) = faults_of_task_names(spec)
    assert problem.sentence.startswith("task 2: ")
    assert fault in problem.sentence
    assert problem.where == ("tasks", 1, "name")


@every("name", GOOD)
def test_other_names_are_fine(name: str) -> None:
    assert fault_of_workflow_name(name) is None
    assert not list(faults_of_task_names(WorkflowSpec.parse({"tasks": [{"name": name, "type": "FAKE"}]})))


@every("name", ["", "a\nb", "\x1b[31m"])
def test_what_no_task_could_be_called_before_no_workflow_can_be_called(name: str) -> None:
    assert fault_of_workflow_name(name) is not None


def test_only_a_workflow_is_not_called_command() -> None:
    assert "means a command in `shoal why`" in (fault_of_workflow_name("command") or "")
    assert not list(faults_of_task_names(WorkflowSpec.parse({"tasks": [{"name": "command", "type": "FAKE"}]})))
