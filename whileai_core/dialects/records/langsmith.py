"""LangSmith: batches as SDKs send them, runs as they are exported, and run trees.

A batch `{post, patch}` splits a run over two halves joined by id. Exports hold one run per
record, or a root run with `child_runs`; runs of one trace share `trace_id`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from whileai_core.dialects.messages.values import first, text_id
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.runs import Run, conversation, run_facts
from whileai_core.dialects.records.shape import Object, mostly, obj, objects, present, text, walk
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_THREAD = ("session_id", "thread_id", "conversation_id")


def _is_run(value: object) -> bool:
    record = obj(value)
    return isinstance(record.get("run_type"), str) and ("inputs" in record or "outputs" in record)


def _matches(value: object) -> bool:
    return _is_run(value) or any(map(_is_part, _halves(value))) or any(map(_is_run, _listed(value)))


def _halves(value: object) -> list[Object]:
    record = obj(value)
    return objects(record.get("post")) + objects(record.get("patch"))


def _listed(value: object) -> list[Object]:
    return objects(obj(value).get("runs"))


def _is_part(run: Object) -> bool:
    return ("id" in run or "dotted_order" in run) and ("trace_id" in run or "run_type" in run)


def _traces(values: Iterable[object]) -> Iterator[list[Object]]:
    """Group runs by trace, halves of one run joined, whichever batch they came in."""
    runs: dict[str, Object] = {}
    for value in values:
        for part in _halves(value) or _listed(value) or [obj(value)]:
            for run in walk(part, "child_runs"):
                identity = _identity(run) or f"#{len(runs)}"
                runs[identity] = _joined(runs.get(identity, {}), run)
    by_trace: dict[str, list[Object]] = {}
    for identity in runs:
        by_trace.setdefault(_trace_of(identity, runs), []).append(runs[identity])
    yield from by_trace.values()


def _identity(run: Object) -> str | None:
    """Return the id of a run; some SDKs leave it out of the second half but for its order."""
    order = text(run.get("dotted_order")).rpartition(".")[2]
    return text_id(run.get("id")) or order.partition("Z")[2] or None


def _joined(known: Object, more: Object) -> Object:
    return known | {key: value for key, value in more.items() if value not in (None, {}, [], "")}


def _trace_of(identity: str, runs: dict[str, Object]) -> str:
    trace = text_id(runs[identity].get("trace_id"))
    if trace is not None:
        return trace
    seen = {identity}
    parent = _parent(runs[identity])
    while parent in runs and parent not in seen:
        identity = parent
        seen.add(identity)
        parent = _parent(runs[identity])
    return text_id(runs[identity].get("trace_id")) or identity


def _parent(run: Object) -> str | None:
    return text_id(first(run, ("parent_run_id", "parent_id")))


def _row(runs: list[Object]) -> Row | None:
    read = [_run(run) for run in runs]
    root = next((run for run in runs if _parent(run) is None), runs[0])
    metadata = _metadata(root)
    extra = present(
        conversation_id=text_id(first(metadata, _THREAD)),
        trace_id=text_id(first(root, ("trace_id", "id"))),
        ts=root.get("start_time"),
        agent=text(root.get("name")),
        tools=obj(root.get("inputs")).get("tools"),
        **run_facts(read),
    )
    for name, stats in obj(root.get("feedback_stats")).items():
        labels.score(extra, name, obj(stats).get("avg"))
    return row_from_events(conversation(read), extra=extra)


def _run(run: Object) -> Run:
    kind = run.get("run_type")
    outputs = obj(run.get("outputs"))
    tokens = _tokens(run, outputs)
    metadata = _metadata(run)
    return Run(
        id=_identity(run),
        parent=_parent(run),
        kind="model" if kind in ("llm", "chat_model") else "tool" if kind == "tool" else "other",
        name=text(run.get("name")),
        start=text(first(run, ("dotted_order", "start_time"))) or str(run.get("start_time", "")),
        input=_inputs(run),
        output=_outputs(run),
        error=text(run.get("error")) or None,
        model=text(first(metadata, ("ls_model_name",))) or text(outputs.get("model")) or None,
        tokens_in=first(tokens, ("input_tokens", "prompt_tokens")),
        tokens_out=first(tokens, ("output_tokens", "completion_tokens")),
    )


def _inputs(run: Object) -> Any:
    inputs = run.get("inputs")
    if run.get("run_type") == "tool" and set(obj(inputs)) == {"input"}:
        return obj(inputs)["input"]  # the text form LangChain gives tools
    return inputs


def _outputs(run: Object) -> Any:
    outputs = run.get("outputs")
    # A traced function's plain return value stands under `output`.
    return obj(outputs)["output"] if set(obj(outputs)) == {"output"} else outputs


def _tokens(run: Object, outputs: Object) -> Object:
    flat = {key: run.get(key) for key in ("prompt_tokens", "completion_tokens")}
    told = first(outputs, ("usage_metadata", "usage"))
    return obj(told) or obj(obj(outputs.get("llm_output")).get("token_usage")) or flat


def _metadata(run: Object) -> Object:
    return obj(obj(run.get("extra")).get("metadata")) or obj(run.get("metadata"))


def _matches_list(head: Sequence[object]) -> bool:
    return mostly(head, _matches)


BATCH = Reader(
    name="langsmith",
    matches=_matches,
    conversations=lambda value: _traces([value]),
    row=_row,
    markers=frozenset({"post", "patch", "run_type", "runs"}),
)
RUNS = Reader(name="langsmith", matches=_matches_list, conversations=_traces, row=_row)
