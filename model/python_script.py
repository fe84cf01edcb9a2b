"""What a Python script does with text: whether a value that becomes a literal in it may be any text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from model.choices import ParameterType
from model.foreign_values import Need, check_declared, check_foreign
from model.parameters import references

NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
"""What becomes a number outside of quotes."""

_RUNS_TEXT = re.compile(
    r"\b(eval|exec|execfile|__import__|__builtins__|builtins|import_module|runpy|getattr|setattr|globals|locals|vars|pickle|"
    r"marshal|ctypes|code|system|popen\w*|getoutput|getstatusoutput|shell|create_subprocess_shell)\b|"
    r"(?<![.\w])compile\s*\(|['\"/](ba|da|z|k)?sh['\"]|['\"/](env|sudo|xargs|ssh|perl|python[0-9.]*|awk|sed)['\"]|['\"]-\w*[ce]['\"]"
)
_STARTS_PROGRAMS = re.compile(
    r"\b(subprocess|Popen|posix_spawnp?|spawn[lv]\w*|exec[lv]\w*|create_subprocess_exec|pty|os)\b"
)
_HARMLESS = re.compile(
    r"^\s*import os\s*$|\bos\.(environ|path|getenv|getcwd|listdir|makedirs|remove|sep|linesep)\b", re.MULTILINE
)


def need_of_python(text: str) -> tuple[Need, str]:
    """What values a script accepts, and why. In doubt it is less: a word of a comment counts as one of the code."""
    if found := _RUNS_TEXT.search(text):
        return Need.NUMBER, f"the script can run text as code ({found[0]})"
    if found := _STARTS_PROGRAMS.search(_HARMLESS.sub("", text)):
        return Need.PLAIN, f"the script can start programs ({found[0]})"
    return Need.TEXT, ""


@dataclass(frozen=True)
class NamedPython:
    """A script of a definition, and the parameters that it names."""

    named: frozenset[str]
    need: Need
    why: str

    @classmethod
    def of(cls, text: str) -> NamedPython:
        """Each `${name}` is taken for a parameter."""
        return cls(frozenset(references(text)), *need_of_python(text))

    def names(self, given: Iterable[str]) -> set[str]:
        """Those that the script uses as `${name}`."""
        return set(self.named.intersection(given))

    def check(self, name: str, value: str, type_: ParameterType | None) -> None:
        """Raises `Refused` for a value that the script could run."""
        if not check_declared(type_, name, value) and not (self.need is Need.NUMBER and NUMBER.fullmatch(value)):
            check_foreign(self.need, name, value, "script", self.why)
