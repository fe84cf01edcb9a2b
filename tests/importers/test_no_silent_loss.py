"""Nothing of an input is lost in silence, whatever it is; and what is written is what Shoal reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from importers.imported import Imported
from importers.report import Grade
from service.workflows.workflow_file import BadWorkflowFile, WorkflowDocument, parse_workflows
from service.workflows.workflow_text import WorkflowContent, yaml_of
from tests.importers.exports import (
    TYPES,
    code_of,
    definition,
    export,
    imported,
    legacy,
    legacy_task,
    lines,
    only,
    schedule,
    task,
)
from tests.importers.random_exports import exports, old_exports, sdk_files

SLOWLY = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
NAMES = {"datasources": {"7": "shop"}, "alert_groups": {"3": "data", "4": "ops"}, "workflows": {"99": "theirs"}}
COPIES = ("globalParamMap", "globalParamList", "taskParamList", "taskParamMap")
"""What an export has twice: another field is read."""
SAYS_NOTHING = {
    *("id", "version", "createTime", "updateTime", "userId", "operator", "operateTime", "projectCode", "code"),
    *("preTaskVersion", "postTaskVersion", "processDefinitionVersion", "processDefinitionCode", "definitionCode"),
    *("checkInterval", "cycle"),
}
"""Fields that may change without any change of what is written, by their names: rows and their history."""


def mappings(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        for name, each in tree.items():
            yield from mappings(each) if name not in COPIES else ()
    elif isinstance(tree, list):
        for each in tree:
            yield from mappings(each)


def leaves(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Each container with the key of a leaf that says something."""
    for key, each in tree.items() if isinstance(tree, dict) else enumerate(tree):
        if isinstance(each, dict | list):
            yield from leaves(each)
        elif each not in (None, ""):
            yield tree, key


def unfolded(tree: Any) -> Any:
    """The same with the text of version 1 as what it says, so that each field of it can be changed."""
    for each in mappings(tree):
        if isinstance(each.get("processDefinitionJson"), str):
            each["processDefinitionJson"] = json.loads(each["processDefinitionJson"])
    return tree


def told(found: Imported) -> str:
    return "\n".join(found.files.values())


def again(document: WorkflowDocument) -> WorkflowDocument:
    """The workflow after an export and another read."""
    spec = document.spec
    timed = [(entry.spec(spec.time_zone), entry.online) for entry in document.schedules]
    content = WorkflowContent(document.project, document.name, document.release_state, spec, timed, document.layout)
    (read,) = parse_workflows(yaml_of(content).encode(), "", TYPES)
    return read


ANY = st.one_of(exports(), old_exports(), sdk_files())


@SLOWLY
@given(ANY)
def test_every_field_of_any_export_is_mapped_reported_or_known_to_say_nothing(given_: Any) -> None:
    counts = imported(given_, names=NAMES).report.counts
    assert counts.fields == counts.mapped + counts.irrelevant + counts.reported
    assert counts.fields > 0


@SLOWLY
@given(exports() | old_exports())
def test_a_field_that_nobody_knows_is_reported_wherever_it_stands(given_: Any) -> None:
    changed = deepcopy(given_)
    if isinstance(changed, dict) and isinstance(changed.get("taskDefinitionJson"), str):
        changed["taskDefinitionJson"] = json.loads(changed["taskDefinitionJson"])
    places = list(mappings(unfolded(changed)))
    for number, each in enumerate(places):
        each[f"ofTomorrow{number}"] = f"unheard of {number}."
    text = told(imported(changed, names=NAMES))
    lost = [each for number, each in enumerate(places) if f"unheard of {number}." not in text]
    assert lost == [], "neither in the report, nor in the comment of a task that somebody has to write"


@SLOWLY
@given(ANY)
def test_what_is_written_is_read_by_shoal_and_stays_the_same(given_: Any) -> None:
    found = imported(given_, names=NAMES)
    for name, text in found.files.items():
        if not name.startswith("workflows/") or name.endswith("pools.yaml"):
            continue
        try:
            (document,) = parse_workflows(text.encode(), name, TYPES)
        except BadWorkflowFile as error:
            assert found.report.has_todo
            assert all(fault.sentence.startswith("todo: ") or "Shoal refuses it" in text for fault in error.faults)
        else:
            assert again(document).spec == document.spec
            assert again(document).schedules == document.schedules


JUNK = st.sampled_from(
    [None, True, -1, 10**30, 1e999, "", "x", "{", "[1]", "\ud800", "\0", [], {}, [[]], [5], {"a": 1}]
)


@SLOWLY
@given(exports() | old_exports(), JUNK, st.data())
def test_whatever_stands_anywhere_the_import_ends_with_a_report(given_: Any, junk: Any, data: st.DataObject) -> None:
    changed = deepcopy(given_)
    if isinstance(changed, dict) and isinstance(changed.get("taskDefinitionJson"), str):
        changed["taskDefinitionJson"] = json.loads(changed["taskDefinitionJson"])
    unfolded(changed)
    place = data.draw(st.sampled_from([each for each in mappings(changed) if each]))
    place[data.draw(st.sampled_from(sorted(place)))] = junk
    counts = imported(changed, names=NAMES).report.counts
    assert counts.fields == counts.mapped + counts.irrelevant + counts.reported


@SLOWLY
@given(exports())
def test_an_import_gives_the_same_bytes_each_time(given_: Any) -> None:
    assert imported(given_).files == imported(given_).files


@SLOWLY
@given(ANY)
def test_no_password_is_written_into_any_file(given_: Any) -> None:
    assert "hunter2hunter2" not in told(imported(given_, names=NAMES))


def full() -> list[dict[str, Any]]:
    """An export in which most fields say something."""
    item = {"projectCode": 1, "definitionCode": 99, "depTaskCode": 0, "cycle": "day", "dateValue": "today"}
    group = {"relation": "OR", "dependItemList": [item, {**item, "dateValue": "last2Days", "parameterPassing": True}]}
    asks = [{"relation": "AND", "dependItemList": [{"depTaskCode": code_of(0), "status": "FAILURE"}]}]
    local = [
        {"prop": "p", "direct": "IN", "type": "INTEGER", "value": "12"},
        {"prop": "q", "direct": "OUT", "type": "VARCHAR", "value": "z"},
    ]
    sql = {
        "type": "MYSQL",
        "datasource": 7,
        "sql": "SELECT 1",
        "sqlType": "0",
        "preStatements": ["SELECT 2"],
        "limit": 5,
    }
    mail = {"sendEmail": True, "groupId": 3, "title": "T", "displayRows": 20}
    http = {
        "url": "http://x/",
        "httpMethod": "POST",
        "httpParams": [{"prop": "q", "httpParametersType": "HEADERS", "value": "1"}],
        "httpCheckCondition": "BODY_CONTAINS",
        "condition": "ok",
        "connectTimeout": 5000,
        "socketTimeout": 7000,
    }
    return export(
        task("a", params={"rawScript": "echo ${p}", "localParams": local}, failRetryTimes=2, delayTime=3, cpuQuota=5,
             timeoutFlag="OPEN", timeout=4),
        task("b", "SQL", {**sql, **mail}, timeoutFlag="OPEN", timeoutNotifyStrategy="FAILED", timeout=9),
        task("c", "HTTP", http, taskPriority="HIGH", workerGroup="gpu", description="about c"),
        task("d", "DEPENDENT", {"dependence": {"relation": "OR", "checkInterval": 10, "dependTaskList": [group]}}),
        task("e", "CONDITIONS", {
            "dependence": {"relation": "AND", "dependTaskList": asks},
            "conditionResult": {"successNode": [code_of(5)], "failedNode": [code_of(6)]},
        }),
        task("f", "SUB_PROCESS", {"processDefinitionCode": 99}),
        task("g", "EMR", {"jobFlowDefineJson": "{}"}),
        edges=[(0, 1), (0, 2), (0, 4), (4, 5), (4, 6)],
        head=definition(
            description="daily work",
            globalParams=[{"prop": "day", "direct": "OUT", "type": "VARCHAR", "value": "x"}],
            locations=[{"taskCode": code_of(0), "x": 5, "y": 6}],
            timeout=30,
            executionType="SERIAL_WAIT",
            releaseState="ONLINE",
        ),
        schedule=schedule(releaseState="ONLINE", warningType="ALL", warningGroupId=4, environmentCode=-1),
    )  # fmt: skip


def test_a_change_of_any_field_that_says_something_changes_what_is_written() -> None:
    """A field may be marked as mapped by mistake: here it shows that it is."""
    given_ = full()
    before = told(imported(given_, names=NAMES, online=True))
    silent = set()
    tasks = given_[0]["taskDefinitionList"]
    whole = {**given_[0], "taskDefinitionList": tasks[:1]}
    whole["processTaskRelationList"] = given_[0]["processTaskRelationList"][-1:]
    params = [each["taskParams"] for each in tasks[1:]]
    for container, key in [*leaves(whole), *leaves(params)]:
        was = container[key]
        container[key] = f"{was}1" if isinstance(was, str) else (not was if isinstance(was, bool) else was + 1000)
        if told(imported(given_, names=NAMES, online=True)) == before:
            silent.add(key if isinstance(container, dict) else "list")
        container[key] = was
    assert sorted(silent - SAYS_NOTHING) == []


def test_what_is_written_of_a_full_export_survives_another_export() -> None:
    given_ = full()
    del given_[0]["taskDefinitionList"][6]
    given_[0]["processTaskRelationList"].pop()
    given_[0]["taskDefinitionList"][4]["taskParams"]["conditionResult"]["failedNode"] = []
    found = imported(given_, names=NAMES)
    assert not found.report.has_todo
    document = only(found)
    assert (again(document).spec, again(document).layout) == (document.spec, document.layout)


def test_an_unknown_field_of_version_1_is_lost_aloud() -> None:
    found = imported(legacy(legacy_task("a", colour="red"), ofTomorrow=5))
    assert {line.field for line in lines(found, Grade.LOST)} == {"colour", "ofTomorrow"}
    assert found.report.counts.reported == 2
