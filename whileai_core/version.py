"""The version of this product: the one place that says it, for the package and every part of it."""

from __future__ import annotations

__version__ = "0.1.0"
