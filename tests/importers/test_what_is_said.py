"""What the report says: passwords without their values, names to fill in, and what means something else here."""

from __future__ import annotations

import json
from typing import Any

import pytest

from importers.catalog import Names, read_catalog
from importers.passwords import Hidden, Passwords, found_in, is_name
from importers.report import Grade
from model.choices import ParameterType
from model.errors import Refused
from tests.every import every
from tests.importers.exports import (
    code_of,
    definition,
    documents,
    export,
    imported,
    lines,
    only,
    said,
    schedule,
    task,
    the_task,
)


def param(name: str, value: str = "", type_: str = "VARCHAR", direct: str = "IN") -> dict[str, str]:
    return {"prop": name, "direct": direct, "type": type_, "value": value}


def script(text: str, *local: dict[str, str], name: str = "a") -> dict[str, Any]:
    return task(name, params={"rawScript": text, "localParams": list(local)})


# -------------------------------------------------------------------------------------------------- passwords


@every("name", ["password", "db_password", "dbPassword", "PASSWD", "token", "api_key", "accessKey", "pwd"])
def test_a_parameter_is_a_password_by_its_name(name: str) -> None:
    assert is_name(name)


@every("name", ["passenger", "tokens_used", "path", "compass", "keyword", "key"])
def test_other_names_are_none(name: str) -> None:
    assert not is_name(name)


@every(
    ("text", "value"),
    [
        ("sqoop --password s3cret --table t", "s3cret"),
        ("mysql -h db -u me -ps3cret shop", "s3cret"),
        ("PGPASSWORD=s3cret psql", "s3cret"),
        ('password = "s3 cret"', "s3 cret"),
        ('{"password": "s3cret"}', "s3cret"),
        ("jdbc:mysql://me:s3cret@db/shop", "s3cret"),
        ("CREATE USER a IDENTIFIED BY 's3cret'", "s3cret"),
        ("curl -H 'Authorization: Bearer s3cret' http://x", "s3cret"),
        ("sshpass -p s3cret ssh x", "s3cret"),
        ("curl -u me:s3cret http://x", "s3cret"),
    ],
)
def test_a_password_in_a_text_is_found_by_its_place(text: str, value: str) -> None:
    assert found_in(text) == {value}
    hidden = Hidden(Passwords())
    assert hidden.without({"script": [text]}) == {"script": [text.replace(value, "${imported_password_1}")]}
    assert hidden.names == {value: "imported_password_1"}


@every("text", ["mysql -p${pw} x", "--password $PW", "PASSWORD=$(cat f)", "password = ''", "a -p x"])
def test_a_reference_to_a_password_is_none(text: str) -> None:
    assert found_in(text) == set()


def test_no_password_reaches_any_file_and_each_is_a_todo() -> None:
    given = export(
        script("mysql -ph1dden-one x; echo par4meter", param("app_token", "t0ken-value")),
        task("b", "HTTP", {"url": "http://me:ur1-secret@x/", "httpParams": [
            {"prop": "Authorization", "httpParametersType": "HEADERS", "value": "Bearer be4rer-value"}]}),
        task("c", "EMR", {"secretKey": 'quo"ted-s3cret', "x": "mysql -ph1dden-one"}),
        head=definition("job of h1dden-one", globalParams=[param("password", "par4meter")]),
    )  # fmt: skip
    found = imported(given)
    everything = "".join(found.files.values())
    for secret in ("h1dden-one", "t0ken-value", "ur1-secret", "be4rer-value", "ted-s3cret", "par4meter"):
        assert secret not in everything
    todos = [each for each in said(found, Grade.TODO) if "password was found" in each]
    assert len(todos) == 5


def test_a_password_is_a_secret_that_somebody_gives() -> None:
    given = export(script("echo ${password}"), head=definition(globalParams=[param("password", "par4meter")]))
    found = imported(given, names={"passwords": {"daily/password": "project"}})
    assert not found.report.has_todo
    spec = only(found).spec
    assert (spec.secrets, spec.params) == (("password",), {})


# ---------------------------------------------------------------------------------------------------- catalog


def test_names_that_are_missing_are_asked_for_and_read_back() -> None:
    given = export(task("a", "SQL", {"type": "MYSQL", "datasource": 7, "sql": "SELECT 1"}, environmentCode=88))
    first = imported(given)
    catalog = first.files["catalog.yaml"]
    assert (first.missing, first.report.has_todo) == (3, True)
    assert '  "7": ""  # MYSQL; task "a" of "daily"\n' in catalog
    filled = catalog.replace('"7": ""', "7: shop").replace('"88": ""', '"88": spark')
    second = imported(given, names=read_catalog(filled.encode(), "catalog.yaml"))
    assert not second.report.has_todo
    assert (the_task(second).params["datasource"], the_task(second).environment) == ("shop", "spark")
    assert '  "7": "shop"' in second.files["catalog.yaml"]
    assert "todo:" not in second.files["workflows/daily.yaml"]


def test_a_catalog_keeps_what_nobody_asked_for() -> None:
    names = Names({"datasources": {"1": "shop"}})
    assert names.find("datasources", 2, "a\nb") is None
    assert [line for line in names.yaml().splitlines() if line.startswith("  ")] == [
        '  "1": "shop"',
        '  "2": ""  # a b',
    ]
    assert read_catalog(names.yaml().encode(), "c") == {"datasources": {"1": "shop", "2": ""}}


@every(
    ("text", "why"),
    [
        ("datasource: {1: x}", 'did you mean "datasources"'),
        ("datasources: [1]", "must be a mapping"),
        ("datasources: {1: [x]}", "must be a text"),
        ("- a", "one mapping"),
        ("a: [", "c.yaml:1: "),
    ],
)
def test_a_catalog_that_cannot_be_read_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(Refused) as raised:
        read_catalog(text.encode(), "c.yaml")
    assert why in str(raised.value)


def test_one_unknown_project_is_the_default_one_and_several_are_todos() -> None:
    one = imported(export(task("a")))
    assert (only(one).project, one.report.has_todo) == ("default", False)
    other = export(task("a"), head=definition("other", code=5, projectCode=6))
    two = imported(export(task("a")), other)
    assert len(said(two, Grade.TODO)) == 2
    named = imported(export(task("a")), other, names={"projects": {"6": "six", str(definition()["projectCode"]): "p"}})
    assert {each.project for each in documents(named).values()} == {"six", "p"}


# --------------------------------------------------------------------------------------------- names and values


def test_names_that_shoal_refuses_are_changed_in_references_too() -> None:
    result = {"dependTaskList": [{"condition": "${a} > 1", "nextNode": code_of(1)}]}
    given = export(
        task(" a/b ", "SWITCH", {"switchResult": result}),
        task("123"),
        task("123"),
        edges=[(0, 1), (0, 2)],
        head=definition("@x/y"),
    )
    document = only(imported(given))
    assert document.name == "x_y"
    assert [(each.name, each.after) for each in document.spec.tasks] == [
        ("a_b", ()), ("task_123", ("a_b",)), ("task_123 2", ("a_b",)),
    ]  # fmt: skip
    assert document.spec.tasks[0].params["cases"][0]["then"] == ["task_123"]


def test_two_workflows_of_one_name_are_a_todo() -> None:
    found = imported(export(task("a")), export(task("b")))
    assert any("has its name" in each for each in said(found, Grade.TODO))


def test_parameters_keep_direction_and_type_if_their_value_fits() -> None:
    head = definition(globalParams=[param("n", "5", "INTEGER"), param("r", "x", direct="OUT"), param("t", "x", "TIME")])
    given = export(script("echo", param("d", "2022-01-01", "TIME"), param("f", "a.csv", "FILE")), head=head)
    found = imported(given)
    spec = only(found).spec
    assert spec.params == {"n": "5", "r": "x", "t": "x"}
    assert spec.declared["n"].type is ParameterType.INTEGER
    assert spec.outputs == ("r",)
    assert [(each.name, each.type) for each in spec.tasks[0].local_params] == [("d", "VARCHAR"), ("f", "FILE")]
    assert len([each for each in said(found, Grade.CHANGED) if "does not fit" in each]) == 2
    assert any("in the script ${f} is its path" in each for each in said(found, Grade.CHANGED))


def test_an_out_without_a_value_fails_no_task() -> None:
    spec = only(imported(export(script("echo", param("x", direct="OUT"))))).spec
    assert spec.strict_outputs is False


def test_an_in_and_an_out_of_one_name_are_one_parameter() -> None:
    found = imported(export(script("echo ${x}", param("x"), param("x", direct="OUT"))))
    assert [(each.name, each.direct) for each in the_task(found).local_params] == [("x", "OUT")]
    both = imported(export(script("echo ${x}", param("x", "5"), param("x", direct="OUT"))))
    assert any("another name" in each for each in said(both, Grade.TODO))


# ------------------------------------------------------------------------------------- what means something else


def test_what_differs_is_said_once_for_a_file() -> None:
    given = export(task("a", "PYTHON", {"rawScript": "x"}), task("b", "PYTHON", {"rawScript": "x"}))
    found = imported(given)
    assert len([each for each in said(found, Grade.CHANGED) if "PYTHON_LAUNCHER" in each]) == 1


def test_a_value_of_a_branch_that_is_not_before_is_said() -> None:
    given = export(
        script("echo '#{setValue(rows=1)}'", param("rows", direct="OUT"), name="writer"),
        script("echo ${rows}", name="reader"),
    )
    found = imported(given)
    assert any('it reads "rows", which "writer" gives' in each for each in said(found, Grade.CHANGED, "reader"))
    joined = export(*given[0]["taskDefinitionList"], edges=[(0, 1)])
    assert not said(imported(joined), Grade.CHANGED, "reader")


@every(
    ("text", "line"),
    [
        ('echo\nif (( $(echo "1 >= ${t}" | bc -l) )); then true; fi', "line 2"),
        ("echo\necho $(( ${t} + 1 ))", "line 2"),
    ],
)
def test_a_place_where_bash_would_run_a_value_is_said_with_its_line(text: str, line: str) -> None:
    found = imported(export(script(text), head=definition(globalParams=[param("t")])))
    assert any(line in each for each in said(found, Grade.CHANGED, "a")), said(found, Grade.CHANGED)


def test_what_looks_like_a_time_and_is_none_is_said() -> None:
    found = imported(export(script("echo $[yyyyMMdd-1] $[next_day(yyyyMMdd)] $[1+2]")))
    assert said(found, Grade.CHANGED, "a") == ["$[next_day(yyyyMMdd)] is no time expression here, and stays as it is"]


def test_an_edge_to_nowhere_is_a_todo() -> None:
    given = export(task("a"))
    given[0]["processTaskRelationList"][0]["preTaskCode"] = 4711
    assert any("4711" in each for each in said(imported(given), Grade.TODO))


# ------------------------------------------------------------------------------------------------- the report


def test_the_report_counts_and_grades_and_names_each_file() -> None:
    given = export(task("a"), task("b", "EMR", {"x": 1}), task("c", cpuQuota=5), schedule=schedule())
    found = imported(given)
    report = json.loads(found.files["import-report.json"])
    assert report["grades"] == {"same": 3, "changed": 0, "lost": 1, "todo": 1}
    fields = report["fields"]
    assert fields["fields"] == fields["mapped"] + fields["irrelevant"] + fields["reported"]
    assert report["files"] == ["catalog.yaml", "workflows/daily.yaml"]
    grades = {line["task"]: line["grade"] for line in report["lines"] if line["workflow"]}
    assert grades == {"": "same", "its schedule": "same", "a": "same", "b": "todo", "c": "lost"}
    page = found.files["import-report.md"]
    assert "- [ ] **daily / b**: call the AWS command line by a SHELL or HTTP task\n" in page
    assert "|  | changed | releaseState |" in page


def test_a_report_cannot_be_broken_by_what_it_names() -> None:
    found = imported(export(task("a|b\n<script>"), head=definition("x | y")))
    table = [line for line in found.files["import-report.md"].splitlines() if line.startswith("|")]
    assert all(line.count("|") - line.count("\\|") in (4, 5) for line in table)
    assert "<script>" not in found.files["import-report.md"]


def test_lines_of_a_lost_field_say_where_it_stood() -> None:
    found = imported(export(task("a", brandNew={"deep": [1]})))
    (line,) = lines(found, Grade.LOST)
    assert (line.workflow, line.task, line.field) == ("daily", "a", "brandNew")
