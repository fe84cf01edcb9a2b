"""What differs between a page of docs/ in the repository and on the site that MkDocs builds (`mkdocs.yml`).

On the site there are no files beside the documentation: a link to the source stays as its text. Nor are there the
comments with which tests/newcomer types a page.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_COMMENT = re.compile(r"(?ms)^ *<!-- newcomer: .*? ?-->\n")
_LINK = re.compile(r"(?<!!)\[([^\[\]]+)\]\(([^)\s#]+)(?:#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001, named by MkDocs
    """The text of a page as the site shows it."""
    docs = Path(config["docs_dir"]).resolve()
    folder = Path(page.file.abs_src_path).parent

    def within(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        leaves = "://" not in link[2] and target.exists() and not target.is_relative_to(docs)
        return link[1] if leaves else link[0]

    return _LINK.sub(within, _COMMENT.sub("", markdown))
