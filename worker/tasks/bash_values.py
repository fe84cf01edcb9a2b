"""Parameters in a SHELL script: each `${name}` becomes a reference to a variable of the environment, never its text.

Its place decides the form of the reference (`model/scripts/shell_script.py`); what the script does decides which values
are allowed (`model/parameters/foreign_values.py`).
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from model.choices import ParameterType
from model.errors import Refused
from model.parameters.foreign_values import Need
from model.parameters.parameters import PARAMETER_PREFIX, file_variable, parameter_variable
from model.scripts.shell_reader import read_script
from model.scripts.shell_script import FIRST, REFERENCE, Form, NamedScript, Place
from worker.tasks.inserted import pieces

VARIABLE_BYTES_MAX = 120_000
"""The size of one variable: Linux accepts 128 KiB of name and value; with a longer one the whole start fails."""


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
        values: everything that the task sees; each becomes a variable, even if the script does not name it.
        types: of the parameters that declare one; VARCHAR for those whose value the author wrote.

    Raises:
        Refused: a value could become code, does not fit its type, or is too long.
    """
    found = pieces(marked)
    if any(piece.name is None and REFERENCE.search(piece.text) for piece in found):
        raise Refused("script: it contains private-use characters (from U+F0000 on); remove them")
    given = [(piece.name, piece.text) for piece in found if piece.name is not None]
    numbers = iter(range(len(given)))
    text = "".join(piece.text if piece.name is None else chr(FIRST + next(numbers)) for piece in found)
    script = read_script(text)
    named = NamedScript.of(script, [name for name, _ in given])
    variables = parameter_variables(values)
    holders = {name: _holder(name, value, values, variables) for name, value in given}
    has_variables = PARAMETER_PREFIX in text
    for name, value in values.items():
        is_named_by_script = has_variables and parameter_variable(name) in text
        if name in holders or is_named_by_script:
            named.check(name, value, types.get(name))
        if script.need > Need.TEXT and not is_named_by_script and _runs_in_arithmetic(value):
            # Another value could be this variable's name: arithmetic would evaluate it.
            variables.pop(parameter_variable(name), None)
            if name in holders:
                holders[name] = f"SHOAL_VALUE_{secrets.token_hex(8)}"
                variables[holders[name]] = value
    edits = [
        (place.at, place.at + 1, _written(place, holders, *given[ord(text[place.at]) - FIRST]))
        for place in script.places
    ]
    return _edited(text, sorted([*script.edits, *edits])), variables


def _edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    parts, at = [], 0
    for start, stop, new in edits:
        parts += [text[at:start], new]
        at = stop
    return "".join([*parts, text[at:]])


def _runs_in_arithmetic(value: str) -> bool:
    """Whether bash runs a command when it evaluates this: a subscript with a substitution in it."""
    return "[" in value and ("$" in value or "`" in value)


def _holder(name: str, value: str, values: Mapping[str, str], variables: dict[str, str]) -> str:
    """The variable for a reference; two names such as `a.b` and `a_b` do not share one."""
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


def _written(place: Place, holders: Mapping[str, str], name: str, value: str) -> str:
    reference = f"${{{holders[name]}}}"
    match place.form:
        case Form.WORD if value or not place.alone:
            return f'"{reference}"'
        case Form.SINGLE:
            return f"'\"{reference}\"'"
        case Form.ANSI:
            return f"'\"{reference}\"$'"
        case _:
            return reference
