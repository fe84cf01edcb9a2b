"""The kinds of numbers that name things, kept apart by type.

All but `TaskCode` are `bigint` identities of the database. `Epoch` is the id of a row in `node`: made when a master
or worker starts, never used again, so a higher epoch started later.
"""

from __future__ import annotations

from typing import NewType

Epoch = NewType("Epoch", int)
CommandId = NewType("CommandId", int)
WorkflowCode = NewType("WorkflowCode", int)
WorkflowInstanceId = NewType("WorkflowInstanceId", int)
TaskInstanceId = NewType("TaskInstanceId", int)
ScheduleId = NewType("ScheduleId", int)

TaskCode = NewType("TaskCode", int)
"""A task's number within its workflow definition; stable over versions as long as its name is."""
