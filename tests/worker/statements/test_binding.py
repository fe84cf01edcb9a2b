"""A value never becomes SQL: not in the text that we send, and not in any database."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from model.choices import ParameterType
from model.errors import Refused
from model.parameters.parameters import replace_references
from tests.every import every
from tests.worker.statements.targets import Attempt, Target
from tests.worker.statements.test_grammar import GRAMMARS, SQLISH
from worker.statements.binding import Bind, Binder, Statement
from worker.tasks.sql import SqlTask

VALUES = st.one_of(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=50),
    st.text(st.sampled_from("'\"`\\;-%$?:{}()\n\r\x1a#*/ \u2019\u02bcEe0é\U0001f41f"), max_size=20),
)
HOSTILE = (
    "",
    " ",
    "'; DROP TABLE kept; --",
    "\\'; DROP TABLE kept; #",
    "\\",
    "%s%(p)s%%?:1$1@x",
    "${other}!{other}$${other}",
    "\x1a\r\n\t",
    "a\u2028b\ufeff",
    "bf\u5c27 OR 1=1",
)


def bound(name: str, text: str, values: dict[str, str], **types: ParameterType) -> list[Statement]:
    return Binder(GRAMMARS[name], values, types).statements(replace_references(text, values, SqlTask.insert))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=VALUES)
def test_any_text_comes_back_unchanged_from_every_place_and_touches_no_other_row(each: Target, value: str) -> None:
    _comes_back(each, value)


def test_a_hostile_text_comes_back_unchanged_from_every_place(each: Target) -> None:
    for value in HOSTILE:
        _comes_back(each, value)


def _comes_back(each: Target, value: str) -> None:
    each.rows("CREATE TABLE IF NOT EXISTS kept (i integer, x varchar(1000))")
    each.rows("DELETE FROM kept")
    each.rows("INSERT INTO kept VALUES (0, 'as it was')")
    places = {
        "${v}": value,
        "'${v}'": value,
        "'a''${v};--${v}'": f"a'{value};--{value}",
        "/* ${v} */ ${v}": value,
        "'$${v}'": "${v}",
        "CAST(${v} AS char(500))" if each.kind == "mysql" else "CAST('${v}' AS varchar(500))": value,
        "(SELECT ${v})": value,
    }
    if each.kind == "mysql":
        places['"${v}"'] = value
    inserts = [f"INSERT INTO kept VALUES ({number}, {place})" for number, place in enumerate(places, 1)]
    sql = ["UPDATE kept SET x = ${v} WHERE x = '${v}' AND i < 0", *inserts, "SELECT ${v} AS x, '${v}' AS y"]
    values = {"v": value, "other": "no"}
    result = asyncio.run(Attempt(each.url, values=values).run(sql=sql))
    assert result.outputs == {"x": value, "y": value}
    rows = dict(each.rows("SELECT i, x FROM kept ORDER BY i"))
    assert rows == {0: "as it was", **dict(enumerate(places.values(), 1))}
    asyncio.run(Attempt(each.url, values=values).run(sql="DELETE FROM kept WHERE i IN (1, 2) AND x = '${v}'"))
    assert len(each.rows("SELECT i FROM kept")) == len(places) - 1


@pytest.mark.parametrize("mode", ["", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES", "PIPES_AS_CONCAT,ANSI"])
async def test_mysql_takes_a_value_as_data_in_every_mode_of_quoting(mysql: Target, mode: str) -> None:
    mysql.rows("CREATE TABLE kept (i integer, x varchar(1000))")
    mode_of_session = f"SET SESSION sql_mode = '{mode}'"
    attempt = Attempt(mysql.url, values={f"v{number}": value for number, value in enumerate(HOSTILE)})
    inserts = [f"INSERT INTO kept VALUES ({n}, ${{v{n}}}), ({n}, '<${{v{n}}}>')" for n in range(len(HOSTILE))]
    await attempt.run(pre_statements=mode_of_session, sql=inserts)
    rows = [(n, text) for n, value in enumerate(HOSTILE) for text in (value, f"<{value}>")]
    assert sorted(mysql.rows("SELECT i, x FROM kept")) == sorted(rows)


@given(
    text=st.lists(st.sampled_from(["${v}", "$${v}", "'", '"', "`", "$$", "--", "\n", "/*", "*/", ";", "x", "E", " "]))
)
@example(["$$", "${v}", "$$"])
def test_no_value_is_ever_in_the_text_however_broken_that_is(text: list[str]) -> None:
    value = "'canary'\"`$$*/--\n;"
    for name in GRAMMARS:
        try:
            statements = bound(name, "".join(text), {"v": value})
        except Refused as error:
            assert "canary" not in str(error)
            continue
        assert not [part for each in statements for part in each.parts if isinstance(part, str) and "canary" in part]


@every("name", ["load.rows", 'tasks["a -- b"].x[0]', "tasks['a /* \"; b'].x", 'x["%"]'])
@every("grammar", sorted(GRAMMARS))
def test_a_name_with_quotes_and_comments_in_it_is_one_value(name: str, grammar: str) -> None:
    reference = f"${{{name}}}"
    text = f"SELECT {reference} FROM t WHERE a = '<{reference}>' AND b = {reference} -- {reference}"
    (made,) = bound(grammar, text, {name: "42"})
    assert [part.value for part in made.parts if isinstance(part, Bind)] == ["42", "<42>", "42"]
    assert made.shown.endswith(f"-- {reference}"), "a comment stays"
    with pytest.raises(Refused, match="after ORDER BY is sent as a value") as caught:
        bound(grammar, f"SELECT 1 ORDER BY {reference}", {name: "42"})
    assert reference in str(caught.value)


def test_a_name_of_a_table_may_be_the_result_of_a_task() -> None:
    (made,) = bound("any", "SELECT * FROM !{load.table} AS t", {"load.table": "sales"})
    assert made.shown == "SELECT * FROM sales AS t"


def test_json_is_bound_as_its_text() -> None:
    (made,) = bound("any", "SELECT ${j}", {"j": '[1.50, "a"]'}, j=ParameterType.JSON)
    assert [part.value for part in made.parts if isinstance(part, Bind)] == ['[1.50, "a"]']


@given(text=SQLISH, name=st.sampled_from(sorted(GRAMMARS)))
def test_a_text_without_references_reaches_the_database_as_it_is(text: str, name: str) -> None:
    if "!{" in text or "${" in text:
        return
    statements = Binder(GRAMMARS[name], {}, {}).statements([text])
    assert [each.parts for each in statements] in ([], [(text.lstrip(),)])


@every(
    ("name", "text", "sentence"),
    [
        ("postgresql", 'SELECT "${v}"', 'stands inside a quoted name ("${v}"); use !{v} for a name'),
        ("sqlite", "SELECT [${v}]", "stands inside a quoted name"),
        ("mysql", "SELECT `${v}`", "stands inside a quoted name"),
        ("postgresql", "SELECT E'${v}'", "stands inside E'...'; write it in an ordinary literal"),
        ("postgresql", "SELECT U&'${v}'", "stands inside U&'...'"),
        ("mysql", "SELECT _latin1'${v}'", "stands inside _latin1'...'"),
        ("postgresql", "DO $$ BEGIN ${v} END $$", "stands inside $$...$$, where a value could become code"),
        ("postgresql", "SELECT $$${v}$$", "stands inside $$...$$"),
        ("duckdb", "SELECT $x$ ${v} $x$", "stands inside $$...$$"),
        ("mysql", r"SELECT 'a\n${v}'", "stands in a literal with a backslash"),
        (
            "postgresql",
            "SELECT 1 ORDER BY ${v}",
            "${v} after ORDER BY is sent as a value, which",
        ),
        ("postgresql", "SELECT 1 ORDER BY ${v} DESC LIMIT 3;", "write !{v} for the name of a column"),
        ("mysql", "SELECT a FROM t WHERE b = ${v} group by a,\n ${v} -- c\n", "${v} after GROUP BY"),
        ("sqlite", "SELECT sum(a) OVER (PARTITION BY '${v}') FROM t", "${v} after PARTITION BY"),
        ("any", "SELECT ${n}", 'parameter "n" is INTEGER and must be a whole number'),
        ("any", "SELECT 1 WHERE 1 IN (${l})", 'the list "l" is empty'),
    ],
)
def test_a_place_where_nothing_can_be_bound_is_refused_with_the_cure(name: str, text: str, sentence: str) -> None:
    with pytest.raises(Refused) as refused:
        bound(name, text, {"v": "x", "n": "x", "l": "[]"}, n=ParameterType.INTEGER, l=ParameterType.LIST)
    assert sentence in str(refused.value)


@every(
    "text",
    [
        "SELECT a FROM t ORDER BY a = ${v}, b LIMIT ${v}",
        "SELECT a FROM t ORDER BY a LIMIT 5, ${v}",
        "SELECT a FROM t ORDER BY ${v} = a, coalesce(b, ${v})",
        "SELECT a FROM t GROUP BY a UNION SELECT b, ${v}",
        "SELECT 'order by a', ${v}",
        "SELECT a, -- in order by b,\n${v}",
    ],
)
def test_a_value_in_an_expression_is_no_key_to_sort_by(text: str) -> None:
    (statement,) = bound("mysql", text, {"v": "x"})
    assert "?" in statement.shown
