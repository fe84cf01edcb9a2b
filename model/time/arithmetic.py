"""Arithmetic in time expressions: whole numbers, `+ - * /`, signs and parentheses.

Computed exactly, as fractions: 1/24 of a day is an hour, wherever the division occurs. It uses two stacks and no
recursion, so a thousand parentheses do not make a deep call stack. Python itself evaluates nothing.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from fractions import Fraction

_TOKEN = re.compile(r"\s*([0-9]+|[-+*/()])\s*")
_RANKS = {"(": 0, "+": 1, "-": 1, "*": 2, "/": 2, "sign+": 3, "sign-": 3}
_OPERATIONS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def calculate(text: str) -> Fraction | None:
    """The value of an expression such as `-7*(2+1)/24`; None if it is not one, or divides by zero.

    Args:
        text: at most some thousand characters, which the caller ensures: Python does not parse longer numbers.
    """
    values: list[Fraction] = []
    waiting: list[str] = []  # operators and open parentheses whose right side is still to come
    place, operand_next = 0, True
    try:
        while match := _TOKEN.match(text, place):
            place, sign = match.end(), match[1]
            if operand_next:
                if sign.isdigit():
                    values.append(Fraction(int(sign)))
                    operand_next = False
                elif sign in "+-":
                    waiting.append(f"sign{sign}")
                elif sign == "(":
                    waiting.append(sign)
                else:
                    return None
            elif sign in _OPERATIONS:
                _apply(values, waiting, down_to=_RANKS[sign])
                waiting.append(sign)
                operand_next = True
            elif sign == ")":
                _apply(values, waiting, down_to=1)
                if not waiting:
                    return None
                waiting.pop()
            else:
                return None
        if operand_next:
            return None
        _apply(values, waiting, down_to=1)
    except ZeroDivisionError:
        return None
    return None if waiting or place < len(text) else values[0]


def _apply(values: list[Fraction], waiting: list[str], down_to: int) -> None:
    """Apply the operators that bind at least as tightly as `down_to`, innermost first."""
    while waiting and _RANKS[waiting[-1]] >= down_to:
        done = waiting.pop()
        right = values.pop()
        if done in _OPERATIONS:
            values.append(_OPERATIONS[done](values.pop(), right))
        else:
            values.append(-right if done == "sign-" else right)
