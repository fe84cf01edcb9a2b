"""What a master counts: commands, runs, slots, failovers."""

from __future__ import annotations

from metrics.declaring import WAITS_S, Part
from model.runs.states import WorkflowState

PART = Part()
commands_claimed = PART.counter("shoal_master_commands_claimed_total", "Commands taken, whatever became of them.")
commands_refused = PART.counter("shoal_master_commands_refused_total", "Commands that became error commands.")
commands_stolen = PART.counter(
    "shoal_master_commands_stolen_total", "Commands taken from the slots of others, since they had waited too long."
)
claim_seconds = PART.times(
    "shoal_master_claim_seconds", "Time in seconds of each transaction that took commands, its COMMIT included."
)
advance_seconds = PART.times(
    "shoal_master_advance_seconds", "Time in seconds of each transaction that handled events, its COMMIT included."
)
events = PART.counter("shoal_master_events_total", "Ends of attempts and other events of runs that were handled.")
event_delay_seconds = PART.times(
    "shoal_master_event_delay_seconds",
    "Seconds from an attempt's end until its master queued what follows: the first part of the lag between two tasks.",
    WAITS_S,
)
runs_ended = PART.counter("shoal_master_runs_ended_total", "Runs that this master has ended, by state.", ("state",))
runs = PART.gauge("shoal_master_runs", "Runs that this master drives.")
runs_max = PART.gauge("shoal_master_runs_max", "Runs above which this master begins no others.")
slot = PART.gauge("shoal_master_slot", "Its slot; -1 while it has none.")
slots = PART.gauge("shoal_master_slots", "How many slots there are, as it counts them; 0 while it has none.")
slot_changes = PART.counter("shoal_master_slot_changes_total", "How often its slot or their number changed.")
nodes_fenced = PART.counter("shoal_master_nodes_fenced_total", "Nodes that this master has fenced, by kind.", ("kind",))
runs_failed_over = PART.counter(
    "shoal_master_runs_failed_over_total", "Runs of nodes that had ended, which became commands."
)
tasks_lost = PART.counter(
    "shoal_master_tasks_lost_total", "Attempts of workers that had ended, which were marked as lost."
)
spans_sent = PART.counter("shoal_master_spans_sent_total", "Spans of runs and attempts that the receiver took.")
spans_dropped = PART.counter(
    "shoal_master_spans_dropped_total", "Spans that were not sent, or runs of which none was read."
)

for _state in WorkflowState:
    if _state.is_final:
        runs_ended.labels(_state.value)
for _kind in ("MASTER", "WORKER"):
    nodes_fenced.labels(_kind)
