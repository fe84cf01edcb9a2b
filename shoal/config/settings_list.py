"""Every setting with its names, value and meaning: for people, and for the test of `docs/reference/settings.md`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from pydantic import BaseModel, SecretStr

from service.settings import Setting


def settings_of(settings: BaseModel) -> list[Setting]:
    """All settings, in the order of the models."""
    return list(_settings(settings, type(settings), ""))


def _settings(model: BaseModel, kind: type[BaseModel], prefix: str) -> Iterator[Setting]:
    for name, field in kind.model_fields.items():
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _settings(value, type(value), f"{prefix}{name}.")
        else:
            yield Setting(f"{prefix}{name}", _text(value), _text(field.default), field.description or "")


def _text(value: Any) -> str:
    match value:
        case None:
            return "-"
        case timedelta():
            return f"{value.total_seconds():g} s"
        case SecretStr():
            return "***"
        case tuple():
            return ", ".join(map(_text, value)) or "-"
        case _:
            return str(value)
