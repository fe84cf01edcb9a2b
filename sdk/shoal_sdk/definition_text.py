"""A definition as YAML: the same one always as the same bytes, so that git shows what changed and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")


def yaml_of(spec: Mapping[str, Any]) -> str:
    """The text of a definition. Its values are JSON; texts of several lines stand as they are."""
    return "".join(f"{line}\n" for line in _mapping(spec, 0))


def _mapping(given: Mapping[str, Any], depth: int) -> list[str]:
    lines = []
    for name, value in given.items():
        lines += _item(f"{' ' * depth}{_scalar(name)}:", value, depth)
    return lines


def _item(head: str, value: Any, depth: int) -> list[str]:
    if isinstance(value, Mapping) and value and not _fits(value):
        return [head, *_mapping(value, depth + 2)]
    if isinstance(value, list) and value and not _fits(value):
        lines = [head]
        for each in value:
            if isinstance(each, Mapping) and each and not _fits(each):
                first, *rest = _mapping(each, depth + 4)
                lines += [f"{' ' * (depth + 2)}- {first.lstrip()}", *rest]
            else:
                lines += _item(f"{' ' * (depth + 2)}-", each, depth + 2)
        return lines
    if isinstance(value, str) and _is_block(value):
        kept = "" if not value.endswith("\n\n") and value.endswith("\n") else "-" if not value.endswith("\n") else "+"
        indentation = "2" if value.startswith((" ", "\t")) else ""  # else it would be that of the first line
        lines = [f"{' ' * (depth + 2)}{line}" if line else "" for line in value.removesuffix("\n").split("\n")]
        return [f"{head} |{indentation}{kept}", *lines]
    return [f"{head} {_flow(value)}"]


def _is_block(text: str) -> bool:
    return "\n" in text.rstrip("\n") and not _CONTROL.search(text) and not text.startswith("\n")


def _fits(value: Any) -> bool:
    """Whether it stands on one line: a small list or mapping of what is neither."""
    inner = list(value.values()) if isinstance(value, Mapping) else value
    small = all(not isinstance(each, list | Mapping) or not each for each in inner)
    return small and len(_flow(value)) <= 80 and not any(isinstance(each, str) and "\n" in each for each in inner)


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_scalar(str(name))}: {_flow(each)}' for name, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(_flow(each) for each in value)}]"
    return _scalar(value) if isinstance(value, str) else json.dumps(value)


def _scalar(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    said = json.dumps(text, ensure_ascii=False)
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", said)
