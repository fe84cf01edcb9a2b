"""The times of a cluster fit together, or no node starts with them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from model.cluster.timing import Timing
from tests.every import every


def test_the_usual_times_fit_together() -> None:
    assert Timing() == Timing.model_validate({})
    assert Timing().heartbeat_every == timedelta(seconds=2)


@every(
    ("times", "sentence"),
    [
        ({"session_timeout": 5.9}, "heartbeat_every must be at most a third of session_timeout: one lost beat"),
        ({"master_fence_after": 5.9}, "master_fence_after must be at least three heartbeat_every: one late beat"),
        ({"worker_fence_after": 12.9}, "worker_fence_after must exceed three heartbeat_every + kill_grace + 2 s"),
        ({"worker_fence_after": 30, "kill_grace": 22.1}, "worker_fence_after must exceed three heartbeat_every"),
        ({"worker_cut_limit": 29.9}, "worker_cut_limit must not be shorter than worker_fence_after"),
    ],
)
def test_times_that_would_take_the_living_for_dead_are_refused(times: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Timing.model_validate(times)
    assert sentence in str(caught.value)


@every(
    "times",
    [{"session_timeout": 6}, {"master_fence_after": 6}, {"worker_fence_after": 13}, {"worker_cut_limit": 30}],
)
def test_times_at_their_limit_are_taken(times: dict[str, Any]) -> None:
    Timing.model_validate(times)


@every("value", [0, -1, "never", "nan", "inf", None])
@every("name", sorted(Timing.model_fields))
def test_a_time_is_a_positive_span(name: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        Timing.model_validate({name: value})


@every("value", [1.5, "1.5", "PT1.5S", timedelta(seconds=1.5)])
def test_a_time_is_written_in_seconds_or_as_a_duration(value: Any) -> None:
    assert Timing(heartbeat_every=value).heartbeat_every == timedelta(seconds=1.5)


def test_an_unknown_time_is_refused() -> None:
    with pytest.raises(ValidationError, match="heartbeat_evry"):
        Timing.model_validate({"heartbeat_evry": 2})


def test_times_do_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Timing().heartbeat_every = timedelta(seconds=1)  # type: ignore[misc]
