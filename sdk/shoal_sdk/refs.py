"""What stands for a value while a flow is built: a parameter, or the result of a task, or a part of either.

To a type checker a `Ref` is the value itself. Used as one while the flow is built it says what to write instead, since
a flow that decided by it would be built from a value that is not there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from shoal_sdk.errors import NoSuchPart, NotAValueYet, WrongFlow
from shoal_sdk.types_of_values import UNKNOWN, field_of, plain

if TYPE_CHECKING:
    from shoal_sdk.building import Step

Path = tuple[str | int, ...]
_SIMPLE = re.compile(r"[A-Za-z0-9_]+")
_TASK = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Origin:
    """Where a value comes from.

    `step` is the task that gives it, None for a parameter. `base` is the name of the value. `is_exact`: the value is
    JSON that a PYTHON task of this SDK wrote, so that its types are known; else it is a text.
    """

    step: Step | None
    base: str
    path: Path = ()
    annotation: Any = UNKNOWN
    is_exact: bool = False
    of_texts: bool = False
    """It is a list of texts, each in an object of its own: what the elements of a task with `each` gave."""
    is_secret: bool = False

    def written(self) -> str:
        """The reference as a definition has it, such as `${load.result.rows}`."""
        rest = self.base
        for each in self.path:
            if isinstance(each, str) and _SIMPLE.fullmatch(each):
                rest += f".{each}"
            else:
                rest += f"[{each if isinstance(each, int) else _quoted(each)}]"
        if self.step is None:
            return f"${{{rest}}}"
        task = self.step.name
        if _TASK.fullmatch(task) and task not in self.step.parameters and task not in ("system", "tasks"):
            return f"${{{task}.{rest}}}"
        return f"${{tasks[{_quoted(task)}].{rest}}}"

    @property
    def said(self) -> str:
        """The same in a sentence."""
        rest = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in self.path)
        return f'parameter "{self.base}"' if self.step is None else f'the result{rest} of task "{self.step.name}"'


def _quoted(text: str) -> str:
    if re.search(r"[\x00-\x1f]", text) or ("'" in text and '"' in text) or not text or len(text) > 200:
        raise WrongFlow(f"{text!r} cannot be named in a reference; return it under a name without quotes")
    return f"'{text}'" if '"' in text else f'"{text}"'


class Condition:
    """A comparison, as SWITCH has it, in CEL; combine some with `&`, `|` and `~`."""

    def __init__(self, cel: str, refs: tuple[Ref, ...] = ()) -> None:
        self.cel, self.refs = cel, refs

    def __and__(self, other: Any) -> Condition:
        return _joined("&&", self, other)

    def __or__(self, other: Any) -> Condition:
        return _joined("||", self, other)

    def __invert__(self) -> Condition:
        return Condition(f"!({self.cel})", self.refs)

    def __bool__(self) -> NoReturn:
        raise NotAValueYet(
            f"whether {self.cel} holds is known only when the flow runs; use branch(condition, then=..., "
            "otherwise=...), with & and | in place of `and` and `or`"
        )


def _joined(operator: str, left: Condition, right: Any) -> Condition:
    if not isinstance(right, Condition):
        raise WrongFlow(f"{right!r} is no condition; compare it with a value, as in ok == True")
    return Condition(f"({left.cel}) {operator} ({right.cel})", left.refs + right.refs)


class Ref:
    """A value that is known only when the flow runs. Attributes and items of it are paths into its JSON."""

    __slots__ = ("_shoal",)
    _shoal: Origin

    def __init__(self, origin: Origin) -> None:
        object.__setattr__(self, "_shoal", origin)

    def __getattr__(self, name: str) -> Ref:
        if name == "_shoal" or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(name)  # protocols of Python ask for these, such as pickle
        return self._part(name)

    def __copy__(self) -> Ref:
        return self

    def __deepcopy__(self, _memo: object) -> Ref:
        return self

    def __getitem__(self, key: str | int) -> Ref:
        if not isinstance(key, str | int) or isinstance(key, bool):
            raise NotAValueYet(f"{self._shoal.said} has no part {key!r} before the flow runs; {_IN_A_TASK}")
        return self._part(key)

    def _part(self, step: str | int) -> Ref:
        own = self._shoal
        if own.is_secret:
            raise WrongFlow(f'the secret "{own.base}" has no parts; pass it to a task as it is')
        if own.step is not None and not own.base:
            # The outputs of a task such as SHELL: the first step is the name of the value.
            known = own.step.outputs
            if not isinstance(step, str):
                raise WrongFlow(f'task "{own.step.name}" gives values by name; write .name')
            if known is not None and step not in known:
                raise NoSuchPart(f'task "{own.step.name}" has no output "{step}"; it has {", ".join(known) or "none"}')
            return Ref(Origin(own.step, step, (), (known or {}).get(step, UNKNOWN)))
        annotation = field_of(own.annotation, step)
        steps = (step, "text") if own.of_texts else (step,)
        return Ref(Origin(own.step, own.base, (*own.path, *steps), annotation, own.is_exact))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise NotAValueYet(f"{self._shoal.said} cannot be changed before the flow runs; {_IN_A_TASK}")

    def __bool__(self) -> NoReturn:
        raise NotAValueYet(
            f"{self._shoal.said} is known only when the flow runs, so `if`, `and`, `or` and `not` cannot ask it; use "
            "branch(condition, then=..., otherwise=...)"
        )

    def __iter__(self) -> Iterator[Any]:
        raise NotAValueYet(
            f"{self._shoal.said} is known only when the flow runs, so no loop can go through it; use each(task, "
            "name=it), which runs a task for each of its elements"
        )

    def __contains__(self, item: object) -> NoReturn:
        raise NotAValueYet(f'{self._shoal.said} is known only when the flow runs; use cel("x in {{it}}", it=...)')

    def __len__(self) -> NoReturn:
        raise NotAValueYet(f'{self._shoal.said} has no length before the flow runs; use cel("size({{it}})", it=...)')

    def __format__(self, spec: str) -> NoReturn:
        raise NotAValueYet(_formatted(self._shoal))

    def __str__(self) -> NoReturn:
        raise NotAValueYet(_formatted(self._shoal))

    def __repr__(self) -> str:
        return f"<{self._shoal.said}>"

    def __call__(self, *_args: object, **_kwargs: object) -> NoReturn:
        """Always an error."""
        raise NotAValueYet(f"{self._shoal.said} has no methods before the flow runs; {_IN_A_TASK}")

    def __add__(self, other: object) -> NoReturn:
        raise NotAValueYet(f"{self._shoal.said} cannot be computed with before the flow runs; {_IN_A_TASK}")

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __mod__ = __rmod__ = __add__
    __floordiv__ = __rfloordiv__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __divmod__ = __rdivmod__ = __add__
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __xor__ = __rxor__ = __add__

    def __neg__(self) -> NoReturn:
        raise NotAValueYet(f"{self._shoal.said} cannot be computed with before the flow runs; {_IN_A_TASK}")

    __pos__ = __abs__ = __int__ = __float__ = __complex__ = __index__ = __trunc__ = __floor__ = __ceil__ = __neg__

    def __round__(self, _digits: int = 0) -> NoReturn:
        self.__neg__()

    def __and__(self, _other: object) -> NoReturn:
        raise WrongFlow(f"{self!r} is no condition; compare it with a value, as in ok == True")

    __rand__ = __or__ = __ror__ = __and__

    def __invert__(self) -> NoReturn:
        self.__and__(None)

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return _compared(self, "==", other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return _compared(self, "!=", other)

    def __lt__(self, other: object) -> Condition:
        return _compared(self, "<", other)

    def __le__(self, other: object) -> Condition:
        return _compared(self, "<=", other)

    def __gt__(self, other: object) -> Condition:
        return _compared(self, ">", other)

    def __ge__(self, other: object) -> Condition:
        return _compared(self, ">=", other)

    __hash__ = object.__hash__


_IN_A_TASK = "do that in a task"


def _formatted(origin: Origin) -> str:
    cure = f"write ${{{origin.base}}} in the text of shell() or sql()" if origin.step is None else ""
    cure = cure or "give it to shell() or sql() by name, as in shell(..., 'echo ${rows}', rows=it)"
    return (
        f"{origin.said} is known only when the flow runs, so no text can contain it; {cure}, or make the text in a task"
    )


def _compared(left: Ref, operator: str, right: object) -> Condition:
    refs = (left, right) if isinstance(right, Ref) else (left,)
    return Condition(f"{in_cel(left)} {operator} {in_cel(right)}", refs)


def in_cel(value: object) -> str:
    """A value as a condition has it."""
    if isinstance(value, Ref):
        return origin_of(value).written()
    said = plain(value, "what a result is compared with")
    if isinstance(said, dict):
        raise WrongFlow(f"a condition cannot compare with the dict {said!r}; compare parts, as in found.rows > 3")
    return '""' if said is None else json.dumps(said, ensure_ascii=False)


def origin_of(ref: Ref) -> Origin:
    """Where it comes from."""
    return ref._shoal


def refs_in(value: Any) -> Iterator[Ref]:
    """Each reference in a value, also in lists, tuples and dicts."""
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from refs_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from refs_in(each)


def cel(text: str, **refs: Any) -> Condition:
    """A condition in CEL; `{name}` stands for a result or parameter, as in `cel("size({rows}) > 3", rows=it)`.

    Raises:
        WrongFlow: a name in braces is not given, or is no result.
    """
    for name, ref in refs.items():
        if not isinstance(ref, Ref):
            raise WrongFlow(f'cel: "{name}" is {ref!r}, no result or parameter; write it into the condition')
    missing = sorted(set(re.findall(r"\{(\w+)\}", text)) - set(refs))
    if missing:
        raise WrongFlow(f"cel: {{{missing[0]}}} is not given; add {missing[0]}=...")
    said = re.sub(r"\{(\w+)\}", lambda found: in_cel(refs[found[1]]), text)
    return Condition(said, tuple(refs.values()))
