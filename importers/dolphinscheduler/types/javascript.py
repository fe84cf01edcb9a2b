"""Conditions of SWITCH tasks: JavaScript there, CEL here. What has no counterpart stays, with a sentence."""

from __future__ import annotations

import re

from model.errors import Refused
from model.logic.expression import read_condition

_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_ARGUMENT = r"\(\s*((?:\"[^\"]*\"|'[^']*'|\$\{[\w.]+\}|[\w.]+))\s*\)"
_PRESENT = r"\s*(?:>=\s*0|>\s*-\s*1|!==?\s*-\s*1)"
_LIST = r"(?<!\$)(\[[^\[\]]*\])"
_CALLS = (
    (re.compile(rf"{_LIST}\.includes{_ARGUMENT}"), r"(\2 in \1)"),
    (re.compile(rf"{_LIST}\.indexOf{_ARGUMENT}{_PRESENT}"), r"(\2 in \1)"),
    (re.compile(rf"{_LIST}\.indexOf{_ARGUMENT}\s*(?:===?\s*-\s*1|<\s*0)"), r"!(\2 in \1)"),
    (re.compile(rf"\.equals{_ARGUMENT}"), r" == \1"),
    (re.compile(rf"\.includes{_ARGUMENT}"), r".contains(\1)"),
    (re.compile(rf"\.indexOf{_ARGUMENT}{_PRESENT}"), r".contains(\1)"),
)
_ABSENT = re.compile(rf"((?:\"[^\"]*\"|'[^']*'|\$\{{[\w.]+\}}))\.indexOf{_ARGUMENT}\s*(?:===?\s*-\s*1|<\s*0)")
_LENGTH = re.compile(r"((?:\"[^\"]*\"|'[^']*'|\$\{[\w.]+\}))\.length\b(?:\(\))?")
_SIGNS = (
    (re.compile(r"==="), "=="),
    (re.compile(r"!=="), "!="),
    (re.compile(r"(?i)(?<=[\s)])and(?=[\s(!])"), "&&"),
    (re.compile(r"(?i)(?<=[\s)])or(?=[\s(!])"), "||"),
    (re.compile(r"(?i)(?<![\w.$])not(?=[\s(])\s*"), "!"),
    (re.compile(r"(?<![\w.$])(?:True|TRUE)\b"), "true"),
    (re.compile(r"(?<![\w.$])(?:False|FALSE)\b"), "false"),
    (re.compile(r";\s*$"), ""),
)


def condition_of(written: str) -> tuple[str, str]:
    """The condition in CEL, and a sentence if it cannot be read; then the condition is as it was written."""
    text = _ABSENT.sub(r"!\1.contains(\2)", written.strip())
    text = _LENGTH.sub(r"size(\1)", text)
    for pattern, instead in _CALLS:
        text = pattern.sub(instead, text)
    text = _outside_of_texts(text)
    try:
        read_condition(text).check()
    except Refused as error:
        return written.strip() or "TODO", str(error)
    return (text, "") if text else ("TODO", "there is no condition")


def _outside_of_texts(text: str) -> str:
    """What stands in quotes is not changed."""
    parts, at = [], 0
    for match in _TEXT.finditer(text):
        parts += [_signs(text[at : match.start()]), match[0]]
        at = match.end()
    return "".join([*parts, _signs(text[at:])])


def _signs(text: str) -> str:
    for pattern, instead in _SIGNS:
        text = pattern.sub(instead, text)
    return text
