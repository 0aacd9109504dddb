"""Which graded rows to train on: clean ones, of tasks that tell something, spread over faults."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from whileai_core.errors import InputError
from whileai_core.quality.calibration import calibrate
from whileai_core.quality.facts import Facts, facts_of
from whileai_core.quality.signal import DEFAULT_BAND, select_for_rl
from whileai_core.quality.tasks import checked_rows
from whileai_core.traces.behaviour import signature_of
from whileai_core.traces.calls import tool_calls
from whileai_core.traces.tasks import fold
from whileai_core.traces.values import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whileai_core.rows import Row

TARGET_ROWS = 1000
# Keys whose text the agent must not have seen; a reply that quotes it has leaked it.
_PRIVILEGED = ("privileged", "principle", "hidden_state", "reference", "rubric")
_SHORTEST_QUOTE = 20


class Selection(NamedTuple):
    """Rows to train on and how they were chosen.

    Attributes:
        rows: Stamped copies (`calibration`, from all rows that came in).
        report: Rows dropped at each step, groups kept, rows by fault.
    """

    rows: list[Row]
    report: dict[str, Any]


def select_rows(rows: object, mode: str = "rl", *, target: int = TARGET_ROWS) -> Selection:
    """Choose rows to train on.

    Left out are rows that quote privileged text, have no label or no reply, repeat another one,
    or were cut. For `rl` whole tasks are kept that are mixed and within 0.2 to 0.8, taken round
    the kinds of fault they met and the pass rates they have, until there are enough rows. For
    `sft` the passes are kept.

    Args:
        rows: Graded rows.
        mode: `rl` or `sft`.
        target: Rows after which no further task is taken.

    Raises:
        InputError: The mode is unknown, or `rows` is no list of rows.
    """
    if mode not in ("rl", "sft"):
        raise InputError(f"mode={mode!r} is unknown; known: rl, sft")
    stamped = calibrate(checked_rows(rows)).rows
    facts = facts_of(stamped)
    reasons = list(_reasons(stamped, facts))
    dropped = Counter(reason for reason in reasons if reason)
    clean = [row for row, reason in zip(stamped, reasons, strict=True) if not reason]
    report: dict[str, Any] = {
        "mode": mode,
        "n": len(stamped),
        "dropped": dict(sorted(dropped.items())),
        "n_eval_rows": sum(_is_eval(row) for row in stamped),
    }
    if mode == "sft":
        chosen = [row for row in clean if row["reward"] == 1]
        report["dropped"]["not_passed"] = len(clean) - len(chosen)
        return Selection(chosen, report | {"n_selected": len(chosen)})
    mixed, signal = select_for_rl(clean, *DEFAULT_BAND)
    report["groups"] = signal.to_dict()
    chosen, by_fault = _spread(mixed, target)
    return Selection(chosen, report | {"n_selected": len(chosen), "rows_by_fault": by_fault})


def _reasons(rows: Sequence[Row], facts: Sequence[Facts]) -> Iterator[str | None]:
    """Yield why each row is left out, None for one that is kept."""
    seen: set[tuple[str, str, str]] = set()
    for row, fact in zip(rows, facts, strict=True):
        reply = plain_text(row.get("final_text"))
        identity = (
            fold(plain_text(row.get("prompt"))),
            signature_of(row, list(tool_calls(row))).digest,
            fold(reply),
        )
        if _quotes_privileged(row, reply):
            yield "privileged"
        elif fact.label is None or row.get("reward") not in (0, 1):
            yield "unlabeled"
        elif not reply.strip():
            yield "no_reply"
        elif identity in seen:
            yield "duplicate"
        elif fact.truncated:
            yield "truncated"
        else:
            seen.add(identity)
            yield None


def _quotes_privileged(row: Row, reply: str) -> bool:
    said = fold(reply)
    texts = (fold(value) for key in _PRIVILEGED if isinstance(value := row.get(key), str))
    return any(len(text) >= _SHORTEST_QUOTE and text in said for text in texts)


def _is_eval(row: Row) -> bool:
    lineage = row.get("lineage")
    return isinstance(lineage, dict) and lineage.get("source") == "eval"


def _spread(rows: Sequence[Row], target: int) -> tuple[list[Row], dict[str, int]]:
    """Take whole tasks, round the kinds of fault and inside one round the pass rates."""
    tasks: dict[Any, list[Row]] = defaultdict(list)
    faults: dict[Any, Counter[str]] = defaultdict(Counter)
    for row, fact in zip(rows, facts_of(rows), strict=True):
        tasks[fact.task].append(row)
        faults[fact.task].update(fact.faults or ["none"])
    kinds: dict[str, dict[float, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for task, members in tasks.items():
        kind = min(faults[task], key=lambda name: (-faults[task][name], name))
        rate = sum(row["reward"] for row in members) / len(members)
        kinds[kind][rate].append(task)
    sizes = {kind: sum(map(len, rates.values())) for kind, rates in kinds.items()}
    queues = [
        [(kind, task) for task in _round_robin([rates for _, rates in sorted(kinds[kind].items())])]
        for kind in sorted(kinds, key=lambda kind: (-sizes[kind], kind))
    ]
    chosen: list[Row] = []
    by_fault: Counter[str] = Counter()
    for kind, task in _round_robin(queues):
        if len(chosen) >= target:
            break
        chosen += tasks[task]
        by_fault[kind] += len(tasks[task])
    return chosen, dict(sorted(by_fault.items()))


def _round_robin(queues: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the first of each queue, then the second of each, to the end of the longest."""
    longest = max(map(len, queues), default=0)
    return [queue[place] for place in range(longest) for queue in queues if place < len(queue)]
