"""What the fields of a request accept, and what an answer takes over from a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from model.errors import Refused
from model.ids import TokenId, WorkflowCode
from service.fields import ID_MAX, Answer, Asked, Id, Text
from tests.every import every

_ID: TypeAdapter[int] = TypeAdapter(Id)


@every("given", ["0", "1042", 1042, str(ID_MAX), ID_MAX])
def test_an_id_is_a_whole_number(given: Any) -> None:
    assert _ID.validate_python(given) == int(given)


@every("given", [True, False, 1.0, -1, "-1", "1.0", "\u0661", "", " 1", str(ID_MAX + 1), ID_MAX + 1, None, [1]])
def test_what_is_no_id_is_refused(given: Any) -> None:
    with pytest.raises(ValidationError):
        _ID.validate_python(given)


class _Note(Asked):
    id: Id | None = None
    text: Annotated[Text, Field(min_length=1, max_length=3)] = "a"
    names: Annotated[list[Text], Field(max_length=1, default_factory=list)]


@every(
    ("given", "said"),
    [
        ({"text": "abcd"}, "text: String should have at most 3 characters"),
        ({"text": ""}, "text: String should have at least 1 character"),
        ({"names": ["a", "b"]}, "names: List should have at most 1 item after validation, not 2"),
        ({"id": "abc"}, "id: an id is a whole number, written in digits"),
    ],
)
def test_a_fault_is_said_without_the_words_of_pydantic(given: Any, said: str) -> None:
    with pytest.raises(Refused) as error:
        _Note.read(**given)
    assert str(error.value) == said


@dataclass(frozen=True)
class _Row:
    id: TokenId
    secret: str
    at: datetime
    codes: Sequence[WorkflowCode]
    ended_at: datetime | None


class _Shown(Answer, _Row, without={"secret"}):
    name: str = "n"


class _More(_Shown):
    more: int = 1


@every("shown", [_Shown, _More])
def test_an_answer_shows_a_row_with_its_ids_as_text_and_its_times_in_utc(shown: type[_Shown]) -> None:
    row = _Row(TokenId(7), "hidden", datetime(2026, 1, 31, 14, tzinfo=UTC), [WorkflowCode(2**60)], None)
    said = shown.model_validate({name: value for name, value in vars(row).items() if name != "ended_at"})
    assert said.model_dump(mode="json", include={"id", "at", "codes", "name", "secret", "ended_at"}) == {
        **{"id": "7", "at": "2026-01-31T14:00:00.000Z", "codes": [str(2**60)], "ended_at": None, "name": "n"}
    }
    required = shown.model_json_schema()["required"]
    assert required == ["id", "at", "codes"]
