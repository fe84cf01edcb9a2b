"""Runs of characters in the text of a bash script."""

from __future__ import annotations

import re

ORDINARY = re.compile("[^ \t\n;&|<>()'\"\\\\$`\\[{}\\-\U000f0000-\U000ffffd]+")
IN_SINGLE = re.compile("[^'\\\\\U000f0000-\U000ffffd]+")
IN_DOUBLE = re.compile('[^"\\\\$`\\-\U000f0000-\U000ffffd]+')
SIMPLE = re.compile(r"\$(\{#?[A-Za-z_]\w*\}|\{#?[0-9@*]+\}|[A-Za-z_]\w*|[0-9@*])")
STATUS = re.compile(
    r"\$(\{[?#$!]\}|[?#$!]|\((ssh-agent|conda|mamba|micromamba|pyenv|brew|dircolors|modulecmd)[\w ./-]*\))"
)
"""Expansions that no value is part of, such as the commands that set up a shell."""
NAME = re.compile(r"[A-Za-z_]\w{0,250}")
ASSIGNMENT = re.compile(r"([A-Za-z_]\w{0,250})\+?=")
"""Bounded, since they are tried at each `$` and `[` of a word; a longer name is taken for that of a command."""
