"""The operation behind `shoal doctor`: all checks, with their results."""

from __future__ import annotations

from collections.abc import Sequence

from model.accounts.rights import Right
from service.call import Call
from service.checks.check_result import Result, Verdict
from service.checks.doctor import examine
from service.fields import Answer
from service.operation import operation


class CheckAnswer(Answer):
    """One check. `condition` is what is true if it passed; `finds` are the first findings of `count`, `fix` how to fix
    them."""

    name: str
    verdict: Verdict
    condition: str
    detail: str
    count: int
    finds: Sequence[str]
    fix: str

    @classmethod
    def of(cls, result: Result) -> CheckAnswer:
        return cls.showing(result, finds=result.shown)


class ExaminationAnswer(Answer):
    """All checks, in their order, and the names of those that failed."""

    failed: Sequence[str]
    checks: Sequence[CheckAnswer]


@operation("GET", "/doctor", Right.ADMINISTER, "cluster")
async def examine_cluster(call: Call) -> ExaminationAnswer:
    """Check servers, cluster and tables, and say how to fix what failed.

    The checks of a machine, such as its disks and its clock, are of the machine that answers. When the database does
    not answer, that is the last check. It names runs of all projects, so only an admin may ask.
    """
    backend = call.backend
    checks = examine(call.settings, call.database, backend.registered, backend.machine)
    found = [result async for result in checks]
    failed = [result.name for result in found if result.verdict is Verdict.FAILED]
    return ExaminationAnswer(failed=failed, checks=[CheckAnswer.of(result) for result in found])
