"""Flows that return what other flows returned."""

from __future__ import annotations

from shoal_sdk import flow, subflow, task


@task
def passed(text: str) -> str:
    return text


@flow
def told() -> str:
    return passed("told")


@flow
def told_by_subflow() -> str:
    return subflow(told)


@flow
def told_beside_subflows() -> str:
    passed(subflow(told_by_subflow))
    return passed.with_options(name="own")("own")


@flow
def told_by_one_of_two() -> str:
    passed(subflow(told))
    return subflow(told, name="second")


@flow
def beside_two() -> str:
    return passed(subflow(told_by_one_of_two))
