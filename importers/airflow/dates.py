"""Times in templates of Airflow: their patterns, and spans that are added to them, as time expressions have them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

_STRFTIME = {"Y": "yyyy", "m": "MM", "d": "dd", "H": "HH", "M": "mm", "S": "ss", "y": "yy", "B": "MMMM", "b": "MMM",
             "A": "EEEE", "a": "EEE"}  # fmt: skip
_PENDULUM = {"YYYY": "Y", "MM": "m", "DD": "d", "HH": "H", "mm": "M", "ss": "S", "YY": "y", "MMMM": "B", "MMM": "b",
             "dddd": "A", "ddd": "a"}  # fmt: skip


class NoText(Exception):
    """A template has no counterpart; its text says why."""


@dataclass(frozen=True)
class Step:
    """How far apart the runs of a schedule are, always: so many days, months or minutes; 0 if each run stands alone."""

    of: int
    unit: str = "days"

    def shifted(self, pattern: str, way: int) -> str:
        """The pattern of a time so many steps later."""
        if self.unit == "months":
            return f"add_months({pattern},{way * self.of:+d})"
        return f"{pattern}{way * self.of:+d}{'/24/60' if self.unit == 'minutes' else ''}" if self.of else pattern


def shift(template: str, timedelta_arguments: str, *, is_back: bool) -> str:
    """The end of a time expression that adds this span, as written between the brackets of a call."""
    given = {name: float(number) for name, number in re.findall(r"(\w+)\s*=\s*(-?[\d.]+)", timedelta_arguments)}
    if not given and re.fullmatch(r"-?\d+", timedelta_arguments):
        given = {"days": float(timedelta_arguments)}
    try:
        minutes = timedelta(**given).total_seconds() / 60 * (-1 if is_back else 1)
    except TypeError:
        minutes = 0.5
    if not given or minutes != int(minutes):
        raise NoText(f"{{{{ {template} }}}} has no counterpart here")
    days, rest = divmod(int(minutes), 24 * 60)
    return f"{days:+d}" if rest == 0 else f"{int(minutes):+d}/24/60"


def of_pendulum(pattern: str) -> str:
    """The pattern of `strftime` for one of pendulum. Raises `NoText`."""
    if "[" in pattern or "\\" in pattern:
        raise NoText(f'"{pattern}" has letters that are none of a date, and no counterpart here')
    made = ""
    for word, plain in re.findall(r"([A-SU-Za-z]+)|([^A-SU-Za-z]+)", pattern):
        for part in re.findall(r"(.)(\1*)", word):
            if (letter := _PENDULUM.get("".join(part))) is None:
                raise NoText(f'"{word}" of a date has no counterpart here')
            made += f"%{letter}"
        made += plain.replace("%", "%%")
    return made


def java_pattern(strftime: str) -> str:
    """The pattern of Java for one of `strftime`. Raises `NoText`."""
    made = ""
    for sign, letter, plain in re.findall(r"(%)(-?[A-Za-z%])|([^%])", strftime):
        if sign and letter not in _STRFTIME:
            raise NoText(f'"%{letter}" of a date has no counterpart here')
        made += _STRFTIME[letter] if sign else f"'{plain}'" if plain.isalnum() else plain
    return made.replace("''", "")
