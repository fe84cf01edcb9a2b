"""Workflow definitions, their projects, schedules and references."""
