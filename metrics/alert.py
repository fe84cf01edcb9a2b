"""What a sender of alerts counts: messages, and what became of the alerts in them."""

from __future__ import annotations

from metrics.declaring import Part

SENT, FAILED = "sent", "failed"
PART = Part()
messages = PART.counter(
    "shoal_alert_messages_total", "Messages to channels by result; one that failed is tried again.", ("result",)
)
deliveries = PART.counter(
    "shoal_alert_deliveries_total",
    "Alerts, once for each channel, that were sent, alone or in one message with others, or given up as failed.",
    ("result",),
)
send_seconds = PART.times("shoal_alert_send_seconds", "Time in seconds of each message, whether it was taken or not.")
channels_at_work = PART.gauge("shoal_alert_channels_at_work", "Channels to which this sender is sending now.")

for result in (SENT, FAILED):  # so that a rate of them has a beginning
    messages.labels(result)
    deliveries.labels(result)
