"""One word for one thing: what `docs/words.md` rules out stands nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_repository import ROOT, files, name_of, text_of

GLOSSARY = ROOT / "docs" / "words.md"
EXEMPT = {"docs/words.md", "tests/test_words.py", "CHANGELOG.md", "tests/dao/schema_1.sql"}
"""The glossary itself, its test, what was said at the time of each release, and the schema of the first one."""


EVERYDAY = "## Everyday words that had several meanings"
ONE_MEANING_IN = ("dao/", "master/", "model/", "node/", "registry/", "shoal/", "worker/")
"""The folders in which the words of the second table are ruled out."""


def table(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def rows() -> list[list[str]]:
    return table(GLOSSARY.read_text("utf-8").partition(EVERYDAY)[0])


def everyday() -> list[list[str]]:
    return table(GLOSSARY.read_text("utf-8").partition(EVERYDAY)[2])


def words_of(cell: str) -> list[str]:
    return [word.strip() for word in cell.split(",") if word.strip()]


def pattern_of(words: list[str]) -> re.Pattern[str]:
    """Any of these words, in names too: hand_on is the same word."""
    forms = "|".join(re.escape(word).replace("\\ ", "[ _]") for word in sorted(words, key=len, reverse=True))
    return re.compile(rf"(?<![a-z])(?:{forms})(?![a-z])", re.IGNORECASE)


def banned() -> dict[str, str]:
    """Each word that is ruled out, and the one to use."""
    return {word: row[0] for row in rows() for word in words_of(row[3])}


def told() -> list[Path]:
    """Source, documentation and messages. A change of the schema that has been released says what it said."""
    kinds = {".py", ".md", ".yaml", ".toml", ".sql"}
    return [
        path
        for path in files()
        if path.suffix in kinds and name_of(path) not in EXEMPT and not name_of(path).startswith("sql/upgrades/")
    ]


def test_the_glossary_rules_something_out() -> None:
    assert banned()["reckon"] == "compute"
    assert len({row[0] for row in rows()}) == len(rows()), "a word has one meaning"


@pytest.mark.parametrize("word", sorted(banned()))
def test_a_word_that_the_glossary_rules_out_stands_nowhere(word: str) -> None:
    pattern = pattern_of([word])
    found = [
        f"{name_of(path)}:{number}: {line.strip()[:80]}"
        for path in told()
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if pattern.search(line)
    ]
    assert not found, f'say "{banned()[word]}" (docs/words.md)\n' + "\n".join(found)


@pytest.mark.parametrize(("ruled_out", "say", "stays"), everyday(), ids=lambda cell: cell[:8])
def test_an_everyday_word_has_one_meaning_or_is_not_used(ruled_out: str, say: str, stays: str) -> None:
    pattern, public = pattern_of(words_of(ruled_out)), pattern_of(words_of(stays) or ["\0"])
    found = [
        f"{name_of(path)}:{number}: {line.strip()[:80]}"
        for path in told()
        if name_of(path).startswith(ONE_MEANING_IN)
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if pattern.search(public.sub("", line)) or (number == 1 and pattern.search(path.stem))
    ]
    assert not found, f"{say} (docs/words.md)\n" + "\n".join(found)


def test_the_everyday_words_are_read() -> None:
    assert {row[0].partition(",")[0] for row in everyday()} >= {"tell", "look", "settle", "give up", "forget", "judge"}
    assert pattern_of(["look"]).search("LOOK_EVERY_S")
    assert not pattern_of(["look"]).search("overlook")
