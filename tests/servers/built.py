"""Imported by what forks processes of `shoal`: its command line is then built, once, and each of them has it.

To build it takes half of the processor time of a short verb. Typer does it at each call.
"""

from __future__ import annotations

from functools import cache

import typer.main

from shoal.cli import app

typer.main.get_command = cache(typer.main.get_command)
typer.main.get_command(app)
