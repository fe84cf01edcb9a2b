"""What the fields of a request accept."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from service.fields import ID_MAX, Id

_ID: TypeAdapter[int] = TypeAdapter(Id)


@pytest.mark.parametrize("given", ["0", "1042", 1042, str(ID_MAX), ID_MAX])
def test_an_id_is_a_whole_number(given: Any) -> None:
    assert _ID.validate_python(given) == int(given)


@pytest.mark.parametrize(
    "given", [True, False, 1.0, -1, "-1", "1.0", "\u0661", "", " 1", str(ID_MAX + 1), ID_MAX + 1, None, [1]]
)
def test_what_is_no_id_is_refused(given: Any) -> None:
    with pytest.raises(ValidationError):
        _ID.validate_python(given)
