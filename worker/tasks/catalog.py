"""The task types of this installation: those of the entry points in the group `shoal.tasks`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from pydantic import ValidationError

from model.cluster.means import is_passing
from model.errors import Refused
from model.near import nearest
from model.parameters.json_values import with_texts
from model.parameters.parameters import Room, replace_references
from worker.launcher.errors import NoMeans
from worker.tasks.plugin import Task

GROUP = "shoal.tasks"


class TaskCatalog:
    """Finds task types once, loads each at its first use, and creates tasks of them."""

    def __init__(self) -> None:
        self._loaded: dict[str, type[Task]] = {}

    def known(self) -> list[str]:
        """The names of all types, sorted."""
        return sorted(self._entries)

    def make(
        self,
        type_name: str,
        params_json: str,
        values: Mapping[str, str],
        in_time: Callable[[str], str] = lambda text: text,
    ) -> Task:
        """A task for one attempt.

        Args:
            type_name: as in the task definition, such as SHELL.
            params_json: its parameters, as JSON text.
            values: the value of each `${name}` in a text of the parameters.
            in_time: replaces the time expressions `$[...]` of a text; called before the values are inserted, so that
                values are not parsed.

        Raises:
            Refused: an unknown type, a plug-in that cannot be loaded, wrong parameters (the text names the field), or
                values that are too large to insert.
        """
        task_type = self._loaded.get(type_name) or self._load(type_name)
        try:
            if "${" in params_json or "$[" in params_json:
                room = Room("its parameters")

                def insert(name: str, value: str) -> str:
                    return task_type.insert(name, room.take(name, value))

                def filled_in(text: str) -> str:
                    return replace_references(in_time(text), values, insert)

                params_json = json.dumps(with_texts(_parsed(type_name, params_json), filled_in))
            params = task_type.Params.model_validate_json(params_json)
        except ValidationError as error:
            raise Refused(f"{type_name} parameters: {_sentence(error)}") from None  # its own text contains the values
        return task_type.of(params)

    def params_schema(self, type_name: str) -> dict[str, Any]:
        """The JSON Schema of a type's parameters. Raises `Refused` if the type is unknown or cannot be loaded."""
        return (self._loaded.get(type_name) or self._load(type_name)).Params.model_json_schema()

    @cached_property
    def _entries(self) -> dict[str, EntryPoint]:
        return {entry.name: entry for entry in entry_points(group=GROUP)}

    def _load(self, type_name: str) -> type[Task]:
        entry = self._entries.get(type_name)
        if entry is None:
            near = nearest(type_name.upper(), self._entries)
            cure = f"did you mean {near}?" if near else f"known: {', '.join(self.known())}"
            raise Refused(f'there is no task type "{type_name}"; {cure}')
        try:
            task_type = entry.load()
        except Exception as error:  # an import may raise anything; tasks of this type fail, others run
            if is_passing(error):
                raise NoMeans(f"task type {type_name} cannot be loaded now: {error}") from error
            raise Refused(f"task type {type_name}: the plug-in {entry.value} cannot be loaded: {error!r}") from error
        if not (isinstance(task_type, type) and issubclass(task_type, Task)):
            raise Refused(f"task type {type_name}: the plug-in {entry.value} is not a subclass of Task")
        self._loaded[type_name] = task_type
        return task_type


def _sentence(error: ValidationError) -> str:
    """The errors without the given values, which may be secrets."""
    faults = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(map(_fault, faults))


def _fault(fault: Any) -> str:
    where, said = ".".join(map(str, fault["loc"])), str(fault["msg"]).removeprefix("Value error, ")
    return f"{where}: {said}" if where else said


def _parsed(type_name: str, params_json: str) -> Any:
    try:
        return json.loads(params_json)
    except (ValueError, RecursionError) as error:
        raise Refused(f"{type_name} parameters: Invalid JSON: {error}") from None
