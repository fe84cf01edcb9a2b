"""SQL tasks on real databases: what they change, give out, write, and what stays undone when they fail."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from model.choices import ParameterType
from model.errors import Refused, Unavailable
from model.runs.states import TaskState
from tests.eventually import eventually
from tests.worker.statements.targets import Attempt, Target

SHOP = "CREATE TABLE sold (id integer, day date, item varchar(100), price decimal(10, 2))"


def shop(target: Target) -> None:
    target.rows(SHOP)
    target.rows("INSERT INTO sold VALUES (1, '2026-01-30', 'tea', 1.50), (2, '2026-01-31', 'it''s 100% ok', 2.25)")


async def test_the_first_row_gives_the_outputs_and_the_log_shows_a_table(each: Target) -> None:
    shop(each)
    attempt = Attempt(each.url)
    result = await attempt.run(sql="SELECT id, item, price FROM sold ORDER BY id")
    assert result.state is TaskState.SUCCESS
    assert (result.outputs["id"], result.outputs["item"], float(result.outputs["price"])) == ("1", "tea", 1.5)
    lines = attempt.log.text.splitlines()
    assert lines[0] == "-- sql, statement 1 of 1"
    assert lines[1] == "SELECT id, item, price FROM sold ORDER BY id"
    assert lines[2].split() == ["id", "item", "price"]
    assert lines[5].startswith("2   it's 100% ok")
    assert lines[6] == "(2 rows)"


async def test_values_are_bound_wherever_they_stand(each: Target) -> None:
    shop(each)
    values = {"id": "2", "ids": "[2, 7]", "day": "2026-01-31", "part": "100% o", "unused": "'; DROP TABLE sold; --"}
    types = {"id": ParameterType.INTEGER, "ids": ParameterType.LIST, "day": ParameterType.DATE}
    for condition in (
        "id = ${id}",
        "id=${id}AND ${id}<3",
        "id IN (${ids})",
        "day = ${day}",
        "day = '${day}'",
        "day = '${day}' AND item <> 'a;b'",
        "item LIKE '%${part}%'",
        "item LIKE '%it''s ${part}k'  -- '${unused}'",
        "item = '$${part}' OR id = ${id} /* ${unused} */",
        "item = ${part} OR ${unused} = '${unused}' AND id = ${id}",
    ):
        attempt = Attempt(each.url, values=values, types=types)
        result = await attempt.run(sql=f"SELECT id AS found FROM sold WHERE {condition}")
        assert result.outputs == {"found": "2"}, (condition, attempt.log.text)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM sold_${v}",
        "SELECT * FROM ${v} WHERE id = 1",
        "SELECT * FROM sold JOIN\n${v} ON true",
        "INSERT INTO ${v} VALUES (1)",
        "UPDATE ${v} SET id = 1",
        "CREATE TABLE ${v}_old (id integer)",
        "DROP TABLE IF EXISTS ${v}",
        "SELECT ${v}.id FROM sold",
    ],
)
async def test_a_value_in_place_of_a_name_is_refused_with_the_cure(each: Target, sql: str) -> None:
    shop(each)
    with pytest.raises(Refused, match=r"; \$\{v\} is sent as a value there: write !\{v\} for the name of a table"):
        await Attempt(each.url, values={"v": "nowhere"}).run(sql=sql)


async def test_another_error_names_no_cure_for_names(each: Target) -> None:
    with pytest.raises(Refused) as refused:
        await Attempt(each.url, values={"v": "1"}).run(sql="SELECT * FROM nowhere WHERE id = ${v}")
    assert "!{" not in str(refused.value)


async def test_a_typed_literal_takes_a_value(each: Target) -> None:
    if each.kind == "sqlite":
        pytest.skip("SQLite has no typed literals")
    shop(each)
    attempt = Attempt(each.url, values={"day": "2026-01-31"})
    assert (await attempt.run(sql="SELECT id FROM sold WHERE day = DATE '${day}'")).outputs == {"id": "2"}
    interval = "INTERVAL '${n}' DAY" if each.kind == "mysql" else "INTERVAL '${n} day'"
    attempt = Attempt(each.url, values={"day": "2026-01-30", "n": "1"})
    sql = f"SELECT id FROM sold WHERE day = DATE '${{day}}' + {interval}"
    assert (await attempt.run(sql=sql)).outputs == {"id": "2"}
    sql = "SELECT TIMESTAMP '${day} 05:06:07' AS at"
    assert (await attempt.run(sql=sql)).outputs == {"at": "2026-01-30 05:06:07"}


async def test_each_type_of_a_parameter_is_bound_as_such(each: Target) -> None:
    each.rows("CREATE TABLE t (i bigint, f double precision, d date, s timestamp, b boolean, x varchar(10))")
    values = {"i": "9007199254740993", "f": "0.1", "d": "2026-02-28", "s": "2026-02-28 01:02:03", "b": "true", "x": ""}
    types = {
        "i": ParameterType.LONG,
        "f": ParameterType.DOUBLE,
        "d": ParameterType.DATE,
        "s": ParameterType.TIMESTAMP,
        "b": ParameterType.BOOLEAN,
    }
    attempt = Attempt(each.url, values=values, types=types)
    await attempt.run(sql="INSERT INTO t VALUES (${i}, ${f}, ${d}, ${s}, ${b}, ${x})")
    result = await Attempt(each.url).run(sql="SELECT * FROM t")
    truth = "1" if each.kind in ("mysql", "sqlite") else "true"
    assert result.outputs == {**values, "b": truth}
    empty = Attempt(each.url, values=dict.fromkeys(values, ""), types=types)
    await empty.run(sql=["DELETE FROM t", "INSERT INTO t VALUES (${i}, ${f}, ${d}, ${s}, ${b}, ${x})"])
    assert each.rows("SELECT * FROM t") == [(None, None, None, None, None, "")]


async def test_a_whole_result_becomes_lists(each: Target) -> None:
    shop(each)
    result = await Attempt(each.url).run(sql="SELECT id, day, NULL AS missing FROM sold ORDER BY id", as_list=True)
    assert {name: json.loads(text) for name, text in result.outputs.items()} == {
        "id": [1, 2],
        "day": ["2026-01-30", "2026-01-31"],
        "missing": [None, None],
    }
    none = await Attempt(each.url, values={"id": "9"}).run(sql="SELECT id FROM sold WHERE id = ${id}", as_list=True)
    assert none.outputs == {"id": "[]"}
    with pytest.raises(Refused, match="the result has 2 rows and limit is 1, so as_list would lose rows"):
        await Attempt(each.url).run(sql="SELECT id FROM sold", as_list=True, limit=1)


async def test_rows_past_the_limit_are_counted_and_not_kept(each: Target) -> None:
    each.rows("CREATE TABLE n (i integer)")
    each.rows(f"INSERT INTO n VALUES {', '.join(f'({i})' for i in range(5000))}")
    attempt = Attempt(each.url)
    await attempt.run(sql="SELECT i FROM n", limit=60)
    assert "(5000 rows, the first 50 shown, the first 60 kept (limit))" in attempt.log.text


async def test_pre_main_and_post_are_one_transaction(each: Target) -> None:
    shop(each)
    params = {
        "pre_statements": ["DELETE FROM sold"],
        "sql": "INSERT INTO sold (id) VALUES (7); INSERT INTO sold (id) VALUES (8)",
        "post_statements": "UPDATE sold SET price = 1",
    }
    attempt = Attempt(each.url)
    with pytest.raises(Refused, match=r"^post_statements, statement 2 of 2: "):
        await attempt.run(**{**params, "post_statements": "UPDATE sold SET price = 1; SELECT * FROM nowhere"})
    assert [row[0] for row in each.rows("SELECT id FROM sold ORDER BY id")] == [1, 2]
    result = await attempt.run(**params)
    assert (result.state, result.outputs) == (TaskState.SUCCESS, {})
    assert "(2 rows changed)" in attempt.log.text
    assert [row[0] for row in each.rows("SELECT id FROM sold ORDER BY id")] == [7, 8]


async def test_without_a_transaction_each_statement_stays(each: Target) -> None:
    shop(each)
    with pytest.raises(Refused, match="statement 2 of 2"):
        await Attempt(each.url).run(sql="DELETE FROM sold WHERE id = 1; SELECT * FROM nowhere", transaction=False)
    assert each.rows("SELECT id FROM sold") == [(2,)]


async def test_a_table_made_in_a_failed_transaction_is_gone(each: Target) -> None:
    with pytest.raises(Refused):
        await Attempt(each.url).run(sql="CREATE TABLE made (i integer); SELECT * FROM nowhere")
    count = "SELECT count(*) FROM {} WHERE {} = 'made'".format(
        *(("sqlite_master", "name") if each.kind == "sqlite" else ("information_schema.tables", "table_name"))
    )
    assert each.rows(count) == [(1 if each.kind == "mysql" else 0,)], "MySQL commits each CREATE TABLE by itself"


async def test_the_type_says_whether_there_is_a_result(each: Target) -> None:
    shop(each)
    assert (await Attempt(each.url).run(sql="SELECT id FROM sold", type="NON_QUERY")).outputs == {}
    assert (await Attempt(each.url).run(sql="SELECT id FROM sold WHERE id = 9", type="QUERY")).outputs == {}
    with pytest.raises(Refused, match="no statement gives rows, and type is QUERY"):
        await Attempt(each.url).run(sql="DELETE FROM sold", type="QUERY")
    assert len(each.rows("SELECT * FROM sold")) == 2
    with pytest.raises(Refused, match="sql: there is no statement in it"):
        await Attempt(each.url).run(sql=" ; -- nothing\n ; ")


async def test_a_huge_result_is_refused_before_it_is_committed(each: Target) -> None:
    shop(each)
    huge = "repeat('x', 2000000)" if each.kind != "sqlite" else "hex(zeroblob(1000000))"
    with pytest.raises(Refused, match="larger than 1048576 bytes"):
        await Attempt(each.url).run(sql=f"DELETE FROM sold; SELECT {huge} AS x")
    assert len(each.rows("SELECT * FROM sold")) == 2


async def test_a_raw_name_is_put_in_only_if_it_is_plain(each: Target) -> None:
    shop(each)
    assert (await Attempt(each.url, values={"t": "sold"}).run(sql="SELECT id FROM !{t} ORDER BY 1")).outputs[
        "id"
    ] == "1"
    for value in ("sold; DROP TABLE sold", "sold--", "", 'sold"', "só"):
        with pytest.raises(Refused, match=r"^sql: !\{t\} puts its value into the SQL text"):
            await Attempt(each.url, values={"t": value}).run(sql="SELECT id FROM !{t}")


SLOW = {
    "postgresql": "SELECT pg_sleep(600)",
    "mysql": "SELECT sleep(600)",
    "sqlite": "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    "duckdb": "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range * b.range = 7",
}


def _sleepers(target: Target) -> int:
    if target.kind == "postgresql":
        statement = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(%' AND state = 'active'"
    else:
        statement = "SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'SELECT sleep(%'"
    return int(target.rows(statement)[0][0])


async def test_a_cancelled_task_ends_its_statement_and_undoes_what_it_did(each: Target) -> None:
    shop(each)
    attempt = Attempt(each.url)
    running = asyncio.create_task(attempt.run(sql=f"DELETE FROM sold; {SLOW[each.kind]}"))
    await eventually(lambda: "statement 2 of 2" in attempt.log.text, within_s=20)
    if each.kind in ("postgresql", "mysql"):
        await eventually(lambda: _sleepers(each) == 1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    if each.kind in ("postgresql", "mysql"):
        assert _sleepers(each) == 0
    assert len(each.rows("SELECT * FROM sold")) == 2


async def test_many_slow_statements_do_not_hold_up_what_else_a_worker_does(each: Target) -> None:
    tasks = [asyncio.create_task(Attempt(each.url).run(sql=SLOW[each.kind])) for _ in range(12)]
    assert await asyncio.to_thread(lambda: 42) == 42
    for task in tasks:
        task.cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(each, asyncio.CancelledError) for each in done)


async def test_a_database_that_is_not_there_is_named_without_its_password() -> None:
    for url in ("postgresql://ada:hunter22@127.0.0.1:1/x", "mysql://ada:hunter22@127.0.0.1:1/x"):
        with pytest.raises(Unavailable, match=r'cannot reach the data source "shop"') as error:
            await Attempt(url).run(sql="SELECT 1")
        assert "hunter22" not in str(error.value)
        assert "ada:***@127.0.0.1:1/x" in str(error.value)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("oracle+cx_oracle://h/x", "this worker lacks the driver of oracle+cx_oracle"),
        ("nix://h/x", 'this worker has no driver for "nix"'),
        ("sqlite:///relative.db", "has no absolute path"),
    ],
)
async def test_what_cannot_be_opened_is_refused_with_the_cure(url: str, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence.replace("+", r"\+")):
        await Attempt(url).run(sql="SELECT 1")


async def test_several_tasks_may_write_one_sqlite_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/many.db"
    await Attempt(url).run(sql="CREATE TABLE t (i integer)")
    await asyncio.gather(*(Attempt(url).run(sql=f"INSERT INTO t VALUES ({i})") for i in range(8)))
    assert (await Attempt(url).run(sql="SELECT count(*) AS n FROM t")).outputs == {"n": "8"}


async def test_duckdb_sees_no_variable_of_the_worker(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="Table with name params does not exist"):
        await Attempt(f"duckdb:///{tmp_path}/x.db").run(sql="SELECT * FROM params")


async def test_a_result_is_sent_to_an_alert_group_with_limits(each: Target) -> None:
    shop(each)
    values = {"day": "2026-01-31", "who": "data"}
    attempt = Attempt(each.url, values=values)
    asked = {"alert_group": "${who}", "title": "sold until ${day}", "display_rows": 1}
    result = await attempt.run(sql="SELECT id, item, NULL AS why FROM sold ORDER BY id", **asked)
    assert result.alert is not None
    assert (result.alert.group, result.alert.title, result.alert.total) == ("data", "sold until 2026-01-31", 2)
    assert (list(result.alert.columns), [list(row) for row in result.alert.rows]) == (
        ["id", "item", "why"],
        [["1", "tea", None]],
    )
    empty = await Attempt(each.url).run(sql="SELECT id FROM sold WHERE id > 9", alert_group="data")
    assert empty.alert is not None
    assert (empty.alert.title, empty.alert.total, list(empty.alert.rows)) == ('result of task "a"', 0, [])
    long = await Attempt(each.url).run(sql=f"SELECT '{'x' * 3000}' AS words", alert_group="data")
    assert long.alert is not None
    assert long.alert.changed(str).rows[0][0] == "x" * 1000


async def test_what_could_not_be_sent_is_not_committed(each: Target) -> None:
    shop(each)
    with pytest.raises(Refused, match="no statement gives rows that could be sent"):
        await Attempt(each.url).run(sql="DELETE FROM sold", type="NON_QUERY", alert_group="data")
    assert len(each.rows("SELECT id FROM sold")) == 2
    with pytest.raises(Refused, match="alert_group: it is empty"):
        await Attempt(each.url, values={"x": ""}).run(sql="SELECT 1", alert_group="${x}")
    with pytest.raises(Exception, match="title is the subject of what is sent to alert_group"):
        await Attempt(each.url).run(sql="SELECT 1", title="a")
