"""Which dialect a record or a session file is in.

Order is precedence: producers that leave a mark of their own come before those whose records
look like many others'. Detection looks at content alone, never at file names.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from whileai_core.dialects.records import (
    agentcore,
    agentdojo,
    amp,
    anthropic_batches,
    atif,
    autogen,
    azure_evaluation,
    bedrock_invocations,
    braintrust,
    chatgpt,
    claude_code,
    cline,
    codex,
    copilot_cli,
    cursor,
    datadog,
    deepeval,
    dify,
    flowise,
    function_calling,
    gemini_cli,
    google_adk,
    hermes,
    honeyhive,
    inspect_ai,
    kiro,
    langfuse,
    langgraph,
    langsmith,
    librechat,
    lm_studio,
    managed_agents,
    mini_swe_agent,
    mlflow,
    open_webui,
    openai_batches,
    openai_evals,
    openai_pages,
    opencode,
    openhands,
    opik,
    phoenix,
    pi,
    posthog,
    preferences,
    promptfoo,
    qwen_code,
    rllm,
    smolagents,
    swe_agent,
    tau_bench,
    templated,
    toolbench,
    vscode_chat,
    weave,
    zed,
)
from whileai_core.dialects.records.reader import Reader

RecordDialect: TypeAlias = Reader
SessionDialect: TypeAlias = Reader

RECORD_DIALECTS: tuple[RecordDialect, ...] = (
    inspect_ai.LOG,
    tau_bench.RECORDS,
    atif.TRAJECTORY,
    toolbench.ANSWERS,
    agentdojo.RUN,
    mini_swe_agent.TRAJECTORY,
    openhands.OUTPUT,
    kiro.STORED,
    swe_agent.TRAJECTORY,
    gemini_cli.SESSION,
    hermes.SESSION,
    google_adk.EVAL_SETS,
    managed_agents.PAGE,
    claude_code.STREAM,
    smolagents.RUN,
    bedrock_invocations.LOG,
    weave.CALL,
    honeyhive.PAGE,
    braintrust.PAGE,
    opik.TRACE,
    langgraph.STATE,
    langsmith.BATCH,
    phoenix.SPAN,
    langfuse.TRACE,
    mlflow.TRACES,
    chatgpt.CONVERSATION,
    vscode_chat.SESSION,
    opencode.SESSION,
    zed.THREAD,
    amp.THREAD,
    librechat.CONVERSATION,
    open_webui.CHAT,
    lm_studio.CONVERSATION,
    promptfoo.RESULTS,
    deepeval.CASES,
    posthog.PAGE,
    datadog.PAGE,
    dify.PAGE,
    agentcore.PAGE,
    rllm.EPISODE,
    function_calling.QUERIES,
    function_calling.CHATS,
    autogen.RESULT,
    anthropic_batches.CREATION,
    anthropic_batches.LINE,
    openai_batches.LINE,
    openai_evals.ITEMS,
    openai_pages.PAGE,
    preferences.RECORDS,
    azure_evaluation.ROWS,
    phoenix.EXPERIMENT,
    templated.RECORDS,
)

SESSION_DIALECTS: tuple[SessionDialect, ...] = (
    pi.SESSION,
    codex.SESSION,
    kiro.SESSION,
    gemini_cli.LINES,
    hermes.LINES,
    managed_agents.EVENTS,
    copilot_cli.SESSION,
    qwen_code.SESSION,
    claude_code.SESSION,
    cline.TASK,
    opencode.MESSAGES,
    vscode_chat.LOG,
    google_adk.TURNS,
    openhands.EVENTS,
    weave.CALLS,
    honeyhive.EVENTS,
    braintrust.SPANS,
    opik.TRACES,
    langgraph.STATES,
    smolagents.STEPS,
    openai_batches.BATCH,
    anthropic_batches.BATCH,
    posthog.EVENTS,
    datadog.SPANS,
    dify.MESSAGES,
    flowise.MESSAGES,
    agentcore.EVENTS,
    openai_evals.LOG,
    openai_pages.THREADS,
    langsmith.RUNS,
    phoenix.SPANS,
    langfuse.OBSERVATIONS,
    cursor.SESSION,
)

_MARKERS = frozenset[str]().union(*(dialect.markers for dialect in RECORD_DIALECTS))
_KEPT_SHAPES = 1024  # sets of keys; the records of a file share a few


def record_dialect(value: object) -> RecordDialect | None:
    """Return the dialect one record is in, or None when no producer claims it."""
    if not isinstance(value, dict) or _MARKERS.isdisjoint(value):
        return None
    for dialect in _marked(_MARKERS.intersection(value)):
        if dialect.claims(value):
            return dialect
    return None


@lru_cache(maxsize=_KEPT_SHAPES)
def _marked(markers: frozenset[str]) -> tuple[RecordDialect, ...]:
    """Return the dialects that have one of these markers, by precedence."""
    return tuple(d for d in RECORD_DIALECTS if not d.markers.isdisjoint(markers))


def session_dialect(head: Sequence[object]) -> SessionDialect | None:
    """Return the dialect a file is in whose first records are `head`.

    None when its records are conversations of their own. One record is enough for a dialect
    that marks its first line; a longer head is safer.
    """
    return next((dialect for dialect in SESSION_DIALECTS if dialect.claims(head)), None)
