"""Looking into JSON of which nothing is certain: every function takes anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from whileai_core import jsonio

Object = dict[str, Any]


def obj(value: object) -> Object:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[Object]:
    """Return the objects of a list; of anything else, none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def head(value: object, most: int = 1) -> list[Object]:
    """Return the objects among the first items of a list, without a look at the rest."""
    return objects(value[:most]) if isinstance(value, list) else []


def text(value: object) -> str:
    """Return the value if it is text, else an empty text."""
    return value if isinstance(value, str) else ""


def decoded(value: object, *, layers: int = 2) -> Any:
    """Return what a JSON text of an object, list or text says; anything else as it is.

    Exporters like to encode twice; numbers and words stay the text they are.
    """
    for _ in range(layers):
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
            break
        try:
            value = jsonio.loads(value)
        except ValueError:
            break
    return value


def count(value: object) -> int | None:
    """Return a token count; booleans, negatives and what is no number give None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        whole = int(value)
    except (OverflowError, ValueError):
        return None
    return whole if whole >= 0 else None


def usage(tokens_in: object, tokens_out: object) -> Object | None:
    """Return the `usage` of a row, or None when neither count is known."""
    known = count(tokens_in), count(tokens_out)
    if known == (None, None):
        return None
    return {"input_tokens": known[0] or 0, "output_tokens": known[1] or 0}


def present(**values: Any) -> Object:
    """Return the given keys whose values are known."""
    return {key: value for key, value in values.items() if value not in (None, "", [], {})}


def kept(record: Object, *keys: str) -> Object:
    """Return the named keys of a record whose values are known."""
    return present(**{key: record.get(key) for key in keys})


def mostly(head: Sequence[object], is_line: Callable[[object], bool]) -> bool:
    """Tell whether more than half of the first records of a file are of one kind.

    One broken line, or one of a kind that is not known yet, does not hide a session.
    """
    return 2 * sum(map(is_line, head)) > len(head)


def sortable(time: object) -> str:
    """Return a time as text that sorts as the times do, for times of one producer."""
    if isinstance(time, int | float) and not isinstance(time, bool):
        return f"{time:024.6f}"
    return text(time)


def grouped(records: Iterable[Object], key: str) -> list[list[Object]]:
    """Return records in groups that share an id, in the order of each group's first."""
    groups: dict[str, list[Object]] = {}
    for record in records:
        groups.setdefault(str(record.get(key) or ""), []).append(record)
    return list(groups.values())


def walk(value: object, child: str) -> Iterator[Object]:
    """Yield an object and all objects below it under the list `child`, parents first."""
    waiting = [value]
    while waiting:
        record = waiting.pop()
        if isinstance(record, dict):
            yield record
            waiting.extend(reversed(objects(record.get(child))))
