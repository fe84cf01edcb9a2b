"""`globalParams` and `localParams`: values with types, IN and OUT; passwords among them are not written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from importers.dolphinscheduler.context import Context
from importers.draft import Draft
from importers.ledger import Fields, short
from importers.passwords import is_name, is_value
from importers.report import About
from model.choices import Direct, ParameterType
from model.fields import NAME_LENGTH_MAX
from model.parameters.local import NAME, LocalParam, misfit

_TYPES = set(ParameterType) - {ParameterType.SECRET, ParameterType.TEXT}


def global_params(fields: Fields, context: Context) -> None:
    """The parameters of a workflow, into its `params` and `outputs`."""
    params: dict[str, Any] = {}
    for entry in fields.children("globalParams"):
        name, direct, type_, value = _read(entry, context.about)
        if not name or not _can_be_referred_to(name, "globalParams", context.about):
            continue
        if _is_secret(name, value):
            context.hidden.reference(value, name)
            continue
        if name in params:
            context.about.changed("globalParams", f'the parameter "{name}" is there twice; the last one counts')
        kind = _type(name, type_, value, context.about)
        params[name] = value if kind is ParameterType.VARCHAR else {"type": str(kind), "value": value}
        if kind is not ParameterType.VARCHAR:
            context.habits.add("typed_globals")
        if direct is Direct.OUT and name not in context.fields.setdefault("outputs", []):
            context.fields["outputs"].append(name)
    if isinstance(given := fields.peek("globalParams"), dict):  # name -> value, as the SDK writes it
        values = fields.child("globalParams")
        for name in given:
            value = values.text(name)
            if _is_secret(name, value):
                context.hidden.reference(value, name)
            elif _can_be_referred_to(name, "globalParams", context.about):
                params[name] = value
    if params:
        context.fields["params"] = params


def local_params(params: Fields, draft: Draft, context: Context) -> list[LocalParam]:
    """The parameters of a task, into its `local_params`; returns all of them, in their order."""
    found: dict[str, LocalParam] = {}
    listed: list[LocalParam] = []
    for entry in params.children("localParams"):
        name, direct, type_, value = _read(entry, draft.about)
        if not name or not _can_be_referred_to(name, "localParams", draft.about):
            continue
        if _is_secret(name, value):
            context.hidden.reference(value, name)
            continue
        param = LocalParam(name=name, direct=direct, type=_type(name, type_, value, draft.about), value=value)
        listed.append(param)
        if (other := found.get(name)) is None:
            found[name] = param
        elif {other.direct, param.direct} == {Direct.IN, Direct.OUT}:
            found[name] = _one_of(other, param, draft.about)
        else:
            draft.about.changed("localParams", f'the parameter "{name}" is there twice; the last one counts')
            found[name] = param
    if found:
        draft.fields["local_params"] = [_written(param) for param in found.values()]
    if any(param.direct is Direct.OUT for param in found.values()):
        context.fields["strict_outputs"] = False
    return listed


def _can_be_referred_to(name: str, field: str, about: About) -> bool:
    """Whether `${name}` is a reference to it here; else a person has to rename it."""
    if re.match(NAME, name) and len(name) <= NAME_LENGTH_MAX:
        return True
    about.todo(field, f'the parameter "{name}" has a name that no ${{...}} can have; rename it')
    return False


def _one_of(one: LocalParam, other: LocalParam, about: About) -> LocalParam:
    """An IN and an OUT of one name: the OUT stays, and the IN is what the tasks before give anyway."""
    given, out = (one, other) if one.direct is Direct.IN else (other, one)
    if given.value and given.value != f"${{{given.name}}}":
        about.todo("localParams", f'"{given.name}" is both IN, with a value, and OUT; give one of the two another name')
    else:
        about.changed("localParams", f'"{given.name}" is IN and OUT; only OUT is written: its value comes in as it is')
    return out


def _written(param: LocalParam) -> dict[str, Any]:
    return param.model_dump(mode="json", exclude_defaults=True)


def _read(entry: Fields, about: About) -> tuple[str, Direct, str, str]:
    name, value, type_ = entry.text("prop").strip(), entry.text("value"), entry.text("type", "VARCHAR").upper()
    direct = entry.text("direct", "IN").upper()
    if direct not in set(Direct):
        about.changed("direct", f'the parameter "{name}" has the direction {direct}; it is read as IN')
    if not name and value:
        about.lost("prop", "a parameter has a value and no name")
    for key, other in entry.rest().items():
        about.lost(key, f'the parameter "{name}" has {key} = {short(other)}, which nobody knows')
    return name, Direct.OUT if direct == Direct.OUT else Direct.IN, type_, value


def _type(name: str, type_: str, value: str, about: About) -> ParameterType:
    if type_ not in _TYPES:
        about.changed("type", f'the parameter "{name}" has the type {type_}, which is none here; it is VARCHAR')
        return ParameterType.VARCHAR
    kind = ParameterType(type_)
    if kind is ParameterType.FILE:
        about.changed(
            "type",
            f'"{name}" is a FILE: an OUT one is a file of the task\'s folder (pack a folder into one); give an IN one '
            f"the value ${{task.name}} of it, and in the script ${{{name}}} is its path",
        )
        return kind
    checked = LocalParam(name="x", type=kind, value=value)
    if misfit(checked) is not None:
        about.changed("type", f'the value of "{name}" does not fit its type {type_}; it is VARCHAR')
        return ParameterType.VARCHAR
    return kind


def _is_secret(name: str, value: str) -> bool:
    return is_name(name) and is_value(value)


def secret_params(context: Context) -> Iterator[tuple[str, dict[str, str]]]:
    """The SECRET parameters that stand for the passwords of a workflow."""
    for name in sorted(set(context.hidden.names.values())):
        yield name, {"type": "SECRET"}
        if context.names.find("passwords", f"{context.flow.name}/{name}", "a password that is not written"):
            context.about.changed("params", f'"{name}" is SECRET now; its value is not in the file')
        else:
            sentence = (
                f'a password was found, and is not written: give it as the secret "{name}" of the project, the '
                f"schedule or the start, and say in catalog.yaml where"
            )
            context.about.todo("params", sentence)
