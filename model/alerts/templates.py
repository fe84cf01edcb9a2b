"""A channel's own message texts, with `${subject}`, `${facts.reason}` and so on.

Only values are inserted. An inserted value is never read as a template, so it cannot execute anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from model.errors import Refused
from model.near import nearest

NAMES = ("subject", "severity", "kind", "project", "workflow", "run", "task", "alert", "at", "facts", "text")
FACT = "facts."
LENGTH_MAX = 10_000

_PLACE = re.compile(r"\$\$|\$\{([^{}]*)\}|\$\{")


def check_template(template: str, what: str) -> None:
    """Raises `Refused`, whose sentence begins with `what`, if a template has a mistake."""
    if len(template) > LENGTH_MAX:
        raise Refused(f"{what} is longer than {LENGTH_MAX} characters")
    for found in _PLACE.finditer(template):
        if found[0] == "$$":
            continue
        if found[1] is None:
            raise Refused(f"{what}: a ${{ at character {found.start() + 1} has no }}; write $${{ if you mean the text")
        name = found[1]
        if name in NAMES or (name.startswith(FACT) and len(name) > len(FACT)):
            continue
        near = nearest(name, NAMES)
        cure = f"did you mean ${{{near}}}?" if near else f"known: {', '.join(NAMES)}, {FACT}NAME"
        raise Refused(f"{what}: there is no value ${{{name[:60]}}}; {cure}")


def filled(template: str, values: Mapping[str, str], what: str) -> str:
    """Fill in a template; a fact that an alert lacks is empty. Raises `Refused` as `check_template` does."""
    check_template(template, what)
    return _PLACE.sub(lambda found: "$" if found[0] == "$$" else values.get(found[1], ""), template)
