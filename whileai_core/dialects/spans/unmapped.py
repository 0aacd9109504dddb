"""Attributes that no family reads: what a new producer, or a new version of one, adds."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from whileai_core.dialects.spans.families import FAMILIES
from whileai_core.dialects.spans.reader import REWARD_KEYS
from whileai_core.dialects.spans.slots import SLOTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whileai_core.dialects.spans.span import Span

_INDEX = re.compile(r"\.\d+(?=\.|$)")


def unmapped_attributes(
    spans: Iterable[Span], *, reward_keys: Iterable[str] = REWARD_KEYS
) -> Counter[tuple[str, str]]:
    """Count the attributes that nothing is read from, by family and name.

    The family is the one in whose namespace the name lies, "" for names of none. Indices in
    names are written as `N`, so that a list counts under one name.

    Args:
        spans: The spans.
        reward_keys: Attributes that the reward is read from.
    """
    rewards = frozenset(reward_keys)
    counts: Counter[tuple[str, str]] = Counter()
    for span in spans:
        for key in span.attributes:
            if SLOTS[key] is None and key not in rewards:
                counts[_family(key), _INDEX.sub(".N", key)] += 1
    return counts


def _family(key: str) -> str:
    return next((f.name for f in FAMILIES if key.startswith(f.namespaces)), "")
