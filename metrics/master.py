"""What a master counts: commands, runs, slots, failovers."""

from __future__ import annotations

from metrics.declaring import WAITS_S, counter, gauge, histogram
from model.states import WorkflowState

commands_claimed = counter("shoal_master_commands_claimed_total", "Commands taken, whatever became of them.")
commands_refused = counter("shoal_master_commands_refused_total", "Commands that became error commands.")
commands_stolen = counter(
    "shoal_master_commands_stolen_total", "Commands taken from the slots of others, since they had waited too long."
)
claim_seconds = histogram(
    "shoal_master_claim_seconds", "Time in seconds of each transaction that took commands, its COMMIT included."
)
advance_seconds = histogram(
    "shoal_master_advance_seconds", "Time in seconds of each transaction that handled events, its COMMIT included."
)
events = counter("shoal_master_events_total", "Ends of attempts and other events of runs that were handled.")
event_delay_seconds = histogram(
    "shoal_master_event_delay_seconds",
    "Seconds from an attempt's end until its master queued what follows: the first part of the lag between two tasks.",
    WAITS_S,
)
runs_ended = counter("shoal_master_runs_ended_total", "Runs that this master has ended, by state.", ("state",))
runs = gauge("shoal_master_runs", "Runs that this master drives.")
runs_max = gauge("shoal_master_runs_max", "Runs above which this master begins no others.")
slot = gauge("shoal_master_slot", "Its slot; -1 while it has none.")
slots = gauge("shoal_master_slots", "How many slots there are, as it counts them; 0 while it has none.")
slot_changes = counter("shoal_master_slot_changes_total", "How often its slot or their number changed.")
nodes_fenced = counter("shoal_master_nodes_fenced_total", "Nodes that this master has fenced, by kind.", ("kind",))
runs_failed_over = counter(
    "shoal_master_runs_failed_over_total", "Runs of nodes that had ended, which became commands."
)
tasks_lost = counter("shoal_master_tasks_lost_total", "Attempts of workers that had ended, which were marked as lost.")

for _state in WorkflowState:
    if _state.is_final:
        runs_ended.labels(_state.value)
for _kind in ("MASTER", "WORKER"):
    nodes_fenced.labels(_kind)
