"""Tags of workflows: in a file, in the list, and in what is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from model.definitions.problems import InvalidWorkflow
from model.definitions.workflow import WorkflowSpec
from tests.every import every
from tests.shoal.command_line import CommandLine

TASKS = [{"name": "a", "type": "FAKE"}]


def names(answer: Any) -> list[str]:
    return [each["name"] for each in answer.json]


async def test_the_list_has_those_with_all_tags_that_are_asked_for(database_url: str, sql: Any, tmp_path: Path) -> None:
    shoal = CommandLine.at(database_url)
    files = []
    for name, tags in (("one", "[finance, daily]"), ("two", '[finance, "for CI/CD"]'), ("three", "[]")):
        files.append(tmp_path / f"{name}.yaml")
        files[-1].write_text(f"name: {name}\ntags: {tags}\ntasks:\n  - {{name: a, type: FAKE}}\n")
    applied, every, finance, both, other, none, wrong, shown, table = await shoal.each(
        f"workflow apply {' '.join(map(str, files))}",
        "workflow list --json",
        "workflow list --tag finance --json",
        "workflow list --tag finance --tag daily --json",
        "workflow list --tag 'for CI/CD' --json",
        "workflow list --tag Finance",
        "workflow list --tag ''",
        "workflow show two",
        "workflow list",
    )
    assert applied.code == 0, applied.err
    assert sorted(names(every)) == ["one", "three", "two"]
    assert [names(each) for each in (finance, both, other)] == [["one", "two"], ["one"], ["two"]]
    assert "No workflow has these tags." in none.out
    assert (wrong.code, "must be 1 to 50 printable characters" in wrong.err) == (2, True)
    assert "Tags: finance, for CI/CD" in shown.out
    assert "finance, daily" in table.out
    # Of the current version, and by SQL too.
    sql(
        'INSERT INTO workflow_version (workflow_code, version, spec) SELECT code, 2, \'{"tags": "x", "tasks": []}\''
        " FROM workflow_definition WHERE name = 'one' RETURNING version"
    )
    sql("UPDATE workflow_definition SET version = 2 WHERE name = 'one' RETURNING code")
    (left,) = await shoal.each("workflow list --tag finance --json")
    assert names(left) == ["two"]


@every(
    ("tags", "says"),
    [
        (["a,b"], "must be 1 to 50 printable characters, without a comma, and no space at its ends"),
        ([" a"], "must be 1 to 50 printable characters"),
        ([""], "must be 1 to 50 printable characters"),
        (["x" * 51], "must be 1 to 50 printable characters"),
        (["a\nb"], "must be 1 to 50 printable characters"),
        (["a", "b", "a"], 'names "a" twice; once is enough'),
        ([str(number) for number in range(21)], "must not have more than 20 entries"),
        ("finance", "must be a list, such as [a, b]"),
    ],
)
def test_a_wrong_tag_is_said_at_its_field(tags: Any, says: str) -> None:
    with pytest.raises(InvalidWorkflow) as raised:
        WorkflowSpec.parse({"tags": tags, "tasks": TASKS})
    assert says in raised.value.problems[0].sentence
    assert raised.value.problems[0].where[0] == "tags"
