"""Imported by what forks processes of `shoal`: its command line is built and time zones are read, once for all of them.

To build it takes half of the processor time of a short verb. Typer does it at each call, and a group of verbs does it
for its own when one of them is called. The zones take a master or a worker a tenth of a second.
"""

from __future__ import annotations

import gc
from functools import cache
from typing import Any

import typer.main

from model.time.zones import load_zones
from shoal.cli import app


def _build(group: Any) -> None:
    for each in getattr(group, "commands", {}).values():
        _build(each)


typer.main.get_command = cache(typer.main.get_command)
_build(typer.main.get_command(app))
load_zones()
gc.freeze()  # a collection in a process would write to every page that it shares
