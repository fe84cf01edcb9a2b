"""The language of a problem's `title` and `detail`: English, or Chinese for who prefers that (Accept-Language).

`code` is the same in every language. A sentence that is not in the table stays English, and Content-Language names both
then. What a sentence names, such as a run, stands in sentences of their own making, which have no translation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from api.chinese import DETAILS, TITLES

HEADER, OF_ANSWER = "Accept-Language", "Content-Language"
ENGLISH, CHINESE = "en", "zh"

_RANGE = re.compile(r"([A-Za-z]{1,8}|\*)(?:-[A-Za-z0-9-]*)?(?:\s*;\s*q\s*=\s*([01](?:\.[0-9]{0,3})?))?")
_RANGES_MAX = 20


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
    title, detail = TITLES.get(str(problem["code"])), DETAILS.get(str(problem["detail"]))
    contained = [name for name, has in ((CHINESE, title or detail), (ENGLISH, not (title and detail))) if has]
    found = {**problem, "title": title or problem["title"], "detail": detail or problem["detail"]}
    return found, ", ".join(contained)
