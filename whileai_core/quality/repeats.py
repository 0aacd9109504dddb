"""Rows that say nothing new: duplicates of a rollout, and prompts that are nearly the same."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from whileai_core.quality.reports import Report
from whileai_core.traces.behaviour import signature_of
from whileai_core.traces.calls import tool_calls
from whileai_core.traces.values import plain_text

if TYPE_CHECKING:
    from whileai_core.quality.facts import Facts
    from whileai_core.rows import Row

NEAR_THRESHOLD = 0.8
_EXAMPLES = 5
_SHOWN_CHARACTERS = 120
_TASKS_NAMED = 5
_SHARED = 3  # words two near duplicates have in common among their rarest
_ROUNDING = 1e-9
_COMPARED_AT_MOST = 20_000  # prompts; a larger set is compared in a part spread evenly over it


def duplicates(rows: Sequence[Row], facts: Sequence[Facts]) -> Report:
    """Return how many rows repeat another one: same prompt, behaviour and reply (case folded).

    `conflicting_rewards` are duplicates whose label differs from that of the row they repeat.
    """
    first: dict[tuple[str, str], int] = {}
    by_text: dict[tuple[str, str], list[int]] = {}
    for position, row in enumerate(rows):
        key = (plain_text(row.get("prompt")), _folded(plain_text(row.get("final_text"))))
        earlier = first.setdefault(key, position)
        if earlier != position:
            by_text.setdefault(key, [earlier]).append(position)
    dropped: list[tuple[int, int]] = []
    for positions in by_text.values():
        seen: dict[Any, int] = {}
        for position in positions:
            row = rows[position]
            kept = seen.setdefault(signature_of(row, list(tool_calls(row))), position)
            if kept != position:
                dropped.append((kept, position))
    tasks = dict.fromkeys(facts[position].task for _, position in dropped)
    conflicting = sum(
        None not in (facts[kept].label, facts[position].label)
        and facts[kept].label != facts[position].label
        for kept, position in dropped
    )
    return Report(
        n=len(rows),
        n_kept=len(rows) - len(dropped),
        n_dropped=len(dropped),
        groups_affected=len(tasks),
        duplicate_rate=len(dropped) / len(rows) if rows else 0.0,
        conflicting_rewards=conflicting,
        tasks=list(tasks)[:_TASKS_NAMED],
    )


def near_duplicate_prompts(rows: Sequence[Row]) -> Report:
    """Return how many pairs of distinct prompts share at least 80 % of their words (Jaccard)."""
    prompts = list(
        dict.fromkeys(prompt for row in rows if (prompt := plain_text(row.get("prompt"))).strip())
    )
    step = max(1, -(-len(prompts) // _COMPARED_AT_MOST))
    compared = prompts[::step]
    pairs = _near_pairs([set(prompt.lower().split()) for prompt in compared])
    return Report(
        n_prompts=len(prompts),
        n_compared=len(compared),
        n_pairs=len(pairs),
        n_prompts_involved=len({place for pair in pairs for place in pair}),
        threshold=NEAR_THRESHOLD,
        examples=[
            [compared[one][:_SHOWN_CHARACTERS], compared[two][:_SHOWN_CHARACTERS]]
            for one, two in pairs[:_EXAMPLES]
        ],
    )


def _near_pairs(texts: Sequence[set[str]]) -> list[tuple[int, int]]:
    """Return the pairs of word sets with a Jaccard similarity of at least the threshold.

    Two such sets have several words in common among their few rarest ones (prefix filtering:
    Chaudhuri et al., 2006; Wang et al., 2012); only pairs that do are compared. Sets with fewer
    than three words can only be equal.
    """
    counts = Counter(word for words in texts for word in words)
    rank = {word: place for place, word in enumerate(sorted(counts, key=lambda w: (counts[w], w)))}
    holders: dict[int, list[int]] = {}
    small: dict[frozenset[str], list[int]] = {}
    pairs = []
    for place, words in enumerate(texts):
        if len(words) < _SHARED:
            alike = small.setdefault(frozenset(words), [])
            pairs += [(other, place) for other in alike]
            alike.append(place)
            continue
        ordered = sorted(rank[word] for word in words)
        least = math.ceil(NEAR_THRESHOLD * len(ordered) - _ROUNDING)
        met: Counter[int] = Counter()
        for word in ordered[: len(ordered) - least + _SHARED]:
            holding = holders.setdefault(word, [])
            met.update(holding)
            holding.append(place)
        for other in sorted(other for other, shared in met.items() if shared >= _SHARED):
            shared = len(words & texts[other])
            if shared >= NEAR_THRESHOLD * (len(words) + len(texts[other]) - shared) - _ROUNDING:
                pairs.append((other, place))
    return pairs


def _folded(text: str) -> str:
    return " ".join(text.lower().split())
