"""The checks of a master's or worker's health: its beats, its listener, and whether it takes work."""

from __future__ import annotations

from dao.postgres.listen import Listener
from metrics.health import Check
from node.life import Life
from node.lives import HUNG_MIN
from registry.clock import boottime_s


def tries_to_beat(life: Life) -> Check:
    """Whether beats are sent, answered or not: without one for this long, the loop of beats hangs."""
    silence = life.silence
    limit_s = silence.fence_s + max(silence.session_s, HUNG_MIN.total_seconds())

    def check() -> str | None:
        silent_s = boottime_s() - life.last_try_s
        return f"it has sent no beat for {silent_s:.0f} s" if silent_s > limit_s else None

    return check


def beats(life: Life) -> Check:
    """Whether the database answers its beats."""

    def check() -> str | None:
        silent_s = boottime_s() - life.last_beat_s
        return f"no beat was answered for {silent_s:.0f} s" if silent_s > life.silence.session_s else None

    return check


def hears(ears: Listener) -> Check:
    """Whether notifications of the database arrive."""
    return lambda: None if ears.is_listening else "it does not listen to the database"


def stays(life: Life) -> Check:
    """Whether it neither leaves nor drains."""

    def check() -> str | None:
        if life.is_leaving:
            return "it is about to leave"
        return "it is drained" if life.drained.is_set() else None

    return check
