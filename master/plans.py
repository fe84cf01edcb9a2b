"""The plans in use: read once from the database, kept while they are wanted. A version never changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection

from sqlalchemy.ext.asyncio import AsyncConnection

from dao import definitions
from dao.definitions import Whereabouts
from master.plan import Plan
from model.errors import NotFound, Refused
from model.ids import WorkflowCode
from model.workflow import WorkflowSpec

PlanKey = tuple[WorkflowCode, int]


class Plans:
    """A cache of plans, bounded by the number of tasks in them; the least recently used go first."""

    def __init__(self, tasks_max: int = 200_000) -> None:
        self._tasks_max = tasks_max
        self._tasks = 0
        self._plans: OrderedDict[PlanKey, Plan] = OrderedDict()

    async def load(self, connection: AsyncConnection, keys: Collection[PlanKey]) -> dict[PlanKey, Plan | Refused]:
        """The plan of each version, or the reason why there is none."""
        found: dict[PlanKey, Plan | Refused] = {}
        missing = []
        for key in keys:
            plan = self._plans.get(key)
            if plan is None:
                missing.append(key)
            else:
                self._plans.move_to_end(key)
                found[key] = plan
        if missing:
            specs = await definitions.specs(connection, missing)
            where = await definitions.whereabouts(connection, {code for code, _ in missing})
            for code, version in missing:
                spec = specs.get((code, version))
                if spec is None:
                    found[code, version] = NotFound(f"workflow {code} has no version {version}")
                elif isinstance(spec, Refused):
                    found[code, version] = Refused(f"workflow {code} version {version} cannot be run: {spec}")
                else:
                    found[code, version] = self._made(code, version, spec, where.get(code))
        return found

    def _made(self, code: WorkflowCode, version: int, spec: WorkflowSpec, where: Whereabouts | None) -> Plan | Refused:
        try:
            if where is None:
                return self._keep(Plan.of(code, version, spec))
            names = {"name": where.name, "project": where.project}
            return self._keep(Plan.of(code, version, spec, **names, project_code=where.project_code))
        except Refused as error:
            return Refused(f"workflow {code} version {version} cannot be run: {error}")

    def _keep(self, plan: Plan) -> Plan:
        self._plans[plan.workflow_code, plan.version] = plan
        self._tasks += len(plan.tasks)
        while self._tasks > self._tasks_max and len(self._plans) > 1:
            _, dropped = self._plans.popitem(last=False)
            self._tasks -= len(dropped.tasks)
        return plan
