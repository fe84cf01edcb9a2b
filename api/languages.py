"""The language of sentences in answers: English, or Chinese for who prefers that (Accept-Language).

`code` is the same in every language. A sentence that is not in the tables stays English, and Content-Language
names both then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from api.chinese import DETAILS, FAULTS, TEMPLATES, TITLES

HEADER, OF_ANSWER = "Accept-Language", "Content-Language"
ENGLISH, CHINESE = "en", "zh"

_RANGE = re.compile(r"([A-Za-z]{1,8}|\*)(?:-[A-Za-z0-9-]*)?(?:\s*;\s*q\s*=\s*([01](?:\.[0-9]{0,3})?))?")
_RANGES_MAX = 20
SAYING = frozenset({"sentence", "fault", "refused", "notes", "conflict"})
"""The fields of answers, such as previews and reports of imports, that are sentences or lists of them."""
_SENTENCE_MAX = 500
"""A longer sentence stays English: what patterns cost grows faster than its length."""
_PLACE = re.compile(r"\{(\w+)\}")


def preferred(accepted: str) -> str:
    """The language that an Accept-Language header (RFC 9110) prefers of those that there are; else English."""
    weights: dict[str, float] = {}
    for part in accepted.split(",")[:_RANGES_MAX]:
        if (found := _RANGE.fullmatch(part.strip())) is not None:
            name = found[1].lower()
            weights[name] = max(weights.get(name, 0.0), float(found[2] or 1))
    any_other = weights.get("*", 0.0)
    english, chinese = weights.get(ENGLISH, any_other), weights.get(CHINESE, any_other)
    if english != chinese:
        return CHINESE if chinese > english else ENGLISH
    named = list(weights)
    is_first = CHINESE in named and (ENGLISH not in named or named.index(CHINESE) < named.index(ENGLISH))
    return CHINESE if is_first and chinese else ENGLISH


def translated(problem: Mapping[str, object], language: str) -> tuple[dict[str, object], str]:
    """A problem in a language as far as there are translations, and the languages that it then contains."""
    if language == ENGLISH:
        return dict(problem), ENGLISH
    title, detail = TITLES.get(str(problem["code"])), _sentence(str(problem["detail"]))
    contained = [name for name, has in ((CHINESE, title or detail), (ENGLISH, not (title and detail))) if has]
    found = {**problem, "title": title or problem["title"], "detail": detail or problem["detail"]}
    if isinstance(faults := problem.get("errors"), list):
        found["errors"] = [{**each, "detail": _sentence(each["detail"]) or each["detail"]} for each in faults]
    return found, ", ".join(contained)


def translated_answer(body: bytes) -> bytes:
    """An answer that is no problem, JSON, in Chinese as far as there are translations of what it says."""
    return json.dumps(_translated(json.loads(body), says=False), ensure_ascii=False, separators=(",", ":")).encode()


def _translated(value: object, *, says: bool) -> object:
    match value:
        case str() if says:
            return _sentence(value) or value
        case list():
            return [_translated(each, says=says) for each in value]
        case dict():
            return {name: _translated(each, says=name in SAYING) for name, each in value.items()}
    return value


def _sentence(english: str) -> str | None:
    """The translation of a sentence; None if there is none."""
    if (whole := DETAILS.get(english)) is not None or len(english) > _SENTENCE_MAX:
        return whole
    for pattern, chinese in _TEMPLATES:
        if (found := pattern.fullmatch(english)) is not None:
            return chinese.format_map({name: _sentence(said) or said for name, said in found.groupdict().items()})
    return None


def _pattern(template: str) -> re.Pattern[str]:
    """What a sentence of this template looks like. A name in quotes ends at the last quote that fits."""
    parts = _PLACE.split(template)  # texts and names in turn
    return re.compile(
        "".join(f"(?P<{part}>.+)" if number % 2 else re.escape(part) for number, part in enumerate(parts)), re.DOTALL
    )


_TEMPLATES = [(_pattern(english), chinese) for english, chinese in (*TEMPLATES.items(), *FAULTS.items())]
