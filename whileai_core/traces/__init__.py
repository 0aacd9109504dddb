"""Rows to insight: faults, mining, report, split, leakage, dimensions, harness."""
