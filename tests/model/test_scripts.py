"""Scripts from an editor of Windows."""

from __future__ import annotations

from typing import Any

from model.definitions.workflow import WorkflowSpec
from model.scripts.normal_form import changed_script, changed_scripts, plain_script
from tests.every import every


@every(
    ("text", "plain"),
    [
        ("cd /tmp\r\npwd\r\n", "cd /tmp\npwd\n"),
        ("\ufeffcd /tmp\npwd", "cd /tmp\npwd"),
        ("\ufeffa\r\r\n\ufeffb\r", "a\nb"),
        ("printf '50%%\r100%%'\n", "printf '50%%\r100%%'\n"),
        ("mkdir out\rcd out\rpwd\r", "mkdir out\ncd out\npwd"),
        ("echo \ufeff\n", "echo \ufeff\n"),
        ("", ""),
    ],
)
def test_a_script_has_no_byte_order_mark_and_no_carriage_return_at_the_end_of_a_line(text: str, plain: str) -> None:
    assert plain_script(text) == plain
    assert (changed_script(text, "it") is None) == (text == plain)


@every(
    ("type_", "field", "given", "plain"),
    [
        ("SHELL", "script", "\ufeffcd /tmp\r\n", "cd /tmp\n"),
        ("SPARK", "script", "x = 1\r\n", "x = 1\n"),
        ("SQL", "sql", "\ufeffSELECT 1;\r\nSELECT 2", "SELECT 1;\nSELECT 2"),
        ("SQL", "pre_statements", ["\ufeffSELECT 1", "SELECT 2\r"], ["SELECT 1", "SELECT 2"]),
        ("SQL", "post_statements", "SELECT 1\r\n", "SELECT 1\n"),
        ("K8S", "command", ["sh", "-c", "cd /tmp\r\npwd"], ["sh", "-c", "cd /tmp\npwd"]),
        ("K8S", "args", ["-c", "\ufeffpwd"], ["-c", "pwd"]),
    ],
)
def test_all_that_an_interpreter_reads_is_made_plain_and_the_answer_names_it(
    type_: str, field: str, given: Any, plain: Any
) -> None:
    content = {"tasks": [{"name": "a", "type": type_, "params": {field: given, "other": "x\r\n"}}]}
    assert WorkflowSpec.parse(content).tasks[0].params == {field: plain, "other": "x\r\n"}
    (note,) = changed_scripts(content)
    assert note.startswith(f'task "a": its {field.replace("_", " ")} is saved with plain line ends')


def test_a_carriage_return_in_an_argument_stays() -> None:
    content = {"tasks": [{"name": "a", "type": "K8S", "params": {"args": ["a\rb"]}}]}
    assert WorkflowSpec.parse(content).tasks[0].params == {"args": ["a\rb"]}
    assert not list(changed_scripts(content))
