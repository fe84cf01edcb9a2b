"""Which values a bash script accepts, given what the reader knows about its commands, variables and files."""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property

from model.parameters.foreign_values import Need
from model.scripts.shell_commands import DECIDES
from model.scripts.shell_script import Script

_MAY_BE_SET = re.compile(r"(?<![$\w])(?<!\$\{)(\w+)|\$\{(\w+)(?!\w)[^}]")


class ScriptNeeds:
    """The strictest recorded need, and the names from which more needs follow at the end."""

    def __init__(self, text: str) -> None:
        self.script = Script(text, has_keys=re.search(r"\s-[A-Za-z]*A", text) is not None)
        self._text = text
        self._at = 0
        self._fixed: Counter[str] = Counter()
        self._deciding: set[str] = set()
        self._made: set[str] = set()
        self._ran: set[str] = set()

    def need(self, need: Need, why: str) -> None:
        if need > self.script.need:
            self.script.need, self.script.why, self.script.line = need, why, self.script.line_of(self._at)

    def _lost(self) -> None:
        self.need(Need.NUMBER, "a quote or a bracket there has no end")

    def _judge_names(self) -> None:
        """Record the needs that follow from files that are made and run, and from variables that decide what runs."""
        if {name.removeprefix("./") for name in self._ran} & {name.removeprefix("./") for name in self._made}:
            self.need(Need.NUMBER, "a script that is made while it runs is run there")
        for name in self._deciding:
            if not self._is_fixed(name):
                self.need(Need.NUMBER, f"{name[:50]} decides what is run")

    def _is_fixed(self, name: str) -> bool:
        """Whether no value can be part of a variable."""
        if re.fullmatch(f"{DECIDES}|PWD|USER", name):
            return True  # its own assignments are looked at
        return 0 < self._named[name] == self._fixed[name]

    @cached_property
    def _named(self) -> Counter[str]:
        """How often each name stands where a variable may be set: not as `$name` or `${name}`."""
        return Counter(plain or changed for plain, changed in _MAY_BE_SET.findall(self._text))
