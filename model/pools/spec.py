"""A resource pool as a person writes it: named resources with data of each, or a number of places.

One model for every source, a YAML file (`kind: pool`) and REST. Each error names the resource and the field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from model.definitions.problems import Invalid, Problem, quoted, raised, wrong
from model.fields import POOL_NAME, POOL_NAME_LENGTH_MAX
from model.logic.fields import model_at
from model.near import nearest
from model.parameters.parameters import is_storable
from model.parameters.text import plain_data
from model.pools.check import PoolCheck, misfit
from model.pools.variables import resource_variable

RESOURCES_MAX = 10_000
RESOURCE_NAME_LENGTH_MAX = 200
DATA_BYTES_MAX = 8_192
"""For one resource. A task gets the data of all its resources in one environment variable, which holds 128 KB."""

_NO_OBJECT = "its data must be an object such as {host: 10.0.0.1, port: 3128}, or nothing"


def fault_of_pool_name(name: object) -> str | None:
    """Why no pool may have this name, and what to do; None if one may."""
    if not isinstance(name, str):
        return 'the field "name": must be a text; write it in quotes'
    if len(name) <= POOL_NAME_LENGTH_MAX and re.fullmatch(POOL_NAME, name):
        return None
    return (
        f"the name {quoted(name)} is none of a pool; write 1 to {POOL_NAME_LENGTH_MAX} of a to z, A to Z, 0 to 9 and "
        f"_ . -, a letter or digit first, since it is a part of the variable in which a task finds its resources"
    )


def _resource_name(name: str) -> str:
    if not name.strip():
        raise ValueError("a resource needs a name; write one")
    if len(name) > RESOURCE_NAME_LENGTH_MAX:
        raise ValueError(f"a name has at most {RESOURCE_NAME_LENGTH_MAX} characters; write a shorter one")
    if not name.isprintable() or not is_storable(name):
        raise ValueError("the name holds a control character or one that nobody sees; remove it")
    if name != name.strip():
        raise ValueError("the name begins or ends with a blank; remove it")
    return name


def _data(given: Any) -> Any:
    """Read a missing value as an empty object."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise PydanticCustomError("no_object", "{said}", {"said": _NO_OBJECT})
    plain_data(dict(given))
    size = len(json.dumps(given, ensure_ascii=False, default=str).encode(errors="surrogatepass"))
    if size > DATA_BYTES_MAX:
        raise ValueError(f"its data has {size} bytes, {DATA_BYTES_MAX} is the most; pass a file's name instead")
    return dict(given)


def _named(given: Any) -> Any:
    if not isinstance(given, list | tuple):
        return given
    if len(given) > RESOURCES_MAX:
        raise wrong(("resources",), f'field "resources": must not have more than {RESOURCES_MAX} resources')
    named: dict[Any, Any] = {}
    for place, name in enumerate(given):
        if not isinstance(name, str):
            raise wrong(
                ("resources", place),
                f"resource {place + 1} must be a name, a text; to give a resource data, write a mapping of names",
            )
        if name in named:
            raise wrong(("resources", place), f"the resource {quoted(name)} stands there twice; give each its own name")
        named[name] = None
    return named


ResourceName = Annotated[str, AfterValidator(_resource_name)]
ResourceData = Annotated[dict[str, Any], BeforeValidator(_data)]
Resources = Annotated[
    dict[ResourceName, ResourceData],
    BeforeValidator(_named, json_schema_input_type=dict[str, dict[str, Any]] | list[str]),
    Field(min_length=1, max_length=RESOURCES_MAX),
]


class PoolSpec(BaseModel):
    """The content of a resource pool. Create one with `PoolSpec.parse`, which formats the errors.

    It has `resources`, each with its name and its data (a list of names gives them none), or a `count` of places.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    description: Annotated[str, Field(max_length=10_000), AfterValidator(plain_data)] = ""
    resources: Resources | None = None
    count: Annotated[int, Field(strict=True, ge=1, le=RESOURCES_MAX)] | None = None
    check: PoolCheck | None = None

    @model_validator(mode="after")
    def _has_one_kind(self) -> Self:
        if self.resources is not None and self.count is not None:
            raise wrong(("count",), "a pool has `resources` or a `count`, not both; remove one of them")
        if self.resources is None and self.count is None:
            raise wrong((), "a pool needs `resources` (names, with data of each) or a `count` of places; write one")
        if self.check is not None and self.resources is None:
            raise wrong(("check",), "the places of a `count` have nothing to check; name `resources`, or remove it")
        return self

    @model_validator(mode="after")
    def _check_has_values(self) -> Self:
        if self.check is not None and (fault := misfit(self.check, self.resources or {})) is not None:
            raise wrong(*fault)
        return self

    @classmethod
    def parse(cls, content: Mapping[str, Any], beside: tuple[str, ...] = ()) -> PoolSpec:
        """Validate and build. Raises `InvalidPool` with one sentence for each problem.

        `beside` names the fields that stand beside those of a specification where `content` comes from.
        """
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise InvalidPool([_problem(part, beside) for part in error.errors()]) from None

    @property
    def size(self) -> int:
        """How many resources or places it has."""
        return len(self.resources) if self.resources is not None else self.count or 0


class InvalidPool(Invalid):
    """A pool that cannot be saved."""


_SAID = {
    "dict_type": "must be a mapping of names to data, or a list of names",
    "model_type": "must be a mapping of fields to values",
    "string_type": "must be a text; write it in quotes",
    "string_unicode": "must not contain an unpaired surrogate",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "greater_than_equal": f"must be 1 to {RESOURCES_MAX}",
    "less_than_equal": f"must be 1 to {RESOURCES_MAX}; several pools may share the work",
    "string_too_short": "must not be empty",
}
_ELSEWHERE = {
    **dict.fromkeys(("size", "slots", "limit", "group_size", "capacity", "places", "number"), "count"),
    **dict.fromkeys(("items", "members", "values", "leases"), "resources"),
    **dict.fromkeys(("validity_check", "probe", "health_check", "healthcheck"), "check"),
    **dict.fromkeys(("interval", "period", "check_every"), "every"),
    **dict.fromkeys(("command", "shell", "bash"), "script"),
    **dict.fromkeys(("http", "address", "uri"), "url"),
    **dict.fromkeys(("title", "comment", "desc"), "description"),
}
"""Words of Airflow, Prefect, DolphinScheduler and others, and the field they correspond to."""


def _problem(part: Any, beside: tuple[str, ...]) -> Problem:
    if (problem := raised(part)) is not None:
        return problem
    where = tuple(step for step in part["loc"] if step != "[key]")
    kind, said = part["type"], str(part["msg"]).removeprefix("Value error, ")
    said = _SAID.get(kind, said)
    if kind == "extra_forbidden":
        return Problem(where=where, sentence=f"there is no field {quoted(where[-1])}{_near(where, beside)}")
    if kind == "too_short":
        said = "must not be empty; name a resource"
    elif kind in ("too_long", "string_too_long"):
        what = "resources" if kind == "too_long" else "characters"
        said = f"must not have more than {part['ctx']['max_length']} {what}"
    if len(where) > 1 and where[0] == "resources":
        return Problem(where=where, sentence=f"resource {quoted(where[1])}: {said}")
    field = ".".join(map(str, where))
    return Problem(
        where=where, sentence=f'field "{field}": {said[:1].lower()}{said[1:]}' if where else f"a pool {said}"
    )


def _near(where: tuple[str | int, ...], beside: tuple[str, ...]) -> str:
    model = model_at(PoolSpec, where[:-1])
    fields = [*(beside if model is PoolSpec else ()), *model.model_fields]
    meant = _ELSEWHERE.get(str(where[-1]).lower())
    near = meant if meant in fields else nearest(str(where[-1]), fields)
    return f', did you mean "{near}"?' if near else f"; known are {', '.join(fields)}"


def faults_of_variables(name: str, others: Mapping[str, str]) -> Iterator[str]:
    """Why a pool cannot have this name: its variable collides with one of the `others`, keyed by variable."""
    other = others.get(resource_variable(name))
    if other is not None and other != name:
        yield (
            f'the pools "{name}" and "{other}" are one variable of a task, {resource_variable(name)}; give one of '
            f"them another name"
        )
