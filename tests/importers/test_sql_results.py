"""What an SQL task of DolphinScheduler hands on, and what of it is another thing here."""

from typing import Any

from importers.imported import Imported
from importers.report import Grade
from tests.every import every
from tests.importers.exports import export, imported, said, task, the_task

NAMES = {"datasources": {"1": "db"}}


def a_query(type_: str, **params: Any) -> Imported:
    out = {"prop": "n", "direct": "OUT", "type": type_, "value": ""}
    given = {"type": "MYSQL", "datasource": 1, "sql": "SELECT n FROM t", "sqlType": "0", "localParams": [out], **params}
    return imported(export(task("a", "SQL", given)), names=NAMES)


def test_the_number_of_changed_rows_is_a_todo() -> None:
    found = a_query("INTEGER", sql="DELETE FROM t", sqlType="1")
    assert any("was the number of changed rows" in each for each in said(found, Grade.TODO, "a"))


@every(("given", "limit"), [({}, 10_000), ({"limit": 0}, 10_000), ({"limit": 50}, 50)])
def test_a_list_has_as_many_rows_as_before(given: dict[str, int], limit: int) -> None:
    params = the_task(a_query("LIST", **given)).params
    assert (params["as_list"], params["limit"]) == (True, limit)


def test_that_the_first_of_several_rows_counts_is_said() -> None:
    assert any("several rows" in each for each in said(a_query("INTEGER"), Grade.CHANGED))
    assert not any("several rows" in each for each in said(a_query("LIST"), Grade.CHANGED))


def test_that_statements_around_it_are_one_transaction_is_said() -> None:
    found = a_query("INTEGER", preStatements=["SET a = 1"])
    assert any("are one transaction" in each for each in said(found, Grade.CHANGED))
    assert not any("are one transaction" in each for each in said(a_query("INTEGER"), Grade.CHANGED))


def test_statements_without_rows_send_none() -> None:
    params = {"type": "MYSQL", "datasource": 1, "sql": "DELETE FROM t", "sqlType": "1", "sendEmail": True, "groupId": 3}
    found = imported(export(task("a", "SQL", params)), names=NAMES)
    assert not found.report.has_todo
    assert "alert_group" not in the_task(found).params
