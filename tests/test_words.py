"""One word for one thing: `docs/reference/words.md` explains each word once."""

from __future__ import annotations

from tests.test_repository import ROOT


def test_each_word_of_the_glossary_has_one_row_and_a_meaning() -> None:
    text = (ROOT / "docs" / "reference" / "words.md").read_text("utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]
    assert rows
    assert all(len(row) == 3 and all(row[:2]) for row in rows)
    assert len({word for word, *_ in rows}) == len(rows)
