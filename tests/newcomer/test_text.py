"""Verbs that a page names within its text are there, with the options that it names."""

from __future__ import annotations

import re

from tests.every import every
from tests.newcomer.newcomer import ROOT
from tests.newcomer.test_newcomer import PAGES
from tests.shoal.test_verbs import VERBS


def _unknown(code: str) -> list[str]:
    """The unknown parts of `shoal VERB --option ...`; empty for the name of a group of verbs."""
    words = code.split()
    if any(verb.startswith(f"{code} ") for verb in VERBS):
        return []
    length = next((length for length in (4, 3, 2) if " ".join(words[:length]) in VERBS), 0)
    name = " ".join(words[:length])
    if not name or (hasattr(VERBS[name], "commands") and words[length:] and not words[length].startswith("-")):
        return [code]
    if name == "shoal db psql":
        return []
    known = {option for parameter in VERBS[name].params for option in (*parameter.opts, *parameter.secondary_opts)}
    return [option for option in re.findall(r"(?<=\s)--?[A-Za-z][\w-]*", code) if option not in {*known, "--help"}]


@every("name", PAGES)
def test_a_verb_in_the_text_exists_with_its_options(name: str) -> None:
    text = re.sub(r"(?ms)^ *```.*?^ *```|<!--.*?-->", "", (ROOT / name).read_text("utf-8"))
    wrong = {code: _unknown(code) for code in re.findall(r"`(shoal [a-z][^`]*)`", text)}
    assert not {code: unknown for code, unknown in wrong.items() if unknown}


def test_a_verb_or_an_option_that_is_not_there_is_found() -> None:
    assert _unknown("shoal runns") == ["shoal runns"]
    assert _unknown("shoal run hello --wate") == ["--wate"]
    assert _unknown("shoal alert chanel list") == ["shoal alert chanel list"]
    assert _unknown("shoal alert channel") == []
