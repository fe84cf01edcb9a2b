"""`each`: a task runs once for each element of a list: a literal, a parameter or a result. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from model.choices import OnElementFailure
from model.errors import Refused
from model.logic.catalog import LOGIC_TYPES
from model.parameters.json_values import parse_json, with_texts
from model.parameters.large_values import content_of, expanded, large_value
from model.parameters.parameters import PARAMETERS_BYTES_MAX, Room, references, replace_references
from model.parameters.results import bases
from model.parameters.secret_values import has_sealed
from model.parameters.text import plain_data
from model.runs.elements import ELEMENTS_MAX, MAPPED_CODE_MAX, PARALLEL_DEFAULT

if TYPE_CHECKING:
    from model.definitions.workflow import TaskSpec

EACH = "each"
EACH_INDEX = "each_index"
"""The parameters of an element besides those of its task: its value, and its index from 0."""


_DAMAGED = "what its row has of its elements is damaged"


def _short(value: Any) -> Any:
    return {"over": value} if isinstance(value, str | list | tuple) else value


def _storable(value: Any) -> Any:
    """Turn YAML dates into text, as in parameters. Raises `ValueError` if the value is neither a list nor text."""
    if isinstance(value, list | tuple):
        return json.loads(json.dumps(value, default=str))
    if not isinstance(value, str):
        raise ValueError("must be a list such as [a, b], or a text such as ${list.files}")  # noqa: TRY004 - for pydantic
    return value


class Each(BaseModel):
    """The list: JSON, or a text whose references make it JSON. At most `parallel` elements run at once.

    `on_failure`: whether more elements begin after one has failed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    over: Annotated[
        str | list[Any],
        BeforeValidator(_storable, json_schema_input_type=str | list[Any]),
        AfterValidator(plain_data),
    ]
    parallel: int = Field(PARALLEL_DEFAULT, strict=True, ge=1, le=ELEMENTS_MAX)
    on_failure: OnElementFailure = OnElementFailure.CONTINUE

    @property
    def written(self) -> str:
        return self.over if isinstance(self.over, str) else json.dumps(self.over, ensure_ascii=False)


EachField = Annotated[Each, BeforeValidator(_short, json_schema_input_type=str | list[Any] | Each)]


def unfit_for_each(task: TaskSpec) -> str | None:
    """Why a task cannot have `each`, as a sentence; None if it can, or has none."""
    if task.each is None:
        return None
    if task.type in LOGIC_TYPES:
        return f"a {task.type} task runs in the master and has no each; remove it, or see DYNAMIC for workflows"
    if task.stream:
        return "a stream runs until it is stopped, so it has no each; remove it"
    if task.is_closing:
        return f"a task with {'on_exit' if task.on_exit else 'teardown'} has no each; remove it"
    if task.code is not None and task.code > MAPPED_CODE_MAX:
        return f"the code of a task with each is at most {MAPPED_CODE_MAX}; give it another"
    if own := {param.name for param in task.local_params} & {EACH, EACH_INDEX}:
        return f'the local parameter "{min(own)}" is what each calls its elements; give it another name'
    if isinstance(task.each.over, list) and len(task.each.over) > ELEMENTS_MAX:
        return too_many(len(task.each.over))
    if isinstance(task.each.over, str) and not references(task.each.over):
        try:
            listed(task.each, {})
        except Refused as error:
            return str(error)
    return None


def too_many(count: int) -> str:
    """The sentence for a list with so many elements."""
    return f"each has {count:,} elements, and at most {ELEMENTS_MAX:,} are possible; split the list, or group elements"


def is_of_element(name: str) -> bool:
    """Whether a reference in an `each` task names the element, or a part of it."""
    return any(base in (EACH, EACH_INDEX) for base, _ in bases(name))


def listed(each: Each, values: Mapping[str, str]) -> str:
    """The list as JSON text, with its references replaced by these values. In a literal list a value stays within its
    text; a large value alone stands for itself. Raises `Refused` if the result is no list, too long or too large."""
    room = Room("the elements of each", PARAMETERS_BYTES_MAX)

    def insert(name: str, value: str) -> str:
        return room.take(name, expanded(value))

    if isinstance(each.over, list):
        text = json.dumps(
            with_texts(each.over, lambda text: replace_references(text, values, insert)), ensure_ascii=False
        )
    elif large_value(text := replace_references(each.over, values, lambda _, value: value)) is None:
        text = replace_references(each.over, values, insert)
    if has_sealed(text):
        raise Refused("each names a SECRET, which nothing shows; name it in params, where each element has it too")
    elements = elements_of(text)
    if len(elements) > ELEMENTS_MAX:
        raise Refused(too_many(len(elements)))
    return text


def stored(text: str, count: int, values: Mapping[str, str], json_names: Sequence[str]) -> str:
    """The content of a task's row: the list, its length, the values that all elements see, and the names of JSON
    values."""
    known = {EACH: text, "count": count, "values": dict(values), "json": list(json_names)}
    return json.dumps(known, ensure_ascii=False)


def count_stored(row: str) -> int:
    """The number of elements in the row. Raises `Refused`."""
    try:
        return int(json.loads(row)["count"])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise Refused(_DAMAGED) from None


def read_stored(row: str) -> tuple[str, dict[str, str], list[str]]:
    """The list, values and JSON names in the row. Raises `Refused`."""
    try:
        known = json.loads(row)
        return str(known[EACH]), dict(known["values"]), list(known["json"])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise Refused(_DAMAGED) from None


def elements_of(text: str) -> list[Any]:
    """Parse a list. Raises `Refused`, and `ValuesMissing` if a large list must be read first."""
    large = large_value(text)
    content = None if large is None else content_of(large)
    try:
        found = parse_json(text) if content is None else content.json
    except Refused:
        found = None
    if not isinstance(found, list):
        text = text if content is None else content.text
        shown = text if len(text) <= 60 else f"{text[:60]}..."
        raise Refused(f'each needs a JSON list such as ["a", "b"], not {shown!r}')
    return found
