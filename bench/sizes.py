"""The amount of measurement: enough for reliable figures, or just enough to test that everything runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Counts and durations of one execution."""

    pgbench_scale: int
    pgbench_s: int
    commits: int
    bare_commands: int
    start_commands: int
    backlog_commands: int
    parallel_workflows: int
    sequence_workflows: int
    elements: int
    moderate_chains: int
    moderate_length: int
    single_commands: int
    settle_s: float
    idle_s: float
    sustained_s: int
    endurance_minutes: int
    endurance_minute_s: float
    large_layers: int
    large_width: int
    sub_workflows: int
    hold_tasks: int
    line_length: int
    line_steps: int
    line_beside: int
    waiting_dependents: int
    dependents_rounds: int
    dependents_workflows: int
    waits_each_second: int
    waits_s: float
    waits_each_minute: int
    waits_pause_s: int
    verb_calls: int
    watched_rounds: int
    watched_workflows: int
    watched_commands: int
    scraped_rounds: int
    scraped_workflows: int
    scale_masters: tuple[int, ...]
    scale_workers: int
    scale_s: float
    shell_rounds: int
    shell_workflows: int
    stored_rounds: int
    stored_fake: int
    stored_shell: int
    api_runs: int
    api_lists: int
    api_starts: int
    api_events: int
    api_listeners: int
    heavy_bytes: int
    page_tasks: int
    page_drawn: int
    page_log_lines: int
    page_rounds: int
    page_steps: int
    page_changes: int
    retention_runs: int
    retention_workflows: int
    history_attempts: int
    history_rounds: int
    history_workflows: int
    history_singles: int
    history_commands: int
    history_lists: int
    history_list_rounds: int
    history_idle_s: float
    is_quick: bool


FULL = Sizes(
    pgbench_scale=10,
    pgbench_s=10,
    commits=500,
    bare_commands=40_000,
    start_commands=40_000,
    backlog_commands=1_000_000,
    parallel_workflows=4_000,
    sequence_workflows=3_000,
    elements=10_000,
    moderate_chains=20,
    moderate_length=100,
    single_commands=300,
    settle_s=10,
    idle_s=60,
    sustained_s=60,
    endurance_minutes=30,
    endurance_minute_s=60,
    large_layers=100,
    large_width=100,
    sub_workflows=1_000,
    hold_tasks=10_000,
    line_length=100_000,
    line_steps=300,
    line_beside=3_000,
    waiting_dependents=10_000,
    dependents_rounds=6,
    dependents_workflows=1_500,
    waits_each_second=200,
    waits_s=20,
    waits_each_minute=1_000,
    waits_pause_s=60,
    verb_calls=20,
    watched_rounds=8,
    watched_workflows=1_500,
    watched_commands=50,
    scraped_rounds=24,
    scraped_workflows=3_000,
    scale_masters=(1, 2, 4, 8),
    scale_workers=1_000,
    scale_s=20,
    shell_rounds=5,
    shell_workflows=60,
    stored_rounds=8,
    stored_fake=1_500,
    stored_shell=150,
    api_runs=1_000_000,
    api_lists=200,
    api_starts=5_000,
    api_events=30,
    api_listeners=500,
    heavy_bytes=3_900_000,
    page_tasks=2_000,
    page_drawn=1_500,
    page_log_lines=1_000_000,
    page_rounds=5,
    page_steps=20,
    page_changes=10,
    retention_runs=100_000,
    retention_workflows=3_000,
    history_attempts=1_000_000,
    history_rounds=8,
    history_workflows=1_500,
    history_singles=200,
    history_commands=10_000,
    history_lists=40,
    history_list_rounds=3,
    history_idle_s=10,
    is_quick=False,
)
QUICK = Sizes(
    pgbench_scale=1,
    pgbench_s=1,
    commits=50,
    bare_commands=500,
    start_commands=500,
    backlog_commands=1_000,
    parallel_workflows=50,
    sequence_workflows=50,
    elements=200,
    moderate_chains=10,
    moderate_length=10,
    single_commands=20,
    settle_s=1,
    idle_s=2,
    sustained_s=2,
    endurance_minutes=3,
    endurance_minute_s=1,
    large_layers=5,
    large_width=20,
    sub_workflows=50,
    hold_tasks=100,
    line_length=100,
    line_steps=10,
    line_beside=50,
    waiting_dependents=50,
    dependents_rounds=1,
    dependents_workflows=20,
    waits_each_second=5,
    waits_s=3,
    waits_each_minute=10,
    waits_pause_s=2,
    verb_calls=3,
    watched_rounds=1,
    watched_workflows=20,
    watched_commands=3,
    scraped_rounds=1,
    scraped_workflows=20,
    scale_masters=(1, 2),
    scale_workers=20,
    scale_s=2,
    shell_rounds=1,
    shell_workflows=2,
    stored_rounds=1,
    stored_fake=20,
    stored_shell=3,
    api_runs=1_000,
    api_lists=3,
    api_starts=50,
    api_events=3,
    api_listeners=10,
    heavy_bytes=100_000,
    page_tasks=400,
    page_drawn=300,
    page_log_lines=2_000,
    page_rounds=1,
    page_steps=2,
    page_changes=1,
    retention_runs=2_000,
    retention_workflows=20,
    history_attempts=20_000,
    history_rounds=2,
    history_workflows=20,
    history_singles=5,
    history_commands=100,
    history_lists=2,
    history_list_rounds=2,
    history_idle_s=1,
    is_quick=True,
)
