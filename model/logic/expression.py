"""A condition over parameters, such as `${a} > 5 && "${b}" == "x"`, evaluated by CEL (cel.dev) and never by Python.

Values are never inserted into the text: each `${name}` becomes a variable bound to its value, so no value is executed
as code. The allowed syntax is an explicit list of tokens. CEL's macros and regular expressions are not in it (both can
block a master for long), and neither are its other names.

A value is text. CEL must know which comparison is meant, since to it 5 and "5" are never equal:

- Within quotes a reference is text: `"${b}" == "x"`, `"${year}-${month}" == "2026-01"`.
- Between two of `&& || ? :`, or in the arguments of one function, all references are text if there is a quoted text:
  `${a} == "5"`, `${a} in ["5", "6"]`. So are the arguments of `size` and `string`, and the target of a method.
- All others have the type they look like: 5, 007 and 1.5 are numbers, true and false are booleans, the rest is text.
- If the types then do not match (text < number), all are tried by what they look like, and then all as text.
- A JSON list or object under the name of a task, or of type JSON, is a list or map outside of quotes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Container, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING

from model.errors import Refused
from model.near import nearest
from model.parameters.json_values import is_container
from model.parameters.parameters import IN_BRACES, is_storable

if TYPE_CHECKING:
    from cel import Program

TOKENS_MAX = 600
"""A limit for all conditions of one task: CEL parses one token in up to 8 µs, and a master's loop must not be blocked
for 5 ms."""
LENGTH_MAX = 10_000
"""In characters, for all conditions of one task."""
VALUES_LENGTH_MAX = 100_000
"""In characters, over the values in one condition, each counted as often as it occurs."""
EXAMPLE = '${a} > 5 && "${b}" == "x"'

_TOKEN = re.compile(
    rf"""(?P<space>\s+|//[^\n]*)
    |(?P<text>[rR]"[^"\r\n]*"|[rR]'[^'\r\n]*'|"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*')
    |\$\{{(?P<reference>{IN_BRACES})\}}
    |(?P<number>(?:0[xX][0-9a-fA-F]+|(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)[uU]?\b)
    |(?P<call>(?!in\b)[A-Za-z_]\w*(?=\s*\())
    |(?P<word>[A-Za-z_]\w*)
    |(?P<sign>&&|\|\||[=!<>]=|[<>!+\-*/%?:()\[\],.])""",
    re.VERBOSE | re.ASCII,
)
_IN_TEXT = re.compile(
    rf"\\.|(?:(?<!\$)|(?<=\\\$))(?P<before>(?:\$\$)*)\$(?P<escaped>\$?)\{{(?P<name>{IN_BRACES})\}}", re.ASCII
)
_IN_RAW_TEXT = re.compile(rf"(?<!\$)(?P<before>(?:\$\$)*)\$(?P<escaped>\$?)\{{(?P<name>{IN_BRACES})\}}", re.ASCII)
_TIME = re.compile(r"(?<!\$)(?:\$\$)*\$\[")
_WHOLE = re.compile(r"-?\d+", re.ASCII)
_DECIMAL = re.compile(r"-?\d+\.\d+", re.ASCII)
_WHOLE_MAX = 2**63 - 1
_WHOLE_DIGITS_MAX = 19

_CONSTANTS = {"true", "false", "null"}
_OF_TEXT = {"size", "string", "timestamp", "duration"}
_FUNCTIONS = _OF_TEXT | {"int", "uint", "double"}
_METHODS = {"contains", "startsWith", "endsWith", "size"}
_BOUNDARIES = {"&&", "||", "?", ":"}
_MEANT = {"and": "&&", "or": "||", "not": "!", "True": "true", "False": "false", "None": "null", "is": "=="}


class _Kind(Enum):
    """How a reference is bound to a value."""

    QUOTED = auto()
    """Within quotes: always as text."""
    BESIDE_TEXT = auto()
    """As text in the first attempt."""
    FREE = auto()
    """By the type that its value looks like in the first attempt."""


_AS_TEXT = (
    {_Kind.QUOTED, _Kind.BESIDE_TEXT},
    {_Kind.QUOTED},
    {_Kind.QUOTED, _Kind.BESIDE_TEXT, _Kind.FREE},
)
"""The attempts, and the kinds that each binds as text."""


@dataclass(frozen=True)
class Condition:
    """A parsed condition: `source` is CEL, with a variable for each reference.

    `variables` is variable -> name of the parameter and kind; `uses` the name of each reference, as often as it occurs;
    `tokens` a measure of the time that CEL needs to parse it.
    """

    source: str
    variables: Mapping[str, tuple[str, _Kind]]
    uses: tuple[str, ...]
    tokens: int

    def check(self) -> None:
        """Raises `Refused` if CEL cannot parse it."""
        self._compiled()

    def holds(self, values: Mapping[str, str], json_names: Collection[str] = ()) -> bool:
        """Whether it is true. Raises `Refused` if it is not a boolean; the error message never contains values.

        `json_names` are those of values that are JSON.
        """
        unknown = [name for name in self.uses if name not in values]
        if unknown:
            raise Refused(f"there is no parameter {unknown[0]}; give it a value or remove ${{{unknown[0]}}}")
        if sum(len(values[name]) for name in self.uses) > VALUES_LENGTH_MAX:
            raise Refused(f"its values have more than {VALUES_LENGTH_MAX:,} characters; compare something shorter")
        for name in self.uses:
            if not is_storable(values[name]):
                raise Refused(f"the value of {name} contains a NUL or an unpaired surrogate; remove it")
        program = self._compiled()
        kept = {
            name: json.loads(values[name]) for name in json_names if name in self.uses and is_container(values[name])
        }
        faults = []
        for as_text in _AS_TEXT:
            bound = {
                variable: _value_of(values[name], kept.get(name), kind, as_text)
                for variable, (name, kind) in self.variables.items()
            }
            try:
                result = program.execute(bound)
            except TypeError:
                faults.append("it compares what does not fit together, such as a text with a number; check its values")
            except ZeroDivisionError:
                faults.append("it divides by zero; ask first whether the divisor is 0")
            except (RuntimeError, ValueError, OverflowError):
                # CEL's own messages may contain a value, which may be a secret.
                faults.append("one of its functions or sums cannot take these values; check them first")
            else:
                if isinstance(result, bool):
                    return result
                faults.append("it is neither true nor false; compare its result with something")
        raise Refused(faults[0])

    def _compiled(self) -> Program:
        from cel import compile as compile_cel  # 0.13 s: imported only for a condition

        try:
            return compile_cel(self.source)
        except ValueError:
            raise Refused(f"it cannot be read; write it like {EXAMPLE}") from None


def _value_of(value: str, kept: object, kind: _Kind, as_text: Container[_Kind]) -> object:
    """The bound value: JSON if it was `kept` as such, else the text or what it looks like."""
    if kept is not None and kind is not _Kind.QUOTED:
        return kept
    return value if kind in as_text else looks_like(value)


def read_condition(text: str) -> Condition:
    """Parse a condition. Raises `Refused` with the reason if it is invalid; `check` tests whether CEL can parse it."""
    if len(text) > LENGTH_MAX:
        raise Refused(f"it has more than {LENGTH_MAX:,} characters; make it shorter")
    tokens = list(_tokens(text))
    for before, token in pairwise([_START, *tokens]):
        _check(before, token)
    return _bound(_parted(tokens))


def looks_like(value: str) -> int | float | bool | str:
    """The value as a number or boolean, if it looks like one; a number too large for CEL remains text."""
    if value in ("true", "false"):
        return value == "true"
    if _WHOLE.fullmatch(value):
        digits = value.lstrip("-").lstrip("0") or "0"  # Python parses at most 4,300
        if len(digits) > _WHOLE_DIGITS_MAX or int(digits) > _WHOLE_MAX:
            return value
        return -int(digits) if value.startswith("-") else int(digits)
    if _DECIMAL.fullmatch(value) and isfinite(number := float(value)):
        return number
    return value


@dataclass(frozen=True)
class _Token:
    kind: str
    """The matched group of `_TOKEN`."""
    text: str

    def begins_operand(self, before: _Token) -> bool:
        if self.kind == "sign":
            return self.text == "[" or (self.text == "(" and before.kind != "call")
        return self.text != "in" and before.text != "."

    def ends_operand(self) -> bool:
        return self.text in (")", "]") if self.kind == "sign" else self.kind != "call" and self.text != "in"


_START = _Token("sign", "")


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Refused(_unreadable(text, at))
        at = match.end()
        kind = match.lastgroup or ""
        if kind != "space":
            yield _Token(kind, match[kind])


def _unreadable(text: str, at: int) -> str:
    if text[at] in "\"'":
        return f"the quote at character {at + 1} is not closed; close it"
    if text[at] == "=":
        return f"= at character {at + 1} means nothing here; write =="
    if text[at] == "$":
        return f"$ at character {at + 1} begins no ${{name}}; outside quotes write ${{name}}"
    sign = text[at] if text[at].isprintable() else ascii(text[at])
    return f"the character {sign} at character {at + 1} means nothing here; write it like {EXAMPLE}"


def _check(before: _Token, token: _Token) -> None:
    """Only listed words are accepted, so that CEL never sees a macro, or a name that is one of our variables."""
    word, is_method = token.text[:100], before.text == "." and before.kind == "sign"
    if token.kind == "word" and word in _MEANT:
        raise Refused(f"{word} means nothing here; write {_MEANT[word]}")
    if before.ends_operand() and token.begins_operand(before):
        shown = f"${{{word}}}" if token.kind == "reference" else word
        raise Refused(f"an operator such as && or == is missing before {shown}; add it")
    if token.kind == "call" or is_method:
        known = _METHODS if is_method else _FUNCTIONS
        if token.kind != "call" or word not in known:
            near = nearest(word, known)
            cure = f"did you mean {near}?" if near else f"known are {', '.join(sorted(known))}"
            raise Refused(f"there is no function {word} here; {cure}")
    elif token.kind == "word" and word not in _CONSTANTS and word != "in":
        raise Refused(f'{word} means nothing here; write ${{{word}}} for a parameter, "{word}" for a text')


@dataclass
class _Part:
    """The tokens between two of `&& || ? :`, or within the arguments of one function."""

    of_text: bool = False


def _parted(tokens: list[_Token]) -> list[tuple[_Token, _Part]]:
    """Each token and the part it is in. Brackets of a list, and those around an operand, do not begin a part."""
    placed: list[tuple[_Token, _Part]] = []
    around: list[_Part] = []
    part = _Part()
    before = _START
    for token in tokens:
        part.of_text |= token.kind == "text"
        if before.kind == "reference" and token.text == "." and token.kind == "sign":
            placed[-1] = (before, _Part(of_text=True))
        placed.append((token, part))
        if token.kind == "sign":
            if token.text in ("(", "["):
                around.append(part)
                part = _Part(before.text in _OF_TEXT) if before.kind == "call" else part
            elif token.text in (")", "]") and around:
                part = around.pop()
            elif token.text in _BOUNDARIES:
                part = _Part()
        before = token
    return placed


def _bound(placed: list[tuple[_Token, _Part]]) -> Condition:
    """Replace every reference by a variable."""
    variables: dict[tuple[str, _Kind], str] = {}
    uses: list[str] = []

    def variable(name: str, kind: _Kind) -> str:
        uses.append(name)
        return variables.setdefault((name, kind), f"v{len(variables)}")

    written: list[str] = []
    for token, part in placed:
        if token.kind == "reference":
            written.append(variable(token.text, _Kind.BESIDE_TEXT if part.of_text else _Kind.FREE))
        elif token.kind == "text":
            if _TIME.search(token.text):
                raise Refused(
                    '$[...] is no time here; give a parameter this value, such as day: "$[yyyyMMdd]", and use it'
                )
            first, *others = _parts_of_text(token.text, variable)
            added = [step for part_of_it in others for step in ("+", part_of_it)]
            written += ["(", first, *added, ")"] if added else [first]
        else:
            written.append(token.text)
    return Condition(" ".join(written), {name: use for use, name in variables.items()}, tuple(uses), len(written))


def _parts_of_text(token: str, variable: Callable[[str, _Kind], str]) -> Iterator[str]:
    """A quoted text split at its references: quoted texts and variables, to be concatenated."""
    quote = token[-1]
    opening = token[: token.index(quote) + 1]
    pattern = _IN_TEXT if len(opening) == 1 else _IN_RAW_TEXT
    plain, at, whole = "", len(opening), True
    for match in pattern.finditer(token, at, len(token) - 1):
        plain += token[at : match.start()]
        at = match.end()
        if match["name"] is None or match["escaped"]:
            plain += match[0].removeprefix("$")
            continue
        plain += match["before"]
        if plain:
            yield f"{opening}{plain}{quote}"
        yield variable(match["name"], _Kind.QUOTED)
        plain, whole = "", False
    plain += token[at:-1]
    if plain or whole:
        yield f"{opening}{plain}{quote}"
