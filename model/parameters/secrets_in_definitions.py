"""SECRET parameters in a definition: separated from the others, and refused where they would not remain secret."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from model.choices import ParameterType
from model.parameters.parameters import references


def secrets_apart(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """A definition with each `{type: SECRET, value: ...}` of `params` as a plain value, and its name in `secrets`.

    `declared_apart` has taken its other fields.
    """
    params = content.get("params")
    if not isinstance(params, Mapping):
        return content
    written = {
        name: value
        for name, value in params.items()
        if isinstance(value, Mapping) and value.get("type") == ParameterType.SECRET
    }
    if not written:
        return content
    named = content.get("secrets", ())
    if not isinstance(named, list | tuple):
        return content
    plain = {name: written[name].get("value", "") if name in written else value for name, value in params.items()}
    return {
        **content,
        "params": {name: value for name, value in plain.items() if name not in written or value not in ("", None)},
        "secrets": [*named, *(name for name in written if name not in named)],
    }


def made_of_secret(name: str, value: str, secrets: Collection[str]) -> str | None:
    """The problem of a parameter that refers to a secret; None if it refers to none."""
    named = next((each for each in references(value) if each in secrets), None)
    if named is None or named == name:
        return None
    return f'parameter "{name}" names ${{{named}}}, which is SECRET; write that where the task uses it'
