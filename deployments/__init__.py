"""Schedules and triggers for the flows: `prefect.yaml` beside this file."""
