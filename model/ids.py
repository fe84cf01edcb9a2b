"""The id types, which the type checker keeps apart.

All but `TaskCode` are `bigint` identities of the database. `Epoch` is the id of a row in `node`: assigned when a master
or worker starts, and never reused, so a higher epoch started later.
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
"""A task's number within its workflow definition; stable across versions as long as its name is."""

AccountId = NewType("AccountId", int)
LoginSessionId = NewType("LoginSessionId", int)
TokenId = NewType("TokenId", int)
AuditId = NewType("AuditId", int)
