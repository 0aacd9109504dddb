"""W&B Weave: calls as its service lists them, one a record; a call is one run of an op."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from whileai_core.dialects.messages.values import text_id
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.runs import Run, RunKind, conversation, run_facts
from whileai_core.dialects.records.shape import (
    Object,
    grouped,
    mostly,
    obj,
    present,
    sortable,
    text,
)
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_OP = re.compile(r"weave:///.*/op/([^:]+)")
# Ops that Weave makes of the clients it patches.
_MODEL_OP = re.compile(
    r"(completions?|messages|responses)[._](create|stream|parse)|generate_?content|converse"
    r"|litellm\.a?completion|Chat\w*\.(invoke|generate)",
    re.IGNORECASE,
)
_KINDS: dict[str, RunKind] = {"llm": "model", "tool": "tool", "agent": "other"}


def _matches(value: object) -> bool:
    record = obj(value)
    return "op_name" in record and "inputs" in record and "trace_id" in record


def _traces(values: Iterable[object]) -> list[list[Object]]:
    return grouped(map(obj, values), "trace_id")


def _row(calls: list[Object]) -> Row | None:
    runs = [_run(call) for call in calls]
    root = next((call for call in calls if not call.get("parent_id")), calls[0])
    extra = present(
        conversation_id=text_id(root.get("thread_id")),
        trace_id=text_id(root.get("trace_id")),
        ts=root.get("started_at"),
        agent=_name(root),
        **run_facts(runs),
    )
    return row_from_events(conversation(runs), extra=extra)


def _run(call: Object) -> Run:
    inputs = _inputs(call)
    output = call.get("output")
    told = obj(obj(output).get("usage"))
    return Run(
        id=text_id(call.get("id")),
        parent=text_id(call.get("parent_id")),
        kind=_kind(call),
        name=_name(call),
        start=sortable(call.get("started_at")),
        input=inputs,
        output=output,
        error=text(call.get("exception")) or None,
        model=text(obj(inputs).get("model")) or text(obj(output).get("model")) or None,
        tokens_in=told.get("prompt_tokens", told.get("input_tokens")),
        tokens_out=told.get("completion_tokens", told.get("output_tokens")),
    )


def _inputs(call: Object) -> Any:
    inputs = call.get("inputs")
    return {k: v for k, v in inputs.items() if k != "self"} if isinstance(inputs, dict) else inputs


def _name(call: Object) -> str:
    op = text(call.get("op_name"))
    found = _OP.match(op)
    return (found.group(1) if found else op) or "tool"


def _kind(call: Object) -> RunKind:
    marked = obj(obj(call.get("attributes")).get("weave")).get("kind")
    known = _KINDS.get(text(marked) or text(obj(call.get("attributes")).get("kind")))
    return known or ("model" if _MODEL_OP.search(_name(call)) else "other")


def _matches_list(head: Sequence[object]) -> bool:
    return mostly(head, _matches)


CALL = Reader(
    name="weave",
    matches=_matches,
    conversations=lambda value: [[value]],
    row=_row,
    markers=frozenset({"op_name"}),
)
CALLS = Reader(name="weave", matches=_matches_list, conversations=_traces, row=_row)
