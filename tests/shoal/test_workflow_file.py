"""YAML files: what is right becomes a definition, what is wrong is told with its line and its cure."""

from __future__ import annotations

from pathlib import Path

import pytest

from model.errors import NotFound
from service.workflows import yaml_lines
from service.workflows.requests import BYTES_MAX
from service.workflows.workflow_file import BadWorkflowFile, parse_workflows
from shoal.workflow_files import read_definition_files
from tests.every import every
from worker.tasks.catalog import TaskCatalog

CATALOG = TaskCatalog()
GOOD = "name: good\ntasks:\n  - name: a\n    type: FAKE\n"


def faults_of(text: str | bytes) -> str:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(BadWorkflowFile) as caught:
        parse_workflows(data, "f.yaml", CATALOG)
    return str(caught.value)


def test_the_sample_is_a_workflow_of_four_tasks() -> None:
    (sample,) = read_definition_files([Path(__file__).parents[2] / "examples" / "hello.yaml"]).workflows
    assert (sample.project, sample.name, sample.release_state, len(sample.spec.tasks)) == (
        "default",
        "hello",
        "ONLINE",
        4,
    )


def test_several_documents_are_several_workflows() -> None:
    text = f"{GOOD}---\n{GOOD.replace('good', 'other')}project: sales\nrelease_state: OFFLINE\n---\n"
    first, second = parse_workflows(text.encode(), "f.yaml", CATALOG)
    assert (first.name, second.name, second.project, second.release_state) == ("good", "other", "sales", "OFFLINE")


def test_parameters_are_taken_as_they_were_written() -> None:
    text = f"{GOOD}params:\n  day: 2026-01-31\n  version: 1.10\n  big: 1e3\n  yes: true\n  none:\n  word: no\n"
    (workflow,) = parse_workflows(text.encode(), "f.yaml", CATALOG)
    assert workflow.spec.params == {
        "day": "2026-01-31",
        "version": "1.10",
        "big": "1e3",
        "yes": "true",
        "none": "",
        "word": "no",
    }


ODD = {"month": "010", "short": "08", "version": "1.10", "at": "12:30:45", "yes": "yes", "off": "off", "big": "1_000"}
"""Values that other YAML readers take for 8, for 45045, for true, or for nothing at all."""
AS_WRITTEN = "{" + ", ".join(f"{name}: {value}" for name, value in ODD.items()) + "}"


@pytest.mark.parametrize(
    "task",
    [
        f"local_params: {AS_WRITTEN}",
        "local_params: {" + ", ".join(f"{name}: {{value: {value}}}" for name, value in ODD.items()) + "}",
        "local_params: [" + ", ".join(f"{{name: {name}, value: {value}}}" for name, value in ODD.items()) + "]",
    ],
)
def test_local_parameters_are_taken_as_they_were_written(task: str) -> None:
    text = f"name: w\ntasks:\n  - name: a\n    type: FAKE\n    {task}\n"
    (workflow,) = parse_workflows(text.encode(), "f.yaml", CATALOG)
    assert {param.name: param.value for param in workflow.spec.tasks[0].local_params} == ODD


def test_what_a_task_gives_its_child_is_taken_as_it_was_written() -> None:
    text = f"name: w\ntasks:\n  - {{name: a, type: SUB_PROCESS, params: {{workflow: b, params: {AS_WRITTEN}}}}}\n"
    (workflow,) = parse_workflows(text.encode(), "f.yaml", CATALOG)
    assert workflow.spec.tasks[0].params == {"workflow": "b", "params": ODD}


def test_a_number_with_a_leading_zero_is_a_text_in_what_a_task_type_reads() -> None:
    params = "{outputs: {month: 010, at: 12:30:45}, sleep_s: 0.5, fail_attempts: 0, write: 08}"
    text = f"name: w\nparams: {{list: [010, 10]}}\ntasks:\n  - {{name: a, type: FAKE, params: {params}, timeout: 05}}\n"
    (workflow,) = parse_workflows(text.encode(), "f.yaml", CATALOG)
    (task,) = workflow.spec.tasks
    assert task.params == {
        "outputs": {"month": "010", "at": "12:30:45"},
        "sleep_s": 0.5,
        "fail_attempts": 0,
        "write": "08",
    }
    assert workflow.spec.params == {"list": '["010", 10]'}
    assert task.timeout == 5


def test_anchors_and_merges_work() -> None:
    text = (
        "name: good\ntasks:\n"
        "  - &base {name: a, type: FAKE, params: {sleep_s: 1}}\n"
        "  - {<<: *base, name: b}\n"
        "  - {<<: [*base], name: c, after: [a]}\n"
    )
    (workflow,) = parse_workflows(text.encode(), "f.yaml", CATALOG)
    assert [(task.name, task.params) for task in workflow.spec.tasks] == [
        ("a", {"sleep_s": 1}),
        ("b", {"sleep_s": 1}),
        ("c", {"sleep_s": 1}),
    ]


TASKS = "name: x\ntasks:\n"


@every(
    ("text", "fault"),
    [
        (b"name: \xe4\n", "f.yaml:1: the byte 0xe4 is not UTF-8; save the file as UTF-8"),
        ("name: a\n\tb: 1\n", "f.yaml:2: a tab indents this line; YAML takes only blanks"),
        ("a: 1\nb: 2\na: 3\n", 'f.yaml:3: the key "a" stands there twice; remove one of them'),
        ("name: [\n", "f.yaml:2: this is not YAML at column 1"),
        ("a: \x07", "f.yaml:1: the character U+0007 must not stand in YAML; remove it"),
        ("", "f.yaml: there is no workflow in it; begin with `name:` and `tasks:`"),
        ("- 1", "f.yaml:1: a workflow is a mapping with `name:` and `tasks:`"),
        ("a: &a [*a]", "nested more than 60 levels deep"),
        ("[" * 5_000, "nested more than 60 levels deep"),
        ("x: !python/object y", "has no meaning here; remove it"),
        (f"a: 0x{'f' * 5_000}", f"f.yaml:1: 0x{'f' * 58}... is not a number that can be stored; put it into quotes"),
        (f"a: [-{'7' * 5_000}]", f"f.yaml:1: -{'7' * 59}... is not a number that can be stored; put it into quotes"),
        (f"a: 0o{'7' * 9_000}", "is not a number that can be stored; put it into quotes"),
        ("a: .inf", "f.yaml:1: .inf is not a number that can be stored; put it into quotes"),
        ("? [a]\n: b\n", "f.yaml:1: a key must be a text, not a list or a mapping"),
        ("a:\n  <<: 5\n", "f.yaml:2: << takes an alias of a mapping, or a list of such aliases"),
        (b" " * (BYTES_MAX + 1), "f.yaml:1: the file has 4000001 bytes, 4000000 is the most; split it into several"),
        (GOOD.replace("name: good\n", ""), 'f.yaml:1: the field "name" is missing'),
        ("name: x\n", 'f.yaml:1: the field "tasks" is missing'),
        (f"{GOOD}tsks: 1\n", 'f.yaml:5: there is no field "tsks", did you mean "tasks"?'),
        (f"{GOOD}release_state: on\n", 'f.yaml:5: field "release_state": input should be'),
        (f"{GOOD}priority: urgent\n", 'f.yaml:5: field "priority": input should be'),
        (f"{TASKS}  - name: a\n    typ: FAKE\n", 'f.yaml:4: task "a": there is no field "typ", did you mean "type"?'),
        (
            f"{TASKS}  - name: a\n    type: SHEL\n",
            'f.yaml:4: task "a": there is no task type "SHEL"; did you mean SHELL?',
        ),
        (
            f"{TASKS}  - name: a\n    type: SHELL\n    params: {{scrpt: x}}\n",
            'f.yaml:5: task "a": SHELL parameters: script',
        ),
        (f"{TASKS}  - {{name: a, type: FAKE}}\n  - {{name: a, type: FAKE}}\n", 'f.yaml:4: task "a" stands there twice'),
        (f"{TASKS}  - {{name: ab, type: FAKE}}\n  - {{name: b, type: FAKE, after: [abc]}}\n", 'did you mean "ab"?'),
        (
            f"{TASKS}  - {{name: a, type: FAKE, after: [b]}}\n  - {{name: b, type: FAKE, after: [a]}}\n",
            "f.yaml:4: tasks wait for each other in a circle: b -> a -> b; remove one of these arrows",
        ),
        (f"{GOOD}---\n{GOOD}", 'the workflow "good" stands there twice; give each a different name'),
    ],
)
def test_each_mistake_is_told_with_its_line_and_its_cure(text: str | bytes, fault: str) -> None:
    assert fault in faults_of(text)


def test_the_fields_that_are_known_are_all_of_that_place() -> None:
    """Fields beside the specification too, and in a list those of its entries."""
    faults = faults_of("name: a\nzzz: 1\ntasks: [{name: t, type: FAKE, local_params: [{name: x, qqq: 1}]}]\n")
    assert 'there is no field "zzz"; known are name, kind, project, release_state, schedules, description, ' in faults
    assert 'there is no field "qqq"; known are name, direct, type, value' in faults
    near = faults_of("name: a\nprojekt: b\ntasks: [{name: t, type: FAKE}]\n")
    assert 'there is no field "projekt", did you mean "project"?' in near


def test_all_mistakes_are_told_at_once() -> None:
    text = f"{TASKS}" + "".join(f"  - {{name: t{n}, type: NIX}}\n" for n in range(25))
    told = faults_of(text).splitlines()
    assert len(told) == 21
    assert told[0].startswith('f.yaml:3: task "t0"')
    assert told[-1].strip() == "and 5 more"


def test_a_file_of_aliases_to_aliases_is_refused_before_it_fills_the_memory() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "more than 300000 values, counting each use of an alias" in faults_of("\n".join(lines))


@pytest.mark.parametrize("most", ["VALUES_MAX", "TOKENS_MAX"])
def test_the_values_of_all_documents_of_a_file_count_together(most: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_lines, most, 40)
    assert "values" not in faults_of("a: 1\n---\n" * 5)
    assert "values, counting each use of an alias" in faults_of("a: 1\n---\n" * 25)


def test_a_reference_may_stand_where_a_number_is_wanted() -> None:
    text = GOOD + "    params: {sleep_s: '${pause}'}\n"
    assert len(parse_workflows(text.encode(), "f.yaml", CATALOG)) == 1


def test_nothing_is_read_from_files_of_which_one_is_wrong(tmp_path: Path) -> None:
    good, again, folder = tmp_path / "good.yaml", tmp_path / "again.yaml", tmp_path / "folder"
    good.write_text(GOOD)
    again.write_text(GOOD)
    folder.mkdir()
    with pytest.raises(BadWorkflowFile) as caught:
        read_definition_files([good, again, folder])
    assert f'{again}: the workflow "good" stands in {good} too' in str(caught.value)
    assert f"{folder}: it cannot be read: Is a directory" in str(caught.value)
    with pytest.raises(NotFound, match="there is no file"):
        read_definition_files([tmp_path / "nix.yaml"])


def test_what_an_import_left_to_do_refuses_the_workflow_at_its_line() -> None:
    text = f"todo:\n  - name the data source\n  - write the task\n{GOOD}"
    assert faults_of(text).splitlines() == [
        "f.yaml:2: todo: name the data source; when that is done, remove this line",
        "       f.yaml:3: todo: write the task; when that is done, remove this line",
    ]
    (document,) = parse_workflows(f"todo: []\n{GOOD}".encode(), "f.yaml", CATALOG)
    assert document.name == "good"
