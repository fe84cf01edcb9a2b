"""What the expressions of a DAG file are, as far as they can be known without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

Defined = ast.FunctionDef | ast.AsyncFunctionDef
"""The definition of a function."""


@dataclass(frozen=True)
class Unknown:
    """An expression whose value only a run would know: its text and its line."""

    text: str
    line: int


@dataclass(frozen=True)
class Dotted:
    """A name that is imported or built in, such as `airflow.DAG`."""

    path: str

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def is_elsewhere(self) -> bool:
        """Whether another file has its value, and it is no word of an Enum of Airflow."""
        return not self.path.startswith("airflow.")


@dataclass(frozen=True)
class Names:
    """A class of the file that only gives names to values, such as an Enum."""

    values: dict[str, Any] = field(compare=False)


@dataclass(frozen=True)
class Dataset:
    """A dataset or asset, or an alias of some."""

    name: str
    is_alias: bool = False


@dataclass(frozen=True)
class Datasets:
    """Datasets that start a DAG, beside a timetable if there is one: when all of one of these were updated."""

    conditions: tuple[tuple[str, ...], ...]
    timetable: Timetable | None = None

    @staticmethod
    def of(given: Any) -> Datasets | None:
        """Those of a value; a list waits for all of its parts. None for other values."""
        match given:
            case Dataset(name):
                return Datasets(((name,),))
            case Datasets():
                return given
            case list() | tuple() if parts := _parts(given):
                together: tuple[tuple[str, ...], ...] = ((),)
                for part in parts:
                    together = _fewest((*one, *other) for one in together for other in part.conditions)
                return Datasets(together) if len(together) <= _CONDITIONS_MAX else None
        return None

    @staticmethod
    def any_of(given: Sequence[Any]) -> Datasets | None:
        """As `of`; one of the parts is enough."""
        parts = _parts(given)
        return Datasets(_fewest(each for part in parts for each in part.conditions)) if parts else None


_CONDITIONS_MAX = 100


def _parts(given: Sequence[Any]) -> list[Datasets]:
    """Those of the values; empty if one has none."""
    parts = [Datasets.of(each) for each in given]
    known = [each for each in parts if each is not None]
    return known if len(known) == len(parts) else []


def _fewest(conditions: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Without what is there twice, and what waits for more than another one."""
    once = {frozenset(each): tuple(dict.fromkeys(each)) for each in conditions}
    return tuple(names for each, names in once.items() if not any(other < each for other in once))


@dataclass(frozen=True)
class Timetable:
    """A timetable by a cron expression; with `intervals` a run is for the time since the fire before, and it fires by
    `others` too."""

    cron: str
    zone: str | None
    intervals: bool
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Parameter:
    """A `Param` of a DAG."""

    default: Any
    schema: dict[str, Any]


@dataclass(frozen=True)
class Label:
    """The label of an arrow, which is a part of none."""

    before: list[Any] = field(default_factory=list, compare=False, hash=False)


@dataclass(eq=False)
class Function:
    """A function of the file: of a task, a DAG or a group if one of these decorates it.

    `kind`: "", "task", "dag", "task_group", or the kind of a task, such as "task.branch". `given` are the arguments of
    the decorator, or of `override` and `partial`. `around` are the names of the functions around it, the outermost
    first.
    """

    node: Defined
    kind: str = ""
    given: dict[str, Any] = field(default_factory=dict)
    partial: dict[str, Any] = field(default_factory=dict)
    around: tuple[dict[str, Any], ...] = ()
    defaults: dict[str, Any] = field(default_factory=dict)
    """Those of its arguments that name something: what that was when it was defined."""


@dataclass(eq=False)
class Partial:
    """`Operator.partial(...)`."""

    of: Dotted
    given: dict[str, Any]


@dataclass(eq=False)
class Operator:
    """A task. `kind`: the name of its class, or of a decorator: "@task"; `given` its arguments.

    `over` are the lists of a mapped task: the name of the argument -> the list; with the name "" it is a list of all
    arguments of an element (`expand_kwargs`).
    """

    id: str
    kind: str
    given: dict[str, Any]
    line: int
    function: Function | None = None
    over: dict[str, Any] = field(default_factory=dict)
    before: list[Operator] = field(default_factory=list)
    is_teardown: bool = False
    group: str = ""


@dataclass(frozen=True)
class Output:
    """A result of a task: `path` into it, such as `return_value.rows`."""

    of: Operator
    path: str = "return_value"


ITEM = Operator("item", "@item", {}, 0)
"""Stands for the element that a run of a group is for; the path of its outputs begins with the argument's name."""


@dataclass(eq=False)
class Group:
    """A group of tasks; `value` is what its function returns."""

    prefix: str
    tasks: list[Operator] = field(default_factory=list)
    value: Any = None
    defaults: dict[str, Any] = field(default_factory=dict)
    """The `default_args` of its tasks, with those of the groups around it."""


@dataclass(eq=False)
class Dag:
    """A DAG: its arguments, and its tasks in their order."""

    given: dict[str, Any]
    line: int
    tasks: list[Operator] = field(default_factory=list)
    notes: list[tuple[int, str]] = field(default_factory=list)
    """What could not be read: line and sentence."""
    doc: str = ""
    is_third: bool | None = None
    """Whether its plain schedules have no intervals, as in Airflow 3; None: as its file says."""
    is_named_by_file: bool = False
    is_group: bool = False
    """Whether it is a group of another DAG, and runs for each element of a list."""

    def __post_init__(self) -> None:
        elsewhere = {name: each for name, each in self.given.items() if isinstance(each, Dotted) and each.is_elsewhere}
        self.given |= {name: Unknown(each.path, self.line) for name, each in elsewhere.items()}

    def add(self, operator: Operator) -> None:
        """Add a task; one whose name is taken gets another."""
        taken, wanted, number = {each.id for each in self.tasks}, operator.id, 1
        while operator.id in taken:
            operator.id, number = f"{wanted}__{number}", number + 1
        self.tasks.append(operator)

    def is_near(self, operator: Operator) -> bool:
        """Whether an arrow leads from or to one of its tasks."""
        return any(each in operator.before or operator in each.before for each in self.tasks)

    @property
    def id(self) -> str:
        """Its name; empty if that is not known."""
        name = self.given.get("dag_id")
        return name if isinstance(name, str) else ""


def operators_in(value: Any) -> Iterator[Operator]:
    """The tasks whose results a value has, or that it is."""
    match value:
        case Operator():
            yield value
        case Output(of) if of is not ITEM:
            yield of
        case Group():
            yield from operators_in(value.value)
        case dict():
            for each in value.values():
                yield from operators_in(each)
        case list() | tuple() | set():
            for each in value:
                yield from operators_in(each)


def first_of(value: Any) -> list[Operator]:
    """The tasks of what stands to the right of an arrow."""
    if isinstance(value, Group):
        return [each for each in value.tasks if not set(each.before) & set(value.tasks)]
    if isinstance(value, list | tuple):
        return [found for each in value for found in first_of(each)]
    return list(operators_in(value))


def last_of(value: Any) -> list[Operator]:
    """The tasks of what stands to the left of an arrow; nothing waits for the teardowns of a group."""
    if isinstance(value, Group):
        works = [each for each in value.tasks if not each.is_teardown]
        inner = {before for each in works for before in each.before}
        return [each for each in works if each not in inner]
    if isinstance(value, list | tuple):
        return [found for each in value for found in last_of(each)]
    return list(operators_in(value))


def link(before: Any, after: Any) -> None:
    """Draw the arrows from all of one to all of the other."""
    for later in first_of(after):
        for earlier in last_of(before):
            if earlier is not later and earlier not in later.before:
                later.before.append(earlier)


def between(scope: Operator, inside: Group, others: Iterable[Operator]) -> None:
    """Draw the arrows of `with scope:`: what is inside comes after its setups and before its teardowns."""
    teardowns = [scope] if scope.is_teardown else [each for each in others if each.is_teardown and scope in each.before]
    setups = list(scope.before) if scope.is_teardown else [scope]
    link(setups, inside)
    link(inside, teardowns)
