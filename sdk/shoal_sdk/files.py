"""`File`: what a task returns and another gets, with its content, on whatever worker each of them runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal_sdk.in_task import _shoal_sdk

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    class File:
        """A file at a path of this machine.

        Of a task that returns one the worker keeps the content, with a checksum; a task with a parameter of this type
        gets it in its own folder, and `run.result` in a temporary one. In a flow, the file is known only when it runs.
        """

        path: Path
        content_type: str

        def __init__(self, path: str | PathLike[str], content_type: str = "application/octet-stream") -> None: ...

        def packed(self) -> dict[str, Any]:
            """As JSON has it: where it is, and what."""

        def sha256(self) -> str:
            """Of its content."""
else:
    File = _shoal_sdk().File
