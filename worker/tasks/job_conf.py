"""Settings of Hadoop and Spark programs as files: everyone on the machine could see an argument.

Both interpret a value as more than text: `${...}` becomes another setting or an environment variable, and settings with
"options" in their names become arguments of a JVM, some of which run commands. A parameter's value can do neither.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.sax.saxutils import escape

from model.errors import Refused
from model.parameters.parameters import is_plain
from worker.tasks.inserted import put_in

Setting = str | int | float | bool

_PARSED_AGAIN = re.compile(r"(?i)(opts|options|env|command|classpath)$|javaoptions")
"""Settings whose text is split into arguments or assignments."""

_UNFIT_FOR_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_NAME = re.compile(r"[A-Za-z0-9_.:/*-]+")
_ESCAPED = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}


def settings(conf: Mapping[str, Setting]) -> dict[str, str]:
    """The texts of settings with their values put in; true and false in lower case, as Java reads them.

    Raises:
        Refused: a value would read other settings or become an option, or a name is invalid.
    """
    for name in conf:
        if not _NAME.fullmatch(name):
            raise Refused(f"conf: {name!a} is not the name of a setting")
    return {name: _text(name, value) for name, value in conf.items()}


def xml_text(conf: Mapping[str, str]) -> str:
    """A Hadoop configuration file. Raises `Refused` for characters that XML cannot contain."""
    for name, value in conf.items():
        if _UNFIT_FOR_XML.search(value):
            raise Refused(f'conf: "{name}" contains a control character, which no XML file takes; remove it')
    properties = "".join(
        f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in conf.items()
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<configuration>\n{properties}</configuration>\n'


def properties_text(conf: Mapping[str, str]) -> str:
    """A Java properties file, in ASCII, so that it reads the same in any encoding that the reader assumes."""
    return "".join(f"{_property(name, of_name=True)}={_property(value)}\n" for name, value in conf.items())


def with_utf8(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment, with UTF-8 if it sets no encoding: Java would turn each `ü` of an argument into `?`."""
    says_it = any(environment.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    return {**environment} if says_it else {**environment, "LC_CTYPE": "C.UTF-8"}


def _text(name: str, value: Setting) -> str:
    def insert(parameter: str, text: str) -> str:
        if "$" in text:
            raise Refused(f'conf: the value of "{parameter}" contains a $, which could read other settings in "{name}"')
        if _PARSED_AGAIN.search(name) and not (is_plain(text) and "," not in text):
            raise Refused(
                f'conf: "{name}" is split into options, and the value of "{parameter}" has other characters than '
                f"letters, digits and _ . : / @ % + = -"
            )
        return text

    return str(value).lower() if isinstance(value, bool) else put_in(str(value), insert)


def _property(text: str, *, of_name: bool = False) -> str:
    done = []
    for character in text:
        if character in _ESCAPED:
            done.append(_ESCAPED[character])
        elif (of_name and character in " =:#!") or (character == " " and not done):
            done.append(f"\\{character}")
        elif " " <= character <= "~":
            done.append(character)
        else:
            units = character.encode("utf-16-be", "surrogatepass")
            done += [f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2)]
    return "".join(done)
