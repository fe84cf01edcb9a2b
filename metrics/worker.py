"""What a worker counts: claims, attempts, reports."""

from __future__ import annotations

from metrics.declaring import WAITS_S, Part

PART = Part()
attempts_claimed = PART.counter("shoal_worker_attempts_claimed_total", "Attempts that this worker took from the queue.")
attempts_ended = PART.counter(
    "shoal_worker_attempts_ended_total", "Attempts whose end was reported, by state.", ("state",)
)
reports_late = PART.counter(
    "shoal_worker_reports_too_late_total",
    "Ends that were not written, since the attempt was no longer this worker's.",
)
write_seconds = PART.times(
    "shoal_worker_write_seconds", "Time in seconds of each transaction that reported or claimed, its COMMIT included."
)
queue_wait_seconds = PART.times(
    "shoal_worker_queue_wait_seconds",
    "Seconds from when an attempt was queued until it was claimed: the second part of the lag between two tasks.",
    WAITS_S,
)
running = PART.gauge("shoal_worker_running", "Attempts that this worker has: running, or ended and not yet reported.")
capacity = PART.gauge("shoal_worker_capacity", "Attempts that it runs at once.")
horizons_passed = PART.counter(
    "shoal_worker_horizons_passed_total", "How often it ended its tasks, since it was cut off for too long."
)
