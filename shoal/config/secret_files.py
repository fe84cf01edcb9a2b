"""Secrets from files: the variable SHOAL_NAME_FILE names the file that has the value of SHOAL_NAME.

For every secret setting; a supervisor then passes paths, and no secret is in an environment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, SecretStr

from dao.secrets.kept import FileSecret
from model.errors import InvalidSettings

PREFIX = "SHOAL_"
SUFFIX = "_FILE"


def secret_names(settings: type[BaseModel], prefix: str = PREFIX) -> Iterator[str]:
    """The variables of those secret settings that have no setting for their file."""
    for name, field in settings.model_fields.items():
        kind, variable = field.annotation, f"{prefix}{name.upper()}"
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from secret_names(kind, f"{variable}__")
        elif _is_secret(kind) and f"{name}_file" not in settings.model_fields:
            yield variable


def with_secrets(settings: type[BaseModel], variables: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the file variables, whose names are in lower case, by the files' contents.

    Raises `InvalidSettings`: a file cannot be used, or a secret is given in two ways.
    """
    found = dict(variables)
    for name in secret_names(settings):
        path = found.pop(f"{name}{SUFFIX}".lower(), None)
        if path is None:
            continue
        if name.lower() in found:
            raise InvalidSettings(f"{name} and {name}{SUFFIX} are both set; leave one of them out")
        found[name.lower()] = FileSecret(Path(path), f"{name}{SUFFIX}")
    return found


def _is_secret(kind: object) -> bool:
    return kind is SecretStr or any(map(_is_secret, get_args(kind)))
