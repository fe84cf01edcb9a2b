r"""The ways in which programs write a secret: plain, quoted or escaped by a shell or a language, in base64, in hex.

A form is a sequence of units, each with a few alternatives: in `it's` one of `'`, `\'`, `'\''`, `\x27`, `%27`, `&#39;`.
So any mixture of escapes is found, not only the output of a few known functions. A form is matched by sets of possible
positions, from its rarest unit outwards: its time is bounded whatever the secret and the output are.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from html.entities import codepoint2name

from model.parameters.secret_values import SECRET_CHARACTERS_MIN

Unit = tuple[bytes, ...]

_RUNS = re.compile(r"[A-Za-z0-9_.-]+|[^A-Za-z0-9_.-]")
_LETTERS = {"\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", "\x1b": "e", "\0": "0"}
_OTHERWISE = {
    "'": ("'\\''", "'\"'\"'", "''", "&apos;"),
    '"': ('""',),
    " ": ("+",),
    "\n": ("\r\n",),
}
"""Alternatives that no rule generates: quotes in a shell and in SQL, a blank in a form, a line's end in a header."""
_GNU_QUOTES = (("'$'", "''"), ("'$'", ""), ("", "''"))
_BACKSLASHES = (1, 2, 3, 4, 7)
"""The number of backslashes before an escape in a text that was escaped once, twice, or three times."""
_WRAP: Unit = (b"", b"\n", b"\r\n", b"\\n")
"""What may stand between two groups of base64, which is wrapped at some line length."""
_BEGINNING_BYTES = 2


class Form:
    """One way to write one secret.

    Every occurrence contains one of `anchors`, has at most `size_max` bytes, and begins with one of `beginnings`.
    """

    def __init__(self, units: Sequence[Unit]) -> None:
        rarest = min(range(len(units)), key=lambda at: (len(units[at]), -len(units[at][0])))
        self.anchors = units[rarest]
        self.size_max = sum(max(map(len, unit)) for unit in units)
        self.beginnings = _beginnings(units)
        self.is_in_a_line = not any(b"\n" in each for unit in units for each in unit[:2])
        """Whether every occurrence lies within one line."""
        self._units = units
        self._before = units[:rarest][::-1]
        self._after = units[rarest + 1 :]
        self._anchor: re.Pattern[bytes] | None = None

    def find(self, data: bytes, start: int) -> tuple[int, int] | None:
        """Begin and end of its first occurrence from `start` on, the longest if several begin there."""
        if self._anchor is None:  # most forms never get here
            follows = self._after[0] if self._after else (b"",)
            self._anchor = re.compile(
                b"(?:%b)(?=%b)" % tuple(b"|".join(map(re.escape, each)) for each in (self.anchors, follows))
            )
        for anchor in self._anchor.finditer(data, start):
            begins = [begin for begin in _backward(self._before, data, anchor.start()) if begin >= start]
            ends = _forward(self._after, data, anchor.end()) if begins else None
            if ends:
                return min(begins), max(ends)
        return None

    def is_open(self, data: bytes, start: int) -> bool:
        """Whether more bytes could make `data` from `start` on an occurrence, or a longer one."""
        places = {start}
        for unit in self._units:
            for place in places:
                rest = len(data) - place
                if any(len(each) > rest and each.startswith(data[place:]) for each in unit):
                    return True
            places = _forward((unit,), data, *places)
            if not places:
                break
        return False


def forms_of(secret: str) -> Iterator[Form]:
    r"""The forms of a secret and of each of its lines, without the blanks around them.

    A key is printed line by line, even if it was written in one line with `\n`, and a token that was written with a
    newline is printed without it.
    """
    whole = secret.strip()
    for part in {whole, *map(str.strip, [*whole.splitlines(), *whole.replace("\\n", "\n").splitlines()])}:
        if len(part) >= SECRET_CHARACTERS_MIN:
            yield Form(_as_text(part))
            yield Form([(b"\\" + character.encode(errors="replace"),) for character in part])  # bash -x, in [[ ]]
    if len(whole) >= SECRET_CHARACTERS_MIN:
        yield from map(Form, _in_base64(whole.encode(errors="replace")))
        yield Form(_in_hex(whole.encode(errors="replace")))


def _forward(units: Sequence[Unit], data: bytes, *places: int) -> set[int]:
    """Where these units may end if they begin at one of the places."""
    found = set(places)
    for unit in units:
        found = {place + len(each) for place in found for each in unit if data.startswith(each, place)}
        if not found:
            break
    return found


def _backward(units: Sequence[Unit], data: bytes, place: int) -> set[int]:
    """Where these units, the last one first, may begin if they end at the place."""
    found = {place}
    for unit in units:
        found = {end - len(each) for end in found for each in unit if data.endswith(each, 0, end)}
        if not found:
            break
    return found


def _beginnings(units: Sequence[Unit]) -> set[bytes]:
    """The first two bytes of all its occurrences."""
    found = {b""}
    for unit in units:
        if min(map(len, found)) >= _BEGINNING_BYTES:
            break
        found = {(each + more)[:_BEGINNING_BYTES] for each in found for more in unit}
    return found


def _as_text(secret: str) -> list[Unit]:
    """The units of a secret as text. Letters and digits are never escaped. A shell reduces several blanks to one."""
    units: list[Unit] = []
    is_after_blank = False
    for run in _RUNS.findall(secret):
        is_blank = run.isspace()
        units.append((run.encode(),) if _is_plain(run) else _escapes(run))
        if is_blank:
            units[-1] = (*units[-1], b"" if is_after_blank else b" ")
        is_after_blank = is_blank
    return units


def _is_plain(run: str) -> bool:
    return len(run) > 1 or (run.isascii() and (run.isalnum() or run in "_.-"))


@cache
def _escapes(character: str) -> Unit:
    """All forms of a character, the plain one first."""
    code, raw = ord(character), character.encode(errors="replace")
    wide = character.encode("utf-16-be", errors="replace")
    after_backslash = [
        [f"x{code:02x}"] if code < 0x100 else [f"U{code:08x}"],
        [f"x{each:02x}" for each in raw],
        [f"{each:03o}" for each in raw],
        [f"u{wide[at]:02x}{wide[at + 1]:02x}" for at in range(0, len(wide), 2)],
        [_LETTERS.get(character, character)],
    ]
    escaped = ["".join("\\" * n + each for each in given) for given in after_backslash for n in _BACKSLASHES]
    if not (character.isascii() and character.isprintable()):  # GNU's programs quote what is beside it
        escaped += [f"{open_}{each}{close}" for each in escaped[::5] for open_, close in _GNU_QUOTES]
    escaped += ["".join(f"%{each:02x}" for each in raw), "".join(f"%25{each:02x}" for each in raw)]
    escaped += [
        f"&#{code};",
        f"&#{code:02};",
        f"&#x{code:x};",
        f"%u{code:04x}",
        f"^{chr(code ^ 64)}" if code < 32 else "",
    ]
    upper = [re.sub(r"(?<=[xuU%])[0-9a-f]+", lambda found: found[0].upper(), each) for each in escaped]
    named = [f"&{codepoint2name[code]};"] if code in codepoint2name else []
    forms = [*escaped, *upper, *named, *_OTHERWISE.get(character, ())]
    return (raw, *(each.encode(errors="replace") for each in dict.fromkeys(forms) if each))


def _in_base64(secret: bytes) -> Iterator[list[Unit]]:
    """The base64 of the secret alone, after any bytes: they shift it by 0, 1 or 2 places in its group."""
    for shift, skipped in enumerate((0, 2, 3)):
        digits = b64encode(bytes(shift) + secret)
        whole = (shift + len(secret)) * 8 // 6
        units: list[Unit] = []
        for at in range(0, whole, 4):
            units += (_group(digits[max(at, skipped) : min(at + 4, whole)]), _WRAP)
        end = digits[whole:]  # a digit that has bits of what follows, unless nothing follows
        yield [*units[:-1], (b"", end, end.rstrip(b"="))] if end else units[:-1]


def _group(digits: bytes) -> Unit:
    """A group, with its URL-safe alternative."""
    if digits.isalnum():
        return (digits,)
    in_url = digits.translate(bytes.maketrans(b"+/", b"-_"))
    percent = digits.replace(b"+", b"%2B").replace(b"/", b"%2F")
    return (
        digits,
        in_url,
        percent,
        percent.replace(b"%2B", b"%2b").replace(b"%2F", b"%2f"),
        digits.replace(b"/", b"\\/"),
    )


def _in_hex(secret: bytes) -> list[Unit]:
    digits = secret.hex().encode()
    groups = [digits[at : at + 4] for at in range(0, len(digits), 4)]
    units = [unit for group in groups for unit in ((group, group.upper()) if not group.isdigit() else (group,), _WRAP)]
    return units[:-1]
