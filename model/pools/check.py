"""The check of a pool's resources, as a person writes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from model.near import nearest
from model.parameters.parameters import references
from model.parameters.text import plain_data
from model.scripts.normal_form import plain_script
from model.time.durations import seconds_of

CHECK_BYTES_MAX = 64_000
TIMEOUT_S_MAX = 60.0
EVERY_S_MIN, EVERY_S_MAX = 5.0, 7 * 86_400.0
NAME = "name"
"""`${name}` in a check is the name of the resource."""


def _seconds(given: Any) -> Any:
    """Require a unit: a bare number is minutes in a workflow, but most readers would take it for seconds here."""
    seconds = seconds_of(given) if isinstance(given, str) else None
    if seconds is None:
        raise ValueError("must be a duration with its unit, such as 10s or 1m")
    return seconds


Seconds = Annotated[float, BeforeValidator(_seconds, json_schema_input_type=str)]
CheckText = Annotated[str, Field(min_length=1, max_length=CHECK_BYTES_MAX), AfterValidator(plain_data)]


class PoolCheck(BaseModel):
    """A check of a resource: a bash `script` that ends with 0, or a `url` that answers 2xx.

    In a URL `${name}` is the name of the resource and `${key}` a value of its data; a script finds both as JSON in its
    variable SHOAL_RESOURCE. `timeout` and `every`, the pause between checks (0s: before each use), are texts with a
    unit, converted to seconds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    script: Annotated[CheckText, AfterValidator(plain_script)] | None = None
    url: CheckText | None = None
    timeout: Seconds = 10.0
    every: Seconds = 60.0

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.script is None) == (self.url is None):
            raise ValueError("needs either a `script` or a `url`" + ("" if self.url is None else ", not both"))
        if self.script is not None and not self.script.strip():
            raise ValueError("its script is empty; write one, or remove the check")
        if self.url is not None and not re.match(r"(?:https?://|\$\{)\S+\Z", self.url, re.IGNORECASE):
            raise ValueError("its url must begin with http:// or https:// and hold no blank")
        if not 0.1 <= self.timeout <= TIMEOUT_S_MAX:
            raise ValueError(f"its timeout must be 100ms to {TIMEOUT_S_MAX:.0f}s")
        if self.every and not EVERY_S_MIN <= self.every <= EVERY_S_MAX:
            raise ValueError("its `every` must be 5s to 7d, or 0s for a check before each use")
        return self


Fault = tuple[tuple[str | int, ...], str]
"""A place and a sentence."""


def misfit(check: PoolCheck, resources: Mapping[str, Mapping[str, Any]]) -> Fault | None:
    """What a check needs that the resources lack; None if it fits."""
    keys = {NAME, *(key for data in resources.values() for key in data)}
    if check.script is not None:
        named = (name for name in references(check.script) if name in keys and not _is_set(name, check.script))
        return next((_never_set(name) for name in named), None)
    for name in references(check.url or ""):
        if name not in keys:
            near = nearest(name, keys)
            cure = f"did you mean ${{{near}}}?" if near else f"known are {', '.join(sorted(keys)[:20])}"
            return ("check", "url"), f"the url of the check has ${{{name}}}, which no resource has; {cure}"
        for resource, data in resources.items():
            if name not in data and name != NAME:
                sentence = f'resource "{resource}" has no {name}, which the url of the check needs; add it'
                return ("resources", resource), sentence
    return None


def _is_set(name: str, script: str) -> bool:
    """Whether a script assigns this shell variable."""
    word = re.escape(name)
    return re.search(rf"(?<![\w$]){word}=|\b(?:read|for|local|declare)\b[^\n]*\b{word}\b", script) is not None


def _never_set(name: str) -> Fault:
    """The fault of a name meant as a value of the resource that would be an empty shell variable."""
    path = ".name" if name == NAME else f".data.{name}"
    return ("check", "script"), (
        f"${{{name}}} in the script of the check is a variable of the shell, and nothing sets it; the resource is JSON "
        f"""in $SHOAL_RESOURCE: {name}=$(jq -r '{path}' <<< "$SHOAL_RESOURCE")"""
    )
