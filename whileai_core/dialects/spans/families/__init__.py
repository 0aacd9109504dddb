"""The families of span producers, in order of precedence. A new family is one module and a line."""

from __future__ import annotations

from whileai_core.dialects.spans.families import (
    adk,
    agentops,
    genai,
    langfuse,
    langsmith,
    mlflow,
    monocle,
    openinference,
    pydantic,
    traceloop,
    vercel,
)
from whileai_core.dialects.spans.families.family import Family

FAMILIES: tuple[Family, ...] = (
    genai.FAMILY,
    openinference.FAMILY,
    traceloop.FAMILY,
    vercel.FAMILY,
    adk.FAMILY,
    pydantic.FAMILY,
    langfuse.FAMILY,
    langsmith.FAMILY,
    mlflow.FAMILY,
    agentops.FAMILY,
    monocle.FAMILY,
)
