"""The options of `shoal up`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer


@dataclass(frozen=True)
class UpOptions:
    """What to start, and where its data is."""

    masters: Annotated[int, typer.Option(min=1, max=64, help="How many masters.")] = 2
    workers: Annotated[int, typer.Option(min=0, max=64, help="How many workers.")] = 1
    folder: Annotated[Path | None, typer.Option(help="Where the data is kept between runs.")] = None
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="The API's port; else 7465, or a free one if that is taken.")
    ] = None
    sample: Annotated[bool, typer.Option(help="Save the sample workflow in a new database, and run it once.")] = True
    examples: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Save the workflow files in it, and run each new one once.")
    ] = None
    opened: Annotated[bool, typer.Option("--open", help="Open the web page in a browser.")] = False
