"""Hugging Face: datasets and adapters to the Hub, datasets from it.

The one place that talks to `huggingface_hub`. Everything here blocks; async callers use a worker
thread. Rows go out as Parquet that trainers and the Hub's viewer read, beside the exact text of
every row (`columns`), and come back digit for digit (`readback`).
"""
