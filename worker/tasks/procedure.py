"""PROCEDURE: calls a stored procedure of a data source, with bound IN values; its OUT values are the outputs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain

from pydantic import BaseModel, ConfigDict, Field

from model.choices import ParameterType
from model.errors import Refused
from model.parameters.local import NAME, typed
from worker.statements.binding import Bind, Statement
from worker.statements.drivers import load_drivers
from worker.statements.files import files_of
from worker.statements.session import Session, in_session
from worker.statements.table import as_text, table
from worker.tasks.plugin import Task, TaskContext, TaskParams, TaskResult

_PROCEDURE = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*){0,2}")
ROWS_MAX = 1_000


class ProcedureTask(Task):
    """One attempt of a PROCEDURE task."""

    class Argument(BaseModel):
        """One argument. An IN needs a value; an OUT needs the name of the output; INOUT needs both."""

        model_config = ConfigDict(frozen=True, extra="forbid")

        direct: str = Field(default="IN", pattern="^(IN|OUT|INOUT)$")
        name: str = Field(default="", pattern=rf"^$|{NAME}")
        type: ParameterType = ParameterType.VARCHAR
        value: str = ""

    class Params(TaskParams):
        """`name` is the procedure's, with its schema if needed; `arguments` are in the procedure's order."""

        datasource: str
        name: str
        arguments: list[ProcedureTask.Argument] = Field(default_factory=list, max_length=100)

    params: Params
    starts_processes = False
    below_keeper = True

    @classmethod
    def prepare(cls) -> None:
        load_drivers()

    def data_source(self, values: Mapping[str, str]) -> str:  # noqa: ARG002
        return self.params.datasource

    async def run(self, context: TaskContext) -> TaskResult:
        """Call the procedure in its own transaction. Raises `Refused` or `Unavailable` with the reason as a
        sentence."""
        assert context.data_source is not None, "the worker gives it"
        params = self.params
        if _PROCEDURE.fullmatch(params.name) is None:
            raise Refused(
                f"PROCEDURE parameters: name: {params.name[:200]!r} is not a name of a procedure; write it as name or "
                f"schema.name, of letters, digits, _ and $"
            )
        for place, each in enumerate(params.arguments):
            if each.direct != "IN" and not each.name:
                raise Refused(f"PROCEDURE parameters: arguments.{place}.name: an {each.direct} argument needs a name")
        url = await context.data_source(params.datasource)
        return TaskResult.success(
            await in_session(
                params.datasource,
                url,
                lambda session: self._call(session, context),
                may_go_on=context.may_go_on,
                files=files_of(context),
            )
        )

    def _call(self, session: Session, context: TaskContext) -> dict[str, str]:
        context.log.write(f"CALL {self.params.name}, {len(self.params.arguments)} arguments\n")
        match session.driver.url.get_backend_name():
            case "postgresql":
                return self._call_postgres(session)
            case "mysql":
                return self._call_mysql(session, context)
            case other:
                raise Refused(f"{other} has no stored procedures; use a task of type SQL")

    def _call_postgres(self, session: Session) -> dict[str, str]:
        """Call the procedure, which returns OUT and INOUT values as one row, in order."""
        arguments: list[tuple[Bind | str, ...]] = [
            (Bind(_typed(each, place)),) if each.direct != "OUT" else ("NULL",)
            for place, each in enumerate(self.params.arguments)
        ]
        found = session.run(Statement((f"CALL {self.params.name}(", *_listed(arguments), ")")), ROWS_MAX)
        values = found.rows[0] if found.rows else ()
        return dict(zip(self._out_names(), map(as_text, values), strict=False))

    def _call_mysql(self, session: Session, context: TaskContext) -> dict[str, str]:
        """Call the procedure. Its OUT arguments are variables of the session; rows that it selects are logged."""
        arguments = self.params.arguments
        for place, each in enumerate(arguments):
            value = None if each.direct == "OUT" else _typed(each, place)
            session.run(Statement((f"SET @shoal_argument_{place} = ", Bind(value))), ROWS_MAX)
        names = ", ".join(f"@shoal_argument_{place}" for place in range(len(arguments)))
        found = session.run(Statement((f"CALL {self.params.name}({names})",)), ROWS_MAX)
        if found.is_table:
            context.log.write(table(found, context.masked))
        out = [place for place, each in enumerate(arguments) if each.direct != "IN"]
        if not out:
            return {}
        wanted = ", ".join(f"@shoal_argument_{place}" for place in out)
        values = session.run(Statement((f"SELECT {wanted}",)), 1).rows[0]
        return dict(zip(self._out_names(), map(as_text, values), strict=True))

    def _out_names(self) -> list[str]:
        return [each.name for each in self.params.arguments if each.direct != "IN"]


def _typed(argument: ProcedureTask.Argument, place: int) -> object:
    return typed(argument.type, argument.name or f"argument {place + 1}", argument.value)


def _listed(arguments: list[tuple[Bind | str, ...]]) -> list[Bind | str]:
    return list(chain.from_iterable((", ", *each) if place else each for place, each in enumerate(arguments)))
