"""Command lines in one text, as SPARK, MR and FLINK tasks have them: arguments, and options with a value."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

from importers.dolphinscheduler.choices import PROGRAMS, choice
from importers.dolphinscheduler.context import Context
from importers.dolphinscheduler.resources import named_in, resource
from importers.draft import Draft
from importers.ledger import Fields
from importers.report import About

_TIME = re.compile(r"\$\[[^\]]*\]")
_PART = re.compile(r"\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"|[^\\'\"]+", re.DOTALL)
_EXPANDED = re.compile(r"\$\w+|\$\{\w+[^\w.}-][^}]*\}|\$\([^)]*\)?|`[^`]*`?")
_BARE = re.compile(rf"{_EXPANDED.pattern}|[^\s|&;<>*?]*[*?][^\s|&;<>]*|[|&;<>]+|(?<!\S)~\S*")


def arguments(text: str, field: str, about: About) -> list[str]:
    """The words of a text as a shell would divide it, with references as they are; what else a shell did is a todo."""
    if found := list(dict.fromkeys(_done_by_shell(text))):
        sentence = f"a shell read {', '.join(found)} in it; here each word is given as it is: write what is meant"
        about.todo(field, sentence)
    try:
        return shlex.split(text)
    except ValueError as error:
        about.todo(field, f"{text!r} cannot be divided into arguments ({error}); write args")
        return text.split()


def _done_by_shell(text: str) -> Iterator[str]:
    """What a shell would replace, or take for a sign of its own; no reference to a parameter, and no time."""
    for part in _PART.findall(_TIME.sub("", text)):
        if part[0] not in "\\'":
            yield from (_EXPANDED if part[0] == '"' else _BARE).findall(part)


def options(words: list[str], known: Mapping[str, str]) -> tuple[list[tuple[str, str]], list[str]]:
    """The options that are known, as (what they are here, value), and the other words."""
    found: list[tuple[str, str]] = []
    rest: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if name in known and equals and name.startswith("--"):
            found.append((known[name], value))
        elif word in known and left:
            found.append((known[word], left.pop(0)))
        else:
            rest.append(word)
    return found, rest


def main_file(params: Fields, draft: Draft, context: Context) -> str | None:
    """The path of the program, which is a file of the resource centre; None if none is named."""
    named = next(iter(named_in(params, "mainJar")), "") or params.text("mainPackage")
    return resource(named, draft, context) if named else None


def program(params: Fields, about: About) -> str:
    """JAVA, SCALA, PYTHON or SQL."""
    return choice(params, "programType", PROGRAMS, "JAVA", about)
