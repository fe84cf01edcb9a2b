"""The filters of the command line: what is given reaches the API, also if it is empty."""

from __future__ import annotations

from shoal.cli.filters import RunFilters


def test_only_what_is_given_is_asked_for() -> None:
    assert RunFilters(project="default", parameter=[]).given() == {"project": "default"}


def test_an_empty_name_does_not_match_everything() -> None:
    """As from an unset shell variable: `shoal runs stop --state failure --workflow "$NAME"`."""
    assert RunFilters(workflow="").given() == {"workflow": ""}
