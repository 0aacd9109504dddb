"""Rows that say nothing new: duplicates of a rollout, and prompts that are nearly the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
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
    pairs = list(_near_pairs([set(prompt.lower().split()) for prompt in compared]))
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


def _near_pairs(texts: Sequence[set[str]]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of word sets with a Jaccard similarity of at least the threshold.

    Two such sets share a word among their few rarest ones (prefix filtering: Chaudhuri et al.,
    2006); only pairs that do are compared.
    """
    counts = Counter(word for words in texts for word in words)
    rank = {word: place for place, (word, _) in enumerate(_by_rarity(counts))}
    holders: dict[int, list[int]] = {}
    for place, words in enumerate(texts):
        ordered = sorted(rank[word] for word in words)
        least = -int(-NEAR_THRESHOLD * len(ordered) // 1)
        candidates: set[int] = set()
        for word in ordered[: len(ordered) - least + 1]:
            holding = holders.setdefault(word, [])
            candidates.update(holding)
            holding.append(place)
        for other in sorted(candidates):
            theirs = texts[other]
            if min(len(words), len(theirs)) < NEAR_THRESHOLD * max(len(words), len(theirs)):
                continue
            shared = len(words & theirs)
            if shared >= NEAR_THRESHOLD * (len(words) + len(theirs) - shared):
                yield other, place


def _by_rarity(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda entry: (entry[1], entry[0]))


def _folded(text: str) -> str:
    return " ".join(text.lower().split())
