"""A part of statements: the ids of the commands that wait, first or last ones first."""

from __future__ import annotations

from typing import Literal


def waiting_ids(limit: int, order: Literal["ASC", "DESC"] = "ASC") -> str:
    """The column `id` of at most `limit` commands, as a subquery in brackets.

    The commands are read with their type, which no index has: for the ids alone the planner would read the whole of
    another index where the statistics saw no commands.
    """
    first = f"SELECT id, type FROM command ORDER BY id {order} LIMIT {limit}"  # index: command_pkey
    return f"(SELECT id FROM ({first}) AS c WHERE length(type) >= 0)"
