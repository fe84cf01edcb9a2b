"""SQL: statements on a data source, with bound values; one transaction; a cancellation also cancels on the server.

`insert` only leaves a mark: the statements are built when the database, its grammar and the types of the parameters are
known (`worker/statements/binding.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from model.errors import Refused
from model.parameters.parameters import PARAMETERS_BYTES_MAX
from worker.statements.binding import Binder, Statement, reference, resolved
from worker.statements.driver import Result
from worker.statements.drivers import load_drivers
from worker.statements.files import files_of
from worker.statements.session import Session, in_session
from worker.statements.table import as_list, as_text, table
from worker.tasks.plugin import SENT_CHARACTERS_MAX, ResultAlert, Task, TaskContext, TaskParams, TaskResult

STATEMENT_SHOWN_MAX = 2_000
ALERT_CHARACTERS_MAX = 500_000
"""In all cells that are sent to an alert group."""
FIELDS = ("pre_statements", "sql", "post_statements")
"""The order in which they run."""


class SqlType(StrEnum):
    """What the statements are for."""

    AUTO = "AUTO"
    """The result is the last one that returns rows, if any."""
    QUERY = "QUERY"
    """As AUTO, but one must return rows."""
    NON_QUERY = "NON_QUERY"
    """Rows are not a result."""


class SqlTask(Task):
    """One attempt of a SQL task."""

    class Params(TaskParams):
        """`sql` is a text of statements separated by semicolons, or a list of single statements; so are the others.

        `pre_statements` run before and `post_statements` after it, in one transaction with it unless `transaction` is
        false. The result is the first `limit` rows; the outputs are its first row, or with `as_list` each column.
        With `alert_group` the first `display_rows` of it are sent to that group, with `title` as the subject.
        """

        datasource: str
        type: SqlType = SqlType.AUTO
        sql: str | list[str]
        pre_statements: str | list[str] = Field(default_factory=list)
        post_statements: str | list[str] = Field(default_factory=list)
        limit: int = Field(default=1_000, ge=1, le=100_000)
        as_list: bool = False
        transaction: bool = True
        alert_group: str | None = Field(default=None, min_length=1, max_length=200)
        title: str | None = Field(default=None, min_length=1, max_length=500)
        display_rows: int = Field(default=10, ge=1, le=1_000)

        @model_validator(mode="after")
        def _title_is_of_something(self) -> Self:
            if self.title is not None and self.alert_group is None:
                raise ValueError("title is the subject of what is sent to alert_group; give that too")
            return self

    params: Params
    starts_processes = False
    below_keeper = True

    @classmethod
    def prepare(cls) -> None:
        load_drivers()

    def data_source(self, values: Mapping[str, str]) -> str:
        return resolved(self.params.datasource, values)

    @classmethod
    def insert(cls, name: str, value: str) -> str:  # noqa: ARG003 - no value ever goes into the text
        """A mark, which the statement's binding replaces."""
        return reference(name)

    async def run(self, context: TaskContext) -> TaskResult:
        """Run the statements. Raises `Refused` or `Unavailable` with the reason as a sentence."""
        assert context.data_source is not None, "the worker gives it"
        name = self.data_source(context.values)
        url = await context.data_source(name)
        outputs, alert = await in_session(
            name,
            url,
            lambda session: self._run(session, context),
            transaction=self.params.transaction,
            may_go_on=context.may_go_on,
            files=files_of(context),
        )
        return replace(TaskResult.success(outputs), alert=alert)

    def _run(self, session: Session, context: TaskContext) -> tuple[dict[str, str], ResultAlert | None]:
        """Run all statements, in the session's thread; returns the outputs for later tasks, and what is to be sent."""
        params = self.params
        binder = Binder(session.driver.grammar, context.values, context.types, session.driver.date_time)
        parts = {field: _statements(binder, field, getattr(params, field)) for field in FIELDS}
        if not parts["sql"]:
            raise Refused("SQL parameters: sql: there is no statement in it")
        result: Result | None = None
        outputs: dict[str, str] = {}
        alert: ResultAlert | None = None
        for field, statements in parts.items():
            for number, statement in enumerate(statements, 1):
                where = f"{field}, statement {number} of {len(statements)}"
                found = self._one(session, context, where, statement)
                if field == "sql" and found.is_table:
                    result = found
            if field == "sql":
                outputs, alert = self._outputs(result, context.value_bytes_max), self._alert(result, context)
        return outputs, alert

    def _one(self, session: Session, context: TaskContext, where: str, statement: Statement) -> Result:
        context.log.write(f"-- {where}\n{context.masked(statement.shown)[:STATEMENT_SHOWN_MAX]}\n")
        try:
            found = session.run(statement, self.params.limit)
        except Refused as error:
            raise Refused(f"{where}: {error}{statement.cure}") from None
        if found.is_table:
            context.log.write(table(found, context.masked))
        elif found.changed is not None:
            context.log.write(f"({found.changed} {'row' if found.changed == 1 else 'rows'} changed)\n")
        return found

    def _alert(self, result: Result | None, context: TaskContext) -> ResultAlert | None:
        """The alert to send. Raises `Refused` before the commit, so that nothing is committed without its alert."""
        params = self.params
        if params.alert_group is None:
            return None
        group = resolved(params.alert_group, context.values).strip()
        if not group:
            raise Refused("alert_group: it is empty, so nobody would get the result; write the name of a group")
        if result is None:
            raise Refused("sql: no statement gives rows that could be sent to alert_group")
        title = resolved(params.title or "", context.values).strip() or f'result of task "{context.task_name}"'
        rows = list(_shown_rows(result, params.display_rows))
        total = len(result.rows) + result.dropped
        return ResultAlert(group, title, list(result.columns), rows, total)

    def _outputs(self, result: Result | None, value_bytes_max: int) -> dict[str, str]:
        """The outputs from the result. Raises `Refused` before the commit, so that nothing is committed without
        them."""
        params = self.params
        if result is None and params.type is SqlType.QUERY:
            raise Refused("sql: no statement gives rows, and type is QUERY; write type: NON_QUERY or AUTO")
        if result is None or params.type is SqlType.NON_QUERY:
            return {}
        if params.as_list:
            if result.dropped:
                raise Refused(
                    f"sql: the result has {len(result.rows) + result.dropped} rows and limit is {params.limit}, "
                    f"so as_list would lose rows; raise limit, or write LIMIT into the statement"
                )
            outputs = {column: as_list(result.rows, place) for place, column in enumerate(result.columns)}
        else:
            outputs = dict(zip(result.columns, map(as_text, result.rows[0]), strict=True)) if result.rows else {}
        bytes_max = max(PARAMETERS_BYTES_MAX, value_bytes_max)
        if sum(len(value.encode(errors="replace")) for value in outputs.values()) > bytes_max:
            raise Refused(
                f"sql: the result is larger than {bytes_max} bytes, more than a task may return; "
                f"select less, or write type: NON_QUERY"
            )
        return outputs


def _shown_rows(result: Result, count: int) -> Iterator[list[str | None]]:
    """The first rows that fit into a message."""
    left = ALERT_CHARACTERS_MAX
    for row in result.rows[:count]:
        shown = [None if value is None else as_text(value) for value in row]
        left -= sum(min(len(cell or ""), SENT_CHARACTERS_MAX) for cell in shown)
        if left < 0:
            return
        yield shown


def _statements(binder: Binder, field: str, given: str | list[str]) -> list[Statement]:
    try:
        return binder.statements(given)
    except Refused as error:
        raise Refused(f"{field}: {error}") from None
