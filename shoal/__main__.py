"""`python -m shoal`: the same as the command `shoal`, for who starts it with a certain interpreter."""

from __future__ import annotations

from shoal.cli import main

if __name__ == "__main__":
    main()
