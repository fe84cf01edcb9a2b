"""`python -m shoal`: the same as the command `shoal`, but with a chosen interpreter."""

from __future__ import annotations

from shoal.cli import main

if __name__ == "__main__":
    main()
