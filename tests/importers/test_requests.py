"""HTTP tasks of DolphinScheduler whose parameters meet each other."""

from importers.imported import Imported
from importers.report import Grade
from tests.importers.exports import export, imported, said, task, the_task


def a_request(*params: tuple[str, str, str], body: str = "") -> Imported:
    listed = [{"prop": name, "httpParametersType": place, "value": value} for place, name, value in params]
    given = {"url": "http://x", "httpMethod": "POST", "httpParams": listed, "httpBody": body}
    return imported(export(task("a", "HTTP", given)))


def test_a_query_may_have_several_fields_of_one_name() -> None:
    found = a_request(("PARAMETER", "id", "1"), ("PARAMETER", "id", "2"), ("PARAMETER", "id", "3"))
    assert the_task(found).params["query"] == {"id": ["1", "2", "3"]}


def test_of_two_headers_or_fields_of_a_body_the_last_one_counts_aloud() -> None:
    found = a_request(("HEADERS", "X", "1"), ("HEADERS", "X", "2"), ("BODY", "k", "1"), ("BODY", "k", "2"))
    assert (the_task(found).params["headers"], the_task(found).params["body"]) == ({"X": "2"}, {"k": "2"})
    assert said(found, Grade.CHANGED, "a") == [
        f'"{name}" is twice in its {place}; the last one counts' for name, place in (("X", "headers"), ("k", "body"))
    ]


def test_fields_of_a_body_beside_a_body_are_a_todo() -> None:
    found = a_request(("BODY", "k", "1"), body='{"z": 1}')
    assert said(found, Grade.TODO, "a") == ["it has a body, and fields of one (k); write those into the body"]


def test_a_value_without_a_name_is_lost_aloud() -> None:
    assert said(a_request(("HEADERS", "", "1")), Grade.LOST, "a") == ["one in its headers has the value 1 and no name"]
