"""One word for one thing: what `docs/words.md` rules out stands nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

from tests.test_repository import ROOT, files, name_of, text_of

GLOSSARY = ROOT / "docs" / "words.md"
EXEMPT = {"docs/words.md", "tests/test_words.py", "CHANGELOG.md"}
"""The glossary itself, its test, and what was said at the time of each release."""


def rows() -> list[list[str]]:
    lines = [line for line in GLOSSARY.read_text("utf-8").splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def pattern_of(words: list[str]) -> re.Pattern[str]:
    """Any of these words, in names too: hand_on is the same word."""
    forms = "|".join(re.escape(word).replace("\\ ", "[ _]") for word in sorted(words, key=len, reverse=True))
    return re.compile(rf"(?<![a-z])(?:{forms})(?![a-z])", re.IGNORECASE)


def banned() -> dict[str, str]:
    """Each word that is ruled out, and the one to use."""
    return {word.strip(): row[0] for row in rows() for word in row[3].split(",") if word.strip()}


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
    assert pattern_of(["hand on"]).search("HAND_ON_EVERY_S")
    assert not pattern_of(["hand on"]).search("hand once")


def test_no_word_that_the_glossary_rules_out_stands_anywhere() -> None:
    say = {word.lower().replace(" ", "_"): instead for word, instead in banned().items()}
    pattern = pattern_of(list(banned()))
    found = [
        f'{name_of(path)}:{number}: not "{word}" but "{say[word.lower().replace(" ", "_")]}": {line.strip()[:80]}'
        for path in told()
        for number, line in enumerate(text_of(path).splitlines(), 1)
        for word in pattern.findall(line)
    ]
    assert not found, "docs/words.md\n" + "\n".join(found)
