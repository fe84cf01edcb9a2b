"""The plans in use: read once from the database and cached. A version never changes.

Making the plan of ten thousand tasks takes a second of CPU, so no transaction waits for one. A transaction that needs a
plan that is not cached is rolled back (`PlansMissing`), the plan is fetched, and the transaction is repeated. A thread
makes the plan, beside the event loop.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeVar

from dao.definitions import definitions
from dao.definitions.definitions import Definition, Whereabouts, read_spec
from dao.postgres.database import Database
from master.drive.garbage_collection import collector_paused, keep_for_good
from model.definitions.plan import Plan
from model.errors import NotFound, Refused, ShoalError
from model.ids import WorkflowCode
from model.runs.instances import WorkflowInstance
from node.threads import in_thread

PlanKey = tuple[WorkflowCode, int]
Fetched = Mapping[PlanKey, Plan | Refused]
"""What was fetched for a transaction: plans, or the reasons why there is none."""
R = TypeVar("R")
LARGE = 100_000
"""The length of a definition, in characters, that makes hundreds of tasks."""


def plan_key(instance: WorkflowInstance) -> PlanKey:
    """The key of the run's version."""
    return (instance.workflow_code, instance.workflow_version)


class PlansMissing(ShoalError):
    """A transaction needs plans that are not cached."""

    def __init__(self, keys: Collection[PlanKey]) -> None:
        super().__init__(f"the plans of {len(keys)} versions are to be fetched")
        self.keys = keys


class Plans:
    """An LRU cache of plans, bounded by the number of tasks in them."""

    def __init__(self, tasks_max: int = 200_000) -> None:
        self._tasks_max = tasks_max
        self._tasks = 0
        self._plans: OrderedDict[PlanKey, Plan] = OrderedDict()

    def check_projects(self, heads: Mapping[WorkflowCode, Definition | Whereabouts], keys: Collection[PlanKey]) -> None:
        """Forget the plans of workflows that have moved to another project."""
        for key in keys:
            plan, head = self._plans.get(key), heads.get(key[0])
            if plan is not None and head is not None and plan.project != head.project:
                self._drop(key)

    def at_hand(self, keys: Collection[PlanKey], fetched: Fetched) -> dict[PlanKey, Plan | Refused]:
        """The plan of each version, or the reason why there is none. Raises `PlansMissing`."""
        found: dict[PlanKey, Plan | Refused] = {}
        for key in keys:
            plan = fetched.get(key) or self._plans.get(key)
            if plan is not None:
                found[key] = plan
            if key in self._plans:
                self._plans.move_to_end(key)
        if missing := [key for key in keys if key not in found]:
            raise PlansMissing(missing)
        return found

    async def with_plans(self, database: Database, transaction: Callable[[Fetched], Awaitable[R]]) -> R:
        """Run a transaction, and repeat it with the plans that it turns out to need."""
        fetched: dict[PlanKey, Plan | Refused] = {}
        while True:
            try:
                return await transaction(fetched)
            except PlansMissing as missing:
                fetched |= await self._fetch(database, missing.keys)

    async def _fetch(self, database: Database, keys: Collection[PlanKey]) -> dict[PlanKey, Plan | Refused]:
        async with database.reading() as connection:
            contents = await definitions.contents(connection, keys)
            where = await definitions.whereabouts(connection, {code for code, _ in keys})
        found: dict[PlanKey, Plan | Refused] = {}
        for key in keys:
            content = contents.get(key)
            if content is None:
                found[key] = NotFound(f"workflow {key[0]} has no version {key[1]}")
                continue
            made = found[key] = await in_thread(_made, key, content, where.get(key[0]))
            if isinstance(made, Plan):
                self._keep(made)
        return found

    def _keep(self, plan: Plan) -> None:
        key = (plan.workflow_code, plan.version)
        if key in self._plans:  # another transaction fetched it meanwhile
            return
        self._plans[key] = plan
        self._tasks += len(plan.tasks)
        while self._tasks > self._tasks_max and len(self._plans) > 1:
            self._drop(next(iter(self._plans)))

    def _drop(self, key: PlanKey) -> None:
        self._tasks -= len(self._plans.pop(key).tasks)


def _made(key: PlanKey, content: str, where: Whereabouts | None) -> Plan | Refused:
    if len(content) < LARGE:
        return _plan(key, content, where)
    with collector_paused():
        plan = _plan(key, content, where)
        keep_for_good()
        return plan


def _plan(key: PlanKey, content: str, where: Whereabouts | None) -> Plan | Refused:
    code, version = key
    try:
        spec = read_spec(content)
        if where is None:
            return Plan.of(code, version, spec)
        return Plan.of(code, version, spec, name=where.name, project=where.project, project_code=where.project_code)
    except Refused as error:
        return Refused(f"workflow {code} version {version} cannot be run: {error}")
