"""The cheap features of rows, as columns of numbers: what a reward might follow."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from whileai_core.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from whileai_core.quality.facts import Facts
    from whileai_core.rows import Row

Features: TypeAlias = Mapping[str, Callable[[Any], Any] | Sequence[Any]]

_WORD = re.compile(r"\w+(?:['’]\w+)*")


class _Kind(NamedTuple):
    """A kind of characters: which ASCII ones are of it, and a pattern for all."""

    ascii: bytes
    pattern: re.Pattern[str]


def _kind(pattern: str) -> _Kind:
    compiled = re.compile(pattern)
    return _Kind(bytes(code for code in range(128) if compiled.match(chr(code))), compiled)


_DIGIT, _UPPER, _PUNCTUATION = _kind(r"\d"), _kind(r"[A-Z]"), _kind(r"[^\w\s]")


class Column(NamedTuple):
    """One feature.

    Attributes:
        name: Its name.
        values: One number per row.
        n_obs: Rows where it is not 0.
        aliases: Names of features with the same values.
    """

    name: str
    values: NDArray[Any]
    n_obs: int
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Its name and its aliases."""
        return (self.name, *self.aliases)


def hand_columns(
    rows: Sequence[Row],
    facts: Sequence[Facts],
    features: Features | None = None,
    order: Sequence[int] | None = None,
) -> list[Column]:
    """Return the features every row has: lengths, counts, tools, faults, markers, and the user's.

    Args:
        rows: The rows.
        facts: What was read in them.
        features: The user's features.
        order: Where each row stood when the user listed the numbers of a feature.

    Raises:
        InputError: A feature of the user gives no number for a row, or not one per row.
    """
    import numpy as np

    texts = [fact.text for fact in facts]
    counted: dict[str, list[float]] = {
        "reply_length": [fact.length for fact in facts],
        "tool_calls": [len(fact.tools) for fact in facts],
        "assistant_turns": [fact.turns for fact in facts],
        "truncated": [fact.truncated for fact in facts],
        "n:words": [len(text.split()) for text in texts],
        "n:digits": [_count(text, _DIGIT) for text in texts],
        "n:newlines": [text.count("\n") for text in texts],
        "n:punct": [_count(text, _PUNCTUATION) for text in texts],
        "frac:upper": [_count(text, _UPPER) / len(text) if text else 0.0 for text in texts],
        "logprob_mean": [_mean_logprob(row) for row in rows],
    }
    columns = [_column(name, np.array(values, dtype=float)) for name, values in counted.items()]
    columns += _flags("tool:", [fact.tools for fact in facts])
    columns += _flags("trace:", [fact.faults for fact in facts])
    columns += _markers(rows)
    columns += [_of_user(name, how, rows, order) for name, how in (features or {}).items()]
    return columns


def term_columns(texts: Sequence[str], *, least: int, most: int) -> list[Column]:
    """Return `contains:` columns of the most frequent words and pairs of adjacent words.

    Args:
        texts: One text per row.
        least: Texts a term has to be in; a term that is in all of them is left out.
        most: How many terms.
    """
    import numpy as np

    vocabulary: defaultdict[str, int] = defaultdict(count().__next__)
    lengths: list[int] = []
    tokens: list[int] = []
    for text in texts:
        words = _WORD.findall(text.lower())
        lengths.append(len(words))
        tokens += map(vocabulary.__getitem__, words)
    if not tokens:
        return []
    names = list(vocabulary)
    width, n = len(names), len(texts)
    word = np.array(tokens, dtype=np.int64)
    row = np.repeat(np.arange(n), lengths)
    pair = (word[:-1] + 1) * width + word[1:]
    adjacent = row[1:] == row[:-1]
    # Each term in each row once: the term's number and the row's in one integer.
    found = np.concatenate((word * n + row, (pair * n + row[1:])[adjacent]))
    found.sort()
    cells = found[np.concatenate(([True], found[1:] != found[:-1]))]
    term = cells // n
    starts = np.flatnonzero(np.concatenate(([True], term[1:] != term[:-1])))
    counts = np.diff(np.append(starts, len(cells)))

    def spelled(number: int) -> str:
        if number < width:
            return names[number]
        return f"{names[number // width - 1]} {names[number % width]}"

    frequent = np.flatnonzero((counts >= least) & (counts < n))
    floor = np.sort(counts[frequent])[::-1][:most].min(initial=n)
    candidates = sorted(
        (-int(counts[which]), spelled(int(term[starts[which]])), int(starts[which]))
        for which in frequent[counts[frequent] >= floor].tolist()
    )
    columns = []
    for minus_count, name, start in candidates[:most]:
        values = np.zeros(n, dtype=np.uint8)
        values[cells[start : start - minus_count] % n] = 1
        columns.append(Column(f"contains:{name}", values, -minus_count))
    return columns


def usable(columns: Sequence[Column], enough: Callable[[Column], bool]) -> list[Column]:
    """Return the columns that vary and are seen often enough; equal ones become aliases."""
    kept: dict[bytes, Column] = {}
    for column in columns:
        if not enough(column) or column.values.min() == column.values.max():
            continue
        content = column.values.astype(float).tobytes()
        first = kept.get(content)
        kept[content] = (
            column if first is None else first._replace(aliases=(*first.aliases, column.name))
        )
    return list(kept.values())


def is_binary(column: Column) -> bool:
    """Tell whether a column holds 0 and 1 only."""
    values = column.values
    return values.dtype.itemsize == 1 or bool(((values == 0) | (values == 1)).all())


def _count(text: str, kind: _Kind) -> int:
    """Count the characters of a kind; deleting bytes is far quicker than searching text."""
    if text.isascii():
        return len(text) - len(text.encode().translate(None, kind.ascii))
    return len(kind.pattern.findall(text))


def _column(name: str, values: NDArray[np.float64]) -> Column:
    import numpy as np

    return Column(name, values, int(np.count_nonzero(values)))


def _flags(prefix: str, sets: Sequence[tuple[str, ...]]) -> list[Column]:
    import numpy as np

    places: dict[str, list[int]] = {}
    for place, names in enumerate(sets):
        for name in dict.fromkeys(names):
            places.setdefault(name, []).append(place)
    columns = []
    for name, where in places.items():
        values = np.zeros(len(sets), dtype=np.uint8)
        values[where] = 1
        columns.append(Column(f"{prefix}{name}", values, len(where)))
    return columns


def _markers(rows: Sequence[Row]) -> list[Column]:
    import numpy as np

    found: dict[str, NDArray[np.float64]] = {}
    for place, row in enumerate(rows):
        markers = row.get("markers")
        if isinstance(markers, dict):
            for name, value in markers.items():
                number = _number(value)
                if number is not None:
                    found.setdefault(str(name), np.zeros(len(rows)))[place] = number
    return [_column(f"marker:{name}", values) for name, values in found.items()]


def _mean_logprob(row: Row) -> float:
    steps = row.get("steps")
    total, tokens = 0.0, 0.0
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, dict) and "logprob" in step:
            logprob, n = _number(step["logprob"]), _number(step.get("n_tokens"))
            if logprob is not None and n:
                total, tokens = total + logprob, tokens + n
    return total / tokens if tokens else 0.0


def _of_user(name: str, how: Any, rows: Sequence[Row], order: Sequence[int] | None) -> Column:
    import numpy as np

    values = [how(row) for row in rows] if callable(how) else list(how)
    if len(values) != len(rows):
        raise InputError(f"feature {name!r} has {len(values)} values for {len(rows)} graded rows")
    if order is not None and not callable(how):
        values = [values[place] for place in order]
    numbers = [_number(value) for value in values]
    if None in numbers:
        place = numbers.index(None)
        raise InputError(f"feature {name!r} is {values[place]!r} for a row; give a finite number")
    return _column(name, np.array(numbers, dtype=float))


def _number(value: object) -> float | None:
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    return None
