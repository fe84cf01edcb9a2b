"""Conditions on a run that no index has: what started it, who drives it, who worked for it, its parameters, a text.

Each is SQL about one row of `workflow_instance`, so every statement that lists, counts or changes runs has the same
meaning of it. Who uses them on a long history limits how many rows are read: `run_walks.py`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from model.definitions.names import as_id
from model.runs.triggers import Trigger

# What a task started has the type START_PROCESS too.
_TRIGGER = """
    CASE WHEN {run}.parent_instance_id IS NOT NULL THEN 'PARENT' WHEN {run}.started_by LIKE '%/0' THEN 'TASK'
         WHEN {run}.started_by IS NOT NULL THEN 'EVENT'
         WHEN {run}.command_type = 'SCHEDULER' THEN 'SCHEDULE'
         WHEN {run}.command_type = 'COMPLEMENT_DATA' THEN 'BACKFILL' ELSE 'HAND' END = ANY(CAST(:triggers AS text[]))"""
_MASTER = """
    {run}.ended_at IS NULL AND {run}.master_id = ANY(ARRAY(
        SELECT id FROM node WHERE kind = 'MASTER' AND (address = :master OR name = :master)
        UNION ALL SELECT CAST(:master_id AS bigint)))"""
# A scalar subquery, which stays one: a join might read all attempts of the worker first.
_WORKER = """
    (SELECT true FROM task_instance t                                           -- index: task_instance_attempt
     WHERE t.workflow_instance_id = {run}.id AND t.worker_id = ANY(ARRAY(
         SELECT id FROM node WHERE kind = 'WORKER' AND (address = :worker OR name = :worker)
         UNION ALL SELECT CAST(:worker_id AS bigint)))
     LIMIT 1)"""
# The masters write both columns with json.dumps; a quote within a value is escaped, so no value imitates a pair.
_PARAMETER = "strpos({run}.startup_names, :name_{n}) > 0 AND strpos({run}.params, :pair_{n}) > 0"
_SERIAL_KEY = "{run}.serial_key = :serial_key"
_ID = "starts_with(CAST({run}.id AS text), :words)"
_WORDS = """
    ({run}.workflow_code IN (SELECT code FROM workflow_definition WHERE strpos(lower(name), lower(:words)) > 0)
     OR strpos(lower({run}.reason), lower(:words)) > 0)"""


@dataclass(frozen=True)
class RunConditions:
    """Which runs are meant; None or empty = any.

    Args:
        triggers: what started it, one of these.
        master: who drives it now: the epoch, address or name of a master.
        worker: who has or had an attempt of one of its tasks.
        parameters: start parameters, each as a name and the value that the run has; all of them.
        words: digits: the beginning of its id; else a part of the name of its workflow or of its reason, in upper or
            lower case.
        serial_key: the key of its line.
    """

    triggers: Sequence[Trigger] = ()
    master: str | None = None
    worker: str | None = None
    parameters: Sequence[tuple[str, str]] = ()
    words: str | None = None
    serial_key: str | None = None

    @property
    def is_any(self) -> bool:
        return self == ANY_RUN

    @property
    def digits(self) -> str | None:
        """The beginning of an id, if that is meant."""
        return self.words if self.words is not None and self.words.isascii() and self.words.isdecimal() else None

    def sql(self, run: str) -> tuple[str, dict[str, Any]]:
        """The condition on the row of `workflow_instance` that a statement calls `run`, and its values."""
        parts, values = [], dict[str, Any]()
        if self.triggers:
            parts.append(_TRIGGER)
            values["triggers"] = [each.value for each in self.triggers]
        for who, condition in (("master", _MASTER), ("worker", _WORKER)):
            if (node := getattr(self, who)) is not None:
                parts.append(condition)
                values |= {who: node, f"{who}_id": as_id(node)}
        for n, (name, value) in enumerate(self.parameters):
            parts.append(_PARAMETER.replace("{n}", str(n)))
            written = json.dumps(name, ensure_ascii=False)
            values |= {f"name_{n}": written, f"pair_{n}": f"{written}: {json.dumps(value, ensure_ascii=False)}"}
        if self.serial_key is not None:
            parts.append(_SERIAL_KEY)
            values["serial_key"] = self.serial_key
        if self.words is not None:
            parts.append(_WORDS if self.digits is None else _ID)
            values["words"] = self.words
        return " AND ".join(part.format(run=run) for part in parts) or "true", values


ANY_RUN = RunConditions()
