"""Bytes to records: discovery, compression, JSON in its many layouts, OTLP, Parquet."""
