"""Parameters as the command line takes them: `--param name=value`."""

from __future__ import annotations

from collections.abc import Sequence

from model.errors import Refused


def read_values(given: Sequence[str], option: str = "--param") -> dict[str, str]:
    """Values by name; of a name that is given twice the last. Raises `Refused`, naming the `option`."""
    values: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise Refused(f'{option} "{each}" has no value; write it as name=value')
        values[name] = value
    return values
