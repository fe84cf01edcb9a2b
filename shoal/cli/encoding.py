"""Makes output readable in any locale, and input independent of it.

Files, arguments and the database are UTF-8. In another locale Python would decode names and arguments differently, so
the process replaces itself by one in Python's UTF-8 mode. What a terminal or a pipe cannot show is written in ASCII:
our symbols as similar ones of the same width, characters of the data as their codes.
"""

from __future__ import annotations

import codecs
import locale
import os
import sys
from typing import TextIO, cast

from model.errors import Refused

_ASCII = str.maketrans(
    {
        "✓": "+",
        "✗": "x",
        "✝": "x",
        "⊘": "x",
        "●": "*",
        "■": "#",
        "▲": "^",
        "·": ".",
        "→": ">",
        "↷": ">",
        "⇄": "=",
        "└": "`",
    }
    | {"…": "...", "⋮": ":", "‖": "|", "│": "|"}
    | dict.fromkeys("○◌◷◐◑", "o")
    | dict.fromkeys("━╸╺─", "-")
)
_ERRORS = "shoal.ascii"


def begin() -> None:
    """Prepare this process. Raises `Refused` for an argument or variable that is not UTF-8."""
    if sys.getfilesystemencoding() != "utf-8":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 - ourselves
    codecs.register_error(_ERRORS, _as_ascii)
    is_replaced = "utf8" in sys._xoptions and not os.environ.get("PYTHONIOENCODING")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding=locale.getencoding() if is_replaced else None, errors=_ERRORS)
    _refuse_other_bytes()


def shows_all(stream: TextIO) -> bool:
    """Whether every character can be written to `stream`."""
    return codecs.lookup(stream.encoding or "utf-8").name.startswith("utf")


def _as_ascii(error: UnicodeError) -> tuple[str, int]:
    failed = cast(UnicodeEncodeError, error)
    text = failed.object[failed.start : failed.end].translate(_ASCII)
    return text.encode("ascii", "backslashreplace").decode(), failed.end


def _refuse_other_bytes() -> None:
    named = {f"the argument {given!a}": given for given in sys.argv[1:]}
    named |= {f"the variable {name}": value for name, value in os.environ.items() if name.startswith("SHOAL_")}
    for what, given in named.items():
        try:
            given.encode()
        except UnicodeEncodeError:
            raise Refused(f"{what} is not UTF-8; write it in UTF-8") from None
