"""What a row says besides the conversation: reward, model, tokens, system, agent, tools …"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.messages.values import text_of
from whileai_core.dialects.spans.kinds import AGENT, MODEL
from whileai_core.dialects.spans.values import JOINER, decoded
from whileai_core.rows import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whileai_core.dialects.spans.reading import Reading
    from whileai_core.dialects.spans.tree import Tree
    from whileai_core.rows import Row


def add_facts(row: Row, tree: Tree, instructions: Sequence[str]) -> None:
    """Add to a row what its spans say besides the conversation; the first to say so in time wins.

    Args:
        row: With its conversation id; changed in place.
        tree: The spans.
        instructions: What system messages said.
    """
    found = {field: _first(field, tree) for field in FIRST_OF}
    scores: dict[str, Any] = {}
    for reading in tree.ordered:
        if reading.scores:
            scores |= reading.scores
    trace = next((reading.trace for reading in tree.ordered if reading.trace), None)
    place_facts(row, found, usage=_usage(tree), trace=trace, scores=scores, said=instructions)


def place_facts(
    row: Row,
    found: Mapping[str, Any],
    *,
    usage: dict[str, int] | None,
    trace: str | None,
    scores: dict[str, Any],
    said: Sequence[str],
) -> None:
    """Add what was found to a row.

    Args:
        row: With its conversation id; changed in place.
        found: By the fields of `FIRST_OF`, each None when no span says it.
        usage, scores: As in the row.
        trace: The first trace.
        said: What system messages said.
    """
    if found["reward"] is not None:
        row["reward"] = found["reward"]
    version, model = found["model_version"], found["model"]
    if version or model:
        row["model_version"] = version or model
    if usage is not None:
        row["usage"] = usage
    row["schema_version"] = SCHEMA_VERSION
    more = {
        "system": "\n".join(said) or found["system"],
        "agent": found["agent"],
        "model": model if version else None,
        "tools": found["tools"],
        "trace_id": trace if trace != row["conversation_id"] else None,
        "scores": scores,
        "reward_source": found["reward_source"],
    }
    row.update({key: value for key, value in more.items() if value})


def _first(field: str, tree: Tree) -> Any:
    """Return what the first span to say it gives for a field; agents inside tools do not count."""
    read = FIRST_OF[field]
    for reading in tree.ordered:
        value = getattr(reading, field)
        if value is not None and (field != "agent" or reading.span not in tree.aside):
            value = read(value)
            if value is not None:
                return value
    return None


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, dict | list):
        return None
    return str(value) or None


def _instructions(value: Any) -> str | None:
    found = decoded(value)
    return (found if isinstance(found, str) else text_of(found, JOINER)) or None


def _definitions(value: Any) -> list[Any] | None:
    found = decoded(value)
    return [decoded(tool) for tool in found] if isinstance(found, list) and found else None


def _usage(tree: Tree) -> dict[str, int] | None:
    """Sum the tokens of the innermost spans that count any: outer ones repeat them.

    An agent whose model calls lie beside it instead of inside repeats them too, and so does the
    second of two tracers of one model call: the id of the response tells, or its time.
    """
    counted = []
    for reading in tree.ordered:
        if reading.tokens_in is not None or reading.tokens_out is not None:
            tokens_in, tokens_out = count(reading.tokens_in), count(reading.tokens_out)
            if tokens_in is not None or tokens_out is not None:
                counted.append((reading, tokens_in or 0, tokens_out or 0))
    if not counted:
        return None
    outer = {span for reading, _, _ in counted for span in tree.around(reading)}
    models = [reading for reading, _, _ in counted if reading.kind == MODEL]
    responses: set[Any] = set()
    total_in = total_out = 0
    for reading, tokens_in, tokens_out in counted:
        if reading.span in outer or (reading.kind == AGENT and _runs_beside(reading, models)):
            continue
        if reading.response_id in responses or _is_inside_other_tracers(reading, models):
            continue
        if type(reading.response_id) is str:
            responses.add(reading.response_id)
        total_in += tokens_in
        total_out += tokens_out
    return {"input_tokens": total_in, "output_tokens": total_out}


def _runs_beside(agent: Reading, models: Sequence[Reading]) -> bool:
    return any(
        model.trace == agent.trace and agent.start <= model.start <= agent.end for model in models
    )


def _is_inside_other_tracers(reading: Reading, models: Sequence[Reading]) -> bool:
    """Tell whether a model call without messages is in all but name inside one that has them."""
    if reading.kind != MODEL or reading.has_content:
        return False
    return any(
        (model.trace, model.parent) == (reading.trace, reading.parent)
        and model.has_content
        and model.start <= reading.start <= reading.end <= model.end
        for model in models
    )


def count(value: Any) -> int | None:
    """Return a count of tokens, None for what is none."""
    if type(value) is int and value >= 0:  # as most
        return value
    if value is None or isinstance(value, bool | dict | list):
        return None
    try:
        number = int(float(value))
    except (TypeError, ValueError, OverflowError):
        return None
    return number if number >= 0 else None


# What a row takes from the first span that says it.
FIRST_OF: dict[str, Callable[[Any], Any]] = {
    "reward": lambda reward: reward,
    "reward_source": lambda source: source,
    "model_version": _text,
    "model": _text,
    "agent": _text,
    "system": _instructions,
    "tools": _definitions,
}
