"""A task that is being made by an import: the fields of its YAML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from importers.passwords import Passwords
from importers.report import About, without_line
from service.words import plain


@dataclass
class Draft:
    """A task that is being made: the fields of its YAML."""

    name: str
    about: About
    passwords: Passwords
    type: str = "SHELL"
    params: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    after: list[str] = field(default_factory=list)

    def content(self) -> dict[str, Any]:
        head: dict[str, Any] = {"name": self.name}
        if description := self.fields.pop("description", ""):
            head["description"] = description
        after = {"after": self.after} if self.after else {}
        return {**head, "type": self.type, "params": self.params, **after, **self.fields}

    def cannot(self, sentence: str, params: Mapping[str, Any]) -> None:
        """A person has to write this task: a script that fails stands in its place, with what it was as a comment."""
        self.about.todo("taskType", sentence)
        masked = self.passwords.masked_in(dict(params))
        if masked != params:
            self.about.changed("taskParams", "a password in it is not written")
        was = json.dumps(masked, ensure_ascii=False, indent=2, default=str).splitlines()
        lines = [f"# TODO: {plain(without_line(sentence))}", "# It was:", *(f"# {line}" for line in was)]
        self.type = "SHELL"
        self.params = {"script": "\n".join([*lines, "echo 'TODO: write this task' >&2", "exit 1\n"])}
