"""Simulation: situations from a grid, rolled out in a sandbox world, aimed by traces, judged."""
