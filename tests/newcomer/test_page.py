"""The lines that a newcomer types are those of the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.newcomer.page import Line, Page

PAGE = """# A page
<!-- newcomer: file a.txt
one
two
-->
    shoal run a --wait      starts it
    SELECT 1

<!-- newcomer: before `cat`: touch b &&
     touch c -->
```
$ cat a.txt
one

two
$ shoal runs
```
<!-- newcomer: not run: needs a machine -->
```console
$ ssh db
```
  ```sh
  make a   # the first
  ```
```yaml
name: a
```
<!-- newcomer: saved as b.yaml -->
```yaml
name: b
```
```yaml
tasks: []
```
<!-- newcomer: by psql -->
```sql
SELECT 2
```
"""


def test_all_kinds_of_lines_are_found_with_what_they_print(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE, "utf-8")
    page = Page.read(tmp_path, "page.md")
    assert page.lines == [
        Line("page.md:6", "shoal run a --wait"),
        Line("page.md:12", "cat a.txt", ("one", "two"), ("touch b && touch c",)),
        Line("page.md:16", "shoal runs"),
        Line("page.md:23", "  make a   # the first"),
        Line("page.md:37", "shoal db psql -v ON_ERROR_STOP=1 -f page-37.sql"),
    ]
    assert page.workflows == ["name: a\n"]
    assert page.files == {"a.txt": "one\ntwo\n", "page-37.sql": "SELECT 2\n", "b.yaml": "name: b\n"}


@pytest.mark.parametrize("comment", ["befor `a`: b", "before `nix`: b", "not run: why", "by psql", "saved as a"])
def test_a_comment_that_is_about_nothing_is_refused(tmp_path: Path, comment: str) -> None:
    (tmp_path / "page.md").write_text(f"```\n$ shoal runs\n```\n<!-- newcomer: {comment} -->\n", "utf-8")
    with pytest.raises(ValueError, match=r"page.md: (what is|there is no)"):
        Page.read(tmp_path, "page.md")
