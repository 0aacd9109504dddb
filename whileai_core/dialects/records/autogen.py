"""AutoGen 0.2 and AG2: results of chats (`chat_history`, `cost`, `summary`).

The history is the asker's own list, so its roles stand the wrong way round, names or not.
"""

from __future__ import annotations

from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.autogen_chats import in_usual_form
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, count, head, obj, objects, present, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_USAGE = "usage_including_cached_inference"


def _matches(value: object) -> bool:
    record = obj(value)
    if not head(record.get("chat_history")) or "summary" not in record:
        return False
    return _USAGE in obj(record.get("cost")) or ("cost" in record and "human_input" in record)


def _row(record: Object) -> Row | None:
    history = in_usual_form(objects(record["chat_history"]))
    used = obj(obj(record.get("cost")).get(_USAGE))
    models = {name: cost for name, cost in used.items() if isinstance(cost, dict)}
    counts = [(c.get("prompt_tokens"), c.get("completion_tokens")) for c in models.values()]
    extra = present(
        chat_id=record.get("chat_id"),
        summary=text(record.get("summary")),
        model=next(iter(models), None),
        usage={
            "input_tokens": sum(count(n) or 0 for n, _ in counts),
            "output_tokens": sum(count(n) or 0 for _, n in counts),
        }
        if counts
        else None,
    )
    return row_from_events(events_of(history), extra=extra)


RESULT = Reader(
    name="autogen",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=frozenset({"chat_history"}),
)
