"""Programs of random transactions, as masters, workers and people send them, against both stores.

Each step has random numbers of its own, so that one can be left out and the others stay much as they were. What a step
does depends on the rows that are there; mostly it is what makes sense, now and then it is what a node that knows less
than the rows would do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from random import Random
from typing import Any, TypeVar

from dao.cluster import nodes
from dao.cluster.node_rows import NodeRow
from dao.cluster.nodes import Me
from model.cluster.nodes import NodeKind, NodeState
from model.ids import Epoch, WorkflowInstanceId
from tests.bridge.two_stores import Each, GivenUp, TwoStores
from tests.simulation.server import Server
from tests.simulation.tables import Row, Table, Values

T = TypeVar("T")
CODES = (1, 2, 3, 4)
"""The workflows: 1 and 2 are parallel, 3 and 4 serial."""
TRIGGERS: dict[int, list[dict[str, Any]]] = {
    2: [{"workflow": "w1"}, {"dataset": "d"}, {"datasets": ["f", "e"]}],
    4: [{"workflow": "w1", "states": ["FAILURE", "STOP"]}, {"workflow": "w3"}, {"dataset": "d"}, {"dataset": "e"}],
}
"""The triggers of workflows, as in definitions."""
ADDRESS = "10.0.0.1:5678"
NAMES = ("one", "two", ADDRESS)
"""The names of nodes; one without a name is called by its address."""


class Program:
    """The state of one: both stores, and the random numbers of the step that it is at."""

    def __init__(self, stores: TwoStores, seed: int) -> None:
        self.stores = stores
        self.seed = seed
        self.random = Random(seed)
        self.seen: list[NodeRow] = []
        """Living nodes as somebody saw them, some of them long ago."""
        self.plans: list[Each] = []
        """Fires of schedules that somebody computed, done or not."""

    @property
    def server(self) -> Server:
        return self.stores.server

    async def step(self, number: int, actions: Actions) -> None:
        """One transaction, drawn by the number of the step."""
        self.random = Random(f"{self.seed}/{number}")
        action = self.random.choices([each for each, _ in actions], [weight for _, weight in actions])[0]
        self.stores.trace.append(f"step {number}: {action.__name__}")
        async with self.stores.transaction():
            await action(self)
            if self.random.random() < 0.08:
                raise GivenUp("nobody commits")

    async def let_hours_pass(self) -> None:
        await self.stores.hours_pass(self.random.choice((1, 3)))
        self.plans = []

    async def let_somebody_drain(self) -> None:
        await self.stores.drain(self.random.choice(list(NodeKind)), self.random.choice(NAMES))

    async def call(self, function: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> Any:
        return await self.stores.call(function, *args, **kwargs)

    # ------------------------------------------------------------------------------------------- what is drawn

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def some(self, of: Collection[T], most: int = 3) -> list[T]:
        """A few of them, in their order."""
        whole = list(of)
        picked = set(self.random.sample(range(len(whole)), min(len(whole), self.random.randint(1, most))))
        return [each for place, each in enumerate(whole) if place in picked]

    def one(self, of: Sequence[T]) -> T:
        """Any one; nothing is done in this step if there is none."""
        if not of:
            raise GivenUp("there is nothing to do it with")
        return self.random.choice(of)

    # -------------------------------------------------------------------------------- what this transaction sees

    def rows(self, table: Table, like: Callable[[Values], bool] = lambda _: True) -> list[tuple[Row, Values]]:
        found = [(row, each) for row, each in self.stores.tx.scan(table.rows) if like(each)]
        return sorted(found, key=lambda one: one[0].id)

    def node(self, kind: NodeKind, busy: Collection[int] = ()) -> Me:
        """A node, usually a living one; preferably one of `busy`."""
        living = (NodeState.ALIVE, NodeState.LEAVING)
        any_ = self.chance(0.07)
        found = self.rows(self.server.nodes, lambda each: each.kind is kind and (any_ or each.state in living))
        row, each = self.one([one for one in found if one[0].id in busy] or found)
        return Me(row.id, each.incarnation, kind, each.address, each.name)

    async def licensed(self, kind: NodeKind, busy: Collection[int] = ()) -> Me:
        """A node that holds its licence, mostly, as every one does before it writes."""
        me = self.node(kind, busy)
        if not self.chance(0.03):
            await self.call(nodes.hold_alive, me)
        return me

    def owned(self, master: Me) -> list[tuple[WorkflowInstanceId, Values]]:
        """The runs that a master may consider its own and unfinished."""
        any_ = self.chance(0.05)
        found = self.rows(
            self.server.instances, lambda each: any_ or (each.master_id == master.epoch and not each.state.is_final)
        )
        return [(row.id, each) for row, each in found]

    def drivers(self) -> set[Epoch]:
        """The masters that own what is driven."""
        return {each.master_id for _, each in self.rows(self.server.instances, lambda each: each.state.is_driven)}

    def instances(self, most: int = 3) -> list[WorkflowInstanceId]:
        """Any, and now and then one that does not exist."""
        found = self.some([row.id for row, _ in self.rows(self.server.instances)], most)
        return [*found, WorkflowInstanceId(10**6)] if self.chance(0.05) else found

    def tasks_of(self, instance: int) -> list[Values]:
        return [each for _, each in self.rows(self.server.tasks, lambda each: each.workflow_instance_id == instance)]


Action = Callable[[Program], Awaitable[None]]
Actions = Sequence[tuple[Action, int]]
"""The possible actions of a step, each with its weight."""
