"""The flows: each reads like the sentence that describes it."""

from flows import _prefect_defaults

_prefect_defaults.apply()
