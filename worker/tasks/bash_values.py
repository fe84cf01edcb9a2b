"""Parameters in a SHELL script: each `${name}` becomes a reference to a variable of the environment, never its text.

The form of the reference depends on its place in the script (`worker/tasks/bash_reader.py`). Where bash, or a program
that it starts, would read code into the value, only values that cannot be code are accepted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from model.choices import ParameterType
from model.errors import Refused
from model.local_params import typed
from model.parameters import PARAMETER_PREFIX, file_variable, is_plain, parameter_variable
from worker.tasks.bash_commands import check_commands
from worker.tasks.bash_places import FIRST, REFERENCE, Form, Need, Reference, Script
from worker.tasks.bash_reader import read_script
from worker.tasks.inserted import pieces

VARIABLE_BYTES_MAX = 120_000
"""The size of one variable: Linux accepts 128 KiB of name and value; with a longer one the whole start fails."""

_WHOLE_NUMBERS = (ParameterType.INTEGER, ParameterType.LONG)
_INTEGER = re.compile(r"[-+]?[0-9]+")
_KEY = re.compile(r"[A-Za-z0-9_]+")


def parameter_variables(values: Mapping[str, str]) -> dict[str, str]:
    """Variables for all values that are short enough."""
    return {
        parameter_variable(name): value for name, value in values.items() if len(value.encode()) <= VARIABLE_BYTES_MAX
    }


def bash_script(
    marked: str, values: Mapping[str, str], types: Mapping[str, ParameterType]
) -> tuple[str, dict[str, str]]:
    """The script to run for a marked text, and the variables that it needs.

    Args:
        marked: the definer's text with the marks of `worker/tasks/inserted.py` in place of values.
        values: all that the task sees; each becomes a variable, even if the script does not name it.
        types: of the parameters that are not VARCHAR.

    Raises:
        Refused: a value would become code, is not a whole number though its type requires it, or is too long.
    """
    variables = parameter_variables(values)
    found = pieces(marked)
    if any(piece.name is None and REFERENCE.search(piece.text) for piece in found):
        raise Refused("script: it contains private-use characters (from U+F0000 on); remove them")
    given = [(piece.name, piece.text) for piece in found if piece.name is not None]
    numbers = iter(range(len(given)))
    text = "".join(piece.text if piece.name is None else chr(FIRST + next(numbers)) for piece in found)
    if not given and PARAMETER_PREFIX not in text:
        return text, variables
    script = read_script(text)
    check_commands(script)
    holders = {name: _holder(name, value, values, variables) for name, value in given}
    places = {each.position: each for each in script.references}
    parts: list[str] = []
    edits = iter([*sorted(script.edits), (len(text), len(text), "")])
    edit = next(edits)
    at = 0
    while at < len(text) or edit[0] == at < len(text):
        while edit[0] == at and edit[0] < len(text):
            parts.append(edit[2])
            at, edit = edit[1], next(edits)
        if at < len(text):
            number = ord(text[at]) - FIRST
            if number < 0:
                parts.append(text[at])
            else:
                name, value = given[number]
                place = places.get(at, Reference(at, need=Need.INTEGER, why="the script cannot be read there"))
                _check(script, place, name, value, types)
                parts.append(_written(place.form, holders[name], empty=not value and place.is_whole_word))
            at += 1
    _check_whole(script, dict(given), values)
    return "".join(parts), variables


def _holder(name: str, value: str, values: Mapping[str, str], variables: dict[str, str]) -> str:
    """The variable for a reference: two names such as `a.b` and `a_b` do not share one."""
    size = len(value.encode())
    if size > VARIABLE_BYTES_MAX:
        raise Refused(
            f'the value of "{name}" has {size} bytes, and a process takes {VARIABLE_BYTES_MAX} in a variable; '
            f"read the file that {file_variable(name)} names"
        )
    variable = parameter_variable(name)
    if sum(parameter_variable(other) == variable for other in values) > 1:
        variable = f"SHOAL_VALUE_{sorted(values).index(name)}"
    variables[variable] = value
    return variable


def _written(form: Form, variable: str, *, empty: bool) -> str:
    reference = f"${{{variable}}}"
    if form is Form.WORD:
        return reference if empty else f'"{reference}"'
    if form is Form.SINGLE:
        return f"'\"{reference}\"'"
    if form is Form.ANSI:
        return f"'\"{reference}\"$'"
    return reference


def _check(script: Script, place: Reference, name: str, value: str, types: Mapping[str, ParameterType]) -> None:
    line = script.line(place.position)
    if types.get(name) in _WHOLE_NUMBERS:
        typed(types[name], name, value)
        if not _INTEGER.fullmatch(value):  # what Python reads as a number and bash does not, such as 1_000, or nothing
            raise Refused(f'the value of "{name}" is not a whole number such as 42, though its type is {types[name]}')
    need = place.need
    if need is Need.KEY and script.has_keys and _KEY.fullmatch(value) and PARAMETER_PREFIX not in value:
        return
    if need >= Need.KEY and not _INTEGER.fullmatch(value):
        raise Refused(
            f'script, line {line}: the value of "{name}" stands where it could become code ({place.why}) and is no '
            f"whole number; declare the parameter INTEGER and give one, or change that line"
        )
    if need is Need.PLAIN and not is_plain(value):
        raise Refused(_could_be_code(line, name, place.why))


def _check_whole(script: Script, given: Mapping[str, str], values: Mapping[str, str]) -> None:
    """Check what the script may do with values through its own variables, which are not tracked."""
    named = dict(given)
    if PARAMETER_PREFIX in script.text or any(PARAMETER_PREFIX in value for value in given.values()):
        named = dict(values)
    for name, value in named.items():
        if script.parses is not None and not is_plain(value):
            raise Refused(_could_be_code(script.parses, name, "a script that is made while it runs is read there"))
        if script.evaluates is not None and _is_explosive(value):
            raise Refused(
                _could_be_code(script.evaluates, name, "bash evaluates variables there, and it looks like a subscript")
            )
        if script.lost is not None and name in given and not is_plain(value):
            raise Refused(_could_be_code(script.lost, name, "a quote or a bracket there seems to have no end"))


def _is_explosive(value: str) -> bool:
    """Whether bash runs a command when it evaluates this: a subscript with a substitution in it."""
    return "[" in value and ("$" in value or "`" in value)


def _could_be_code(line: int, name: str, why: str) -> str:
    return (
        f'script, line {line}: the value of "{name}" could become code there ({why}), since it has other characters '
        f"than letters, digits and _ . , : / @ % + = -; pass it as an argument to a script of its own, in "
        f'"${parameter_variable(name)}", or declare the parameter INTEGER'
    )
