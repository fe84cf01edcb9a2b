"""Metrics of masters and workers alike: beats, fences, load."""

from __future__ import annotations

from metrics.declaring import Part

PART = Part()
beats = PART.counter("shoal_node_beats_total", "Beats that the database has answered.")
beats_failed = PART.counter("shoal_node_beats_failed_total", "Beats that failed or were not answered.")
beat_seconds = PART.times("shoal_node_beat_seconds", "Time in seconds until a beat was answered.")
beat_age = PART.gauge("shoal_node_beat_age_seconds", "Seconds since the last beat that was answered was sent.")
lives = PART.counter(
    "shoal_node_lives_total", "Lives that this process has begun; more than one: it was fenced, or failed."
)
fenced = PART.counter("shoal_node_fenced_total", "How often this node found that others had fenced it.")
busy = PART.gauge("shoal_node_busy", "1 while it has too much to do and takes nothing new, else 0.")
drained = PART.gauge("shoal_node_drained", "1 while it is to be drained, else 0.")
