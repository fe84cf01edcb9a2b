"""The bugs that testing from outside found, in the order of its report."""

from __future__ import annotations

from tests.put_back.never_ending import NEVER_ENDING
from tests.put_back.security import SECURITY
from tests.put_back.two_at_once import TWO_AT_ONCE

BUGS = (*NEVER_ENDING, *TWO_AT_ONCE, *SECURITY)
