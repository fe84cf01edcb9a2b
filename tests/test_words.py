"""One word for one thing: what `docs/words.md` rules out stands nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_repository import ROOT, files, name_of, text_of

GLOSSARY = ROOT / "docs" / "words.md"
EXEMPT = {"docs/words.md", "tests/test_words.py", "CHANGELOG.md"}
"""The glossary itself, its test, and what was said at the time of each release."""


def rows() -> list[list[str]]:
    lines = [line for line in GLOSSARY.read_text("utf-8").splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def banned() -> dict[str, str]:
    """Each word that is ruled out, and the one to use."""
    return {word.strip(): row[0] for row in rows() for word in row[3].split(",") if word.strip()}


def told() -> list[Path]:
    """Source, documentation and messages. A change of the schema that has been released says what it said."""
    kinds = {".py", ".md", ".yaml", ".toml"}
    return [path for path in files() if path.suffix in kinds and name_of(path) not in EXEMPT]


def test_the_glossary_rules_something_out() -> None:
    assert banned()["reckon"] == "compute"
    assert len({row[0] for row in rows()}) == len(rows()), "a word has one meaning"


@pytest.mark.parametrize("word", sorted(banned()))
def test_a_word_that_the_glossary_rules_out_stands_nowhere(word: str) -> None:
    # In names too: hand_on is the same word. A column or a function of the database keeps its name.
    pattern = re.compile(rf"(?<![a-z]){re.escape(word).replace(chr(92) + ' ', '[ _]')}(?![a-z])", re.IGNORECASE)
    found = [
        f"{name_of(path)}:{number}: {line.strip()[:80]}"
        for path in told()
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if pattern.search(re.sub(r"reckon_schedule_anew|schedule_is_reckoned_anew", "", line))
    ]
    assert not found, f'say "{banned()[word]}" (docs/words.md)\n' + "\n".join(found)
