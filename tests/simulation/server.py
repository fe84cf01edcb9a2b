"""The database server: sessions, statements, commits and their faults.

A statement is executed by the server, not by the process that sent it, which may sleep or die meanwhile. A commit has
four fates: it happens and is answered; it happens and the answer is lost; the connection is cut before it arrives; or
it arrives, the client is told that its connection is gone, and it happens seconds later.

A link may also swallow requests or answers silently. Such a session stays dead; its client gives it up by its own
deadline, or never, and the server by the time-out for sessions idle in a transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum
from random import Random
from typing import TYPE_CHECKING, Any

from dao.postgres.errors import BadData, LockTaken
from model.cluster.low_water import Horizon
from model.cluster.nodes import NodeKind
from model.definitions.triggers import TriggerSpec
from model.errors import ShoalError, Unavailable, Unknown
from tests.simulation.loop import Process, VirtualLoop
from tests.simulation.protections import Protections
from tests.simulation.tables import Blocked, Row, Table, Transaction

if TYPE_CHECKING:
    from tests.simulation.invariants import Invariants
    from tests.simulation.trace import Trace

LOCK_TIMEOUT_S = 2.0
HASTE = 0.3
"""How much shorter a client's deadlines are here than in reality, like all times of the cluster."""
IDLE_IN_TRANSACTION_S = 3.0
_KEPT_BY_THE_SCHEMA = {
    "workflow_instance_command": "I1",
    "command_history": "I1",
    "command_one_recover": "I3",
    "task_instance_attempt": "I5",
    "workflow_instance_fire": "I8",
}
"""Which invariant a constraint stands for; whatever else the schema refuses is I7, a wrong transition."""
EPOCH = datetime(2026, 1, 1, 12, tzinfo=UTC)


class State(Enum):
    """The state of a session."""

    OPEN = 1
    COMMITTING = 2
    LOST = 3
    DONE = 4


class Way(Enum):
    """What a link swallows."""

    ASKED = 1
    ANSWERED = 2


class Faults:
    """The probabilities of faults; all zero = none."""

    statement_lost = 0.0
    commit_odd = 0.0
    note_lost = 0.0
    slow = 0.0


class Server:
    """Tables, who is connected, and the database's clock."""

    def __init__(
        self, loop: VirtualLoop, random: Random, protections: Protections, trace: Trace, invariants: Invariants
    ) -> None:
        self.loop = loop
        self.random = random
        self.protections = protections
        self.trace = trace
        self.invariants = invariants
        self.faults = Faults()
        self.is_down = False
        self.is_frozen = False
        self._began_to_freeze_s = self._froze_for_s = 0.0
        self.clock_step_s = 0.0
        self.cut_off: set[str] = set()
        """Addresses of processes that cannot reach it."""
        self.swallowing: dict[str, Way] = {}
        """Processes whose links swallow just now."""
        self.sessions: dict[Session, None] = {}
        self.numbered = 0
        """How many there have been."""
        self.listeners: list[Any] = []
        self.frozen: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        self.suspect_code = 0
        """A process that makes a run of this workflow dies before the commit; 0 = none does."""
        self.on_suspect: Callable[[Process], None] = lambda _: None
        self.on_statement: Callable[[Process, str], None] = lambda _process, _statement: None
        self.on_goodbye: Callable[[int], None] = lambda _epoch: None
        """Told of a life that its process gives up, whatever becomes of the transaction that says so."""
        self.nodes = Table("node")
        self.beats = Table("node_beat")
        self.commands = Table("command")
        self.history = Table("command_history")
        self.instances = Table("workflow_instance")
        self.tasks = Table("task_instance", key=lambda task: task.workflow_instance_id)
        self.events = Table("task_event")
        self.schedules = Table("schedule")
        self.definitions = Table("workflow_definition")
        self.triggers: Mapping[int, Sequence[TriggerSpec]] = {}
        """The triggers of workflows that have some."""
        self.dataset_waits = Table("dataset_wait")
        self.stream_restarts = Table("stream_restart")
        self.stream_lock = Row(Table("advisory locks"), "streams")
        self.duties = Table("duty")
        self.duties_done = Table("duty_done")
        self.floor = Table("history_floor")
        self.drains: dict[tuple[NodeKind, str], int] = {}
        """Kind and name of drained nodes -> the id of the drain. People change it at once, outside of transactions."""
        self.pools = Table("resource_pool")
        self.resources = Table("pool_resource")
        self.schemas = Table("schema_version")
        """Versions that are newer than this program."""

    @property
    def now_s(self) -> float:
        """Its clock, in seconds since `EPOCH`."""
        return self.loop.now + self.clock_step_s

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.now_s)

    def reaches(self, process: Process | None) -> bool:
        return not self.is_down and (process is None or process.name not in self.cut_off)

    def latency_s(self) -> float:
        """Most statements take no time, so that runs are short; a few take long."""
        draw = self.random.random()
        if draw < 0.75:
            return 0.0
        if draw < 0.995 - self.faults.slow:
            return 0.04 * (draw - 0.74)
        return self.random.uniform(0.05, 1.5)

    def do(self, statement: Callable[..., Any], *args: Any) -> Any:
        """Execute one statement from outside in a transaction of its own, at once."""
        transaction = Transaction(self)
        result = statement(transaction, *args)
        self.apply(transaction)
        return result

    def apply(self, transaction: Transaction) -> None:
        """Commit: check what must hold, and wake the listeners."""
        notes = transaction.notes
        self.invariants.before_commit(transaction)
        changes = transaction.install()
        if changes:
            self.invariants.after_commit(changes, transaction.began_s)
        for channel, payload in notes:
            self.note(channel, payload)

    def horizon(self) -> Horizon:
        """What a statement sees now: every open transaction may write."""
        return Horizon(min((each.number for each in self.sessions), default=self.numbered + 1), self.numbered + 1)

    def note(self, channel: str, payload: str = "") -> None:
        """Wake the listeners, but for those whose notification is lost."""
        for listener in self.listeners:
            if channel in listener.channels and self.random.random() >= self.faults.note_lost:
                self.loop.in_world(self.latency_s(), listener.hear, channel, payload)

    def end_sessions(self, matching: Callable[[Session], bool]) -> None:
        for session in list(self.sessions):
            if matching(session):
                session.terminate()

    @property
    def awake_s(self) -> float:
        """How long it has run, without the time for which it was frozen."""
        now = self._began_to_freeze_s if self.is_frozen else self.loop.now
        return now - self._froze_for_s

    def freeze(self, is_frozen: bool) -> None:
        """SIGSTOP of the whole server, and its end."""
        if is_frozen == self.is_frozen:
            return
        self.is_frozen = is_frozen
        if is_frozen:
            self._began_to_freeze_s = self.loop.now
        else:
            self._froze_for_s += self.loop.now - self._began_to_freeze_s
            waiting, self.frozen = self.frozen, []
            for call, args in waiting:
                self.loop.in_world(0.0, call, *args)


class Session(Transaction):
    """A transaction of one process on its connection; with `autocommit` each statement is one."""

    def __init__(
        self, server: Server, process: Process, application_name: str, *, autocommit: bool, answer_within_s: float = 7.0
    ) -> None:
        super().__init__(server)
        self._answer_within_s = answer_within_s * HASTE
        self._swallows: Way | None = None
        self.process = process
        self.application_name = application_name
        self.autocommit = autocommit
        self.opening: Callable[[], Awaitable[None]] | None = None
        """Called before the first statement. In reality both are one round trip; here more may happen in between."""
        self.state = State.OPEN
        self.number = server.numbered = server.numbered + 1
        self._answer: asyncio.Future[Any] | None = None
        self._statement = 0
        server.sessions[self] = None

    # -------------------------------------------------------------------------------------- the client's side

    async def run(self, statement: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Send a statement, wait for its answer. Raises `Unavailable`, `BadData`, `Fenced`, `OwnershipLost`."""
        await self._open()
        server = self.server
        server.on_statement(self.process, statement.__name__)
        self._statement += 1
        if self._is_swallowed():
            return await self._unanswered(Unavailable("no answer in time"), statement, args, kwargs)
        delay_s = server.latency_s()
        if server.random.random() < server.faults.statement_lost:
            server.loop.in_world(delay_s, self.terminate)
        if delay_s == 0 and not self.process.is_dead and not self.process.is_paused and not server.is_frozen:
            if self.state is not State.OPEN or not server.reaches(self.process):
                self.terminate()
                raise Unavailable("the connection is gone")
            try:
                result = self.perform(statement, args, kwargs)
                if self.autocommit:
                    server.apply(self)
                return result
            except Blocked:
                pass
            except ShoalError as error:
                self._failed(statement, error)
                raise
        answer = self._answer = server.loop.create_future()
        deadline_s = server.loop.now + delay_s + LOCK_TIMEOUT_S
        server.loop.in_world(delay_s, self._execute, self._statement, statement, args, kwargs, deadline_s)
        return await answer

    async def commit(self) -> None:
        """Raises `Unknown` when the connection goes meanwhile."""
        await self._open()
        server, random = self.server, self.server.random
        if self.state is not State.OPEN or not server.reaches(self.process):
            self.terminate()
            raise Unknown("the connection went while a transaction was committing")
        server.on_statement(self.process, "commit")
        if self._is_swallowed():
            await self._unanswered(Unknown("no answer to COMMIT in time"))
            return
        self.state = State.COMMITTING
        answer = self._answer = server.loop.create_future()
        delay_s = server.latency_s()
        if random.random() < server.faults.commit_odd:
            fate = random.choice(("cut before it arrives", "answer lost", "happens late", "happens late"))
            server.trace.add(self.process.name, f"COMMIT: {fate}")
            if fate == "happens late":
                server.loop.in_world(delay_s + random.uniform(0.01, 2.5), self._commit)
            else:
                server.loop.in_world(delay_s, self._commit if fate == "answer lost" else self._cut)
            server.loop.in_world(delay_s + server.latency_s(), self._answer_gone)
        elif delay_s == 0 and not self.process.is_dead and not self.process.is_paused and not server.is_frozen:
            self._commit()
        else:
            server.loop.in_world(delay_s, self._commit)
        await answer

    async def _open(self) -> None:
        opening, self.opening = self.opening, None
        if opening is not None:
            await opening()

    def roll_back_by_client(self) -> None:
        """The process gives up this transaction."""
        if self.state is State.OPEN:
            self.state = State.DONE
            self._end()

    def _is_swallowed(self) -> bool:
        """Whether its link swallows; once it has, it always does."""
        self._swallows = self._swallows or self.server.swallowing.get(self.process.name)
        return self._swallows is not None and self.state is State.OPEN

    async def _unanswered(
        self, error: ShoalError, statement: Callable[..., Any] | None = None, args: Any = (), kwargs: Any = None
    ) -> Any:
        """A statement, or with None a COMMIT, that no answer comes to; it may have happened."""
        server = self.server
        server.trace.add(self.process.name, f"{statement.__name__ if statement else 'COMMIT'}: {self._swallows} lost")
        if self._swallows is Way.ANSWERED and not server.is_frozen and server.reaches(self.process):
            self._do_unheard(statement, args, kwargs or {})
        server.loop.in_world(IDLE_IN_TRANSACTION_S, self._end_unheard)
        answer = server.loop.create_future()
        if server.protections.answer_deadline:
            server.loop.in_world(self._answer_within_s, self._give_up, answer, error)
        return await answer

    def _do_unheard(self, statement: Callable[..., Any] | None, args: Any, kwargs: Any) -> None:
        try:
            if statement is not None:
                self.perform(statement, args, kwargs)
            if self.autocommit or statement is None:
                self.server.apply(self)
                self.state = State.DONE
                self.server.sessions.pop(self, None)
        except Blocked:
            pass
        except ShoalError as error:
            self._failed(statement or self.commit, error)

    def _give_up(self, answer: asyncio.Future[Any], error: ShoalError) -> None:
        """Let the client close a socket of which the server learns nothing."""
        if self.state is State.OPEN:
            self.state = State.LOST
        if not answer.done():
            answer.set_exception(error)

    def _end_unheard(self) -> None:
        if self.state in (State.OPEN, State.LOST):
            self.state = State.LOST
            self._end()

    # -------------------------------------------------------------------------------------- the server's side

    def terminate(self) -> None:
        """End the session, whatever it does. What is being committed may still be."""
        if self.state is State.OPEN or (self.state is State.COMMITTING and self.server.random.random() < 0.5):
            self._cut()
        elif self.state is State.COMMITTING:
            self._answer_gone()

    def _cut(self) -> None:
        if self.state in (State.OPEN, State.COMMITTING):
            was_committing, self.state = self.state is State.COMMITTING, State.LOST
            self._end()
            error: ShoalError = Unavailable("the connection is gone")
            self._reply(Unknown("the connection went while committing") if was_committing else error)

    def _answer_gone(self) -> None:
        self._reply(Unknown("the connection went while committing"))

    def _execute(self, number: int, statement: Callable[..., Any], args: Any, kwargs: Any, deadline_s: float) -> None:
        server = self.server
        if number != self._statement:
            return
        if self.state is not State.OPEN:
            self._reply(Unavailable("the connection is gone"))
            return
        if server.is_frozen:
            server.frozen.append((self._execute, (number, statement, args, kwargs, server.loop.now + LOCK_TIMEOUT_S)))
            return
        if not server.reaches(self.process):
            self._cut()
            return
        try:
            result = self.perform(statement, args, kwargs)
            if self.autocommit:
                server.apply(self)
            self._reply(result)
        except Blocked as blocked:
            self._wait(blocked.row, number, statement, args, kwargs, deadline_s)
        except ShoalError as error:
            self._failed(statement, error)
            self._reply(error)

    def _failed(self, statement: Callable[..., Any], error: ShoalError) -> None:
        """Fail as the data of a statement do that the schema refuses."""
        told = f"{statement.__name__}: {error}"
        self.server.trace.add(self.process.name, told)
        if isinstance(error, BadData):
            number = next((number for what, number in _KEPT_BY_THE_SCHEMA.items() if what in told), "I7")
            self.server.trace.violation(f"{number}: the database had to refuse {self.process.name}: {told}")

    def _wait(
        self, row: Row, number: int, statement: Callable[..., Any], args: Any, kwargs: Any, deadline_s: float
    ) -> None:
        server, again = self.server, (number, statement, args, kwargs, deadline_s)
        if server.loop.now >= deadline_s:
            server.trace.add(self.process.name, f"{statement.__name__}: lock timeout at {row.table.name} {row.id}")
            self._reply(LockTaken("somebody else holds a lock (55P03): canceling statement due to lock timeout"))
            return

        def time_is_over() -> None:
            timer.cancel()  # who gives the lock back while the server is frozen must not have it executed twice
            self._execute(*again)

        timer = server.loop.in_world(deadline_s - server.loop.now, time_is_over)

        def wake() -> None:
            if not timer.is_cancelled:
                timer.cancel()
                server.loop.in_world(0.0, self._execute, *again)

        row.waiters.append(wake)

    def _commit(self) -> None:
        if self.state is not State.COMMITTING:
            return
        if self.server.is_frozen:
            self.server.frozen.append((self._commit, ()))
            return
        if self.server.is_down:
            self._cut()
            return
        self.server.apply(self)
        self.state = State.DONE
        self.server.sessions.pop(self, None)
        self._reply(None)

    def _reply(self, answer: Any) -> None:
        future, self._answer = self._answer, None
        if future is not None and not future.done():
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)

    def _end(self) -> None:
        self.roll_back()
        self.server.sessions.pop(self, None)
