"""Whether a value that becomes a literal in a Python script may be any text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from model.choices import ParameterType
from model.parameters.foreign_values import Need, check_declared, check_foreign, refused
from model.parameters.parameters import references, replace_references

NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
"""Values that become numbers outside of quotes."""

_RUNS_TEXT = re.compile(
    r"\b(exec|execfile|__import__|__builtins__|builtins|import_module|runpy|getattr|setattr|attrgetter|methodcaller|"
    r"pickle|marshal|ctypes|popen\w*|getoutput|getstatusoutput|create_subprocess_shell|exec_command|"
    r"timeit|cProfile|pdb|bdb|pydoc|webbrowser|imaplib|dictConfig|__dict__|__globals__|__getattribute__)\b|\beval\b(?!\(\s*\))|"
    r"\b(globals|locals|vars)\s*\(|\.system\b|\bsystem\s*\(|"
    r"\bshell\s*=|['\"]shell['\"]|"
    r"\bfrom code\b|(?<![.\w])compile\s*\(|^(?>[^\n]*?\bimport\b)[^\n]*\b(system|code|trace|profile)\b",
    re.MULTILINE,
)
_RUNS_ARGUMENT = re.compile(
    r"['\"/ ](ba|da|z|k)?sh['\" ]|['\" ]-\w*[ceIF]['\" =]|"
    r"['\" ]--?[\w-]*(exec|execdir|command|program|action|filter|rsh|shell|eval)\b|"
    r"['\"/](env|sudo|doas|su|xargs|ssh|nice|nohup|timeout|time|setsid|stdbuf|exec|flock|perl|python[0-9.]*|awk|sed|"
    r"make)['\" ]"
)
"""Matches scripts that start a program which runs its argument."""
_STARTS_PROGRAMS = re.compile(
    r"\b(subprocess|Popen|posix_spawnp?|spawn[lv]\w*|exec[lv]\w*|create_subprocess_exec|pty|os|pexpect|paramiko|fabric|plumbum|"
    r"invoke)\b"
)
_IS_COMMAND = re.compile(
    r"\b(run|call|check_call|check_output|Popen|spawn\w*|posix_spawnp?|exec[lv]\w*|create_subprocess_exec)\s*\([\s\[(]*['\"]?\0|"
    r"\bshlex\.split\(\s*['\"]?\0|=\s*\[\s*['\"]?\0|\b(exec[lv]|spawn[lv]|posix_spawn)\w*\(([^)\n]{0,500}\0|[^)\n]{501})"
)
_IMPORTS = re.compile(r"^[ \t]*import [\w, .]*$", re.MULTILINE)
_HARMLESS = re.compile(
    r"\bos\.(environ|path|getenv|getcwd|chdir|listdir|scandir|walk|mkdir|makedirs|"
    r"remove|unlink|rmdir|removedirs|rename|replace|stat|access|utime|getpid|cpu_count|urandom|fspath|sep|linesep|name)\b"
)
_FORMATS = re.compile(r"\bformat(_map)?\b")


def need_of_python(text: str) -> tuple[Need, str]:
    """Which values a script accepts, and why. NUL stands for each value in its text.

    In doubt, fewer: a word of a comment counts like code.
    """
    if found := _RUNS_TEXT.search(text):
        return Need.NUMBER, f"the script can run text as code ({found[0][:50].strip()})"
    without_os = _IMPORTS.sub(lambda line: re.sub(r"\bos\b", "", line[0]), _HARMLESS.sub("", text))
    if found := _STARTS_PROGRAMS.search(without_os):
        if _IS_COMMAND.search(text):
            return Need.NUMBER, "it stands in the place of a command"
        if runs := _RUNS_ARGUMENT.search(text):
            return Need.NUMBER, f"the script can start a program that runs it ({runs[0].strip()})"
        return Need.PLAIN, f"the script can start programs ({found[0]})"
    return Need.TEXT, ""


@dataclass(frozen=True)
class NamedPython:
    """A script of a definition, and the parameters that it names."""

    named: frozenset[str]
    need: Need
    why: str
    formats: bool
    """Whether `format` may read braces in a text."""

    @classmethod
    def of(cls, text: str) -> NamedPython:
        """Read a script in which each `${name}` is a parameter."""
        names = references(text)
        return cls.reading(replace_references(text, dict.fromkeys(names, "\0"), lambda _, mark: mark), names)

    @classmethod
    def reading(cls, text: str, names: Iterable[str]) -> NamedPython:
        """Read a text that has NUL in the place of each parameter."""
        return cls(frozenset(names), *need_of_python(text), _FORMATS.search(text) is not None)

    def names(self, given: Iterable[str]) -> set[str]:
        """The parameters that the script uses as `${name}`."""
        return set(self.named.intersection(given))

    def check(self, name: str, value: str, type_: ParameterType | None) -> None:
        """Raises `Refused` for a value that the script could run."""
        if check_declared(type_, name, value) or (self.need is Need.NUMBER and NUMBER.fullmatch(value)):
            return
        check_foreign(self.need, name, value, "script", self.why)
        if self.formats and "{" in value:
            raise refused(name, "has braces, which format() reads", "script")
