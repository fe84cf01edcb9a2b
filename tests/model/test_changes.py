"""Changes as the text of notifications."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.changes import PARTS_MAX, PAYLOAD_CHARACTERS_MAX, Changes, read_changes
from model.errors import Refused
from tests.every import every

ids = st.sets(st.integers(1, 2**63 - 1), max_size=30)
changes_of_any_kind = st.builds(
    Changes,
    runs=ids,
    tasks=ids,
    definitions=ids,
    queue=st.booleans(),
    errors=st.booleans(),
    nodes=st.booleans(),
    pools=st.booleans(),
)


def read_all(changes: Changes) -> Changes:
    read = Changes()
    for payload in changes.payloads():
        read.add(read_changes(payload))
    return read


@given(changes_of_any_kind)
def test_what_is_read_is_what_was_written(changes: Changes) -> None:
    assert read_all(changes) == changes
    assert bool(changes) == bool(list(changes.payloads()))


def test_ids_that_follow_each_other_take_two_characters_each() -> None:
    [payload] = Changes(runs=set(range(1_000_000, 1_003_000))).payloads()
    assert payload.startswith("rf4240,1,1,") and len(payload) < 6_100


@every("count", [3_000, 5_000, 9_000])
def test_many_ids_go_into_several_payloads_each_of_which_can_be_read_alone(count: int) -> None:
    changes = Changes(runs=set(range(1, count)), tasks=set(range(10**12, 10**12 + count)), queue=True)
    payloads = list(changes.payloads())
    assert len(payloads) > 1 and max(map(len, payloads)) < PAYLOAD_CHARACTERS_MAX + 100 < 8_000
    assert read_all(changes) == changes
    assert read_changes(payloads[-1]).tasks <= changes.tasks


def test_too_many_ids_are_said_to_be_many_and_the_other_kinds_stay() -> None:
    changes = Changes(runs=set(range(1, 10**9, 10**4)), tasks={7}, nodes=True)
    assert len(changes.runs) * 5 > PARTS_MAX * PAYLOAD_CHARACTERS_MAX
    [payload] = changes.payloads()
    assert payload == "n r* t7"
    assert read_changes(payload) == Changes(tasks={7}, nodes=True, many={"runs"})


@every("payload", ["", "x", "r", "rz", "q1", "r1,,2", "5"])
def test_another_text_is_refused(payload: str) -> None:
    with pytest.raises(Refused):
        read_changes(payload)
