"""Parameter values as text: the conversion of YAML and JSON values."""

from __future__ import annotations

import json
from datetime import date, time
from itertools import chain
from math import isfinite
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from model.parameters.parameters import is_storable

NESTING_MAX = 50


def as_text(value: Any) -> Any:
    """Convert a value to text: numbers, booleans and dates of YAML as a person would write them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    if isinstance(value, (dict, list)):
        return json.dumps(plain_data(value), ensure_ascii=False, default=str)
    return value if isinstance(value, str) else str(value)


def plain_data(value: Any) -> Any:
    """Return `value` if a database accepts it as JSON; checked here to name the task before it is saved or run."""
    pending = [(value, 0)]
    while pending:
        part, depth = pending.pop()
        if depth > NESTING_MAX:
            raise ValueError(f"must not be nested deeper than {NESTING_MAX} levels")
        if isinstance(part, dict):
            pending += ((each, depth + 1) for each in chain(part, part.values()))
        elif isinstance(part, list | tuple):
            pending += ((each, depth + 1) for each in part)
        elif isinstance(part, str) and not is_storable(part):
            raise ValueError("must not contain a NUL or an unpaired surrogate")
        elif isinstance(part, float) and not isfinite(part):
            raise ValueError(f"must not contain the number {part}; write it in quotes")
        elif not isinstance(part, str | int | float | date | time | None):
            raise ValueError(f"must not contain a {type(part).__name__}; JSON has texts, numbers, lists and objects")
    return value


ParameterValue = Annotated[str, BeforeValidator(as_text, json_schema_input_type=Any), AfterValidator(plain_data)]
